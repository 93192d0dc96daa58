"""The layout of a tensor in its storage, held against positions counted one by one."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from opgen.calls.columns import TensorColumn
from opgen.calls.jsonl import NamedCall
from opgen.calls.layout import (
    address_range,
    elements,
    non_negative,
    representable,
    self_overlapping,
    storage_elements,
    within_storage,
)
from opgen.calls.table import from_calls
from opgen.generation.storage import GAP, through
from opgen.model import Call, TensorDesc, row_major
from opgen.numerics.views import index
from opgen.quality.mutants.memory import contiguous, written_contiguous
from opgen.suite.budget import CaseLimit
from opgen.suite.computable import holdable
from tests.support.suites import of_calls

SHAPES = [(), (3,), (1, 1), (2, 3), (2, 1, 4), (0, 3), (3, 0)]
STRIDES = (-7, -1, 0, 1, 4)
FAR = 2**63 - 1
"""A stride that an axis of extent 1 may have as well."""
LARGE: tuple[dict[str, Any], ...] = ({}, {"strides": (1,) * 21}, {"offset": -3})
DESCS = (
    [TensorDesc(shape, "FLOAT", offset=offset) for shape in SHAPES for offset in (0, 5)]
    + [
        TensorDesc(shape, "FLOAT", "ND", steps, sum(step < 0 for step in steps) * 30)
        for shape in SHAPES[1:]
        for steps in product(STRIDES, repeat=len(shape))
    ]
    + [TensorDesc((1, 3, 1), "FLOAT", "ND", (FAR, 2, far), 4) for far in (FAR, -FAR, 2**62)]
)


def positions(desc: TensorDesc) -> list[int]:
    """Where each element lies, in row-major order of the view."""
    if desc.strides is None:
        return [desc.offset + i for i in range(int(np.prod(desc.shape)))]
    return [
        desc.offset + sum(i * step for i, step in zip(at, desc.strides, strict=True))
        for at in np.ndindex(*desc.shape)
    ]


def test_strides_of_what_is_contiguous() -> None:
    for shape in ((), (5,), (2, 3), (4, 1, 3), (2, 3, 4, 5)):
        assert (
            row_major(shape)
            == tuple(step // 8 for step in np.zeros(shape).strides)
            == TensorDesc(shape, "FLOAT").steps
        )
    assert TensorDesc((2, 3), "FLOAT", strides=(1, 2)).steps == (1, 2)


def test_every_element_of_a_view_lies_where_it_is_counted() -> None:
    for desc in DESCS:
        places = positions(desc)
        assert index(desc.shape, desc.steps, desc.offset).tolist() == places, desc
        assert desc.storage_elements == max(places, default=desc.offset - 1) + 1, desc


def test_a_view_is_read_back_as_it_was_laid() -> None:
    for desc in DESCS:
        storage, seen = through(np.arange(len(positions(desc)), dtype=np.float32)[None], desc)
        assert storage.shape == (1, desc.storage_elements) and seen.shape == (1, *desc.shape)
        assert (
            np.array_equal(
                storage[0][index(desc.shape, desc.steps, desc.offset)].reshape(desc.shape), seen[0]
            )
            and seen.ravel().tolist() == storage[0, positions(desc)].tolist()
        )
        assert (np.delete(storage[0], positions(desc)) == GAP).all()


def test_a_table_counts_what_its_rows_hold() -> None:
    wide = TensorDesc((2, 3), "FLOAT", "ND", (10**12, 10**12), 10**12)
    roomy, repeated = (
        TensorDesc((2, 3), "FLOAT", storage_shape=(4, 5)),
        TensorDesc((2, 3), "FLOAT", strides=(0, 0), storage_shape=(1,)),
    )
    large = [TensorDesc((FAR,) * 20 + (last,), "FLOAT") for last in (0, 2)]
    some = [*DESCS, wide, roomy, repeated]
    table = from_calls(
        "a",
        {"x": "tensor", "y": "tensor"},
        [Call("a", "ascend910b", {"x": desc, "y": None}) for desc in some],
    )
    column = table.columns["x"]
    assert isinstance(column, TensorColumn)
    assert elements(table).tolist() == [
        max(prod(desc.shape), desc.storage_elements) for desc in some
    ]
    assert storage_elements(column).tolist() == [desc.storage_elements for desc in some]
    first, last = address_range(column)
    held = [
        (places, low, high)
        for desc, low, high in zip(some, first, last, strict=True)
        if (places := positions(desc))
    ]
    assert (
        all((min(places), max(places)) == (low, high) for places, low, high in held)
        and len(held) > 100
    )
    assert elements(table)[len(DESCS)] == 4e12 + 1
    table = from_calls(
        "a",
        {"x": "tensor"},
        [Call("a", "ascend910b", {"x": replace(desc, **more)}) for desc in large for more in LARGE],
    )
    assert elements(table).tolist() == [0, 0, 0, np.inf, np.inf, np.inf] and holdable(
        table
    ).tolist() == [True] * 5 + [False]


def test_elements_that_share_a_place_are_found() -> None:
    """Against counting the places of every small view, of axes that interleave too."""
    some = [
        TensorDesc(shape, "FLOAT", strides=strides)
        for shape in ((2, 3, 4), (3, 1, 2), (2, 0, 2))
        for strides in product((0, 1, 2, 3, 4, 7, -5), repeat=3)
    ]
    far = TensorDesc((3000, 3000), "FLOAT", strides=(2, 5997))  # too many to count: taken to
    large = [
        TensorDesc((3000, 3000), "FLOAT", strides=strides)
        for strides in ((1, 3000), (-6000, 2), (1, 2999))
    ]  # told by the strides
    descs: list[TensorDesc | None] = [*some, *DESCS, None, far, *large]
    column = from_calls(
        "a", {"x": "tensor"}, [Call("a", "ascend910b", {"x": desc}) for desc in descs]
    ).columns["x"]
    assert isinstance(column, TensorColumn)
    shared = [len(set(positions(desc))) < len(positions(desc)) for desc in [*some, *DESCS]]
    assert self_overlapping(column).tolist() == [*shared, False, True, False, False, True]
    assert 0 < sum(shared) < len(shared)


def test_a_view_fits_where_each_of_its_elements_does() -> None:
    """Storages of every rank from 0, whose product a view just fits or just exceeds, and storages
    that nobody states.
    """
    some = [
        replace(desc, offset=desc.offset + more, storage_shape=held)
        for desc in DESCS
        for more in (0, 1, -1)
        for held in (None, (), (1,), (6,), (2, 3), (0, 9), (36,), (2, 33))
    ]
    column = from_calls(
        "a", {"x": "tensor"}, [Call("a", "ascend910b", {"x": desc}) for desc in some]
    ).columns["x"]
    assert isinstance(column, TensorColumn)
    fits = [
        all(
            at >= 0 and (one.storage_shape is None or at < prod(one.storage_shape))
            for at in positions(one)
        )
        for one in some
    ]
    wrong = [
        (one, fit)
        for one, fit, found in zip(some, fits, within_storage(column).tolist(), strict=True)
        if fit != found
    ]
    assert not wrong and {
        fit for one, fit in zip(some, fits, strict=True) if one.storage_shape == ()
    } == {True, False}


def test_what_no_array_and_no_call_can_have() -> None:
    """An extent below 0, 0 is one; a number beyond 64 bits, as a view laid out over a huge tensor
    has.
    """
    kinds = {"x": "tensor", "p": "int_array", "n": "int64", "f": "bool"}
    shapes = [(2, 3), (0, 3), (), (2, -1), (-1,), None]
    calls = [
        Call(
            "a",
            "ascend910b",
            {
                "x": None if shape is None else TensorDesc(shape, "FLOAT"),
                "p": (-1,),
                "n": -1,
                "f": False,
            },
        )
        for shape in shapes
    ]
    table = from_calls("a", kinds, calls)
    assert (
        non_negative(table, {}).tolist() == [True, True, True, False, False, True]
        and representable(table).all()
    )
    column = table.columns["x"]
    assert isinstance(column, TensorColumn)
    far, offset = column.strides.astype(object), column.offset.astype(object)
    far[:5] = [[FAR] * far.shape[1]] * 5
    far[1, 0], far[2, -1], far[3, 0], offset[4] = FAR + 1, -FAR - 2, -FAR - 1, 2**70
    table = replace(
        table, columns={**table.columns, "x": replace(column, strides=far, offset=offset)}
    )
    assert representable(table).tolist() == [True, False, False, True, False, True]


def test_an_output_whose_places_overlap_has_no_data_and_an_input_may_repeat_its_own() -> None:
    small, large = TensorDesc((2, 3, 4), "FLOAT"), TensorDesc((2, 5, 6), "FLOAT")
    args = {"gradOutput": large, "self": small, "padding": (1, 1, 1, 1), "gradInput": small}
    changes = (
        {},
        {"gradInput": (0, 4, 1)},
        {"gradInput": (12, 2, 1)},
        {"gradOutput": (0, 0, 0)},
        {"gradInput": (1, 2, 6)},
    )
    calls = [
        NamedCall(
            str(i),
            Call(
                "aclnnReflectionPad2dBackward",
                "ascend910b",
                {
                    **args,
                    **{
                        name: replace(args[name], strides=strides)
                        for name, strides in change.items()
                    },
                },
            ),
            {},
        )
        for i, change in enumerate(changes)
    ]
    made = of_calls(calls)
    assert [case.phase for case in made.cases] == [2, 1, 1, 2, 2]


def test_a_view_that_reaches_far_has_no_data() -> None:
    """Nothing but its strides says that its storage has more than 10^9 elements."""
    far = 10**9
    layouts = (
        {},
        {"strides": (1000, 6, 1)},
        {"strides": (far, 6, 1)},
        {"offset": far},
        {"strides": (0, -far, 1), "offset": 4 * far},
    )
    small, large = TensorDesc((2, 3, 4), "FLOAT"), TensorDesc((2, 5, 6), "FLOAT")
    args = {"gradOutput": large, "self": small, "padding": (1, 1, 1, 1), "gradInput": small}
    calls = [
        NamedCall(
            str(i),
            Call(
                "aclnnReflectionPad2dBackward",
                "ascend910b",
                {**args, "gradOutput": replace(large, **layout)},
            ),
            {},
        )
        for i, layout in enumerate(layouts)
    ]
    made = of_calls(calls, limit=CaseLimit(far, "elements", "of no more"))
    assert [case.phase for case in made.cases] == [2, 2, 1, 1, 1]
    assert [case.page.codes for case in made.cases] == [(0,)] * 5


@pytest.mark.parametrize(
    ("desc", "plain", "held", "extents"),
    [
        (TensorDesc((2, 3), "FLOAT"), True, 6, (2, 3)),
        (TensorDesc((), "FLOAT"), True, 1, ()),
        (TensorDesc((2, 3), "FLOAT", offset=4), False, 10, (10,)),
        (TensorDesc((2, 6), "FLOAT", strides=(50, 1)), False, 56, (56,)),
        (TensorDesc((2, 6), "FLOAT", strides=(6, -1), offset=5), False, 12, (12,)),
        (TensorDesc((2, 3), "FLOAT", storage_shape=(4, 5)), False, 20, (4, 5)),
        (TensorDesc((2, 3), "FLOAT", strides=(1, 2), offset=-9), False, 0, (0,)),
        (TensorDesc((0, 3), "FLOAT", strides=(100, 1), offset=2), False, 2, (2,)),
        (TensorDesc((0, 3), "FLOAT", offset=-2), False, 0, (0,)),
    ],
)
def test_storage(desc: TensorDesc, plain: bool, held: int, extents: tuple[int, ...]) -> None:
    assert (desc.plain, desc.storage_elements, desc.storage_extents) == (plain, held, extents)


def test_wrong_devices_stay_inside_a_storage_that_is_smaller_than_the_view() -> None:
    for desc in (
        TensorDesc((2, 3), "FLOAT", strides=(0, 0)),
        TensorDesc((2, 3), "FLOAT", strides=(1, -1), offset=2),
    ):
        storage = np.arange(2.0 * desc.storage_elements).reshape(2, -1)
        wrapped = (desc.offset + np.arange(6)) % desc.storage_elements
        assert np.array_equal(contiguous(storage, desc), storage[:, wrapped])
        laid = written_contiguous(np.arange(12.0).reshape(2, 2, 3), desc)
        assert laid.shape == (2, 2, 3) and np.isfinite(laid).all()
