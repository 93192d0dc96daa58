"""Suites that several tests look at, made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from opgen.calls.jsonl import NamedCall
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.planning.plan import Plan, plan_for
from opgen.suite.suite import Suite, call_suite, plan_suite

PAGES = tuple(spec.name for spec in catalog().specs)


def page(name: str) -> Spec:
    return next(spec for spec in catalog().specs if spec.name == name)


@cache
def plan(op: str) -> Plan:
    return plan_for(op)


@cache
def suite(name: str, tier: str = "standard") -> Suite:
    """The suite of one page."""
    return plan_suite([(page(name), plan(page(name).op))], tier)


def of_calls(calls: Sequence[NamedCall], **more: Any) -> Suite:
    """The suite of calls that the shipped pages judge and the shipped plans fill."""
    return call_suite(
        calls,
        lambda call: catalog().by_page[call.api, call.product],
        lambda spec: plan(spec.op),
        **more,
    )


def without_rule(spec: Spec, rule: str) -> Spec:
    """The same page, had a rule been forgotten."""
    assert rule in spec.rule
    return replace(spec, rules=tuple(one for one in spec.rules if one.id != rule))


def without_clause(spec: Spec, clause: str) -> Spec:
    """The same page, had a numbered clause been forgotten: its rules have no code."""
    rules = tuple(
        replace(one, code=None, clause=None, bucket="unstated") if one.clause == clause else one
        for one in spec.rules
    )
    return replace(
        spec,
        rules=rules,
        clauses={name: line for name, line in spec.clauses.items() if name != clause},
    )
