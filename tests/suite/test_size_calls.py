"""Suites have calls on both sides of every boundary, and at general sizes; smoke suites have
none.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from opgen.files.yamlfile import parse
from opgen.model import Call
from opgen.spec.catalog import catalog
from opgen.spec.sizes import Sizes, shipped_sizes
from opgen.suite.enumeration.enumerator import enumerate_calls
from opgen.suite.enumeration.size_calls import free_extents, size_calls, sizes_of
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.compiled_plan import CompiledPlan
from tests.support.suites import plan

NORM, POOL, PAD = "aclnnGroupNormBackward", "aclnnAvgPool2dBackward", "aclnnReflectionPad2dBackward"
A2 = "ascend910b"


def page(api: str):
    return catalog().by_page[api, A2]


@cache
def made(api: str, strength: int = 2):
    compiled = CompiledPlan(page(api), plan(page(api).op), "standard")
    return size_calls(compiled, shipped_sizes(), strength)


@pytest.mark.parametrize("api", [NORM, POOL, PAD, "aclnnSigmoidBackward", "aclnnLeakyReluBackward"])
def test_every_size_has_a_legal_call(api: str) -> None:
    """Also where an axis of the plan sets the shapes of several tensors, as in the last."""
    judged, notes, _ = made(api)
    assert judged.valid.all() and len(notes) == len(judged.table)
    sizes = sizes_of(page(api), shipped_sizes())
    assert [size.note for size in sizes if not size.stands(judged).any()] == []


def numbers(judged, row: int, names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(int(judged.view.get((name, "")).data[row]) for name in names)


def test_group_norm_stands_on_both_sides_of_each_mode_of_its_tiling() -> None:
    """The modes as `group_norm_grad_tiling.cpp` chooses them, written again: all five."""
    judged, *_ = made(NORM)
    seen = set()
    for row in range(len(judged.table)):
        n, c, hw, group = numbers(judged, row, ("N", "C", "HxW", "group"))
        wide = judged.table.call(row).args["gradOut"].dtype == "FLOAT"
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
    judged, *_ = made(PAD, 3)
    few, *_ = made(PAD, 2)
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
    compiled = CompiledPlan(spec, plan(spec.op), "standard")
    _, notes, _ = size_calls(compiled, Sizes(parse(text, "t")), 2)
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


def test_a_call_that_exists_is_not_made_again_at_a_size() -> None:
    spec, tier = page(PAD), "standard"
    judged, told, _ = made(PAD, 2)
    every = judged.table.calls()
    exist, other = every[::2], {A2: "ascend910_93", "ascend910_93": A2}
    elsewhere = [replace(call, product=other.get(call.product, A2)) for call in every]
    elsewhere = [call for call in elsewhere if call not in every]

    def sized(given: list[Call]) -> list[Call]:
        table = enumerate_calls(spec, plan(spec.op), tier, given)
        notes = set(told)
        rows = [row for row, (first, *_) in enumerate(table.purposes) if first.note in notes]
        return table.judged.table.take(np.array(rows)).calls()

    assert elsewhere and sized(elsewhere) == every
    assert sized(exist) == [call for call in every if call not in exist]


def test_extents_are_free_that_no_page_tells() -> None:
    assert free_extents(page(PAD)) == [("N", ""), ("C", ""), ("H", ""), ("W", "")]
    assert free_extents(page(NORM)) == [("N", ""), ("C", ""), ("HxW", "")]
    assert free_extents(page("aclnnSigmoidBackward")) == [("gradOutput", "numel")]


def test_relations_stand_in_calls_of_every_dtype_of_an_operator_with_their_names() -> None:
    """A global pool and a stride of the window, told from the calls themselves."""
    judged, *_ = made(POOL)
    names = ("Hin", "Win", "kH", "kW", "sH", "sW", "padH", "padW")
    dtypes: dict[str, set[str]] = {}
    for row in range(len(judged.table)):
        h, w, kh, kw, sh, sw, ph, pw = numbers(judged, row, names)
        dtype = judged.table.call(row).args["gradOutput"].dtype
        if (h, w, ph, pw) == (kh, kw, 0, 0) and min(h, w) > 1:
            dtypes.setdefault("global", set()).add(dtype)
        if (sh, sw) == (kh, kw) and min(kh, kw) > 1:
            dtypes.setdefault("side by side", set()).add(dtype)
        if (kh, kw) == (1, 1) and min(sh, sw) > 1:
            dtypes.setdefault("gaps", set()).add(dtype)
    assert dtypes == dict.fromkeys(
        ("global", "side by side", "gaps"), {"FLOAT", "FLOAT16", "BFLOAT16"}
    )


@pytest.mark.parametrize("op", ["avg_pool3d_backward", "max_pool2d_with_indices_backward"])
def test_every_relation_of_other_pools_has_a_call(op: str) -> None:
    spec = next(spec for spec in catalog().specs if spec.op == op)
    sized, *_ = size_calls(CompiledPlan(spec, plan(op), "standard"), shipped_sizes(), 2)
    wanted = {relation.words for relation in shipped_sizes().relations(spec)}
    notes = {size.note: size.stands(sized).any() for size in sizes_of(spec, shipped_sizes())}
    assert len(wanted) >= 12 and all(notes[words] for words in wanted)
