"""Pages as people read them: every fact of a spec in the order of its page, and where two pages of
one operator differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from opgen.calls.factorize import by_key
from opgen.calls.kinds import KINDS
from opgen.calls.table import from_calls
from opgen.calls.vocabulary import vocabulary
from opgen.model import AclScalar, Argument, Call, TensorDesc
from opgen.oracle.judgement import ORDER
from opgen.spec.parameter import Parameter
from opgen.spec.rules import Rule, readable
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView


@dataclass(frozen=True)
class Fact:
    """One thing that a spec says: an id, the lines of the page, what it says, and what the page
    answers to a call that breaks it.

    ``answer`` is a clause (``161002.7``), a code, or a bucket, perhaps with a likely code; empty
    where nothing can be broken. ``note`` is our reading.
    """

    id: str
    at: tuple[int, ...]
    says: str
    answer: str = ""
    note: str = ""


@dataclass(frozen=True)
class PageLine:
    """What stands on one line of a page: the facts told there, and the ids of those told at another
    of their lines.
    """

    line: int
    facts: tuple[Fact, ...]
    also: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """A fact that the pages of one operator do not share; ``sides`` follow the pages, ``None``
    where a page lacks it.

    ``kind``: ``says`` (the constraint differs), ``missing`` (a page lacks it), ``answer`` (only
    what a breach is answered differs).
    """

    fact: str
    kind: str
    sides: tuple[Fact | None, ...]


def facts(spec: Spec) -> list[Fact]:
    """Everything that a spec says, in the order of the page; what has no line comes last, in the
    order of the spec.
    """
    told = [_parameter(parameter) for parameter in spec.parameters.values()]
    told += [Fact(rule.id, rule.at, rule.text, answer(rule), rule.note) for rule in spec.rules]
    told += _modes(spec)
    if spec.exact:
        outputs = ", ".join(spec.exact)
        told.append(Fact("compute.exact", (), f"may be computed from unrounded inputs: {outputs}"))
    for clause, line in spec.clauses.items():
        rules = ", ".join(rule.id for rule in spec.rules if rule.clause == clause)
        told.append(Fact(clause, (line,), rules or "demanded of no rule", clause))
    told += [Fact(f"remark.{line}", (line,), text) for line, text in spec.remarks.items()]
    return sorted(told, key=lambda fact: (not fact.at, fact.at[:1]))


def by_line(spec: Spec) -> tuple[list[PageLine], list[Fact]]:
    """The cited lines of a page, each with its facts, and the facts without a line.

    A fact is told at the first line that it names; at its others it is mentioned, except at the
    line of its own clause, which lists its rules anyway.
    """
    told: dict[int, list[Fact]] = {}
    also: dict[int, list[str]] = {}
    for fact in facts(spec):
        for i, line in enumerate(dict.fromkeys(fact.at)):
            told.setdefault(line, [])
            if i == 0:
                told[line].append(fact)
            elif line != spec.clauses.get(fact.answer):
                also.setdefault(line, []).append(fact.id)
    lines = [PageLine(line, tuple(told[line]), tuple(also.get(line, ()))) for line in sorted(told)]
    return lines, [fact for fact in facts(spec) if not fact.at]


def answer(rule: Rule) -> str:
    """Where the page says what a breach is answered: a clause, a code without a clause, or the
    bucket, with the code that is likely.
    """
    stated = rule.clause or (str(rule.code) if rule.code is not None else rule.bucket)
    return stated if rule.likely is None else f"{stated}, likely {rule.likely}"


def differences(pages: Sequence[Spec]) -> list[Difference]:
    """Every fact that the pages of one operator do not all state in the same way; line numbers and
    notes do not count.
    """
    sides = [
        {fact.id: fact for fact in facts(page) if fact.id not in page.clauses} for page in pages
    ]
    for side in sides[1:]:
        _pair_modes(sides[0], side)
    differing = []
    for name in dict.fromkeys(name for side in sides for name in side):
        here = tuple(side.get(name) for side in sides)
        known = [fact for fact in here if fact is not None]
        if len(known) < len(here):
            differing.append(Difference(name, "missing", here))
        elif len({fact.says for fact in known}) > 1:
            differing.append(Difference(name, "says", here))
        elif len({fact.answer for fact in known}) > 1:
            differing.append(Difference(name, "answer", here))
    return differing


def _pair_modes(first: Mapping[str, Fact], side: dict[str, Fact]) -> None:
    """Put the roundings of a page under the ids of those of the first page that say the same: their
    numbers mean nothing there.
    """
    for name, fact in first.items():
        same = [
            other
            for other in side
            if other.startswith("compute.") and side[other].says == fact.says
        ]
        if same and name not in same:
            displaced = side.pop(name, None)
            side[name] = side.pop(same[0])
            if displaced is not None:
                side[same[0]] = displaced


def buckets(spec: Spec) -> dict[str, int]:
    """Bucket -> how many rules of the page stand in it."""
    count = {bucket: sum(rule.bucket == bucket for rule in spec.rules) for bucket in ORDER}
    return {bucket: number for bucket, number in count.items() if number}


def dtypes(spec: Spec, product: str) -> dict[str, tuple[str, ...]]:
    """Tensor or scalar -> the dtypes that its page lists for a product, found by holding every
    dtype against its rule.

    Conditions that a call without arrays leaves open, such as a mask of outputs, count as met.
    """
    names = vocabulary().names["dtype"]
    parameters = spec.parameters.values()
    calls = [
        Call(spec.api, product, {p.name: _anything(p, dtype) for p in parameters})
        for dtype in names
    ]
    view = TableView(spec, from_calls(spec.api, spec.kinds, calls))
    rules = {p.name: spec.rule.get(f"{p.name}.dtype") for p in parameters}
    return {
        name: tuple(names[i] for i in np.flatnonzero(rule.allows(view, len(names))))
        for name, rule in rules.items()
        if rule is not None
    }


def shared(listed: Mapping[str, tuple[str, ...]]) -> list[tuple[list[str], tuple[str, ...]]]:
    """Parameters that list the same dtypes together: (parameters, dtypes), in the order of the
    prototype.
    """
    groups = by_key((allowed, name) for name, allowed in listed.items())
    return [(names, allowed) for allowed, names in groups.items()]


def _anything(parameter: Parameter, dtype: str) -> Argument:
    """Some value of a parameter; a tensor or a scalar of this dtype."""
    if parameter.is_tensor:
        return TensorDesc((1,), dtype)
    if KINDS[parameter.kind].family == "typed":
        return AclScalar(0, dtype)
    return None if parameter.is_pointer else 0


def _modes(spec: Spec) -> list[Fact]:
    """The roundings of inputs; a second one to the same dtype is numbered, so that the first that
    holds stays first.
    """
    told: list[Fact] = []
    for i, mode in enumerate(spec.modes):
        before = sum(other.dtype == mode.dtype for other in spec.modes[:i])
        name = f"compute.{mode.dtype}" + (f".{before + 1}" if before else "")
        may = "may be" if mode.optional else "are"
        told.append(
            Fact(
                name,
                mode.at,
                f"inputs {may} rounded to {mode.dtype} when {readable(mode.when.text)}",
            )
        )
    return told


def _parameter(parameter: Parameter) -> Fact:
    """What a parameter is and which names it binds; its rules are facts of their own."""
    parts = [parameter.kind]
    parts += [
        f"axes {_word(letters)}" + (f" in {layout}" if layout else "")
        for rank, layout, letters in parameter.layouts
        if layout or rank not in parameter.orders
    ]
    for length, slots in parameter.items.items():
        parts.append(
            f"{length} items: {' '.join('='.join(names) for names in slots)}"
            if length != 1
            else f"1 item: {'='.join(slots[0])}"
        )
    for length, names in parameter.otherwise.items():
        parts.append(
            f"{length} items: " + ", ".join(f"{name} = {other}" for name, other in names.items())
        )
    if parameter.enum:
        parts.append(", ".join(f"{number} {word}" for number, word in parameter.enum.items()))
    if parameter.strided is not None:
        parts.append("may be non-contiguous" if parameter.strided else "contiguous only")
    if parameter.mask is not None:
        parts.append(f"written when {readable(parameter.mask.text)}")
    return Fact(parameter.name, parameter.at, "; ".join(parts))


def _word(letters: Iterable[str | int]) -> str:
    return "(" + ", ".join(map(str, letters)) + ")"
