"""The version of opgen, as files and people see it."""

from __future__ import annotations

VERSION = "0.1.0"
