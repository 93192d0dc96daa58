"""What calls say, and how much of it the rules of a spec tell already.

The ranks, dtypes, formats and shapes of tensors, int arrays, and the letters of shapes are facts.
Equalities of the spec tell a fact from facts that stand before it; where none of them applies, a
tensor is like the one before. What is not told must be shown: calls that show the same are equal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgen.calls.columns import ArrayColumn, TensorColumn
from opgen.calls.kinds import KINDS
from opgen.calls.vocabulary import vocabulary
from opgen.spec.language.term import NOTHING, Reference
from opgen.spec.parameter import Parameter
from opgen.spec.rules import Guard
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView


@dataclass(frozen=True)
class CallFact:
    """A fact by the name that rules have for it, the guards that tell it (of an array: its
    length), and the same fact of the tensor before, if there is one.
    """

    reference: Reference
    guards: tuple[Guard, ...]
    before: Reference | None


def letters_of(spec: Spec) -> list[str]:
    """The letters of shapes, those of the highest rank first.

    >>> from opgen.spec.catalog import catalog
    >>> letters_of(catalog().by_page["aclnnReflectionPad1dBackward", "ascend910b"])
    ['N', 'C', 'Wout', 'W']
    """
    shapes = (
        shape for p in spec.parameters.values() for _, shape in sorted(p.shapes.items())[::-1]
    )
    return list(dict.fromkeys(x for shape in shapes for x in shape if isinstance(x, str)))


def least_of(spec: Spec, parameter: str) -> Any:
    """What an attribute is when nothing is said of it: 0, no text, or the least that the page
    allows.
    """
    rule = spec.rule.get(f"{parameter}.min")
    bounds = [g.require.right[0] for g in rule.guards] if rule is not None else []
    blank = KINDS[spec.parameters[parameter].kind].element.blank
    return next((b.read(NOTHING).data.item() for b in bounds if not b.refs), blank)


def facts_of(spec: Spec) -> list[CallFact]:
    """Every fact behind those that tell it."""
    tensors = [p for p in spec.parameters.values() if p.is_tensor]
    arrays = {p.name: p for p in spec.parameters.values() if p.kind == "int_array"}
    stages = (
        [(p.name, "rank") for p in tensors if p.shapes],
        [(p.name, what) for what in ("dtype", "format") for p in tensors],
        [(name, "") for name in arrays],
        [(letter, "") for letter in letters_of(spec)],
        [(p.name, "shape") for p in tensors],
    )
    known = {("product", "")} | {(p.name, "null") for p in tensors}
    known |= {(p.name, "") for p in spec.parameters.values() if p.name not in arrays}
    facts: list[CallFact] = []
    for stage in stages:
        pending = {reference: _telling(spec, reference, arrays) for reference in stage}
        before: dict[str, Reference] = {}
        while pending:
            ready = (fact for fact, by in pending.items() if all(needs <= known for _, needs in by))
            fact = next(ready, next(iter(pending)))
            guards = tuple(guard for guard, needs in pending.pop(fact) if needs <= known)
            facts.append(CallFact(fact, guards, before.get(fact[1])))
            known |= {fact, *((name, "") for name in _items(arrays.get(fact[0])))}
            if fact[1]:
                before[fact[1]] = fact
    return facts


def _items(array: Parameter | None) -> list[str]:
    slots = [] if array is None else [slot for slots in array.items.values() for slot in slots]
    return [name for slot in slots for name in slot]


def _telling(
    spec: Spec, fact: Reference, arrays: Collection[str]
) -> list[tuple[Guard, set[Reference]]]:
    """The guards that say what a fact is, and the facts that they need for it."""
    left = (fact[0], "len") if fact[0] in arrays else fact
    alone = [guard for guard in spec.memberships.get(left, ()) if len(guard.require.right) == 1]
    guards = [*spec.equalities.get(left, ()), *alone]
    return [(guard, _needs(spec, guard) - {fact}) for guard in guards]


def _needs(spec: Spec, guard: Guard) -> set[Reference]:
    """The facts that a guard reads."""
    read = {*guard.require.refs, *(() if guard.when is None else guard.when.refs)}
    return {_fact(spec.parameters.get(name), (name, what)) for name, what in read}


def _fact(parameter: Parameter | None, reference: Reference) -> Reference:
    """The fact from which what a rule reads follows."""
    name, what = reference
    if parameter is None or not parameter.is_tensor:
        return name, ""
    if what in ("dtype", "format", "null", "strided") or (what == "rank" and parameter.shapes):
        return reference
    return name, "shape"


def told(fact: CallFact, view: TableView) -> np.ndarray:
    """(rows,) bool: where a fact need not be shown; nothing is shown of a null tensor, nor of a
    letter that no tensor has.
    """
    (name, what), rows = fact.reference, len(view.table)
    applies, broken = np.zeros((2, rows), dtype=bool)
    for guard in fact.guards:
        applies |= guard.applies(view, rows)
        broken |= guard.broken(view, rows)
    column = view.table.columns.get(name)
    if column is None:
        bound = np.broadcast_to(np.asarray(view.get(fact.reference).bound), rows)
        return np.asarray(~bound | (applies & ~broken))
    if isinstance(column, ArrayColumn):
        inside = np.arange(column.values.shape[1]) < column.length[:, None]
        least = ((column.values == least_of(view.spec, name)) | ~inside).all(axis=1)
        return np.asarray(applies & ~broken & least)
    assert isinstance(column, TensorColumn)
    like = _like(column, fact, view) if fact.before is not None else np.zeros(rows, dtype=bool)
    result = np.where(applies, ~broken, like)
    formats = vocabulary().index["format"]
    for rank, layout, letters in view.spec.parameters[name].layouts if what == "shape" else ():
        here = (column.rank == rank) & (not layout or column.format == formats.get(layout))
        result[here] = _lettered(column, letters, view)[here]
    return np.asarray(column.null | result)


def _like(column: TensorColumn, fact: CallFact, view: TableView) -> np.ndarray:
    """(rows,) bool: whether a tensor agrees in a fact with the one before."""
    assert fact.before is not None
    other = view.table.tensors[fact.before[0]]
    if fact.reference[1] != "shape":
        name = str(fact.reference[1])
        same = getattr(column, name) == getattr(other, name)
    else:
        width = min(column.shape.shape[1], other.shape.shape[1])
        same = (column.rank == other.rank) & (column.rank <= width)
        same &= (column.shape[:, :width] == other.shape[:, :width]).all(axis=1)
    return np.asarray(same & ~other.null)


def _lettered(column: TensorColumn, letters: Sequence[str | int], view: TableView) -> np.ndarray:
    """(rows,) bool: whether the first extents of a tensor are these letters, which have values."""
    result = np.ones(len(column.null), dtype=bool)
    for axis, letter in enumerate(letters[: column.shape.shape[1]]):
        if isinstance(letter, int):
            result &= column.shape[:, axis] == letter
        else:
            extent = view.get((letter, ""))
            result &= (column.shape[:, axis] == extent.data) & extent.bound
    return result
