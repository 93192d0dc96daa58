"""Views: what they are like in storage, held against numpy's own strides."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.calls.columns import TensorColumn
from opgen.suite.planning.strides import VIEWS, lay_out, view_of

SHAPES = [(), (5,), (2, 3), (4, 1, 3), (2, 3, 4, 5), (1, 2, 3, 1, 4)]


def laid(shape: tuple[int, ...], view: str):
    width = max(len(shape), 1)
    padded = np.array([[*shape, *[1] * (width - len(shape))]], dtype=np.int64)
    return lay_out(np.array([len(shape)]), padded, np.array([VIEWS.index(view)]))


def elements(shape: tuple[int, ...], view: str) -> list[int]:
    """Positions in storage of every element of a view."""
    found = laid(shape, view)
    index = np.zeros(shape, dtype=np.int64) + found.offset[0]
    for axis, extent in enumerate(shape):
        index += (np.arange(extent) * found.strides[0, axis]).reshape(
            [-1 if i == axis else 1 for i in range(len(shape))]
        )
    return index.reshape(-1).tolist()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("view", VIEWS[1:])
def test_a_view_stays_inside_its_storage_and_meets_no_element_twice(
    shape: tuple[int, ...], view: str
) -> None:
    found = laid(shape, view)
    if not found.strided[0]:
        assert len(shape) < (1 if view == "stepped" else 2)
        return
    places = elements(shape, view)
    held = int(np.prod(found.storage[0, : found.storage_rank[0]]))
    assert len(set(places)) == len(places)
    assert min(places) >= 0 and max(places) < held


def test_views_are_what_numpy_makes_of_them() -> None:
    storage = np.arange(3 * 2).reshape(2, 3)
    assert elements((3, 2), "transposed") == storage.T.reshape(-1).tolist()
    storage = np.arange(4 * 6).reshape(4, 6)
    assert elements((2, 3), "sliced") == storage[1:3, 1:4].reshape(-1).tolist()
    storage = np.arange(2 * 6).reshape(2, 6)
    assert elements((2, 3), "stepped") == storage[:, ::2].reshape(-1).tolist()


def test_a_wrong_stride_would_be_seen() -> None:
    storage = np.arange(3 * 2).reshape(2, 3)
    assert elements((3, 2), "transposed") != storage.reshape(3, 2).reshape(-1).tolist()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (2, -1, 4)], ids=str)
def test_what_holds_nothing_lies_contiguous(shape: tuple[int, ...]) -> None:
    assert not any(laid(shape, view).strided[0] for view in VIEWS)


def test_rows_of_one_table_may_lie_differently() -> None:
    shape = np.array([[2, 3], [2, 3], [2, 3], [2, 3]])
    found = lay_out(np.full(4, 2), shape, np.arange(4))
    assert found.strided.tolist() == [False, True, True, True]
    assert found.strides.tolist() == [[0, 0], [1, 2], [6, 1], [6, 2]]
    assert found.storage.tolist() == [[1, 1], [3, 2], [4, 6], [2, 6]]


def test_a_view_is_read_back() -> None:
    shape = np.array([[2, 3]] * 5)
    found = lay_out(np.full(5, 2), shape, np.array([0, 1, 2, 3, 3]))
    strides, none = found.strides.copy(), np.zeros(5, dtype=np.int64)
    strides[4] = (7, 2)
    layout = (found.strided, strides, found.offset, found.storage_rank, found.storage)
    limits = np.full((5, 2), np.nan)
    column = TensorColumn(none.astype(bool), none, none, np.full(5, 2), shape, *layout, limits)
    assert view_of(column).tolist() == [0, 1, 2, 3, -1]


@pytest.mark.parametrize("extent", [2**31, 2**61 + 1, 2**63 - 1])
@pytest.mark.parametrize("view", VIEWS[1:])
def test_a_view_too_large_for_any_memory_is_laid_out_exactly(view: str, extent: int) -> None:
    found = laid((extent, extent, extent, extent), view)
    last, before = {
        "transposed": (extent, extent),
        "sliced": (extent + 3, extent + 2),
        "stepped": (2 * extent, extent),
    }[view]
    inner = [extent * before * last, before * last, last, 1]
    steps = {"transposed": [*inner[:2], 1, last], "sliced": inner, "stepped": [*inner[:3], 2]}[view]
    assert found.storage[0].tolist() == [extent, extent, before, last]
    assert found.strides[0].tolist() == steps and found.offset[0] == (
        last + 1 if view == "sliced" else 0
    )
