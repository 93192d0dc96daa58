"""Where tensors lie, held against a twin that puts one after the other."""

import numpy as np
import pytest

from opgen.bundle.format.dtypes import DTYPES, ROLES, BundleError
from opgen.bundle.format.layout import Layout
from opgen.calls.categorical import Categorical
from opgen.calls.stored_tensors import StoredTensors
from tests.support.bundle_sample import planned

UNITS = {"FLOAT16": 32, "DOUBLE": 8, "BOOL": 64}
"""Elements between the places where a tensor may begin, every 64 bytes."""
CASES = 40


def some(seed: int) -> list[list[tuple[str, str, str, int]]]:
    """The tensors of some cases: name, role, dtype, elements. Some cases have the same list, some
    an equal one, some nothing.
    """
    draw = np.random.default_rng(seed)
    kinds = [
        (name, role, dtype) for name in "abc" for role in ("golden", "input") for dtype in UNITS
    ]
    sets = [
        [
            (*kinds[at], int(draw.integers(0, 90)))
            for at in draw.permutation(len(kinds))[: draw.integers(0, 5)]
        ]
        for _ in range(6)
    ]
    sets += [list(one) for one in sets]
    return [sets[at] for at in draw.integers(0, len(sets), CASES)]


@pytest.mark.parametrize("seed", range(8))
def test_cases_that_are_alike_are_neighbours(seed: int) -> None:
    tensors = some(seed)
    layout, used = planned(tensors), dict.fromkeys(UNITS, 0)
    places: dict[int, list[int]] = {}
    for alike in dict.fromkeys(map(tuple, tensors)):
        for case in [case for case, rows in enumerate(tensors) if tuple(rows) == alike]:
            places[case] = []
            for _, _, dtype, size in alike:
                places[case].append(used[dtype])
                used[dtype] += -(-size // UNITS[dtype]) * UNITS[dtype]
    there = {dtype for rows in tensors for _, _, dtype, _ in rows}
    assert layout.position.tolist() == [place for case in range(CASES) for place in places[case]]
    assert layout.blobs == {dtype: size for dtype, size in used.items() if dtype in there}


@pytest.mark.parametrize("seed", range(8))
def test_columns_say_what_was_planned(seed: int) -> None:
    tensors = some(seed)
    layout, rows = (
        planned(tensors),
        [(case, *one) for case, rows in enumerate(tensors) for one in rows],
    )
    columns = layout.case, layout.name, layout.role, layout.dtype, layout.elements
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        (case, layout.names.index(name), ROLES[role], DTYPES[dtype], size)
        for case, name, role, dtype, size in rows
    ]
    assert layout.starts.tolist() == [
        sum(case < at for case, *_ in rows) for at in range(CASES + 1)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_a_tensor_is_found_where_it_is(seed: int) -> None:
    tensors = some(seed)
    layout, first = planned(tensors), dict[tuple[int, str, str], int]()
    for at, (case, name, role) in enumerate(
        (case, *one[:2]) for case, rows in enumerate(tensors) for one in rows
    ):
        first.setdefault((case, name, role), at)
    asked = [
        (case, name, role)
        for case in range(-3, CASES + 3)
        for name in (*layout.names, "other")
        for role in ROLES
    ]
    codes = [layout.codes.get((name, role), -1) for _, name, role in asked]
    assert layout.rows(np.array([case for case, _, _ in asked]), np.array(codes)).tolist() == [
        first.get(one, -1) for one in asked
    ]


def test_nothing_lies_nowhere() -> None:
    for layout in (planned([]), planned([[], []])):
        assert not layout.blobs and not len(layout.position)
        assert (
            layout.rows(np.zeros(layout.cases, dtype=np.int64), np.full(layout.cases, -1)).tolist()
            == [-1] * layout.cases
        )


@pytest.mark.parametrize("elements", [-100, 2**63 - 1])
def test_no_tensor_has_less_than_nothing(elements: int) -> None:
    one, none = np.array([1]), np.array([0])
    with pytest.raises(BundleError, match="no file can hold"):
        kind = Categorical((("x", "input", "FLOAT"),), none)
        Layout.of(StoredTensors(kind, np.array([elements]), one, none))
