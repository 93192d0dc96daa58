"""Calls that decide what is open, and a library that is learnt from a suite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from opgen.calls.call_json import to_json
from opgen.calls.jsonl import NamedCall
from opgen.calls.table import from_calls
from opgen.cli import main
from opgen.learning import statuses
from opgen.learning.asking import Question, most_useful, open_rules, questions
from opgen.learning.learner import learn
from opgen.learning.lesson import Lesson, enforced
from opgen.learning.statuses import DIED
from opgen.model import CRASH, Call, Code, TensorDesc
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from opgen.suite.selection import Request
from tests.learning import planted

POOL = "aclnnAvgPool2dBackward"
SPEC = "avg_pool2d_backward"
WIDE = {"gradInput.dtype", "same_dtype"}
"""What the page says against a gradInput of another dtype."""


@pytest.fixture(scope="module")
def standard() -> list[NamedCall]:
    cases = Request(operators=[SPEC], plan="standard").suite().cases
    (table,) = cases.calls
    calls = table.take(cases.row).calls()
    return [NamedCall(name, call, {}) for name, call in zip(cases.id, calls, strict=True)]


def is_a(call: Call, name: str, dtype: str) -> bool:
    tensor = call.args[name]
    return isinstance(tensor, TensorDesc) and tensor.dtype == dtype


def library(call: Call, broken: set[str]) -> Code | None:
    """Five of six deviations, the sixth being a rule that is not enforced: a crash, another code, a
    refusal, a dtype that one product takes, and a precedence that the page does not admit.
    """
    if broken >= {"pad_height", "pad_width"}:
        return 561103
    if "padding.null" in broken:
        return CRASH
    if broken == {"divisorOverride.range"}:
        return 561103
    left = broken - WIDE if call.product == "ascend910b" else broken
    refused = call.args["countIncludePad"] and call.product == "ascend310p"
    return None if left else 561003 if refused else 0


def taught(folder: Path, calls: Iterable[NamedCall]) -> Lesson:
    lines = planted.returned(list(calls), [library], ["same_rank"])
    known = statuses.read([planted.write(folder / "calls.jsonl", lines)], catalog())
    return learn(known.pages[0])


def asked_too(lesson: Lesson, suite: list[NamedCall]) -> list[NamedCall]:
    """The calls of a suite, and those that answer one round of questions."""
    cases = Request(operators=[SPEC], plan="full").suite().cases
    mine = cases.product.mask(lesson.returned.spec.judges.__contains__)
    (table,) = cases.calls
    asked = questions(lesson, table.take(cases.row[mine]))
    return [*suite, *(NamedCall(f"ask-{i}", one.call, {}) for i, one in enumerate(asked))]


def test_six_planted_deviations_are_learnt_from_a_suite_and_nothing_else(
    tmp_path: Path, standard: list[NamedCall]
) -> None:
    lesson = taught(tmp_path, asked_too(taught(tmp_path, standard), standard))
    spec = lesson.returned.spec
    deviating = [
        each
        for each in lesson.entries
        if each.differs and (not each.rules or any(spec.rule[rule].forbids for rule in each.rules))
    ]
    wide = [each for each in deviating if each.status == 0 and set(each.rules) <= WIDE]
    assert {rule for each in wide for rule in each.rules} == WIDE
    when = {rule: each.when for each in wide for rule in each.rules}
    assert when["same_dtype"] == "product == 'ascend910b'", "gradInput.dtype is never broken alone"
    told = [(each.rules, each.beside, each.when, each.status) for each in deviating]
    others = {each for each, finding in zip(told, deviating, strict=True) if finding not in wide}
    assert others == {
        (("same_rank",), (), "", 0),
        (("divisorOverride.range",), (), "", 561103),
        ((), (), "countIncludePad and product == 'ascend310p'", 561003),
        (("padding.null",), (), "", DIED),
        (("pad_height",), ("pad_width",), "", 561103),
    }


def test_what_is_open_is_asked_and_decided(tmp_path: Path, standard: list[NamedCall]) -> None:
    """Of two rules that calls break, none that breaks either is known at first."""
    spec = catalog().specs[[one.name for one in catalog().specs].index(SPEC)]
    table = from_calls(POOL, spec.kinds, [one.call for one in standard])
    unseen = [rule.id in ("channels", "padding.length") for rule in spec.rules]
    left_out = judge(spec, table).broken[unseen].any(axis=0)
    few = [one for one, left in zip(standard, left_out.tolist(), strict=True) if not left]
    lesson = taught(tmp_path, few)
    needs = open_rules(lesson)
    asked = questions(lesson, table)
    assert Counter(one.rule for one in asked) == {"channels": 3, "padding.length": 3}
    assert {one.rule for one in asked} <= set(needs)
    for one in asked:
        judged = judge(spec, from_calls(POOL, spec.kinds, [one.call]))
        broken = enforced(judged, lesson.entries)[:, 0]
        assert [spec.rules[i].id for i in np.flatnonzero(broken)] == [one.rule]
    more = [NamedCall(f"ask-{i}", one.call, {}) for i, one in enumerate(asked)]
    after = taught(tmp_path, [*few, *more])
    seen = {one.rule.id: one.became for one in after.outcomes}
    assert all(seen[one.rule] != "not seen" for one in asked)


def test_calls_like_those_that_ended_the_host_come_last(
    tmp_path: Path, standard: list[NamedCall]
) -> None:
    nulls = [one for one in standard if "padding.null" in one.id][:2]
    others = [one for one in standard if "padding.null" not in one.id]
    lesson = taught(tmp_path, [*others, *nulls])
    table = from_calls(POOL, lesson.returned.spec.kinds, [one.call for one in standard])
    asked = questions(lesson, table)
    assert [one.deadly for one in asked] == sorted(one.deadly for one in asked)
    assert {one.rule for one in asked if one.deadly} == {"padding.null"}


def test_every_page_has_its_turn() -> None:
    call = Call(POOL, "ascend910b", {})
    first = [Question(call, f"a{i}", False) for i in range(3)]
    second = [Question(call, "b0", True)]
    assert [one.rule for one in most_useful([first, second], 3)] == ["a0", "a1", "b0"]


def test_the_commands(tmp_path: Path, standard: list[NamedCall]) -> None:
    lines = planted.returned(standard[::3], [library], ["same_rank"])
    path = str(planted.write(tmp_path / "calls.jsonl", lines))
    asked = CliRunner().invoke(main, ["learn", path, "--ask", "4", "--plan", "standard"])
    assert asked.exit_code == 0, asked.output
    assert 1 <= len(asked.stdout.splitlines()) <= 4
    assert {"id", "op", "product", "args", "decides"} <= json.loads(
        asked.stdout.splitlines()[0]
    ).keys()
    entry = "divisorOverride_range_returns_561103"
    shown = CliRunner().invoke(main, ["learn", path, "--entry", entry])
    told = [json.loads(line) for line in shown.stdout.splitlines()]
    assert {(one["status"], one["shows"]) for one in told} == {(561103, True)}
    refused = CliRunner().invoke(main, ["learn", path, "--entry", "divisor_returns"])
    assert (refused.exit_code, "no entry is learnt under this id" in refused.output) == (2, True)


def test_results_of_a_run_teach(tmp_path: Path) -> None:
    suite, results = str(tmp_path / "suite.h5"), str(tmp_path / "results.h5")
    run = CliRunner().invoke
    assert run(main, ["generate", "reflection_pad1d_backward", "-o", suite]).exit_code == 0
    backend = "mutant:not_enforced/padding.length"
    assert run(main, ["run", suite, "--backend", backend, "-o", results]).exit_code == 0
    shown = run(main, ["learn", results, "--bundle", suite, "--json"])
    assert shown.exit_code == 0, shown.output
    rules = {
        one["rule"]: one["became"] for one in json.loads(shown.stdout)["operators"][0]["rules"]
    }
    assert rules["padding.length"] == "not enforced"
    assert "confirmed" in rules.values()
    assert run(main, ["learn", suite, "--bundle", suite]).exit_code == 2


def test_a_device_is_asked_run_and_learnt_in_one_command(tmp_path: Path) -> None:
    pad = "reflection_pad1d_backward"
    (table,) = Request(operators=[pad]).suite().cases.calls
    spec = next(each for each in catalog().specs if each.name == pad)
    legal = table.call(int(np.flatnonzero(judge(spec, table).valid)[0]))
    line = {"id": "one", "op": legal.api, "product": legal.product, "args": to_json(legal)}
    plan = str(planted.write(tmp_path / "plan.jsonl", [line]))

    def became(backend: str, rounds: int) -> str:
        args = ["learn", pad, "--backend", backend, "--plan", plan, "--rounds", str(rounds)]
        shown = CliRunner().invoke(main, [*args, "--json"])
        assert shown.exit_code == 0, shown.output
        (page,) = json.loads(shown.stdout)["operators"]
        rules = {rule["rule"]: rule["became"] for rule in page["rules"]}
        return str(rules["padding.length"])

    lets = "mutant:not_enforced/padding.length"
    assert [became(lets, rounds) for rounds in (0, 1)] == ["not seen", "not enforced"]
    assert became("mutant:nothing", 1) == "confirmed"
    both = ["learn", pad, "--backend", lets, "--bundle", __file__]
    assert CliRunner().invoke(main, both).exit_code == 2
    unknown = CliRunner().invoke(main, ["learn", "reflection_pad1", "--backend", lets])
    assert (unknown.exit_code, "reflection_pad1d_backward" in unknown.output) == (2, True)
