"""The coverage report: what it counts, that less is seen as less, and that calls are read back as
what they were made from.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from opgen.calls.call_json import to_json
from opgen.cli import main
from opgen.files.resources import cases_folder
from opgen.generation import engine
from opgen.oracle.judgement import judge
from opgen.quality.coverage import coverage, of_cases
from opgen.report.coverage import html, summary
from opgen.suite.enumeration.levels import levels_of
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.selection import Request
from tests.support.case_tables import tabulate
from tests.support.suites import SLOW, page, plan, suite

NAMES = (
    "reflection_pad2d_backward",
    "avg_pool2d_backward",
    "convolution_backward.ascend910b",
    "group_norm_backward",
)
READ = None if SLOW else 20
"""Calls of a page that are read back, at most."""


def report(name: str, cases=None) -> dict:
    made, spec = suite(name), page(name)
    if cases is None:
        return coverage(
            of_cases(made.cases, [spec]), {spec.api: plan(spec.op)}, "standard", made.reports
        )
    return coverage(
        of_cases(tabulate(cases), [spec]),
        {spec.api: plan(spec.op)},
        "standard",
    )


@pytest.mark.parametrize("name", NAMES)
def test_choices_are_read_back_off_calls(name: str) -> None:
    """Among the readings of every covering call is the choice that it was made from."""
    made, spec = suite(name), page(name)
    compiled = CompiledPlan(spec, plan(spec.op), "standard")
    levels = made.reports[name].levels[:READ]
    judged = judge(spec, compiled.builder(levels).table())
    recipes = compiled.recipes(levels)
    for row, wanted in enumerate(levels):
        one = judge(spec, judged.table.take(np.array([row])))
        readings = levels_of(compiled, one, [recipes[row]])
        assert (readings == wanted).all(axis=1).any(), (wanted, readings)


def test_fewer_calls_cover_less() -> None:
    cases = suite("reflection_pad2d_backward").cases
    whole, part = (
        report("reflection_pad2d_backward", cases),
        report("reflection_pad2d_backward", list(cases)[:30]),
    )
    assert part["tuples"]["2"] < whole["tuples"]["2"] and part["boundaries"] < whole["boundaries"]
    assert whole["lowest"] <= whole["boundaries"]


def test_a_suite_read_as_calls_covers_every_pair_that_calls_show() -> None:
    read = report("reflection_pad2d_backward", suite("reflection_pad2d_backward").cases)
    assert read["tuples"]["2"] == 100.0 and read["boundaries"] == 100.0


def test_without_the_calls_that_break_a_rule_its_boundary_is_untested() -> None:
    cases = [
        case
        for case in suite("reflection_pad2d_backward").cases
        if not any(b.rule == "left_below_width" for b in case.page.breaks)
    ]
    (rule,) = [
        rule
        for rule in report("reflection_pad2d_backward", cases)["pages"][0]["rules"]
        if rule["rule"] == "left_below_width"
    ]
    assert rule["invalid"] == 0 and rule["tested"] == rule["testable"] - 1
    (boundary,) = [entry for entry in rule["boundaries"] if not entry["calls"]]
    assert boundary["where"] == "invalid" and boundary["reason"] == "no call of the suite is there"


def test_a_limit_must_be_stood_on() -> None:
    at_limit = [
        case
        for case in suite("avg_pool2d_backward").cases
        if case.call.args["divisorOverride"] not in (255, -255)
    ]
    found = report("avg_pool2d_backward", at_limit)["pages"][0]["rules"]
    (rule,) = [rule for rule in found if rule["rule"] == "divisorOverride.range"]
    assert {entry["name"] for entry in rule["boundaries"] if not entry["calls"]} == {"at the limit"}


def test_the_page_holds_what_was_counted() -> None:
    told = report("avg_pool2d_backward")
    page_ = html(told, "a <title>")
    assert (
        page_.startswith("<!doctype html>")
        and "a &lt;title&gt;" in page_
        and "161002.7" in page_
        and "http" not in page_
    )
    assert summary(told).startswith("100 % of the boundaries")
    json.dumps(told)


def test_infeasible_pairs_name_the_rules_that_forbid_them() -> None:
    told = report("avg_pool2d_backward")["pages"][0]
    assert told["tuples"][1]["infeasible"] > 0 and all(pair["by"] for pair in told["infeasible"])


def test_a_plan_that_forgets_an_axis_value_covers_less(tmp_path: Path) -> None:
    made, spec = suite("reflection_pad2d_backward"), page("reflection_pad2d_backward")
    fewer = replace(made.reports[spec.name], levels=made.reports[spec.name].levels[1:])
    told = coverage(
        of_cases(made.cases, [spec]), {spec.api: plan(spec.op)}, "standard", {spec.name: fewer}
    )
    assert told["tuples"]["2"] < 100.0 and told["lowest"] < 100.0
    assert told["pages"][0]["tuples"][1]["missing"]


def test_calls_are_counted_against_a_plan_of_ones_own(tmp_path: Path) -> None:
    """A plan that asks for less is covered by more of the same calls; a plan of another operator is
    refused.
    """
    own, bundle, calls = tmp_path / "own.yaml", tmp_path / "suite.h5", tmp_path / "calls.jsonl"
    own.write_text(
        "op: aclnnReflectionPad2dBackward\n"
        "axes: {product: [ascend910b], rank: [3, 4], dtype: [FLOAT, FLOAT16], padLeft: [0, 1]}\n"
        'let: {H: "2", W: "3", C: "2", N: "1"}\n'
        "tiers: {smoke: {strength: 1, invalid: 0}, full: {strength: 2, invalid: 0}}\n"
    )
    made = Request(operators=["reflection_pad2d_backward"], plan=f"{own}::full").suite()
    engine.write(made, bundle, {"seed": 0})
    lines = [
        {"id": c.id, "op": c.call.api, "product": c.call.product, "args": to_json(c.call)}
        for c in made.cases
    ]
    calls.write_text("\n".join(map(json.dumps, lines)))

    def told(*args: str) -> dict:
        shown = CliRunner().invoke(main, ["coverage", *args, "--json"])
        assert shown.exit_code == 0, shown.output
        return json.loads(shown.output)

    of_bundle, of_calls = (
        told(str(bundle), "--plan", f"{own}::full"),
        told("--calls", str(calls), "--plan", f"{own}::full"),
    )
    assert (
        of_bundle["tuples"]
        == of_calls["tuples"]
        == {
            "1": 100.0,
            "2": 100.0,
            "3": of_bundle["tuples"]["3"],
        }
    )
    calls.write_text(json.dumps(lines[0]))
    assert told("--calls", str(calls), "--plan", str(own))["tuples"]["1"] < 100.0
    first = Request(operators=["reflection_pad2d_backward"], plan=str(own)).suite()
    assert (
        told("--plan", str(own), "reflection_pad2d_backward")["pages"][0]["calls"]
        == len(first.cases)
        < len(lines)
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--plan", "nowhere.yaml"],
            (
                "--plan: nowhere.yaml: no such tier or file; tiers are smoke, standard, full,"
                " crash, or FILE::TIER"
            ),
        ),
        (
            ["--plan", "{cases}/group_norm_backward.yaml"],
            "is no plan of aclnnReflectionPad2dBackward; name the operator to count",
        ),
        (
            ["--plan", "{cases}/reflection_pad2d_backward.yaml::nosuch"],
            "nosuch: no such tier in this plan; it has smoke, standard, full",
        ),
        (
            ["--plan", "crash"],
            "--plan: crash: is no plan of aclnnReflectionPad2dBackward; name the operator to count",
        ),
        (["group_norm_backward"], "holds no call of the operators asked for"),
        (
            ["reflection_pad2d_backwards"],
            "no such operator (did you mean 'reflection_pad2d_backward'?)",
        ),
    ],
)
def test_what_cannot_be_counted_is_told(args: list[str], message: str, tmp_path: Path) -> None:
    case = suite("reflection_pad2d_backward", "smoke").cases[0]
    path = tmp_path / "calls.jsonl"
    path.write_text(
        json.dumps(
            {
                "id": "a",
                "op": case.call.api,
                "product": case.call.product,
                "args": to_json(case.call),
            }
        )
    )
    shown = CliRunner().invoke(
        main,
        ["coverage", "--calls", str(path), *(arg.format(cases=cases_folder()) for arg in args)],
    )
    assert shown.exit_code == 2 and message in shown.stderr and len(shown.stderr.splitlines()) == 1


def test_a_plan_that_names_its_operator_as_a_spec_does(tmp_path: Path) -> None:
    shipped = (cases_folder() / "reflection_pad1d_backward.yaml").read_text(encoding="utf-8")
    mine = shipped.replace("op: aclnnReflectionPad1dBackward", "op: reflection_pad1d_backward")
    (tmp_path / "mine.yaml").write_text(mine, encoding="utf-8")
    args = ["coverage", "--json", "reflection_pad1d_backward", "--plan"]
    found, own = (
        CliRunner().invoke(main, [*args, name])
        for name in (f"{tmp_path / 'mine.yaml'}::smoke", "smoke")
    )
    assert found.exit_code == 0, found.output
    assert found.output == own.output


def test_the_command_counts_plans_bundles_and_files(tmp_path: Path) -> None:
    run = CliRunner().invoke
    bundle = tmp_path / "suite.h5"
    engine.write(suite("reflection_pad2d_backward", "smoke"), bundle, {"seed": 0})
    found = run(main, ["coverage", str(bundle), "--plan", "smoke", "--json"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.output)
    assert [page["page"] for page in told["pages"]] == ["reflection_pad2d_backward"] and told[
        "tuples"
    ]["1"] == 100.0
    found = run(
        main, ["coverage", "--plan", "smoke", "reflection_pad2d_backward", "--fail-under", "101"]
    )
    assert found.exit_code == 2
    page_ = tmp_path / "page.html"
    found = run(
        main,
        [
            "coverage",
            str(bundle),
            "--plan",
            "standard",
            "--fail-under",
            "100",
            "--html",
            str(page_),
            "--untested",
        ],
    )
    assert found.exit_code == 1 and (tmp_path / "page.html").read_text().startswith(
        "<!doctype html>"
    )
