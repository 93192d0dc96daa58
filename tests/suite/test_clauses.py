"""Every clause and every constraint of every page is reached by calls of the standard tier, each
with a nearest valid call.
"""

from __future__ import annotations

import pytest

from opgen.calls.table import from_calls
from opgen.model import CRASHES, Case
from opgen.oracle.judgement import judge
from opgen.quality.boundaries import UNTESTED
from opgen.quality.coverage import coverage, of_cases
from opgen.spec import specfile
from opgen.spec.spec import Spec
from opgen.suite.enumeration.enumerator import enumerate_calls
from opgen.suite.enumeration.reasons import accompanied, unreachable
from tests.support.spec_sample import PAIR
from tests.support.suites import (
    PAGES,
    SUITES,
    page,
    plan,
    sampled,
    suite,
    without_clause,
    without_rule,
)

FORBIDDEN = ("stated", "unstated", "unsupported_product")


def breaking(spec: Spec, cases: list[Case]) -> dict[str, list[Case]]:
    """Rule -> the cases that break it, judged anew by ``spec``."""
    judged = judge(spec, from_calls(spec.api, spec.kinds, [case.call for case in cases]))
    rows = zip(spec.rules, judged.broken, strict=True)
    return {
        rule.id: [case for case, broken in zip(cases, row, strict=True) if broken]
        for rule, row in rows
    }


def unreached(original: Spec, judged_by: Spec) -> list[str]:
    """Clauses and rules of a page that no invalid case reaches when ``judged_by`` says what a case
    breaks.
    """
    cases = [case for case in suite(original.name).cases if case.kind == "invalid"]
    if CRASHES in plan(original.op).tiers:  # where it alone has calls that break a rule
        fatal = set(suite(original.name).reports[original.name].fatal)
        cases += [
            case
            for case in suite(original.name, CRASHES).cases
            if fatal & {broken.rule for broken in case.page.breaks}
        ]
    found = breaking(judged_by, cases)
    forbidding = [rule for rule in original.rules if rule.bucket in FORBIDDEN]
    missing = [
        rule.id for rule in forbidding if not found.get(rule.id) and not unreachable(rule, original)
    ]
    codes: dict[str, list[Case]] = {}
    for rule in judged_by.rules:
        if rule.clause is not None:
            codes.setdefault(rule.clause, []).extend(found[rule.id])
    for clause in original.clauses:
        rules = [rule for rule in original.rules if rule.clause == clause]
        if not codes.get(clause) and not all(unreachable(rule, original) for rule in rules):
            missing.append(clause)
    return missing


@pytest.mark.parametrize("name", PAGES)
def test_every_clause_and_rule_is_reached(name: str) -> None:
    assert unreached(page(name), page(name)) == []


@pytest.mark.parametrize(
    ("name", "count"), [("avg_pool2d_backward", 9), ("convolution_backward.ascend910b", 9)]
)
def test_the_numbered_clauses_are_those_of_the_page(name: str, count: int) -> None:
    assert len(page(name).clauses) == count


@pytest.mark.parametrize(
    ("name", "clause"),
    [
        (name, clause)
        for name in PAGES
        for clause in page(name).clauses
        if (name, clause)
        not in {
            ("convolution_backward.ascend910b", "161002.6"),  # no product to break it with
            ("convolution_backward.ascend910b", "561103.1"),  # names no parameter: no rule of it
        }
    ],
)
def test_a_forgotten_clause_is_noticed(name: str, clause: str) -> None:
    assert clause in unreached(page(name), without_clause(page(name), clause))


def test_the_clause_about_products_cannot_be_reached_and_says_so() -> None:
    spec = page("convolution_backward.ascend910b")
    (rule,) = [rule for rule in spec.rules if rule.clause == "161002.6"]
    assert (
        unreachable(rule, spec)
        == "every product whose calls this page judges is listed: ascend910b, ascend910_93"
    )


@pytest.mark.parametrize("name", PAGES)
def test_every_forgotten_rule_is_noticed(name: str) -> None:
    spec = page(name)
    for rule in sampled(spec.rules, 4, name):
        if rule.bucket in FORBIDDEN and not unreachable(rule, spec):
            assert rule.id in unreached(spec, without_rule(spec, rule.id)), rule.id


@pytest.mark.parametrize("name", PAGES)
def test_every_invalid_case_has_a_legal_twin_in_the_suite(name: str) -> None:
    cases = {case.id: case for case in suite(name).cases}
    for case in cases.values():
        if case.kind == "invalid":
            twin = cases[case.nearest_valid]
            assert (
                twin.page.bucket == "valid"
                and twin.call.product == case.call.product
                or case.page.bucket == "unsupported_product"
            )
            assert twin.call != case.call


@pytest.mark.parametrize("name", PAGES)
def test_an_invalid_case_expects_every_code_of_what_it_breaks(name: str) -> None:
    spec = page(name)
    for case in suite(name).cases:
        if case.kind == "invalid":
            rules = [spec.rule[one.rule] for one in case.page.breaks]
            codes = {
                rule.code if rule.code is not None else "any_error"
                for rule in rules
                if rule.bucket in FORBIDDEN
            }
            assert codes == set(case.page.codes), case.id


def test_a_suite_made_without_a_rule_lacks_its_cases() -> None:
    spec = page("avg_pool2d_backward")
    made = enumerate_calls(without_rule(spec, "pad_height"), plan(spec.op), "smoke")
    assert not any(
        "pad_height" in purpose.rules for purposes in made.purposes for purpose in purposes
    )
    assert any("breaks pad_height" in case.intent for case in suite(spec.name, "smoke").cases)


@pytest.mark.parametrize(("name", "tier"), SUITES)
def test_every_clause_has_a_call_that_admits_its_code_alone_or_a_proof_that_none_can(
    name: str, tier: str
) -> None:
    cases = suite(name, tier).cases
    pages = coverage(of_cases(cases, [page(name)]), {page(name).api: plan(page(name).op)}, tier)
    for clause in pages["pages"][0]["clauses"]:
        code = int(clause["clause"].partition(".")[0])
        exact = [
            case.id
            for case in cases
            if list(case.page.codes) == [code]
            and any(broken.clause == clause["clause"] for broken in case.page.breaks)
        ]
        assert (clause["exact"] > 0) == bool(exact)
        assert exact or clause["why_none"] not in ("", UNTESTED), clause["clause"]


def test_only_products_and_a_clause_without_rules_need_a_proof() -> None:
    name = "convolution_backward.ascend910b"
    report = coverage(
        of_cases(suite(name, "smoke").cases, [page(name)]),
        {page(name).api: plan(page(name).op)},
        "smoke",
    )
    proofs = {
        row["clause"]: row["why_none"] for row in report["pages"][0]["clauses"] if not row["exact"]
    }
    assert set(proofs) == {"161002.6", "561103.1"}
    assert proofs["161002.6"].startswith("every product whose calls this page judges is listed")
    assert proofs["561103.1"] == "no rule: it names no parameter"


def test_a_proof_falls_where_the_page_allows_such_a_call() -> None:
    """A dtype of x that has a code is no dtype of y, or y has none of its list."""
    text = PAIR.replace("{any: [FLOAT, FLOAT16], ascend910: [FLOAT]}", "[FLOAT, FLOAT16]")
    text = text.replace("  unstated:", "  561103: [y_dtype]\n  unstated:").replace(
        " y_dtype, out", " out"
    )
    spec = specfile.loads(text)
    proof = accompanied(spec.rule["x.dtype"], spec)
    assert "y_dtype" in proof and "out.dtype" in proof
    assert not accompanied(spec.rule["x.dtype"], without_rule(spec, "y_dtype"))
