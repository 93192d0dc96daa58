"""The sides of a rule that calls can stand on: at its limit and one step beyond, each member and
what is none, equal and not.

A side is tested when a call stands on it. What forbids is tested from outside too, unless the page
says nothing about what happens there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from opgen.calls.vocabulary import vocabulary
from opgen.oracle.judgement import Judgement
from opgen.spec.language import formulas
from opgen.spec.rules import Guard, Rule
from opgen.suite.enumeration.breaker import distance
from opgen.suite.enumeration.reasons import excluded

INSIDE, OUTSIDE = "valid", "invalid"


@dataclass(frozen=True)
class Side:
    """One side of one guard: ``calls`` stand on it, or ``reason`` says why none does; ``where`` is
    valid or invalid.
    """

    guard: str
    where: str
    name: str
    calls: int
    reason: str = ""


UNTESTED = "no call stands there"
"""The reason of a side that calls could stand on."""
ELSEWHERE = "it speaks of products that this page does not judge"
_SILENT = {
    "assumed": "the page is silent here: no call is made to be refused",
    "disputed": "the page contradicts itself here",
}


def sides(rule: Rule, judged: Judgement, reason: str = "") -> Iterator[Side]:
    """Every side of every guard of a rule. ``reason`` is why nothing can break it, where something
    proves that.
    """
    spec, view, rows = judged.spec, judged.view, len(judged.table)
    others = judged.broken.sum(axis=0) - judged.broken[spec.rules.index(rule)]
    for guard in rule.guards:
        text = guard.require.text + (f" when {guard.when.text}" if guard.when else "")
        never = reason or (
            ELSEWHERE if all(excluded(guard, spec, product) for product in spec.judges) else ""
        )
        away = distance(guard, view, rows)
        reach, outside = guard.applies(view, rows), guard.broken(view, rows)
        apart = "" if (reach & (others == 0)).any() else _closed(judged, rule, reach)
        for name, on_it in _inside(guard, away, reach & ~outside, judged):
            count = int((on_it & judged.valid).sum())
            why = never or _closed(judged, rule, on_it) or apart
            yield Side(text, INSIDE, name, count, "" if count else why or UNTESTED)
        silent = _SILENT.get(rule.bucket, "")
        for name, on_it in _outside(guard, away, outside, judged):
            count = int(on_it.sum())
            why = silent or never or apart or _exempt(guard, name, away, judged) or UNTESTED
            yield Side(text, OUTSIDE, name, count, "" if count else why)


def _exempt(guard: Guard, name: str, away: np.ndarray, judged: Judgement) -> str:
    """Whether calls one step beyond a limit are there, and the guard's own condition leaves them
    out.
    """
    if guard.when is None or not guard.require.is_inequality:
        return ""
    bare = Guard(None, guard.require)
    beyond = next(
        on_it
        for one, on_it in _outside(bare, away, bare.broken(judged.view, len(away)), judged)
        if one == name
    )
    return "its own condition does not hold there" if beyond.any() else ""


def _closed(judged: Judgement, rule: Rule, tried: np.ndarray) -> str:
    """Which other rules forbid what was tried, by the call that breaks fewest of them; empty where
    nothing was tried.
    """
    rows = np.flatnonzero(tried & ~judged.valid)
    if not len(rows):
        return ""
    row = rows[judged.broken[:, rows].sum(axis=0).argmin()]
    names = [
        one.id
        for i, one in enumerate(judged.spec.rules)
        if judged.broken[i, row] and one is not rule
    ]
    return f"what was tried there breaks {', '.join(names)}" if names else ""


def _inside(
    guard: Guard, away: np.ndarray, inside: np.ndarray, judged: Judgement
) -> Iterator[tuple[str, np.ndarray]]:
    relation = guard.require
    if relation.is_inequality:
        step = _step(guard, judged)
        yield (
            "at the limit",
            inside
            & (np.abs(away) <= step if relation.operator in ("<", ">") else np.abs(away) < step),
        )
    elif relation.operator == "in" and relation.left.kind != "shape":
        left = relation.left.read(judged.view).data
        for right in relation.right:
            value = right.read(judged.view).data
            yield (
                _shown(right.text, relation.left.kind, value),
                inside & np.broadcast_to(np.asarray(left == value), len(inside)),
            )
    else:
        yield "holds", inside


def _outside(
    guard: Guard, away: np.ndarray, outside: np.ndarray, judged: Judgement
) -> Iterator[tuple[str, np.ndarray]]:
    relation = guard.require
    if relation.is_inequality:
        step = _step(guard, judged)
        yield (
            "one step beyond",
            outside
            & (np.abs(away) < step if relation.operator in ("<", ">") else np.abs(away) <= step),
        )
    elif relation.left.kind == "int" and relation.operator in ("==", "in"):
        if not (relation.left.counts and any(right.text == "0" for right in relation.right)):
            yield "below", outside & (away < 0)
        yield "above", outside & (away > 0)
    else:
        yield "broken", outside


def _step(guard: Guard, judged: Judgement) -> float:
    """What the smallest change of the left side is in the units that the distance has."""
    left, right = guard.require.left.read(judged.view), guard.require.right[0].read(judged.view)
    return (
        1.0
        if left.over == right.over
        else float(
            formulas.over_one_divisor(formulas.Value(np.asarray(1), True, left.over), right)[0]
        )
    )


def _shown(text: str, kind: str, value: object) -> str:
    return (
        vocabulary().names[kind][int(np.asarray(value).reshape(-1)[0])]
        if kind in ("dtype", "format", "product")
        else text
    )


def count(found: list[Side]) -> tuple[int, int]:
    """(sides that calls stand on, sides that calls could stand on)."""
    tested = sum(side.calls > 0 for side in found)
    return tested, tested + sum(side.reason == UNTESTED for side in found)
