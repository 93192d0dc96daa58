"""Wrong checkers: a rule of a page that is not enforced, enforced with another code, or enforced a
little wrong.

A family is one such fault; it has a member for every rule that can have it. Nothing is written by
hand: a member is the rule of the spec with its comparison changed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from opgen.model import CRASH, Code
from opgen.quality.mutants.bundle_cases import UNNAMED, PageCases
from opgen.spec.language.parse import relation
from opgen.spec.language.term import TermError
from opgen.spec.rules import Guard, Rule
from opgen.spec.spec import Spec

Change = Callable[[Spec, Rule], Rule | None]
"""A rule as the wrong checker holds it; None where the fault says nothing of this rule."""
ANY = ("==", "!=", "<", "<=", ">", ">=", "in", "not in")


@dataclass(frozen=True)
class Family:
    """``change`` gives the wrong rule. ``code``: the wrong status, of the rule's own; ``lost``:
    what a device answers that misses the rule and finds no other broken. ``refuses``: comparisons
    with which the wrong rule forbids more than the page.
    """

    name: str
    wrong: str
    change: Change
    code: Callable[[Spec, Rule], int] | None = None
    lost: Code = 0
    refuses: tuple[str, ...] = ()

    def applies(self, spec: Spec) -> bool:
        """Whether an operator's page has a rule that can be held wrong like this."""
        return any(True for _ in self.members(spec))

    def members(self, spec: Spec) -> Iterator[WrongChecker]:
        """A member per rule."""
        for rule in spec.rules:
            if rule.forbids:
                wrong = self.change(spec, rule)
                if wrong is not None:
                    yield WrongChecker(self, rule, wrong)


@dataclass(frozen=True)
class WrongChecker:
    """One wrong checker: ``rule`` as the page has it, ``wrong`` as this device holds it."""

    family: Family
    rule: Rule
    wrong: Rule

    @property
    def name(self) -> str:
        return f"{self.family.name}/{self.rule.id}"

    @property
    def decided(self) -> bool:
        """Whether an answer can be wrong by the page: it names a code, a legal call is refused, or
        the host dies. Otherwise a device that accepts what it should not is lenient at worst.
        """
        signs = {guard.require.operator for guard in self.rule.guards}
        return (
            self.rule.code is not None
            or self.family.lost == CRASH
            or bool(signs & set(self.family.refuses))
        )

    def broken(self, cases: PageCases) -> np.ndarray:
        """(rows,) bool: where this device finds the rule broken."""
        return self.wrong.broken(cases.judged.view, len(cases))

    def answers(self, cases: PageCases) -> dict[str, Code]:
        """Id -> what this device answers, where that is something else than a correct one does."""
        place = cases.spec.rules.index(self.rule)
        right = cases.judged.broken[place]
        if self.family.code is not None:
            code = self.family.code(cases.spec, self.rule)
            return {cases.ids[row]: code for row in np.flatnonzero(right).tolist()}
        others = cases.judged.broken.copy()
        others[place] = False
        wrong = self.broken(cases)
        rows = np.flatnonzero((right != wrong) & (cases.status(others) == 0))
        refused = UNNAMED if self.rule.code is None else self.rule.code
        return {
            cases.ids[row]: refused if wrong[row] else self.family.lost for row in rows.tolist()
        }


# changes ------------------------------------------------------------------------------------------
def removed(which: Callable[[Rule], bool]) -> Change:
    """Some rules without any guard."""
    return lambda spec, rule: replace(rule, guards=()) if which(rule) else None


def forbids_empty(rule: Rule) -> bool:
    """Whether a rule forbids an empty tensor."""
    return any(guard.require.text.endswith("!= 0") for guard in rule.guards)


def rewritten(change: Callable[[str, str, str], str | None]) -> Change:
    """Each comparison (left, sign, right) with another text; None where nothing changes in any
    guard.
    """

    def apply(spec: Spec, rule: Rule) -> Rule | None:
        guards, changed = [], False
        for guard in rule.guards:
            node = ast.parse(guard.require.text.strip(), mode="eval").body
            text = None  # a truth, such as broadcastable(a, b), has no other side
            if isinstance(node, ast.Compare):
                sign = guard.require.operator if guard.require.left.kind == "int" else ""
                text = change(ast.unparse(node.left), sign, ast.unparse(node.comparators[0]))
            other = None if text is None else _compiled(spec, guard, text)
            changed |= other is not None
            guards.append(other or guard)
        return replace(rule, guards=tuple(guards)) if changed else None

    return apply


def _compiled(spec: Spec, guard: Guard, text: str) -> Guard | None:
    try:
        return replace(guard, require=relation(text, spec.scope))
    except TermError:
        return None


_ANY_CODES = (161001, 561103)
"""Codes of every operator, for a page that names no two."""
_FLIPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_SHIFTED = {"<": -1, "<=": 1, ">": 1, ">=": -1}


def flipped(left: str, sign: str, right: str) -> str | None:
    """The limit taken in or left out."""
    return f"{left} {_FLIPPED[sign]} {right}" if sign in _FLIPPED else None


def shifted(left: str, sign: str, right: str) -> str | None:
    """The limit moved by one, to the other side than :func:`flipped` moves it."""
    if sign not in _SHIFTED:
        return None
    step = _SHIFTED[sign]
    return (
        f"{left} {sign} {int(right) + step}"
        if right.lstrip("-").isdigit()
        else f"{left} {sign} ({right}) + ({step})"
    )


def nearly(left: str, sign: str, right: str) -> str | None:
    """Equal, or one off."""
    return f"({left}) - ({right}) in (-1, 0, 1)" if sign == "==" else None


def without_condition(spec: Spec, rule: Rule) -> Rule | None:
    """Enforced whether its condition holds or not."""
    if not any(guard.when is not None for guard in rule.guards) or len(rule.guards) > 1:
        return None
    return replace(rule, guards=tuple(replace(guard, when=None) for guard in rule.guards))


def of_another_tensor(spec: Spec, rule: Rule) -> Rule | None:
    """The rule of one tensor compared with the next one of the prototype."""
    tensors = [p.name for p in spec.parameters.values() if p.is_tensor]
    if rule.parameter not in tensors or rule.key not in (
        "null",
        "dtype",
        "format",
        "rank",
        "dims",
        "empty",
    ):
        return None
    other = tensors[(tensors.index(rule.parameter) + 1) % len(tensors)]
    guards = [
        _compiled(spec, guard, re.sub(rf"\b{rule.parameter}\b", other, guard.require.text))
        for guard in rule.guards
    ]
    return replace(rule, guards=tuple(guard for guard in guards if guard is not None))


def another_code(spec: Spec, rule: Rule) -> int:
    """A code that the page knows, and not for this rule."""
    return next((code for code in (*spec.codes, *_ANY_CODES) if code != rule.code), _ANY_CODES[0])


FAMILIES = (
    Family(
        "not_enforced",
        "a rule is not enforced",
        removed(lambda rule: rule.code is not None),
    ),
    Family(
        "not_enforced_no_code",
        "a rule for which the page names no code is not enforced",
        removed(lambda rule: rule.code is None),
    ),
    Family(
        "wrong_code",
        "a rule answers with another rule's code",
        lambda spec, rule: rule if rule.code is not None else None,
        code=another_code,
    ),
    Family(
        "null_unchecked",
        "a null pointer is not detected, and then read",
        removed(lambda rule: rule.key == "null"),
        lost=CRASH,
    ),
    Family("empty_accepted", "an empty tensor is accepted", removed(forbids_empty)),
    Family(
        "product_unchecked",
        "the product is not checked",
        removed(lambda rule: rule.id == "product"),
    ),
    Family(
        "length_unchecked",
        "the length of an array is not checked",
        removed(lambda rule: rule.key == "length"),
    ),
    Family(
        "limit_flipped",
        "< and <= are exchanged, and so are > and >=",
        rewritten(flipped),
        refuses=("<=", ">="),
    ),
    Family("limit_shifted", "a limit is off by one", rewritten(shifted), refuses=("<", ">")),
    Family("size_off_by_one", "an extent that is off by one is accepted", rewritten(nearly)),
    Family(
        "condition_ignored",
        "a rule is enforced where its condition does not hold",
        without_condition,
        refuses=ANY,
    ),
    Family("wrong_tensor", "a check of one tensor reads another tensor", of_another_tensor),
)
