"""Three-valued logic on columns: a value is bound or not, and only what is bound can decide."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from opgen.calls.kinds import NUMERIC, REAL
from opgen.spec.language import functions
from opgen.spec.language.term import NOTHING, Term, View
from opgen.spec.language.value import Value, all_bound

_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def negation(a: Value) -> Value:
    """True where ``a`` is false; unbound where it is."""
    return Value(~np.asarray(a.data, dtype=bool), a.bound)


def is_false(a: Value) -> np.ndarray:
    """Where a truth is bound and false."""
    lies = ~np.asarray(a.data, dtype=bool)
    return lies if a.bound is True else np.asarray(lies & a.bound)


def conjunction(a: Value, b: Value) -> Value:
    """False as soon as one side is bound and false, whatever the other."""
    x, y, bound = np.asarray(a.data, dtype=bool), np.asarray(b.data, dtype=bool), all_bound(a, b)
    return Value(x & y, bound if bound is True else bound | (a.bound & ~x) | (b.bound & ~y))


def disjunction(a: Value, b: Value) -> Value:
    """True as soon as one side is bound and true, whatever the other."""
    x, y, bound = np.asarray(a.data, dtype=bool), np.asarray(b.data, dtype=bool), all_bound(a, b)
    return (
        Value(x | y)
        if bound is True
        else Value((x & a.bound) | (y & b.bound), bound | (a.bound & x) | (b.bound & y))
    )


def decided(a: Value, truth: bool) -> bool:
    """Whether ``a`` is bound everywhere and nothing but ``truth``."""
    return a.bound is True and np.count_nonzero(a.data) == (np.size(a.data) if truth else 0)


def _equal_shapes(a: Value, b: Value) -> Any:
    (rank_a, extents_a), (rank_b, extents_b) = a.data, b.data
    same = np.asarray(rank_a == rank_b)
    for i in range(min(extents_a.shape[-1], extents_b.shape[-1])):
        if not np.count_nonzero(same):
            break
        same = same & ((extents_a[:, i] == extents_b[:, i]) | (i >= rank_a))
    return same


def comparison(sign: str, left: Term, right: tuple[Term, ...]) -> Callable[[View], Value]:
    """What reads ``left sign right`` off a view; bound where every side is."""
    real = any(term.kind in REAL for term in (left, *right))
    sides = functions.exact if real else functions.over_one_divisor

    def equal(a: Value, b: Value) -> Any:
        if left.kind == "shape":
            return _equal_shapes(a, b)
        x, y = sides(a, b) if left.kind in NUMERIC else (a.data, b.data)
        return np.asarray(x == y)

    def among(view: View) -> Value:
        a, others = left.read(view), [item.read(view) for item in right]
        member = reduce(operator.or_, [equal(a, other) for other in others])
        return Value(member if positive else ~member, all_bound(a, *others))

    def among_numbers(view: View) -> Value:
        data, bound, over = left.read(view)
        if over != 1:
            return among(view)
        member = reduce(operator.or_, [_within(data, *run) for run in runs])
        return Value(member if positive else ~member, bound)

    def ordered(view: View) -> Value:
        a, b = left.read(view), right[0].read(view)
        return Value(np.asarray(_ORDER[sign](*sides(a, b)), dtype=bool), all_bound(a, b))

    if sign in _ORDER:
        return ordered
    positive, constants = (
        sign in ("==", "in"),
        [item.read(NOTHING) for item in right if not item.refs],
    )
    if (
        real
        or left.kind in ("shape", "string")
        or len(constants) < len(right)
        or any(value.over != 1 for value in constants)
    ):
        return among
    runs = _runs({int(value.data) for value in constants})
    return among_numbers


def _within(data: Any, low: int, high: int) -> Any:
    return data == low if low == high else (data >= low) & (data <= high)


def _runs(numbers: set[int]) -> list[tuple[int, int]]:
    """(first, last) of the numbers that follow each other: words and enums are columns of small
    numbers, mostly neighbours.

    >>> _runs({1, 5, 2, 3})
    [(1, 3), (5, 5)]
    """
    first, last = ([n for n in sorted(numbers) if n + step not in numbers] for step in (-1, 1))
    return list(zip(first, last, strict=True))
