"""The sides of a rule that calls can stand on: at its limit and one step beyond, each member and what is none, equal and not.

A side is tested when a call stands on it. What forbids is tested from outside too, unless the page says nothing about what
happens there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from opgen import formulas
from opgen.breaker import breaks, distance, reaches
from opgen.edited import FORBIDDEN
from opgen.oracle import Judgement
from opgen.reasons import excluded
from opgen.rules import Guard, Rule
from opgen.words import words

INSIDE, OUTSIDE = "valid", "invalid"
_INEQUALITIES = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class Side:
    """One side of one guard: ``calls`` stand on it, or ``reason`` says why none does; ``where`` is valid or invalid."""

    guard: str
    where: str
    name: str
    calls: int
    reason: str = ""


def sides(rule: Rule, judged: Judgement, reason: str) -> Iterator[Side]:
    """Every side of every guard of a rule. ``reason`` is why nothing breaks it, where the plan that was asked knows."""
    spec, view, rows = judged.spec, judged.view, len(judged.table)
    for guard in rule.guards:
        text = guard.require.text + (f" when {guard.when.text}" if guard.when else "")
        never = all(excluded(guard, spec, product) for product in spec.judges)
        away = distance(guard, view, rows)
        inside = reaches(guard, view, rows) & judged.valid
        outside = breaks(guard, view, rows)
        for name, on_it in _inside(guard, away, inside, judged):
            why = "" if on_it.any() else _absent(never, "no valid call stands there")
            yield Side(text, INSIDE, name, int(on_it.sum()), why)
        silent = "" if rule.bucket in FORBIDDEN else _SILENT.get(rule.bucket, "")
        for name, on_it in _outside(guard, away, outside):
            count = int(on_it.sum())
            why = "" if count else silent or _absent(never, reason or "no invalid call stands there")
            yield Side(text, OUTSIDE, name, count, why)


_SILENT = {"assumed": "the page is silent here: no call is made to be refused", "disputed": "the page contradicts itself here"}
OUT_OF_REACH = "out of reach: "


def _absent(never: bool, why: str) -> str:
    return f"{OUT_OF_REACH}it cannot apply to the products that this page judges" if never else why


def _inside(guard: Guard, away: np.ndarray, inside: np.ndarray, judged: Judgement) -> Iterator[tuple[str, np.ndarray]]:
    relation = guard.require
    if relation.operator in _INEQUALITIES:
        step = _step(guard, judged)
        yield "at the limit", inside & (np.abs(away) <= step if relation.operator in ("<", ">") else np.abs(away) < step)
    elif relation.operator == "in" and relation.left.kind != "shape":
        left = relation.left.read(judged.view).data
        for right in relation.right:
            value = right.read(judged.view).data
            yield _shown(right.text, relation.left.kind, value), inside & np.broadcast_to(np.asarray(left == value), len(inside))
    else:
        yield "holds", inside


def _outside(guard: Guard, away: np.ndarray, outside: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    relation = guard.require
    if relation.operator in _INEQUALITIES:
        nearest = np.abs(away[outside]).min(initial=np.inf)
        yield "one step beyond", outside & (np.abs(away) == nearest) if np.isfinite(nearest) else outside
    elif relation.left.kind == "int" and relation.operator in ("==", "in"):
        yield "below", outside & (away < 0)
        yield "above", outside & (away > 0)
    else:
        yield "broken", outside


def _step(guard: Guard, judged: Judgement) -> float:
    """What the smallest change of the left side is in the units that the distance has."""
    left, right = guard.require.left.read(judged.view), guard.require.right[0].read(judged.view)
    return 1.0 if left.over == right.over else float(formulas.over_one_divisor(formulas.Value(np.asarray(1), True, left.over), right)[0])


def _shown(text: str, kind: str, value: object) -> str:
    return words().names[kind][int(np.asarray(value).reshape(-1)[0])] if kind in ("dtype", "format", "product") else text


def count(found: list[Side]) -> tuple[int, int]:
    """(sides that calls stand on, sides that calls could stand on)."""
    tested = sum(side.calls > 0 for side in found)
    could = [side for side in found if side.calls or not (side.reason.startswith(OUT_OF_REACH) or side.reason in _SILENT.values())]
    return tested, len(could)
