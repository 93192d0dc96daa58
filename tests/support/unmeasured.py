"""The environment of commands that run unmeasured, whatever measures the tests."""

from __future__ import annotations

import os

ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")
}
