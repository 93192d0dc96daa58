"""The gradient of a bias of groups: row by row, and by the example of its page."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.grouped_bias_add_grad import depth, golden, magnitude, saved


@pytest.mark.parametrize("ends", [[2, 3, 9], [9], [1, 2, 3, 4, 9]])
def test_rows_are_added_group_by_group(ends: list[int]) -> None:
    dy = np.random.default_rng(1).standard_normal((2, 9, 4))
    tensors = {"gradY": dy, "groupIdxOptional": np.array([ends, ends], dtype=float)}
    found, sizes = (f(tensors, {}, ("out",))["out"] for f in (golden, magnitude))
    for case in range(2):
        start = 0
        for group, end in enumerate(ends):
            rows = [dy[case, row] for row in range(start, end)]
            assert np.abs(found[case, group] - sum(rows)).max() <= 1e-14
            assert np.abs(sizes[case, group] - sum(map(np.abs, rows))).max() <= 1e-14
            start = end


def test_groups_of_as_many_rows_each() -> None:
    dy = np.random.default_rng(1).standard_normal((2, 3, 5, 4))
    found = golden({"gradY": dy, "groupIdxOptional": None}, {}, ("out",))["out"]
    assert np.abs(found - dy.sum(2)).max() <= 1e-14
    assert depth({}, {"gradY": (3, 5, 4)}, "out") == 5


def test_a_row_beyond_the_end_of_its_group_shows() -> None:
    """Closed ranges, as the formula prints them, are another answer: 400, 200 and 400 rows."""
    ones = np.ones((1, 1000, 2))
    tensors = {"gradY": ones, "groupIdxOptional": np.array([[400.0, 600.0, 1000.0]])}
    found = golden(tensors, {}, ("out",))["out"]
    assert found[0, :, 0].tolist() == [400, 200, 400]


@pytest.mark.parametrize(("rows", "groups"), [(9, 3), (9, 1), (5, 5), (70, 3)])
def test_saved_ends_grow_up_to_the_last_row(rows: int, groups: int) -> None:
    ends = saved({"gradY": np.zeros((2, rows, 4))}, {"G": groups})["groupIdxOptional"]
    assert (np.diff(ends[0]) > 0).all() and ends[0, 0] > 0 and ends[0, -1] == rows
