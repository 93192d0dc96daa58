"""Whether a plan fits the pages of its operator; what does not is said at once, with the plan's
lines.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cache
from math import prod
from pathlib import Path

from opgen.calls.call_json import CallFault, make_call
from opgen.model import CALL_PLANS, TIERS, Call, FileError, TensorDesc, did_you_mean
from opgen.spec.catalog import Catalog, catalog
from opgen.spec.language.parse import reference
from opgen.spec.language.term import TermError
from opgen.spec.spec import Spec
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.overlay import SHARED
from opgen.suite.planning.plan import Plan, plan_for, read_plan
from opgen.suite.planning.plan_form import Handwritten


def check_plan(plan: Plan, pages: Sequence[Spec]) -> None:
    """Raise FileError with everything of a plan, in any tier, that fits no page of its operator or
    not every page.
    """
    rules = [rule.id for spec in pages for rule in spec.rules]
    for spec in pages:
        inputs = dict.fromkeys(name for p in spec.inputs for name in (p.name, p.of) if name)
        plan.document.known(("roles",), plan.roles, inputs, "input")
        for name, guard in () if spec.status_only else spec.sums:
            if plan.role(spec.parameters[name]) != "saved":
                text = f"must be saved, since {guard.require.text} says what it adds up to"
                plan.document.problem(("roles",), text, name)
        for tier in plan.tiers:
            with suppress(FileError):  # every problem stays noted in the document
                CompiledPlan(spec, plan, tier)
        handwritten_calls(plan, spec, TIERS)
    if pages:
        _unread(plan, pages)
    for i, entry in enumerate(plan.vacuous if pages else ()):
        for rule in entry.rules:
            if rule not in rules:
                plan.document.problem(
                    ("vacuous", i, "rules"),
                    f"no page of {plan.op} has a rule '{rule}'{did_you_mean(rule, rules)}",
                )
    plan.document.raise_problems()


def checked_plan(path: Path, book: Catalog, shown: str | None = None) -> Plan:
    """Read a plan that fits the pages of its operator; raises FileError with everything that is
    wrong with it.
    """
    plan = read_plan(path, shown, book.specs)
    api = book.operators.get(plan.op, plan.op)
    if api not in book.kinds:
        plan.document.problem(
            ("op",),
            f"no such operator '{plan.op}'{did_you_mean(plan.op, [*book.operators, *book.kinds])}",
        )
    check_plan(plan, book.of(api))
    return plan


@cache
def shipped_plan(api: str, edition: str = "") -> Plan:
    """The plan that opgen ships for an operator, by the pages of an edition; raises FileError where
    it does not fit them. It is read once in a process, as the pages are.
    """
    return fitting_plan(catalog(edition).of(api))


def fitting_plan(pages: Sequence[Spec], folder: Path | None = None) -> Plan:
    """The plan in a folder, opgen's own if none is given, for the operator of some pages, all of
    its pages; raises FileError where it does not fit them.
    """
    api, op = pages[0].api, pages[0].op
    plan = plan_for(op, folder, pages)
    if plan.op not in (api, op):
        plan.document.problem(("op",), f"is {plan.op}; the plan of this name is that of {api}")
        plan.document.raise_problems()
    check_plan(plan, pages)
    return plan


def _unread(plan: Plan, pages: Sequence[Spec]) -> None:
    """Note the names that a plan sets and that neither a page nor the plan itself reads."""
    known = {
        *re.findall(
            r"[A-Za-z_]\w*", f"{list(plan.let.values())} {[axis.values for axis in plan.axes]}"
        ),
        *SHARED,
        "product",
        "recipe",
        *(name for spec in pages for name in (*spec.scope.names(), *spec.parameters)),
    }
    for where, texts in [
        *((("axes", axis.name), axis.sets) for axis in plan.axes),
        *((("let", name), (name,)) for name in plan.let),
    ]:
        with suppress(TermError):  # noted where it is compiled
            for name in [reference(text)[0] for text in texts]:
                if name not in known:
                    plan.document.problem(
                        where, f"nothing reads '{name}'{did_you_mean(name, known)}"
                    )


def handwritten_calls(
    plan: Plan, spec: Spec, tiers: Collection[str]
) -> list[tuple[Handwritten, Call]]:
    """The handwritten calls of some tiers that a page judges, one per product; what is no call is
    noted.
    """
    listed = [product for product in spec.products if product in spec.judges]
    calls: list[tuple[Handwritten, Call]] = []
    for i, pin in enumerate(plan.handwritten):
        for product in (
            [product for product in pin.products or listed if product in spec.judges]
            if pin.args is not None and set(pin.tiers) & set(tiers)
            else []
        ):
            try:
                call = make_call(spec.api, product, dict(pin.args or {}), {spec.api: spec.kinds})
            except CallFault as fault:
                plan.document.problem(("handwritten", i), str(fault), pin.id)
                break
            for name, values in pin.data.items():
                text = _misfit(spec, call, name, values)
                if text:
                    plan.document.problem(("handwritten", i, "data"), text, pin.id)
            calls.append((pin, call))
    return calls


def _misfit(spec: Spec, call: Call, name: str, values: tuple[float, ...]) -> str:
    desc = call.args.get(name)
    if name not in [p.name for p in spec.inputs] or not isinstance(desc, TensorDesc):
        return f"'{name}' is not an input tensor of this call"
    return (
        ""
        if len(values) == prod(desc.shape)
        else f"'{name}' has {prod(desc.shape)} elements, not {len(values)}"
    )


def plans_of(text: str, apis: Iterable[str], edition: str = "") -> tuple[dict[str, Plan], str]:
    """Api -> plan, and the tier, that a text means: a tier those plans of ``apis`` that have it,
    ``FILE`` or ``FILE::TIER`` the file's own, whatever its operator. ``edition`` is that of the
    pages. FileError where there is no such tier or file.
    """
    known = catalog(edition)
    if text in TIERS:
        plans = {api: shipped_plan(api, edition) for api in apis}
        return {api: plan for api, plan in plans.items() if text in plan.tiers}, text
    path, _, tier = text.partition("::")
    if not Path(path).exists():
        raise FileError.of(
            "`plan`",
            text,
            f"no such tier or file{did_you_mean(text, (*TIERS, *CALL_PLANS))}; tiers are"
            f" {', '.join(TIERS)}, or FILE::TIER; {' and '.join(CALL_PLANS)} are files of calls",
        )
    plan = checked_plan(Path(path), known)
    tier = tier or next(iter(plan.tiers), "")
    if tier not in plan.tiers:
        raise FileError.of(path, tier, f"no such tier in this plan; it has {', '.join(plan.tiers)}")
    return {known.api(plan.op): plan}, tier
