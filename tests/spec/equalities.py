"""Whether equalities of axes follow from others: shapes axis by axis, under conditions, and in both
cases of a flag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from opgen.spec.drafting.cells import MOST_RANK
from opgen.spec.drafting.facts import reached

AXIS = re.compile(r"([\w\[\]]+)\.shape\[(-?\d)\]$")
SHAPE = re.compile(r"([\w\[\]]+)\.shape(\[1:\])?$")
GIVEN = re.compile(r"^len\(\w+\) > 0(?: and )?")
"""That a list has tensors, without which nothing is said of them."""


class Equality(NamedTuple):
    """Two terms that are equal under some conditions."""

    left: str
    right: str
    when: frozenset[str]


def equalities(says: str, ranks: Mapping[tuple[str, str], int]) -> Iterator[Equality] | None:
    """What a fact says of axes, numbers and lengths; None where it says something else. ``ranks``:
    tensor, condition -> its rank, without condition ''.
    """
    require, _, when = says.partition(" when ")
    left, equal, right = require.partition(" == ")
    bare = re.sub(r"^\((.*)\)$", r"\1", GIVEN.sub("", when))
    if not equal or "(" in bare:
        return None
    held = frozenset(filter(None, bare.split(" and ")))
    return _paired(left, right, held, ranks)


def _paired(
    left: str, right: str, held: frozenset[str], ranks: Mapping[tuple[str, str], int]
) -> Iterator[Equality]:
    shapes = SHAPE.match(left), SHAPE.match(right)
    if shapes[0] and shapes[1]:
        told = {ranks.get((shape[1], "")) for shape in shapes if shape}
        rank = told.pop() if len(told) == 1 else None
        for axis in range(1, (rank or MOST_RANK) + 1):
            yield Equality(f"{shapes[0][1]}.shape[-{axis}]", f"{shapes[1][1]}.shape[-{axis}]", held)
    elif shapes[1] and left.startswith("("):
        axes = [axis.strip() for axis in left[1:-1].split(",") if axis.strip()]
        for place, term in enumerate(axes):
            yield Equality(term, f"{shapes[1][1]}.shape[{place - len(axes)}]", held)
    else:
        first, kept = _from_the_end(left, held, ranks)
        second, kept = _from_the_end(right, kept, ranks)
        yield Equality(first, second, kept)


def _from_the_end(
    term: str, held: frozenset[str], ranks: Mapping[tuple[str, str], int]
) -> tuple[str, frozenset[str]]:
    """An axis counted from the last, without the condition under which alone it has this rank."""
    axis = AXIS.match(term)
    if not axis:
        return term, held
    conditions = [when for when in ("", *held) if (axis[1], when) in ranks]
    if not conditions:
        return term, held
    place = int(axis[2]) - (ranks[axis[1], conditions[0]] if axis[2][0] != "-" else 0)
    return f"{axis[1]}.shape[{place}]", held - {conditions[0]}


def ranks_of(told: Iterable[str]) -> dict[tuple[str, str], int]:
    """Tensor, condition -> its rank, where it has only one."""
    result = {}
    for says in told:
        always = re.fullmatch(r"([\w\[\]]+)\.rank in \((\d)\)", says)
        under = re.fullmatch(r"(\d) == ([\w\[\]]+)\.rank when (.*)", says)
        result |= {(always[1], ""): int(always[2])} if always else {}
        result |= {(under[2], under[3]): int(under[1])} if under else {}
    return result


def follows(says: str, code: str, others: Iterable[tuple[str, str]]) -> bool:
    """Whether a fact follows from others, each with its code: how long a list is, which no axis
    says, from those of its code and from all axes; what an axis is from those of its code.
    """
    told = [*others]
    ranks = ranks_of([says, *(other for other, _ in told)])
    asked = [*(equalities(says, ranks) or ())]
    known = [
        equality
        for other, answer in told
        if answer == code or ("len(" in says and "len(" not in other)
        for equality in equalities(other, ranks) or ()
    ]
    known += [Equality(f"2 * {left}", f"2 * {right}", when) for left, right, when in known]
    flags = {term.removeprefix("not ") for equality in known for term in equality.when}
    return bool(asked) and all(_joined(each, known, flags) for each in asked)


def _joined(asked: Equality, known: list[Equality], flags: set[str]) -> bool:
    pairs = [frozenset(each[:2]) for each in known if each.when <= asked.when]
    if asked.right in reached(asked.left, pairs):
        return True
    open_flags = sorted(flags - {term.removeprefix("not ") for term in asked.when})
    return any(
        all(
            asked.right
            in reached(
                asked.left,
                [frozenset(e[:2]) for e in known if e.when <= asked.when | {term}],
            )
            for term in (flag, f"not {flag}")
        )
        for flag in open_flags
    )
