"""Edits: which numbers tip a comparison, how far a call is from a limit, which edits are proposed
at all.
"""

from __future__ import annotations

import numpy as np
import pytest

from opgen.calls.table import from_calls
from opgen.oracle.judgement import judge
from opgen.suite.enumeration.distance import distance
from opgen.suite.enumeration.edit_generator import EditGenerator
from opgen.suite.enumeration.edit_search import EditSearch
from opgen.suite.enumeration.proposals import FAR, candidates
from opgen.suite.enumeration.reasons import conjuncts, unreachable
from opgen.suite.enumeration.valid_calls import ValidCalls
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.edits import FOLLOW, FREEZE, MOST_EDITS, EditTable
from tests.support.suites import PAGES, page, plan, suite


@pytest.fixture(scope="module")
def legal():
    spec = page("avg_pool2d_backward")
    return judge(
        spec,
        from_calls(
            spec.api,
            spec.kinds,
            [case.call for case in suite(spec.name).cases if case.page.bucket == "valid"],
        ),
    )


def guard_of(judged, rule: str, number: int = 0):
    return judged.spec.rule[rule].guards[number]


@pytest.mark.parametrize(
    ("current", "left", "right", "wanted"),
    [(3, 3, 255, 256), (2, 2, 7, 8), (5, 10, 7, 0), (1, 1, 0, -1), (4, 4, 65535, 65536)],
)
def test_candidates_hold_the_neighbour_beyond_the_limit(
    current: int, left: int, right: int, wanted: int
) -> None:
    number, *sides = (np.array([[n]], dtype=object) for n in (current, left, right))
    near = [n for n in candidates(number, [tuple(sides)])[0].tolist() if n < FAR]
    assert wanted in near and right in near and current not in near
    assert near == sorted(set(near), key=lambda n: (abs(n - current), n))


def test_each_row_has_candidates_of_its_own() -> None:
    current, left, right = (np.array([[a], [b]], dtype=object) for a, b in ((3, 1), (3, 1), (9, 0)))
    both = candidates(current, [(left, right)])
    for row in range(2):
        alone = candidates(current[[row]], [(left[[row]], right[[row]])])
        assert alone[0].tolist() == both[row].tolist()


def test_candidates_beyond_int64_are_exact_or_none() -> None:
    far = np.array([[2**64]], dtype=object)
    assert [n for n in candidates(far, [(far, far)])[0].tolist() if abs(n) < FAR] == [0, -1]


def test_a_distance_is_zero_at_the_limit(legal) -> None:
    rows = len(legal.table)
    away = distance(guard_of(legal, "divisorOverride.range", 1), legal.view, rows)
    assert (away == legal.table.columns["divisorOverride"].values - 255).all()
    pad = distance(guard_of(legal, "pad_height"), legal.view, rows)
    kernel, padding = legal.view.get(("kH", "")).data, legal.view.get(("padH", "")).data
    assert (pad == 2 * padding - kernel).all()


def test_a_distance_to_a_list_is_to_its_nearest_member(legal) -> None:
    assert not distance(guard_of(legal, "cubeMathType.enum"), legal.view, len(legal.table)).any()
    assert not distance(guard_of(legal, "gradOutput.dtype"), legal.view, len(legal.table)).any()


def test_legal_calls_break_no_guard(legal) -> None:
    rows = len(legal.table)
    for rule in legal.spec.rules:
        for guard in rule.guards:
            assert not guard.broken(legal.view, rows).any()
    assert guard_of(legal, "pad_height").applies(legal.view, rows).all()


def proposed(judged, rule: str, rows: list[int], number: int = 0) -> list[tuple[int, dict]]:
    """(place, name -> new value) of every edit that may turn a guard."""
    proposals = EditGenerator(judged).turning(np.array(rows), guard_of(judged, rule, number))
    return [
        (place, {name: int(np.broadcast_to(value, len(places))[i]) for name, value in edits})
        for places, edits in proposals
        for i, place in enumerate(places.tolist())
    ]


def test_edits_of_a_guard_can_break_it_and_reach_its_limit(legal) -> None:
    edits = proposed(legal, "divisorOverride.range", [0], number=1)
    values = [edit["divisorOverride", ""] for _, edit in edits]
    assert {255, 256} <= set(values)
    assert len(values) == len(set(values))


def test_edits_of_many_rows_are_those_of_each(legal) -> None:
    for rule in ("divisorOverride.range", "same_dtype", "pad_height"):
        together = proposed(legal, rule, [3, 0])
        for place, row in enumerate((3, 0)):
            alone = [edit for _, edit in proposed(legal, rule, [row])]
            assert [edit for at, edit in together if at == place] == alone


def test_one_tensor_may_stay_while_all_others_change(legal) -> None:
    both = [edit for _, edit in proposed(legal, "same_dtype", [0]) if len(edit) == 2]
    assert any(("dtype", "") in edit and ("self", "dtype") in edit for edit in both)


@pytest.fixture
def search() -> EditSearch:
    compiled = CompiledPlan(page("avg_pool2d_backward"), plan("avg_pool2d_backward"), "smoke")
    levels = np.zeros((1, len(compiled.axes)), dtype=np.int64)
    builder = compiled.builder(levels)
    judged = judge(compiled.spec, builder.table())
    return EditSearch(compiled, ValidCalls(levels, builder, judged, judged.valid, own=1), bases=1)


def test_a_letter_is_never_frozen_alone(search: EditSearch) -> None:
    search.edit_valid()
    edits = search.edits
    letter, frozen = edits.targets["Hin", ""], edits.mode == FREEZE
    alone = edits.changes[:, 0, 0] == letter
    assert alone.any() and not (alone & frozen).any()
    assert (frozen & (edits.changes[:, 0, 0] == edits.targets["self", ("dim", 2)])).any()


def test_a_call_between_two_has_one_edit_less(search: EditSearch) -> None:
    valid, broken = (("kH", ""), 3), (("divisorOverride", ""), 256)
    both = search.edits.numbered([valid, broken], 1)
    row = search.edits.add(np.array([0]), np.array([FOLLOW]), both)
    search.edit_valid()
    assert not search.edited.valid[row].any()
    ((invalid, near),) = search.nearest(row.tolist()).items()
    assert [invalid] == row.tolist() and search.edited.valid[near]
    expected = search.edits.numbered([valid], 1)
    assert (search.edits.changes[near] == expected[0]).all()


def added(table: EditTable, *edits: tuple) -> int:
    """The row of some edits of the legal row 0."""
    each = [table.numbered([], 1), *(table.numbered([edit], 1) for edit in edits)]
    (row,) = table.add(np.array([0]), np.array([FOLLOW]), np.concatenate(each, axis=1))
    return int(row)


def test_a_table_keeps_equal_edits_once() -> None:
    table = EditTable.unedited(0)
    shape = (("b", "shape"), np.array([[2, 3]]))
    assert added(table, (("a", ""), 1), shape) == 0
    assert added(table, (("a", ""), 1), shape) == 0
    assert added(table, (("a", ""), 1), (("a", ""), 2)) == 1
    assert added(table, *(((str(i), ""), 1) for i in range(MOST_EDITS + 1))) == -1
    assert added(table) == -1
    assert len(table) == 2 and table.base.tolist() == [0, 0]
    assert table.changes[:, 0].tolist() == [[0, 1], [0, 2]]
    columns = table.columns(0)
    assert columns["a", ""].data.tolist() == [1, 2]
    assert columns["b", "shape"].bound.tolist() == [True, False]
    rank, extents = columns["b", "shape"].data
    assert rank[0] == 2 and extents[0].tolist() == [2, 3]


def test_a_later_value_stands_at_the_first_place_of_its_name() -> None:
    table = EditTable.unedited(0)
    added(table, (("a", ""), 1), (("b", ""), 2), (("a", ""), 3))
    numbers = [table.targets["a", ""], table.targets["b", ""]]
    assert table.changes[0, :2].tolist() == [[numbers[0], 3], [numbers[1], 2]]


def test_conditions_are_taken_apart() -> None:
    (guard,) = page("convolution_backward.atlas").rule["depthwise_3d_bf16_out"].guards
    assert len(conjuncts(guard)) == 4
    (guard,) = page("convolution_backward.atlas").rule["bias_sizes_of_empty_input"].guards
    assert conjuncts(guard) == ["outputMask[2]", "input.numel == 0"]


@pytest.mark.parametrize("name", PAGES)
def test_what_is_called_unreachable_is_broken_by_no_call(name: str) -> None:
    spec = page(name)
    judged = judge(
        spec, from_calls(spec.api, spec.kinds, [case.call for case in suite(name).cases])
    )
    for i, rule in enumerate(spec.rules):
        if unreachable(rule, spec):
            assert not judged.broken[i].any()
    assert not unreachable(spec.rule[next(iter(spec.parameters)) + ".dtype"], spec)
    assert np.asarray(judged.broken).shape[0] == len(spec.rules)
