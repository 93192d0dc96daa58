"""Tests of the golden kernels, and the comparison that all of them use."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


def distance(got: np.ndarray, want: np.ndarray) -> float:
    """The largest difference relative to the largest wanted value; infinite if shapes or non-finite
    places differ.
    """
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf")
    if not got.size:
        return 0.0
    finite = np.isfinite(want)
    if (
        not np.array_equal(got[~finite], want[~finite], equal_nan=True)
        or not np.isfinite(got[finite]).all()
    ):
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.abs(want[finite]).max())
    error = float(np.abs(got[finite] - want[finite]).max())
    return error / scale if scale else (float("inf") if error else 0.0)


def grid(random: np.random.Generator, shape: tuple[int, ...], bits: int = 10) -> np.ndarray:
    """Integers of some bits times a power of two, so that sums of products are exact in float64."""
    return random.integers(-(1 << bits), 1 << bits, shape).astype(np.float64) * 2.0**-bits


def scratch(call: Callable[[], dict[str, np.ndarray]], warm: bool = True) -> int:
    """The most bytes beyond its outputs that a call holds; of a warm call, whose plans are cached,
    or with these plans.
    """
    if warm:
        call()
    tracemalloc.start()
    outputs = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - sum(array.nbytes for array in outputs.values())


def torch_or_skip() -> Any:
    """Torch on one thread, so that it does not wait for cores that others use; skips the test where
    it is missing.
    """
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    return torch
