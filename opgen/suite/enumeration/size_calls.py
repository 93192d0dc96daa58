"""Calls of the sizes that matter: on both sides of every boundary of an operator, and with every
free extent at each general size and one above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen.calls.layout import elements, representable
from opgen.calls.vocabulary import vocabulary
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.language.functions import Value
from opgen.spec.language.term import Reference, Term
from opgen.spec.rules import true_where
from opgen.spec.sizes import Sizes
from opgen.spec.spec import Spec
from opgen.suite.planning.call_builder import AxisColumn
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.constraints import grid

Wanted: TypeAlias = Mapping[Reference, int]
"""What calls are to have; of a tensor without letters how many elements."""
DENSE = 3
"""The strength of a tier from which on calls of every product and dtype have each size."""

WIDE = ("DOUBLE", "COMPLEX64", "COMPLEX128", "INT64", "UINT64")
"""Dtypes of wider elements than the general sizes count."""


class Size(NamedTuple):
    """Values of a call that matter, on some products (all: none is named), in words. ``terms`` say
    which calls are meant: (term, its truth); ``single``: a single dtype shows the size.
    """

    note: str
    values: Wanted
    single: bool
    products: tuple[str, ...] = ()
    terms: tuple[tuple[Term, bool], ...] = ()

    def stands(self, judged: Judgement) -> np.ndarray:
        """(rows,) bool: which legal calls have the values and are meant."""
        rows = len(judged.table)
        here = judged.valid & representable(judged.table)
        for reference, number in self.values.items():
            read = judged.view.get(reference)
            here &= np.broadcast_to(read.bound & (read.data == number), rows)
        if self.products:
            products = vocabulary().index["product"]
            here &= np.isin(judged.table.product, [products[name] for name in self.products])
        for term, truth in self.terms:
            here &= true_where(term, judged.view, rows) == truth
        return np.asarray(here)


class SizeCall(NamedTuple):
    """A judged call that stands in a row, what it is for and how its data are drawn."""

    row: int
    note: str
    recipe: str


def sizes_of(spec: Spec, sizes: Sizes) -> Iterator[Size]:
    """Every size that calls of a page may have: those of its operator, then the general ones."""
    for boundary in sizes.boundaries(spec):
        if not set(boundary.products) & set(spec.judges):
            continue
        for values, inside in boundary.points:
            terms = ((boundary.when, True), (boundary.holds, inside))
            told = ", ".join(f"{name} {number:d}" for name, number in values.items())
            yield Size(
                f"{'within' if inside else 'beyond'} {boundary.name}: {told}",
                {(name, ""): number for name, number in values.items()},
                boundary.when is not None,
                boundary.products,
                tuple((term, truth) for term, truth in terms if term is not None),
            )
    for name, what in free_extents(spec):
        for extent in dict.fromkeys(e + more for e in sizes.general for more in (0, 1)):
            words = f"{extent} elements" if what else f"{name} {extent}"
            yield Size(words, {(name, what): extent}, single=True)


def free_extents(spec: Spec) -> list[Reference]:
    """The letters of shapes that no equality of a page tells. Without any the names that tell how
    many elements the first input has, or these.
    """
    shapes = [shape for p in spec.parameters.values() for shape in p.shapes.values()]
    letters: list[Reference] = [(x, "") for shape in shapes for x in shape if isinstance(x, str)]
    elements = (spec.inputs[0].name, "numel")
    told = [
        ref for guard in spec.equalities.get(elements, ()) for ref in guard.require.right[0].refs
    ]
    free = [ref for ref in letters or told if not spec.equalities.get(ref)]
    return list(dict.fromkeys(free)) if letters or told else [elements]


def size_calls(
    compiled: CompiledPlan, sizes: Sizes, strength: int
) -> tuple[Judgement, list[SizeCall]]:
    """The smallest legal calls of all sizes, with the first value of every axis that says nothing
    of size, product or dtype: one for each dtype at a boundary and one at a general size, or one
    for each product and dtype in a tier of at least :data:`DENSE`.
    """
    axes = tuple(
        i
        for i, refs in enumerate(compiled.refs)
        if any({"product", "dtype", "rank"} & {name, what} for name, what in refs)
    )
    levels = grid(compiled, axes, tuple(compiled.shape[i] for i in axes))
    recipes, calls = compiled.recipes(levels), []
    parts = [judge(compiled.spec, compiled.builder(levels[:0]).table())]
    least = {
        extent: 1
        for extent in free_extents(compiled.spec)
        if _judged(compiled, levels, {extent: 1}).valid.any()
    }
    for number, size in enumerate(sizes_of(compiled.spec, sizes)):
        for values in ({**least, **size.values}, size.values):
            judged = _judged(compiled, levels, values)
            rows = _few(judged, np.flatnonzero(size.stands(judged)), strength, size, number)
            if len(rows):
                behind = sum(len(part.table) for part in parts)
                parts.append(judged.take(rows))
                calls += [
                    SizeCall(behind + i, size.note, recipes[row]) for i, row in enumerate(rows)
                ]
                break
    return Judgement.concatenate(parts), calls


def _judged(compiled: CompiledPlan, levels: np.ndarray, values: Wanted) -> Judgement:
    """The calls of some levels, with other values of some names; so many elements in one axis."""
    builder = compiled.builder(levels)
    more: dict[Reference, AxisColumn] = {}
    for (name, what), number in values.items():
        column = np.full(len(levels), number)
        if what == "numel":
            more[name, "shape"] = Value((np.ones_like(column), column[:, None]))
        else:
            more[name, what] = Value(column)
    builder.chosen = {**builder.chosen, **more}
    return judge(compiled.spec, builder.table())


def _few(judged: Judgement, rows: np.ndarray, strength: int, size: Size, number: int) -> np.ndarray:
    """Of the rows that have a size those that a tier takes: the smallest, of one or of each dtype;
    of equal ones another for every size.
    """
    if strength >= DENSE or not len(rows):
        return rows
    dtype = judged.view.get((judged.spec.inputs[0].name, "dtype")).data
    dtypes = np.broadcast_to(dtype, len(judged.table))[rows]
    wide = np.isin(dtypes, [vocabulary().index["dtype"][name] for name in WIDE])
    held = elements(judged.table)[rows] * np.where(wide & size.single, 1000, 1)
    alike = np.zeros_like(dtypes) if size.single else dtypes
    groups = [alike == dtype for dtype in np.unique(alike)]
    smallest = [rows[group & (held == held[group].min())] for group in groups]
    return np.array([equal[number % len(equal)] for equal in smallest])
