"""Enumeration: the same every time, legal where it says so, as strong as a tier asks, within its
budget.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import replace
from itertools import compress
from math import prod
from pathlib import Path

import numpy as np
import pytest

from opgen.calls.case_table import CaseTable
from opgen.calls.categorical import Categorical
from opgen.calls.purposes import Purpose
from opgen.calls.table import from_calls
from opgen.files.resources import cases_folder
from opgen.model import Call, FileError, Kind, TensorDesc
from opgen.oracle.judgement import judge
from opgen.suite.budget import BYTES, left_out
from opgen.suite.covering import Model, count, cover
from opgen.suite.enumeration.enumerator import enumerate_calls
from opgen.suite.enumeration.levels import levels_of
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning import constraints
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.plan import load_plan
from opgen.suite.planning.tier_form import Tier
from opgen.suite.remarks import remarks
from opgen.suite.selection import Request
from opgen.suite.suite import Suite
from tests.support.enumerations import enumerated_once
from tests.support.suites import EVERY, FULL, PAGES, page, plan, suite


def with_tier(op: str, **changes):
    """The plan of an operator with other numbers in its standard tier."""
    made = plan(op)
    return replace(
        made, tiers={**made.tiers, "standard": replace(made.tiers["standard"], **changes)}
    )


@pytest.mark.parametrize("name", PAGES)
def test_the_independent_counter_finds_every_feasible_pair(name: str) -> None:
    report = suite(name).reports[name]
    assert report.dropped == 0 and report.sampled == ()
    (tally,) = count(report.model, report.levels, 2)
    covered, feasible, _ = tally.totals()
    assert covered == feasible > 0


@pytest.mark.parametrize("name", PAGES)
def test_the_groups_of_a_tier_are_covered_too(name: str) -> None:
    spec = page(name)
    report, compiled = suite(name).reports[name], CompiledPlan(spec, plan(spec.op), "standard")
    groups = [
        ([compiled.position(axis) for axis in axes], t)
        for axes, t in plan(spec.op).tiers["standard"].groups
    ]
    for tally in count(report.model, report.levels, 2, groups)[1:]:
        covered, feasible, _ = tally.totals()
        assert covered == feasible > 0


def test_a_missing_row_would_be_noticed() -> None:
    report = suite("reflection_pad2d_backward").reports["reflection_pad2d_backward"]
    (tally,) = count(report.model, report.levels[:20], 2)
    covered, feasible, _ = tally.totals()
    assert covered < feasible


@pytest.mark.parametrize("huge", [2**32, 2**61, 2**62, 2**63 - 1])
def test_extents_of_any_size_make_calls_that_64_bits_hold(tmp_path: Path, huge: int) -> None:
    text = (cases_folder() / "reflection_pad2d_backward.yaml").read_text("utf-8")
    for values in ("[[2, 3], [1, 1], [4, 1], [1, 17]]", "[[2, 3], [1, 17]]"):
        assert values in text
        text = text.replace(values, f"[[2, {huge}], [1, 1]]")
    (tmp_path / "plan.yaml").write_text(text, "utf-8")
    made = plan_suite(
        [(page("reflection_pad2d_backward"), load_plan(tmp_path / "plan.yaml"))], "smoke"
    )
    descs = [
        value
        for case in made.cases
        for value in case.call.args.values()
        if isinstance(value, TensorDesc)
    ]
    numbers = {
        n
        for desc in descs
        for n in (*desc.shape, *(desc.strides or ()), desc.offset, *(desc.storage_shape or ()))
    }
    assert huge in numbers and max(numbers) < 2**63 and len(made.cases) > 100
    assert any(case.kind == "valid" and case.phase == 2 for case in made.cases)


def test_two_runs_are_the_same() -> None:
    spec = page("avg_pool2d_backward")
    one, two = (enumerate_calls(spec, plan(spec.op), "smoke") for _ in range(2))
    assert one.judged.table.calls() == two.judged.table.calls()
    for a, b in ((one.kind, two.kind), (one.purposes, two.purposes), (one.recipe, two.recipe)):
        assert list(a) == list(b)
    assert one.nearest_valid.tolist() == two.nearest_valid.tolist()


@pytest.mark.parametrize(
    "name", ["avg_pool2d_backward", "group_norm_backward", "convolution_backward.atlas"]
)
def test_calls_are_what_they_are_said_to_be(name: str) -> None:
    spec = page(name)
    drafted = enumerate_calls(spec, plan(spec.op), "smoke")
    judged = judge(spec, drafted.judged.table)
    valid = np.array([kind == "valid" for kind in drafted.kind])
    assert judged.valid[valid].all() and not judged.valid[~valid].any()
    assert (drafted.nearest_valid[valid] == -1).all() and judged.valid[
        drafted.nearest_valid[~valid]
    ].all()
    for column in drafted.judged.table.columns.values():
        if hasattr(column, "shape"):
            assert (column.shape[valid] >= 0).all()


def test_a_tier_of_strength_zero_makes_nothing_of_its_own() -> None:
    spec = page("avg_pool2d_backward")
    assert not len(enumerate_calls(spec, plan(spec.op), "crash").judged.table)
    cases = suite(spec.name, "crash").cases
    assert {case.kind for case in cases} == {"handwritten"} and all(
        case.call.args["stride"] is None for case in cases
    )


@pytest.mark.parametrize(
    ("asked", "verbs"),
    [
        (
            {"invalid": 1, "limits": 1},
            {"breaks", "computes", "exempts", "limits", "lists", "nearest_valid"},
        ),
        ({"invalid": 1, "limits": 0}, {"breaks", "nearest_valid"}),
        ({"invalid": 0, "limits": 1}, {"computes", "exempts", "limits", "lists"}),
        ({"invalid": 0, "limits": 0}, set()),
    ],
)
def test_a_tier_of_strength_zero_still_breaks_rules_and_stands_at_limits(
    asked: dict[str, int], verbs: set[str]
) -> None:
    spec = page("avg_pool2d_backward")
    drafted = enumerate_calls(
        spec, with_tier(spec.op, strength=0, groups=(), pairs=0, **asked), "standard"
    )
    assert {purpose.verb for purposes in drafted.purposes for purpose in purposes} == verbs
    judged = judge(spec, drafted.judged.table)
    assert judged.valid.tolist() == [kind == "valid" for kind in drafted.kind]
    assert {
        rule.id
        for rule, broken in zip(spec.rules, judged.broken, strict=True)
        if broken.any() and rule.forbids
    } == ({rule.id for rule in spec.rules if rule.forbids} if asked["invalid"] else set())


@pytest.mark.parametrize("name", PAGES)
def test_no_case_ends_the_host_process(name: str) -> None:
    """A device may fault, where the library accepts what published code is wrong about."""
    answers = [case.library.codes for case in suite(name).cases if case.library]
    assert not any("crash" in codes and 0 not in codes for codes in answers)


def test_a_budget_in_cases_keeps_what_is_needed() -> None:
    spec = page("reflection_pad2d_backward")
    made = plan_suite([(spec, with_tier(spec.op, cases=300))], "standard")
    assert len(made.cases) == 300
    [budget] = made.left_out
    assert (budget.page, budget.key, budget.data_only) == (spec.name, "cases", False)
    assert set(budget.cases) == set(suite(spec.name).cases.id) - set(made.cases.id)
    ids = {case.id for case in made.cases}
    assert all(case.nearest_valid in ids for case in made.cases if case.nearest_valid)
    assert sum(case.kind == "invalid" for case in made.cases) == sum(
        case.kind == "invalid" for case in suite(spec.name).cases
    )


def test_a_budget_in_bytes_leaves_cases_out() -> None:
    spec = page("reflection_pad2d_backward")
    made = plan_suite([(spec, with_tier(spec.op, bytes=200_000))], "standard")
    [budget] = made.left_out
    assert (budget.key, budget.data_only) == ("bytes", False)
    assert set(budget.cases) == set(suite(spec.name).cases.id) - set(made.cases.id) != set()


def elements_of(call: Call) -> int:
    return sum(prod(arg.shape) for arg in call.args.values() if isinstance(arg, TensorDesc))


@pytest.fixture(scope="module")
def plain() -> Call:
    """A call with data and without views."""
    cases = (case for case in suite("reflection_pad2d_backward").cases if case.phase == 2)
    descs = (
        (case.call, [arg for arg in case.call.args.values() if isinstance(arg, TensorDesc)])
        for case in cases
    )
    return next(
        call for call, tensors in descs if all(desc.plain and prod(desc.shape) for desc in tensors)
    )


def test_a_budget_is_kept_to_the_case_and_to_the_byte(plain: Call) -> None:
    """What breaks a rule costs nothing and comes first, then what that is compared with; a call
    that gets no data costs nothing.
    """
    spec, size = page("reflection_pad2d_backward"), elements_of(plain)
    table, one = from_calls(spec.api, spec.kinds, [plain] * 4), BYTES * size
    kinds: list[Kind] = ["valid", "valid", "invalid", "valid"]
    cases = CaseTable.of_calls(
        table,
        np.arange(4),
        list("abcd"),
        Categorical.of(kinds),
        Categorical.constant((), 4),
        Categorical.of(["", "", "d", ""]),
        Categorical.constant("", 4),
    )
    asked = [
        ({"bytes": 3 * one}, "abcd"),
        ({"bytes": 3 * one - 1}, "acd"),
        ({"bytes": 2 * one}, "acd"),
        ({"bytes": 2 * one - 1}, "cd"),
        ({"bytes": one - 1}, "c"),
        ({"cases": 4}, "abcd"),
        ({"cases": 3}, "acd"),
        ({"cases": 2}, "cd"),
        ({"cases": 1}, "c"),
        ({"bytes": 0, "elements": size}, "c"),
        ({"bytes": 0, "elements": size - 1}, "abcd"),
    ]
    for limits, kept in asked:
        over = left_out(cases, Tier(1, **limits))
        assert "".join(compress("abcd", ~(over["bytes"] | over["cases"]))) == kept, limits


def test_too_large_a_call_has_no_data() -> None:
    spec = page("convolution_backward.ascend910b")
    elements = plan(spec.op).tiers["standard"].elements
    large = [
        case for case in suite(spec.name).cases if case.page.bucket == "valid" and case.phase == 1
    ]
    assert large, "a legal boundary that is too large to allocate is a call of the first phase"
    for case in large:
        held = sum(
            int(np.prod(arg.shape, dtype=np.float64))
            for arg in case.call.args.values()
            if hasattr(arg, "shape")
        )
        assert held > elements / 2


@pytest.mark.parametrize(
    "axes", ["{rank: [4], padLeft: [3, 4], W: [3]}", "{rank: [4], padLeft: [9], W: [3, 2]}"]
)
def test_a_plan_that_makes_no_legal_call_is_told(tmp_path, axes) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        f"op: aclnnReflectionPad2dBackward\naxes: {axes}\ntiers: {{smoke: {{strength: 1}}}}\n"
    )
    with pytest.raises(
        FileError,
        match="axes: makes no legal call of .*: all values of padLeft, W break left_below_width$",
    ):
        enumerate_calls(page("reflection_pad2d_backward"), load_plan(path), "smoke")


@pytest.mark.parametrize(
    "factors", [f"{2**62} * 2", f"{2**63 - 1} * padTop", " * ".join([f"{2**63 - 1}"] * 3)]
)
def test_a_plan_whose_extents_nobody_can_hold_is_told(factors: str, tmp_path: Path) -> None:
    shipped = (cases_folder() / "reflection_pad2d_backward.yaml").read_text(encoding="utf-8")
    own = shipped.replace(
        'H: "max(padTop, padBottom) + growH"', f'H: "{factors} * (padBottom + growH)"'
    )
    assert own != shipped
    (tmp_path / "own.yaml").write_text(own, encoding="utf-8")
    with pytest.raises(
        FileError,
        match="own.yaml: axes: makes no legal call of .*, or need numbers of more than 64 bits$",
    ):
        Request(plan=str(tmp_path / "own.yaml")).suite()


def test_a_plan_that_cannot_end_is_refused_before_it_starts(tmp_path: Path) -> None:
    """23 axes of 100 values each: 10^10 fours, which no memory holds."""
    own = "".join(f"  a{i}: {list(range(100))}\n" for i in range(23))
    lets = "let: {H: 3, W: " + " + ".join(f"a{i}" for i in range(23)) + "}\n"
    path = tmp_path / "endless.yaml"
    text = f"op: reflection_pad2d_backward\naxes:\n{own}{lets}tiers: {{smoke: {{strength: 4}}}}\n"
    path.write_text(text, encoding="utf-8")
    told = "tiers.smoke: asks for 885,500,000,000 combinations of .*; give it a smaller strength"
    with pytest.raises(FileError, match=told):
        Request(plan=str(path)).suite()


def test_a_plan_that_takes_minutes_says_so_and_what_is_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    values = list(range(1, 451))
    path = tmp_path / "slow.yaml"
    path.write_text(
        "op: reflection_pad2d_backward\n"
        f"axes: {{product: [ascend910b], H: {values}, W: {values}}}\n"
        "tiers: {smoke: {strength: 2, cases: 3, invalid: 0, limits: 0}}\n",
        encoding="utf-8",
    )
    told: list[int] = []
    made = Request(plan=str(path)).suite()
    assert len(made.cases) == 3 * len(made.reports) > 0
    assert "203,400 combinations of values take minutes to cover" in caplog.text
    cover(Model((6, 6)), progress=told.append)
    assert told[-1] == 0 and len(told) > 36


def made_by(tmp_path: Path, op: str, axes: str):
    path = tmp_path / "plan.yaml"
    path.write_text(f"op: {op}\naxes: {{{axes}}}\ntiers: {{smoke: {{strength: 1}}}}\n")
    return Request(plan=str(path)).suite()


def first_valid(made) -> dict:
    return next(case.call.args for case in made.cases if case.kind == "valid")


@pytest.mark.parametrize(
    ("op", "axes", "tensor", "shape"),
    [
        ("aclnnReflectionPad2dBackward", "H: [4], W: [4], N: [2], C: [3]", "self", (2, 3, 4, 4)),
        ("aclnnAvgPool2dBackward", "kH: [2], kW: [3], Hin: [4], Win: [5]", "self", (1, 1, 4, 5)),
        (
            "aclnnConvolutionBackward",
            "product: [ascend910b], opW: [0], Win: [5], Co: [2]",
            "input",
            (1, 1, 5),
        ),
    ],
)
def test_without_an_axis_tensors_have_the_first_rank_of_the_page(
    tmp_path: Path, op: str, axes: str, tensor: str, shape: tuple
) -> None:
    assert first_valid(made_by(tmp_path, op, axes))[tensor].shape == shape


def test_without_an_axis_arrays_are_as_long_as_the_page_lets_them(tmp_path: Path) -> None:
    args = first_valid(
        made_by(
            tmp_path,
            "aclnnAvgPool2dBackward",
            "win: {sets: [kH, kW], values: [[3, 2], [2, 3]]}, Hin: [8], Win: [8]",
        )
    )
    assert [len(args[name]) for name in ("kernelSize", "stride", "padding")] == [2, 2, 2] and args[
        "kernelSize"
    ][0] != args["kernelSize"][1]
    args = first_valid(
        made_by(
            tmp_path,
            "aclnnConvolutionBackward",
            "product: [ascend910b], rank: [4], opH: [0], opW: [0], padTop: [2]",
        )
    )
    assert args["padding"] == (2, 1, 1, 1)


def test_a_value_that_stands_in_no_call_is_told(tmp_path: Path) -> None:
    made = made_by(
        tmp_path,
        "aclnnAvgPool2dBackward",
        "win: {sets: [kH, kW], values: [[1, 1], [3, 3]]}, Hin: [8], Win: [8]",
    )
    (line,) = remarks(Request(), made)
    assert line.endswith(
        "plan.yaml: no call has win = [1, 1]: forbidden by pad_height, pad_width; by default padH"
        " is 1, padW is 1"
    )
    made = made_by(
        tmp_path,
        "aclnnAvgPool2dBackward",
        "win: {sets: [kH, kW], values: [[2, 2], [3, 3]]}, Hin: [8], Win: [8]",
    )
    assert not remarks(Request(), made)


def test_a_value_that_only_dropped_calls_have_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too large to list, a rule is held against the calls themselves."""
    monkeypatch.setattr(constraints, "MOST_CELLS", 3)
    op, axes = "aclnnReflectionPad2dBackward", "H: [7], rank: [4], padLeft: [0, 1, 2, 5], W: [3, 4]"
    made = made_by(tmp_path, op, axes)
    report = made.reports["reflection_pad2d_backward"]
    assert (report.sampled, report.dropped, len(report.levels)) == (("left_below_width",), 1, 3)
    told = "padLeft = 5: forbidden by left_below_width in every call that was tried"
    assert [line.partition("no call has ")[2] for line in remarks(Request(), made)] == [told]
    spec = page("reflection_pad2d_backward")
    calls = [case.call for case in made.cases if case.kind == "valid"]
    given = [call for call in calls if call.product in spec.judges]
    again = enumerate_calls(spec, load_plan(tmp_path / "plan.yaml"), "smoke", calls).report
    assert 0 < again.given == len(given) < len(calls)  # another edition judges the others
    assert again.dropped and list(again.untried) == ["padLeft = 5"]  # given calls have the widths


@pytest.mark.parametrize(("tier", "names"), [("smoke", EVERY), ("standard", PAGES), ("full", FULL)])
def test_every_value_of_a_shipped_plan_stands_in_a_call_of_some_page(
    tier: str, names: tuple[str, ...]
) -> None:
    some = [suite(name, tier) for name in names]
    whole = Suite(
        CaseTable.concatenate([]),
        batches=[batch for one in some for batch in one.batches],
        plans=dict(ChainMap(*[one.plans for one in some])),
        reports=dict(ChainMap(*[one.reports for one in some])),
    )
    assert set(whole.reports) == set(names) and remarks(Request(), whole) == []


def test_a_value_that_one_page_forbids_and_another_allows_is_not_told() -> None:
    atlas, other = (f"convolution_backward.{page}" for page in ("atlas", "ascend910b"))
    with enumerated_once():
        made = Request(["convolution_backward"]).suite()
    assert (
        "rank = 5" in made.reports[atlas].untried.keys() - made.reports[other].untried.keys()
        and remarks(Request(), made) == []
    )


def test_the_default_that_lets_no_call_be_legal_is_named(tmp_path: Path) -> None:
    told = (
        "all values of rank break output_padding_unused; by default opH is 1, opW is 1, transposed"
        " is false$"
    )
    with pytest.raises(FileError, match=told):
        made_by(tmp_path, "aclnnConvolutionBackward", "product: [ascend910b], rank: [4], kH: [3]")


def test_calls_that_exist_are_not_made_again() -> None:
    spec, tier = page("reflection_pad2d_backward"), "standard"
    alone = enumerate_calls(spec, plan(spec.op), tier)
    calls = [
        call
        for call, kind in zip(alone.judged.table.calls(), alone.kind, strict=True)
        if kind == "valid"
    ]
    some = enumerate_calls(spec, plan(spec.op), tier, calls[: len(calls) // 2])
    assert (
        alone.report.cover is not None
        and some.report.cover is not None
        and some.report.model is not None
    )
    assert 0 < len(some.report.cover) < len(alone.report.cover)
    assert some.report.given == len(calls) // 2
    compiled = CompiledPlan(spec, plan(spec.op), tier)
    seeds = levels_of(
        compiled,
        judge(spec, from_calls(spec.api, spec.kinds, calls[: len(calls) // 2])),
        [""] * (len(calls) // 2),
    )
    covered, feasible, _ = count(some.report.model, np.concatenate([seeds, some.report.levels]), 2)[
        0
    ].totals()
    assert covered == feasible
    assert (
        count(some.report.model, some.report.levels, 2)[0].totals()[0] < feasible
    )  # the given calls were needed


def test_given_calls_of_another_page_or_that_are_forbidden_count_for_nothing() -> None:
    spec = page("reflection_pad2d_backward")
    alone = enumerate_calls(spec, plan(spec.op), "smoke")
    broken = [
        call
        for call, kind in zip(alone.judged.table.calls(), alone.kind, strict=True)
        if kind == "invalid"
    ]
    others = enumerate_calls(
        page("group_norm_backward"), plan("group_norm_backward"), "smoke"
    ).judged.table.calls()
    again = enumerate_calls(spec, plan(spec.op), "smoke", [*broken, *others])
    assert again.report.given == 0
    assert list(again.judged.table.calls()) == list(alone.judged.table.calls())


def test_aims_say_what_a_call_is_for() -> None:
    purposes = [
        Purpose("covers", note="covers every triple"),
        Purpose("nearest_valid"),
        Purpose("limits", ("a",)),
        Purpose("lists", ("a",)),
        Purpose("breaks", ("a",)),
        Purpose("breaks", ("a", "b", "c")),
        Purpose("orders", ("a", "b"), codes=(161002, 561103)),
        Purpose("handwritten", name="one", note="why"),
    ]
    assert list(map(str, purposes)) == [
        "covers every triple",
        "the nearest valid call of an invalid one",
        "at the limit of a",
        "one of what a lists",
        "breaks a",
        "breaks a with b, c",
        "orders a (161002) and b (561103): the code tells which is checked first",
        "one: why",
    ]


def test_limits_of_values_are_broken_alone_on_every_product() -> None:
    made = suite("batch_norm_backward", "smoke")
    cases = {case.id: case for case in made.cases}
    for rule, tensor in (("running_var_sign", "runningVar"), ("save_invstd_sign", "saveInvstd")):
        breaking = [
            case for case in cases.values() if [one.rule for one in case.page.breaks] == [rule]
        ]
        assert {case.call.product for case in breaking} == {*page("batch_norm_backward").products}
        for case in breaking:
            assert case.call.args[tensor].range == (-1, -1)
            twin = cases[case.nearest_valid]
            assert twin.call.product == case.call.product
            plain = replace(case.call.args[tensor], range=None)
            assert {**case.call.args, tensor: plain} == twin.call.args
