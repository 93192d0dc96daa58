"""Counting a suite: what the counts say, held against the cases themselves."""

from __future__ import annotations

from collections import Counter

import pytest

from opgen.quality.suite_summary import summarize
from opgen.suite.enumeration.reasons import FATAL, unreachable
from tests.support.suites import PAGES, page, suite


@pytest.mark.parametrize("name", PAGES)
def test_counts_are_those_of_the_cases(name: str) -> None:
    made = suite(name)
    counted = summarize(made)
    assert (
        counted["cases"]
        == len(made.cases)
        == len(counted["ids"])
        == sum(entry["cases"] for entry in counted["counts"])
    )
    assert counted["with_data"] == sum(case.phase == 2 for case in made.cases)
    assert (
        counted["inconclusive"]
        == sum(counted["why_inconclusive"].values())
        == sum(bool(case.inconclusive) for case in made.cases)
    )
    kinds = Counter(case.kind for case in made.cases)
    assert {
        kind: sum(e["cases"] for e in counted["counts"] if e["kind"] == kind) for kind in kinds
    } == kinds


@pytest.mark.parametrize("name", PAGES)
def test_every_rule_has_cases_and_nearest_valid_ones_or_a_reason(name: str) -> None:
    spec, counted = page(name), summarize(suite(name))["pages"][name]
    ids = {case.id: case for case in suite(name).cases}
    for entry in counted["rules"]:
        rule = spec.rule[entry["rule"]]
        if entry["invalid"]:
            assert entry["nearest_valid"] and all(
                ids[nearest].page.bucket == "valid" for nearest in entry["nearest_valid"]
            )
            assert all(
                rule.id in {broken.rule for broken in ids[case].page.breaks}
                for case in entry["invalid"]
            )
            smallest = min(len(ids[case].page.breaks) for case in entry["invalid"])
            assert len(entry["others"]) == smallest - 1 and entry["isolated"] == (smallest == 1)
        else:
            fatal = rule.id in suite(name).reports[name].fatal
            assert entry["why_none"] == (FATAL if fatal else unreachable(rule, spec)) != ""
    assert counted["unreachable"] == sum(not entry["invalid"] for entry in counted["rules"])
    assert counted["with_others"] == sum(
        bool(entry["invalid"]) and not entry["isolated"] for entry in counted["rules"]
    )


def test_calls_that_break_two_rules_are_counted() -> None:
    counted = summarize(suite("avg_pool2d_backward"))["pages"]["avg_pool2d_backward"]
    assert (counted["pairs"], counted["left_out"], counted["crashing"], counted["dropped"]) == (
        0,
        0,
        0,
        0,
    )


def test_what_is_aimed_at_is_counted_and_what_is_broken_with_it_is_not() -> None:
    made = suite("avg_pool2d_backward", "full")
    counted = summarize(made)["pages"]["avg_pool2d_backward"]
    assert counted["pairs"] == sum(case.intent.startswith("orders ") for case in made.cases) > 0
    for entry in counted["rules"]:
        said = f"breaks {entry['rule']}"
        aimed = [
            case.id
            for case in made.cases
            if said in {part.split(" with ")[0] for part in case.intent.split("; ")}
        ]
        assert entry["invalid"] == aimed


def test_the_size_of_a_bundle_is_known_before_it_is_written(tmp_path) -> None:
    from opgen.generation import engine
    from opgen.generation.resources import needs

    made = suite("reflection_pad2d_backward", "smoke")
    engine.write(made, tmp_path / "suite.h5", {"seed": 0})
    known = needs(made).bytes
    assert abs(known - (tmp_path / "suite.h5").stat().st_size) < 0.2 * known
