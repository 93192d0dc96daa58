"""Suites have calls on both sides of every boundary, and at general sizes; smoke suites have
none.
"""

from __future__ import annotations

from functools import cache

import pytest

from opgen.files.yamlfile import parse
from opgen.spec.catalog import catalog
from opgen.spec.sizes import Sizes, shipped_sizes
from opgen.suite.enumeration.size_calls import free_extents, size_calls, sizes_of
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.suite import plan_suite
from tests.support.suites import plan

NORM, POOL, PAD = "aclnnGroupNormBackward", "aclnnAvgPool2dBackward", "aclnnReflectionPad2dBackward"
A2 = "ascend910b"


def page(api: str):
    return catalog().by_page[api, A2]


@cache
def made(api: str, strength: int = 2):
    compiled = CompiledPlan(page(api), plan(page(api).op), "standard")
    return size_calls(compiled, shipped_sizes(), strength)


@pytest.mark.parametrize("api", [NORM, POOL, PAD, "aclnnSigmoidBackward"])
def test_every_size_has_a_legal_call(api: str) -> None:
    judged, calls = made(api)
    assert judged.valid.all() and len(calls) == len(judged.table)
    missing = [
        size.note for size in sizes_of(page(api), shipped_sizes()) if not size.stands(judged).any()
    ]
    assert missing == (["C 9", "C 17", "C 25", "C 49", "C 129"] if api == NORM else [])


def numbers(judged, row: int, names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(int(judged.view.get((name, "")).data[row]) for name in names)


def test_group_norm_stands_on_both_sides_of_each_mode_of_its_tiling() -> None:
    """The modes as `group_norm_grad_tiling.cpp` chooses them, written again: all five."""
    judged, calls = made(NORM)
    seen = set()
    for call in calls:
        n, c, hw, group = numbers(judged, call.row, ("N", "C", "HxW", "group"))
        wide = judged.table.call(call.row).args["gradOut"].dtype == "FLOAT"
        d, e, b = c // group, 8 if wide else 16, 4 if wide else 6

        def up(x: int, e: int = e) -> int:
            return -(-x // e) * e

        room = 196608 - 1024 - up(d) * b * 3
        extra = 0 if hw % 8 == 0 or d == 1 else 2 * up(hw) * 4
        whole, channels = (room - extra) // (up(d * hw) * b * 3), room // (up(hw) * b * 3)
        mode = 5 if hw == 1 else 0 if whole else {0: 3, 1: 1}.get(channels, 2)
        seen.add((mode, wide))
    assert seen == {(mode, wide) for mode in (0, 1, 2, 3, 5) for wide in (True, False)}


def test_a_dense_tier_has_each_size_on_each_product_and_in_each_dtype() -> None:
    judged, _ = made(PAD, 3)
    few, _ = made(PAD, 2)
    assert len(judged.table) > 3 * len(few.table)


def test_a_point_on_the_wrong_side_makes_no_call() -> None:
    text = """
general: {one: {elements: 5, why: one}}
operators:
  avg_pool2d_backward:
    names: [N, C]
    products: [ascend910b]
    boundaries:
      wrong: {holds: C <= 4, inside: [[1, 5]], outside: [[1, 6]], source: nowhere, basis: read}
"""
    spec = page(POOL)
    _, calls = size_calls(CompiledPlan(spec, plan(spec.op), "standard"), Sizes(parse(text, "t")), 2)
    notes = [call.note for call in calls]
    assert [note for note in notes if "wrong" in note] == ["beyond wrong: N 1, C 6"] * 3
    assert {"C 5", "C 6"} <= set(notes)


@pytest.mark.parametrize(("tier", "some"), [("smoke", False), ("standard", True)])
def test_suites_from_pairs_on_have_them(tier: str, some: bool) -> None:
    spec = page(PAD)
    suite = plan_suite([(spec, plan(spec.op))], tier)
    intents = [case.intent for case in suite.cases if "both_slots" in case.intent]
    assert bool(intents) == some
    assert not some or {case.page.bucket for case in suite.cases if case.intent in intents} == {
        "valid"
    }


def test_extents_are_free_that_no_page_tells() -> None:
    assert free_extents(page(PAD)) == [("N", ""), ("C", ""), ("H", ""), ("W", "")]
    assert free_extents(page(NORM)) == [("N", ""), ("C", ""), ("HxW", "")]
    assert free_extents(page("aclnnSigmoidBackward")) == [("gradOutput", "numel")]
