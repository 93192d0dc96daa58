"""What callers of kernels do: they hold numpy's warnings back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def no_warnings_of_numpy() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield
