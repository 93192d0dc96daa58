"""The boundaries of a rule that calls can stand on: at its limit and one step beyond, each member
and what is none, equal and not.

A boundary is tested when a call stands on it. What forbids is tested from outside too, unless the
page says nothing about what happens there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from opgen.calls.kinds import NUMERIC
from opgen.calls.vocabulary import vocabulary
from opgen.oracle.judgement import Judgement
from opgen.spec.language.functions import over_one_divisor
from opgen.spec.language.term import Reference, View
from opgen.spec.language.value import Value
from opgen.spec.rules import Guard, Rule
from opgen.suite.enumeration.distance import distance, unit_of
from opgen.suite.enumeration.reasons import excluded

INSIDE, OUTSIDE = "valid", "invalid"


@dataclass(frozen=True)
class Boundary:
    """One boundary of one guard: ``calls`` stand on it, or ``reason`` says why none does; ``where``
    is valid or invalid.
    """

    guard: str
    where: str
    name: str
    calls: int
    reason: str = ""


UNTESTED = "no call of the suite is there"
"""The reason of a boundary that calls could stand on."""
ELSEWHERE = "it speaks of products that this page does not judge"
_SILENT = {
    "assumed": "the page does not state this rule, so opgen makes no call that breaks it",
    "disputed": "the page contradicts itself here",
}


def boundaries(rule: Rule, judged: Judgement, reason: str = "") -> Iterator[Boundary]:
    """Every boundary of every guard of a rule. ``reason`` is why nothing can break it, where
    something proves that.
    """
    spec, view, rows = judged.spec, judged.view, len(judged.table)
    others = judged.broken.sum(axis=0) - judged.broken[spec.rules.index(rule)]
    silent = _SILENT.get(rule.bucket, "")
    for guard in rule.guards:
        text = guard.require.text + (f" when {guard.when.text}" if guard.when else "")
        elsewhere = all(excluded(guard, spec, product) for product in spec.judges)
        never = reason or (ELSEWHERE if elsewhere else "")
        away = distance(guard, view, rows, unit_of(guard, judged.table))
        reach, outside = guard.applies(view, rows), guard.broken(view, rows)
        apart = "" if (reach & (others == 0)).any() else _closed(judged, rule, reach)
        for name, standing in _inside(guard, away, reach & ~outside, judged):
            count = int((standing & judged.valid).sum())
            why = never or _closed(judged, rule, standing) or apart or UNTESTED
            yield Boundary(text, INSIDE, name, count, "" if count else why)
        for name, standing in _outside(guard, away, outside, judged):
            count = int(standing.sum())
            why = silent or never or apart or _exempt(guard, name, away, judged) or UNTESTED
            yield Boundary(text, OUTSIDE, name, count, "" if count else why)


def _exempt(guard: Guard, name: str, away: np.ndarray, judged: Judgement) -> str:
    """Whether calls one step beyond a limit are there, and the guard's own condition leaves them
    out.
    """
    if guard.when is None or not guard.require.is_inequality:
        return ""
    bare = Guard(None, guard.require)
    beyond = dict(_outside(bare, away, bare.broken(judged.view, len(away)), judged))
    return "its own condition does not hold there" if beyond[name].any() else ""


def _closed(judged: Judgement, rule: Rule, tried: np.ndarray) -> str:
    """Which other rules forbid what was tried, by the call that breaks fewest of them; empty where
    nothing was tried.
    """
    rows = np.flatnonzero(tried & ~judged.valid)
    if not len(rows):
        return ""
    row = rows[judged.broken[:, rows].sum(axis=0).argmin()]
    broken = [judged.spec.rules[i] for i in np.flatnonzero(judged.broken[:, row])]
    names = [other.id for other in broken if other is not rule]
    return f"the calls tried there break {', '.join(names)}" if names else ""


def _inside(
    guard: Guard, away: np.ndarray, inside: np.ndarray, judged: Judgement
) -> Iterator[tuple[str, np.ndarray]]:
    relation = guard.require
    if relation.is_inequality:
        yield "at the limit", inside & _near(guard, away, judged, strict=("<", ">"))
    elif relation.operator == "in" and relation.left.kind != "shape":
        left = relation.left.read(judged.view).data
        for right in relation.right:
            value = right.read(judged.view).data
            name = _shown(right.text, relation.left.kind, value)
            yield name, inside & np.broadcast_to(np.asarray(left == value), len(inside))
    else:
        yield "holds", inside


def _outside(
    guard: Guard, away: np.ndarray, outside: np.ndarray, judged: Judgement
) -> Iterator[tuple[str, np.ndarray]]:
    relation = guard.require
    if relation.is_inequality:
        yield "one step beyond", outside & _near(guard, away, judged, strict=("<=", ">="))
    elif relation.unit in NUMERIC and relation.operator in ("==", "in"):
        if not (relation.left.counts and any(right.text == "0" for right in relation.right)):
            yield "below", outside & (away < 0)
        yield "above", outside & (away > 0)
    else:
        yield "broken", outside


def _near(guard: Guard, away: np.ndarray, judged: Judgement, strict: tuple[str, ...]) -> np.ndarray:
    """(rows,) bool: less than the smallest change of the left side away from the limit, in the
    units of the distance; with a ``strict`` comparison, at most. Where one more of any name changes
    the side by more than that, as in a product of extents, one more of some name is enough.
    """
    left, right = guard.require.left.read(judged.view), guard.require.right[0].read(judged.view)
    smallest = 1.0
    if left.over != right.over and guard.require.unit == "int":
        unit = Value(np.asarray(1), True, left.over)
        smallest = float(over_one_divisor(unit, right)[0])
    changes = [
        np.abs(distance(guard, _OneMore(judged.view, ref), len(away)) - away)
        for ref in guard.require.left.refs
        if guard.require.unit == "int" and ref[1] != "shape"
    ]
    changes = [np.where(change > 0, change, smallest) for change in changes] or [smallest]
    step = np.where(np.min(changes, axis=0) > smallest, np.max(changes, axis=0), smallest)
    far = np.abs(away)
    return np.asarray(far <= step if guard.require.operator in strict else far < step)


@dataclass(frozen=True)
class _OneMore:
    """Columns in which one name is larger by one."""

    view: View
    name: Reference

    def get(self, reference: Reference) -> Value:
        value = self.view.get(reference)
        return value._replace(data=value.data + 1 if reference == self.name else value.data)


def _shown(text: str, kind: str, value: object) -> str:
    if kind not in ("dtype", "format", "product"):
        return text
    return vocabulary().names[kind][int(np.asarray(value).reshape(-1)[0])]


def count(standing: Sequence[Boundary]) -> tuple[int, int]:
    """(boundaries that calls stand on, boundaries that calls could stand on)."""
    tested = sum(boundary.calls > 0 for boundary in standing)
    return tested, tested + sum(boundary.reason == UNTESTED for boundary in standing)
