"""The calls that cover the values of a plan, judged: those that edits start from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from opgen.calls.layout import representable
from opgen.calls.table import CallTable
from opgen.model import FileError, Problem
from opgen.oracle.judgement import judge
from opgen.suite.covering import Model, explain
from opgen.suite.enumeration.bounded_cover import cover_plan
from opgen.suite.enumeration.enumeration_report import EnumerationReport
from opgen.suite.enumeration.levels import levels_of
from opgen.suite.enumeration.modes import mode_levels
from opgen.suite.enumeration.reasons import by_default, untried
from opgen.suite.enumeration.valid_calls import ValidCalls
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.tier_form import Tier


def _refuse(compiled: CompiledPlan, why: str, rules: Iterable[str]) -> NoReturn:
    text = f"makes no legal call of {compiled.spec.file}: {why}{by_default(compiled, rules)}"
    raise FileError([Problem(compiled.plan.file, None, "axes", text)])


def seeds_of(compiled: CompiledPlan, existing: CallTable, report: EnumerationReport) -> np.ndarray:
    """The values that would have made the calls that exist, -1 where a call has a value that no
    axis has.
    """
    judged = judge(compiled.spec, existing)
    report.given = int(judged.valid.sum())
    return levels_of(compiled, judged, [""] * len(existing))


def valid_calls(
    compiled: CompiledPlan,
    tier: Tier,
    report: EnumerationReport,
    seeds: np.ndarray | None,
    random_state: int,
) -> ValidCalls:
    """The calls that a tier asks for; behind them those that show a mode; and behind these, for a
    small tier, pairwise ones to edit.
    """
    tables = compiled.constraints.tables
    report.model = Model(compiled.shape, tuple((axes, allowed) for axes, allowed, _ in tables))
    if clash := [tables[i] for i in explain(report.model, ())]:
        axes = dict.fromkeys(compiled.axes[i].name for places, _, _ in clash for i in places)
        rules = dict.fromkeys(rule for _, _, names in clash for rule in names)
        _refuse(compiled, f"all values of {', '.join(axes)} break {', '.join(rules)}", rules)
    groups = [
        ([compiled.position(axis) for axis in axes], strength) for axes, strength in tier.groups
    ]
    strength = min(tier.strength, len(compiled.axes))
    covering = np.zeros((0, len(compiled.axes)), dtype=np.int64)
    if strength:
        report.cover = cover_plan(
            compiled,
            report.model,
            strength,
            groups=groups,
            seeds=seeds,
            budget=tier.cases,
            random_state=random_state,
        )
        covering = report.cover
    few = (
        strength == 1
        or seeds is not None
        or (not strength and bool(tier.invalid or tier.limits or tier.pairs))
    )
    more = cover_plan(compiled, report.model, min(2, len(compiled.axes))) if few else covering[:0]
    showing = mode_levels(compiled, report.model, random_state) if tier.limits else covering[:0]
    levels = np.concatenate([covering, showing, more])
    builder = compiled.builder(levels)
    judged = judge(compiled.spec, builder.table())
    valid = judged.valid & representable(judged.table)
    if len(levels) and not valid.any():
        always = [
            rule.id
            for rule, broken in zip(compiled.spec.rules, judged.broken, strict=True)
            if broken.all()
        ]
        _refuse(
            compiled,
            "all break"
            f" {', '.join(always) or 'one rule or another, or need numbers of more than 64 bits'}",
            always,
        )
    kept = valid[: len(covering)]
    report.levels, report.dropped = covering[kept], int((~kept).sum())
    if strength:
        report.untried = dict(
            untried(
                compiled,
                report.model,
                report.levels if seeds is None else np.concatenate([report.levels, seeds]),
                covering[~kept],
                judged.broken[:, : len(covering)][:, ~kept],
            )
        )
    return ValidCalls(levels, builder, judged, valid, len(covering))
