"""Wrong checkers that no call tells from the right one: equivalent mutants, in the words of the
field.
"""

from __future__ import annotations

import ast

import numpy as np

from opgen.quality.mutants.bundle_cases import PageCases
from opgen.quality.mutants.checkers import WrongChecker
from opgen.spec.spec import Spec
from opgen.suite.enumeration.reasons import conjuncts


def stricter(spec: Spec, checker: WrongChecker) -> str:
    """A rule that forbids, whatever the call, all that a wrong limit forbids beyond the right one;
    empty where there is none.
    """
    limits = [guard.require for guard in checker.wrong.guards]
    unconditional = [
        (rule.id, guard.require)
        for rule in spec.rules
        if rule.id != checker.rule.id
        for guard in rule.guards
        if guard.when is None
    ]
    return next(
        (
            rule
            for limit in limits
            for rule, other in unconditional
            if other.left.text == limit.left.text and _within(other.text, limit.text)
        ),
        "",
    )


def vacuous(cases: PageCases, checker: WrongChecker) -> str:
    """Why a wrong rule is the same as the right one on every call, or differs only where another
    rule of the page is broken: its condition is about the product and always holds, or all that it
    lets pass beside the page are empty tensors.
    """
    for right, wrong in zip(checker.rule.guards, checker.wrong.guards, strict=False):
        if (
            right.when is not None
            and wrong.when is None
            and {name for name, _ in right.when.refs} == {"product"}
        ):
            asked = right.when.read(cases.judged.view)
            return (
                "its condition holds for every product of the page"
                if np.all(asked.data & asked.bound)
                else ""
            )
        name = right.require.left.text.removeprefix("lowest(").removesuffix(")")
        if (_end(right.require.text), _end(wrong.require.text)) == (
            (1, 1),
            (1, 0),
        ) and right.require.left.text == f"lowest({name})":
            known, empty = set(conjuncts(right)), f"{name}.numel != 0"
            guards = ((rule.id, guard) for rule in cases.spec.rules for guard in rule.guards)
            others = [
                rule
                for rule, guard in guards
                if guard.require.text == empty and set(conjuncts(guard)) <= known
            ]
            return (
                "its condition leaves no empty tensor"
                if empty in known
                else f"{others[0]} forbids as much"
                if others
                else ""
            )
    return ""


def _within(inner: str, outer: str) -> bool:
    """Whether what a comparison with a constant admits, another admits too: ``x >= 1`` and ``x >
    0``.
    """
    mine, others = _end(inner), _end(outer)
    if mine is None or others is None:
        return False
    return mine[0] == others[0] and mine[0] * mine[1] >= others[0] * others[1]


def _end(text: str) -> tuple[int, int] | None:
    """(1, the least admitted) or (-1, the largest) of a comparison of whole numbers with a
    constant.
    """
    node = ast.parse(text, mode="eval").body
    sign = {ast.Gt: (1, 1), ast.GtE: (1, 0), ast.Lt: (-1, -1), ast.LtE: (-1, 0)}.get(
        type(getattr(node, "ops", [None])[0])
    )
    try:
        limit = ast.literal_eval(node.comparators[0])  # type: ignore[attr-defined]
    except (ValueError, AttributeError):
        return None
    return None if sign is None or not isinstance(limit, int) else (sign[0], limit + sign[1])
