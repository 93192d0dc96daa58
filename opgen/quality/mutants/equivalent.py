"""Wrong checkers that no call tells from the right one: equivalent mutants, in the words of the
field.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from itertools import chain

import numpy as np

from opgen.oracle.judgement import judge
from opgen.quality.mutants.bundle_cases import PageCases
from opgen.quality.mutants.checkers import WrongChecker
from opgen.spec.language.shapes import MOST_AXES
from opgen.spec.rules import Guard
from opgen.spec.spec import Spec
from opgen.suite.enumeration.reasons import FATAL, conjuncts
from opgen.suite.suite import crashing


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
    rule of the page is broken: its condition is about the product and always holds, what it
    compares has a value only where its condition holds, or all that it lets pass beside the page
    are empty tensors.
    """
    pairs = list(zip(checker.rule.guards, checker.wrong.guards, strict=False))
    ignored = [right for right, wrong in pairs if right.when is not None and wrong.when is None]
    if ignored and not any(_elsewhere(cases.spec, guard) for guard in ignored):
        return "what it compares has a value only where its condition holds"
    for right, wrong in pairs:
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


def between(checker: WrongChecker) -> str:
    """Why no call lies between a limit and the wrong one: what is limited is a multiple of a
    number, and the only value that tells them apart is none.
    """
    for right, wrong in zip(checker.rule.guards, checker.wrong.guards, strict=False):
        ends = _end(right.require.text), _end(wrong.require.text)
        factor = re.search(r" \* (\d+)$", right.require.left.text)
        if factor and ends[0] and ends[1] and abs(ends[0][1] - ends[1][1]) == 1:
            only = (max if ends[0][0] < 0 else min)(ends[0][1], ends[1][1])
            if only % int(factor[1]):
                return f"what it limits is a multiple of {factor[1]}, and never {only}"
    return ""


def fatal(cases: PageCases, checker: WrongChecker) -> str:
    """Why no suite but that of the tier crash breaks a rule about a null pointer: a library ends
    the host process on each call that is legal but for the null pointer.
    """
    rule, columns = checker.rule, dict(cases.table.columns)
    if rule.key != "null" or rule.parameter is None:
        return ""
    column = columns[rule.parameter]
    columns[rule.parameter] = replace(column, null=np.ones_like(column.null))
    judged = judge(cases.spec, replace(cases.table, columns=columns))
    alone = judged.broken.sum(axis=0) == judged.broken[cases.spec.rules.index(rule)]
    alone &= ~judged.valid
    return FATAL if alone.any() and crashing(judged)[alone].all() else ""


def broken_besides(spec: Spec, checker: WrongChecker) -> str:
    """A rule that refuses every call in which a checker is wrong; empty where there is none. The
    checker reads another tensor, which that rule says is the same in what is read; or it forgets a
    condition that holds wherever that rule is obeyed; or it keeps one that holds nowhere there.
    """
    for rule in spec.rules:
        if (
            rule.forbids
            and rule.id != checker.rule.id
            and any(
                _never(spec, guard, right, wrong)
                for guard in rule.guards
                for right, wrong in zip(checker.rule.guards, checker.wrong.guards, strict=False)
            )
        ):
            return rule.id
    return ""


def _never(spec: Spec, obeyed: Guard, right: Guard, wrong: Guard) -> bool:
    """Whether no call that obeys a guard is one in which a wrong guard differs from the right."""
    require = obeyed.require.text
    if right.when is not None and wrong.when is None:
        others = _elsewhere(spec, right)
        known = set(conjuncts(right)) - others
        return set(conjuncts(obeyed)) <= known and all(
            _implies(require, part, True) for part in others
        )
    if obeyed.when is not None:
        return False
    if right.when is not None and _implies(require, right.when.text, False):
        return True
    return require in _same(right.require.left.text, wrong.require.left.text)


def _elsewhere(spec: Spec, guard: Guard) -> set[str]:
    """The parts of a guard's condition that may not hold although all that it compares has a
    value: a letter has one where a tensor is given with a rank that has it, an extent where there
    are so many.
    """
    known = set[str]()
    slots = {
        name
        for parameter in spec.parameters.values()
        for name in chain.from_iterable(chain.from_iterable(parameter.items.values()))
    }
    for name, what in guard.require.refs:
        ranks = {
            (parameter.name, rank)
            for parameter in spec.parameters.values()
            for rank, letters in parameter.shapes.items()
            if what == "" and name in letters and name not in slots
        }
        if isinstance(what, tuple) and what[0] == "dim":
            least = what[1] + 1 if what[1] >= 0 else -what[1]
            ranks = {(name, rank) for rank in range(least, MOST_AXES + 1)}
        for part in conjuncts(guard):
            left, admitted = constants(part)
            end = _end(part)
            if end is not None:
                admitted = {n for n in range(MOST_AXES + 1) if end[0] * n >= end[0] * end[1]}
            of_null = {(f"{tensor}.null", False) for tensor, _ in ranks}
            of_rank = {(f"{tensor}.rank", rank) for tensor, rank in ranks}
            held = {(left, value) for value in admitted}
            if ranks and (of_null <= held or of_rank <= held):
                known.add(part)
    return set(conjuncts(guard)) - known


def constants(text: str) -> tuple[str, set[object]]:
    """What is compared, and the constants that it may be; none where it is compared otherwise."""
    node = ast.parse(text, mode="eval").body
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ast.unparse(node.operand), {False}
    if not isinstance(node, ast.Compare):
        return text, {True}
    try:
        value = ast.literal_eval(node.comparators[0])
    except ValueError:
        return text, set()
    members = {ast.Eq: (value,), ast.In: value}.get(type(node.ops[0]), ())
    return ast.unparse(node.left), set(members)


def _same(one: str, other: str) -> set[str]:
    """The comparisons that two facts of a call are the same."""
    return set() if one == other else {f"{one} == {other}", f"{other} == {one}"}


def _implies(rule: str, condition: str, met: bool) -> bool:
    """Whether a call that obeys a comparison with constants meets a condition on the same; or,
    where it is not to be ``met``, never meets it.
    """
    (left, mine), (other, admitted) = constants(rule), constants(condition)
    same = bool(mine) and bool(admitted) and left == other
    return same and (mine <= admitted if met else not mine & admitted)


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
