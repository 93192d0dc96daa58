"""Which calls have an answer that can be computed: those the page allows, and those the library
accepts, or may accept, all the same.

A call that the library may accept and the page forbids has data and goldens too, as long as what it
breaks leaves the mathematics alone: a dtype, a format, a product, a pointer or an array that nobody
reads, an upper limit, an extent of 0, the range of a scalar that says nothing of extents, an output
that is not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from opgen.calls.layout import self_overlapping, within_storage
from opgen.calls.table import CallTable
from opgen.calls.vocabulary import vocabulary
from opgen.numerics.formats import DTYPES
from opgen.oracle.judgement import Judgement
from opgen.oracle.library import LibraryAnswers
from opgen.spec.language.term import NOTHING
from opgen.spec.rules import Guard, Rule, true_where
from opgen.spec.spec import Spec
from opgen.suite.values import on_values

_SHAPING = ("==", ">=", ">")


def shapes_the_answer(rule: Rule, guard: Guard, judged: Judgement) -> bool:
    """Whether a call that breaks this guard may have no defined answer: extents, lengths and ranks
    that do not fit. One of two readings of a page that contradicts itself does not shape it.
    """
    if on_values(guard):
        return True
    if rule.bucket == "disputed" or rule.key in ("dtype", "format", "null", "enum"):
        return False
    if rule.key == "length":
        return rule.parameter in _extents_follow_from(judged.spec)
    if rule.key == "rank" and judged.spec.parameters[rule.parameter or ""].shapes:
        return True
    if {name for name, _ in guard.require.refs} & _items_that_shape_nothing(judged.spec):
        return False
    if rule.key == "range" and rule.parameter not in _shaping(judged.spec):
        return False
    return (
        guard.require.left.kind in ("int", "shape", "bool") and guard.require.operator in _SHAPING
    )


def computable(judged: Judgement, answers: LibraryAnswers | None) -> np.ndarray:
    """(rows,) bool: legal by the page; or accepted by the library, for all that is known, with
    every rule that shapes the answer obeyed.
    """
    asked = answers.may_succeed & ~judged.valid if answers is not None else np.zeros(0, dtype=bool)
    if not asked.any():
        return judged.valid
    spoilt = np.zeros(len(judged.table), dtype=bool)
    for rule, _ in judged.breaking:
        for guard in rule.guards:
            if shapes_the_answer(rule, guard, judged):
                spoilt |= (
                    guard.broken(judged.view, len(judged.table))
                    & _asked_for(guard, judged)
                    & ~_of_nothing(guard, judged)
                )
    spoilt |= _missing(judged) | _beyond_the_reals(judged)
    return np.asarray(judged.valid | (asked & ~spoilt))


def _of_nothing(guard: Guard, judged: Judgement) -> np.ndarray:
    """(rows,) bool: whether an extent of 0 is what breaks a guard that asks for 1 or more: sums
    over nothing are 0.
    """
    relation, rows = guard.require, len(judged.table)
    if (
        relation.operator != ">="
        or [term.read(NOTHING).data for term in relation.right if not term.refs] != [1]
        or not {str(name) for name, _ in relation.left.refs} <= _extents(judged.spec)
    ):
        return np.zeros(rows, dtype=bool)
    return np.broadcast_to(np.asarray(relation.left.read(judged.view).data == 0), rows)


def _asked_for(guard: Guard, judged: Judgement) -> np.ndarray:
    """(rows,) bool: whether every output that a guard speaks of is asked for."""
    result = np.ones(len(judged.table), dtype=bool)
    for name in {name for name, _ in guard.require.refs}:
        parameter = judged.spec.parameters.get(name)
        if parameter is not None and parameter.mask is not None:
            result &= true_where(parameter.mask, judged.view, len(judged.table))
    return result


def _extents(spec: Spec) -> set[str]:
    """Names whose numbers are extents: tensors, letters of shapes, and what a number of elements is
    told by.
    """
    told = [
        guard
        for (_, what), guards in spec.equalities.items()
        if what == "numel"
        for guard in guards
    ]
    tensors = {p.name for p in spec.parameters.values() if p.is_tensor}
    return (
        _letters(spec) | tensors | {str(name) for guard in told for name, _ in guard.require.refs}
    )


def _letters(spec: Spec) -> set[str]:
    return {
        str(letter)
        for p in spec.parameters.values()
        for shape in p.shapes.values()
        for letter in shape
    }


def _shaping(spec: Spec) -> set[str]:
    """What no extent of a tensor can be told without: letters, and what stands in an equality that
    defines one.
    """
    letters = _letters(spec)
    defining = [
        guard
        for (name, _), guards in spec.equalities.items()
        if name in letters
        for guard in guards
    ]
    return letters | {str(name) for guard in defining for name, _ in guard.require.refs}


def _extents_follow_from(spec: Spec) -> set[str]:
    """Arrays without which no extent of a tensor can be told, by their items."""
    read = _shaping(spec)
    return {
        p.name
        for p in spec.parameters.values()
        for slots in p.items.values()
        for slot in slots
        for name in slot
        if name in read
    }


def _items_that_shape_nothing(spec: Spec) -> set[str]:
    """The names of the items of int arrays from which no extent follows: they are compared with
    extents, and no more.
    """
    idle = [
        p
        for p in spec.parameters.values()
        if p.kind == "int_array" and p.name not in _extents_follow_from(spec)
    ]
    return {name for p in idle for slots in p.items.values() for slot in slots for name in slot}


def _missing(judged: Judgement) -> np.ndarray:
    """(rows,) bool: where a null pointer stands for an array that extents follow from, or for an
    input that the page asks for, or that a spec says when to ask for: of all others the page is
    silent, and there is an answer without them.
    """
    view, rows = judged.view, len(judged.table)
    arrays = [view.get((name, "null")).data for name in _extents_follow_from(judged.spec)]
    names = {f"{p.name}.null" for p in judged.spec.inputs}
    inputs = [
        guard.broken(view, rows)
        for rule, _ in judged.breaking
        for guard in rule.guards
        if rule.id in names and (guard.when is not None or rule.bucket != "assumed")
    ]
    return np.asarray(np.logical_or.reduce([np.zeros(rows, dtype=bool), *arrays, *inputs]))


def _beyond_the_reals(judged: Judgement) -> np.ndarray:
    """(rows,) bool: where complex numbers come in that the page does not list, so that its formula
    is one of real numbers, or where an output that is asked for cannot hold them.
    """
    complex_ = np.array(
        [name in DTYPES and DTYPES[name].complex for name in vocabulary().names["dtype"]]
    )

    def of(name: str) -> np.ndarray:
        dtype = judged.view.get((name, "dtype"))
        return np.asarray(complex_[dtype.data] & dtype.bound)

    inputs = [p.name for p in judged.spec.inputs]
    unlisted = [
        of(rule.parameter) & rows
        for rule, rows in judged.breaking
        if rule.key == "dtype" and rule.parameter in inputs
    ]
    lost = [asked & ~of(name) for name, asked in judged.wanted.items()]
    given = np.logical_or.reduce([of(name) for name in inputs])
    return np.asarray(np.logical_or.reduce([*unlisted, *(given & here for here in lost)]))


def holdable(table: CallTable) -> np.ndarray:
    """(rows,) bool: whether data and goldens can be made for every dtype of the call, and every
    view lies inside its storage.
    """
    known = np.array([name in DTYPES for name in vocabulary().names["dtype"]])
    result = np.ones(len(table), dtype=bool)
    for column in table.tensors.values():
        result &= column.null | (known[column.dtype] & within_storage(column))
    return result


def single(table: CallTable, outputs: Iterable[str]) -> np.ndarray:
    """(rows,) bool: no two elements of an output share a place. A device writes such a place
    several times, and what it then holds is no golden: the last of several values, in an order that
    nobody promises. Inputs may repeat theirs, they are only read.
    """
    result = np.ones(len(table), dtype=bool)
    for name in table.tensors.keys() & set(outputs):
        result &= ~self_overlapping(table.tensors[name])
    return result
