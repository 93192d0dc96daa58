"""What cases keep stays theirs when they are picked, and put behind those of another table."""

from __future__ import annotations

import numpy as np

from opgen.calls.categorical import Categorical
from opgen.calls.stored_tensors import StoredTensors

X, Y = ("x", "input", "FLOAT"), ("y", "golden", "DOUBLE")
FIRST = StoredTensors(Categorical.of([X, Y]), np.array([4, 2]), np.array([0, 2]), np.array([1, 0]))
SECOND = StoredTensors(Categorical.of([Y]), np.array([7]), np.array([1]), np.array([0, 0]))


def test_every_case_has_the_tensors_of_its_set() -> None:
    assert list(FIRST) == [[(*X, 4), (*Y, 2)], []]
    assert list(FIRST.take([1, 0, 0])) == [[], *[[(*X, 4), (*Y, 2)]] * 2]


def test_tables_one_behind_the_other_keep_the_tensors_of_each() -> None:
    both = StoredTensors.concatenate([FIRST, SECOND])
    assert list(both) == [*FIRST, *SECOND]
    assert both.kind.values == (X, Y)
    assert list(StoredTensors.concatenate([])) == []
