"""Overlay: which numbers tip a comparison, how far a call is from a limit, which edits are proposed
at all.
"""

from __future__ import annotations

import numpy as np
import pytest

from opgen.calls.table import from_calls
from opgen.oracle.judgement import judge
from opgen.suite.enumeration.edit_generator import EditGenerator, candidates, distance
from opgen.suite.enumeration.reasons import conjuncts, unreachable
from opgen.suite.planning.edits import FREEZE, MOST_EDITS, EditCollector, one_left_out
from tests.support.suites import PAGES, page, suite


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
    found = candidates(current, [(left, right)])
    assert wanted in found and right in found and current not in found
    assert found == sorted(found, key=lambda n: (abs(n - current), n))


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


def test_edits_of_a_guard_can_break_it_and_reach_its_limit(legal) -> None:
    breaker = EditGenerator(legal)
    found = [dict(edits) for edits in breaker.edits(guard_of(legal, "divisorOverride.range", 1), 0)]
    values = {edits[("divisorOverride", "")] for edits in found}
    assert {255, 256} <= values
    assert len(found) == len({tuple(edits.items()) for edits in found})


def test_one_tensor_may_stay_while_all_others_change(legal) -> None:
    edits = list(EditGenerator(legal).edits(guard_of(legal, "same_dtype"), 0))
    both = [dict(edit) for edit in edits if len(edit) == 2]
    assert any(("dtype", "") in edit and ("self", "dtype") in edit for edit in both)


def test_a_letter_is_never_frozen_alone(legal) -> None:
    breaker = EditGenerator(legal)
    assert FREEZE not in breaker.modes([(("Hin", ""), 3)])
    assert FREEZE in breaker.modes([(("self", ("dim", 2)), 3)])


def test_a_collector_keeps_equal_edits_once() -> None:
    collector = EditCollector()
    first = collector.add(0, [(("a", ""), 1), (("b", "shape"), (2, 3))], 0)
    assert collector.add(0, [(("a", ""), 1), (("b", "shape"), (2, 3))], 0) == first
    assert collector.add(0, [(("a", ""), 1), (("a", ""), 2)], 0) != first
    assert collector.add(0, [((str(i), ""), 1) for i in range(MOST_EDITS + 1)], 0) == -1
    made = collector.table()
    assert made.of(0) == [(("a", ""), 1), (("b", "shape"), (2, 3))]
    assert made.of(1) == [(("a", ""), 2)]
    edits = made.columns()
    assert edits["a", ""].data.tolist() == [1, 2] and edits["b", "shape"].bound.tolist() == [
        True,
        False,
    ]
    assert edits["b", "shape"].data[1][0].tolist() == [2, 3]


def test_calls_between_two_are_one_edit_less() -> None:
    assert list(one_left_out([(("a", ""), 1)])) == []
    assert [
        len(edits) for edits in one_left_out([(("a", ""), 1), (("b", ""), 2), (("c", ""), 3)])
    ] == [
        2,
        2,
        2,
    ]


def test_conditions_are_taken_apart() -> None:
    (guard,) = page("convolution_backward.atlas").rule["depthwise_3d_bf16_out"].guards
    assert len(conjuncts(guard)) == 4
    (guard,) = page("convolution_backward.atlas").rule["biasSizes.null"].guards
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
