"""What the checks of tables have in common: what they take and yield, and how they read lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np

Tables: TypeAlias = Mapping[str, np.ndarray]
Checks: TypeAlias = Iterator[tuple[object, str]]
"""Whether something is wrong, and what that is. A check relies on those before it."""


def spans(tables: Tables) -> tuple[np.ndarray, np.ndarray]:
    """(lists,) int64 each: where lists begin in the integers, and how long they are."""
    return tables["lists"]["start"].astype(np.int64), tables["lists"]["length"].astype(np.int64)


def holding(tables: Tables, wrong: np.ndarray) -> np.ndarray:
    """(lists,) bool: one of the list's integers is ``wrong``, of which there is a bool for each."""
    starts, lengths = spans(tables)
    counted = np.concatenate([[0], np.cumsum(wrong)])
    return np.asarray(counted[starts + lengths] > counted[starts])
