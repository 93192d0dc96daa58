"""Views: what they are like in storage, held against numpy's own strides."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.calls.columns import TensorColumn
from opgen.suite.planning.strides import EXPANDED, LEAST, VIEWS, lay_out, view_of

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
def test_a_view_stays_inside_its_storage_and_meets_no_element_twice_unless_it_is_expanded(
    shape: tuple[int, ...], view: str
) -> None:
    found = laid(shape, view)
    if not found.strided[0]:
        assert len(shape) < LEAST[VIEWS.index(view)]
        return
    places = elements(shape, view)
    held = int(np.prod(found.storage[0, : found.storage_rank[0]]))
    whole = len(places) // shape[-1] if view == "expanded_last" else 1
    assert len(set(places)) == (whole if view in EXPANDED else len(places))
    assert min(places) >= 0 and max(places) < held


def test_views_are_what_numpy_makes_of_them() -> None:
    storage = np.arange(3 * 2).reshape(2, 3)
    assert elements((3, 2), "transposed") == storage.T.reshape(-1).tolist()
    storage = np.arange(4 * 6).reshape(4, 6)
    assert elements((2, 3), "sliced") == storage[1:3, 1:4].reshape(-1).tolist()
    storage = np.arange(2 * 6).reshape(2, 6)
    assert elements((2, 3), "stepped") == storage[:, ::2].reshape(-1).tolist()
    storage = np.arange(3 * 3).reshape(3, 3)
    assert elements((2, 3), "offset") == storage[1:].reshape(-1).tolist()
    storage = np.arange(2).reshape(2, 1)
    last = np.broadcast_to(storage, (2, 3))
    assert elements((2, 3), "expanded_last") == last.reshape(-1).tolist()
    assert elements((2, 3), "expanded") == elements((2, 3), "expanded_scalar") == [0] * 6


def test_one_element_lies_in_as_many_axes_or_in_one() -> None:
    whole, scalar = laid((2, 3), "expanded"), laid((2, 3), "expanded_scalar")
    assert (whole.storage_rank[0], scalar.storage_rank[0]) == (2, 1)
    assert whole.storage.tolist() == scalar.storage.tolist() == [[1, 1]]


def test_a_wrong_stride_would_be_seen() -> None:
    storage = np.arange(3 * 2).reshape(2, 3)
    assert elements((3, 2), "transposed") != storage.reshape(3, 2).reshape(-1).tolist()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (2, -1, 4)], ids=str)
def test_what_holds_nothing_lies_contiguous(shape: tuple[int, ...]) -> None:
    assert not any(laid(shape, view).strided[0] for view in VIEWS)


def test_rows_of_one_table_may_lie_differently() -> None:
    rows = len(VIEWS)
    found = lay_out(np.full(rows, 2), np.array([[2, 3]] * rows), np.arange(rows))
    assert found.strided.tolist() == [False, *[True] * (rows - 1)]
    assert found.strides.tolist() == [
        *([0, 0], [1, 2], [6, 1], [6, 2], [3, 1], [0, 0], [1, 0], [0, 0])
    ]
    assert found.storage.tolist() == [
        *([1, 1], [3, 2], [4, 6], [2, 6], [3, 3], [1, 1], [2, 1], [1, 1])
    ]
    assert found.offset.tolist() == [0, 0, 7, 0, 3, 0, 0, 0]
    assert found.storage_rank.tolist() == [-1, 2, 2, 2, 2, 2, 2, 1]


def test_a_view_is_read_back() -> None:
    views = np.array([*range(len(VIEWS)), 3])
    rows = len(views)
    shape = np.array([[2, 3]] * rows)
    found = lay_out(np.full(rows, 2), shape, views)
    strides, none = found.strides.copy(), np.zeros(rows, dtype=np.int64)
    strides[-1] = (7, 2)
    layout = (found.strided, strides, found.offset, found.storage_rank, found.storage)
    limits = np.full((rows, 2), np.nan)
    column = TensorColumn(none.astype(bool), none, none, np.full(rows, 2), shape, *layout, limits)
    assert view_of(column).tolist() == [*range(len(VIEWS)), -1]


@pytest.mark.parametrize("extent", [2**31, 2**61 + 1, 2**63 - 1])
@pytest.mark.parametrize("view", VIEWS[1:5])
def test_a_view_too_large_for_any_memory_is_laid_out_exactly(view: str, extent: int) -> None:
    found = laid((extent, extent, extent, extent), view)
    last, before = {
        "transposed": (extent, extent),
        "sliced": (extent + 3, extent + 2),
        "stepped": (2 * extent, extent),
        "offset": (extent, extent),
    }[view]
    inner = [extent * before * last, before * last, last, 1]
    steps = {"transposed": [*inner[:2], 1, last], "stepped": [*inner[:3], 2]}.get(view, inner)
    offset = {"sliced": last + 1, "offset": inner[0]}.get(view, 0)
    first = extent + (view == "offset")
    assert found.storage[0].tolist() == [first, extent, before, last]
    assert found.strides[0].tolist() == steps and found.offset[0] == offset
