"""Calls of the sizes that matter: on both sides of every boundary of an operator, and with every
free extent at each general size and one above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen.calls.layout import elements, representable
from opgen.calls.vocabulary import vocabulary
from opgen.numerics.recipes import DEFAULT
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.language.term import Reference, Term
from opgen.spec.language.value import Value
from opgen.spec.rules import true_where
from opgen.spec.sizes import Sizes
from opgen.spec.spec import Spec
from opgen.suite.planning.call_builder import AxisColumn, CallBuilder
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.constraints import grid
from opgen.suite.planning.usual_values import whole_numbers

Wanted: TypeAlias = Mapping[Reference, int | Term]
"""What calls are to have; of a tensor without letters how many elements."""
DENSE = 3
"""The strength of a tier from which on calls of every product and dtype have each size."""

LARGE = 2**14
"""Elements of a call from which on one of the smallest windows and extents is taken instead."""
EXACT = ("partial_sums", "integers")
"""Recipes of which any element that a block leaves out changes a sum: the first that a plan has."""
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

    @property
    def names(self) -> list[tuple[Reference, Term | None]]:
        """What has values here, and of which terms: sizes with the same are judged together."""
        return [(ref, n if isinstance(n, Term) else None) for ref, n in self.values.items()]

    def stands(self, judged: Judgement) -> np.ndarray:
        """(rows,) bool: which legal calls have the values and are meant; none in which nothing
        flows in proves anything.
        """
        rows = len(judged.table)
        here = judged.valid & representable(judged.table)
        here &= judged.view.get((judged.spec.inputs[0].name, "numel")).data > 0
        for reference, number in self.values.items():
            read = judged.view.get(reference)
            want = number.read(judged.view).data if isinstance(number, Term) else number
            here &= np.broadcast_to(read.bound & (read.data == want), rows)
        if self.products:
            products = vocabulary().index["product"]
            here &= np.isin(judged.table.product, [products[name] for name in self.products])
        for term, truth in self.terms:
            here &= true_where(term, judged.view, rows) == truth
        return np.asarray(here)


def sizes_of(spec: Spec, sizes: Sizes) -> Iterator[Size]:
    """Every size that calls of a page may have: those of its operator, then the general ones."""
    yield from told_whole(spec, sizes)
    for name, what in free_extents(spec):
        for extent in sizes.general:
            words = f"{extent} elements" if what else f"{name} {extent}"
            yield Size(words, {(name, what): extent}, single=True)


def told_whole(spec: Spec, sizes: Sizes) -> Iterator[Size]:
    """Those that several names of a call have together: both sides of each boundary of an operator,
    and relations.
    """
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
    for relation in sizes.relations(spec):
        yield Size(
            relation.words,
            {(name, ""): told for name, told in relation.equal.items()},
            single=False,
            terms=((relation.when, True),) if relation.when else (),
        )


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
) -> tuple[Judgement, list[str], str]:
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
    least = {
        ref: number
        for extent in free_extents(compiled.spec)
        for ref, number in _settled(compiled, levels, {}, extent, (1,)).items()
    }
    wanted, every = list(sizes_of(compiled.spec, sizes)), np.arange(len(levels))
    found: dict[int, tuple[Judgement, np.ndarray]] = {}
    smallest = bare = _smallest(compiled, levels)
    for name in [p.name for p in whole_numbers(compiled.spec) if not p.is_array]:
        bare = _settled(
            compiled, levels, bare, (name, ""), (1,)
        )  # as groups, which divide channels
    for base in (least, {}, smallest, bare):
        left = [i for i in range(len(wanted)) if i not in found or _most(*found[i]) > LARGE]
        for names, alike in groupby(left, lambda i: wanted[i].names):
            told = {ref for _, term in names if term is not None for ref in term.refs}
            free, places = {ref: n for ref, n in base.items() if ref not in told}, list(alike)
            points = [{**free, **wanted[i].values} for i in places]
            together = _judged(compiled, levels, points)
            for behind, i in enumerate(places):
                judged = together.take(behind * len(levels) + every)
                rows = np.flatnonzero(wanted[i].stands(judged))
                some = _few(judged, rows, strength, wanted[i], i)
                if len(some) and (i not in found or _most(judged, some) < _most(*found[i])):
                    found[i] = judged, some
    parts, notes = [judge(compiled.spec, compiled.builder(levels[:0]).table())], list[str]()
    for i, (judged, rows) in sorted(found.items()):
        parts.append(judged.take(rows))
        notes += [wanted[i].note] * len(rows)
    _, offered = compiled.offered
    recipe = next((name for name in (*EXACT, *offered) if name in offered), DEFAULT)
    return Judgement.concatenate(parts), notes, recipe


def _most(judged: Judgement, rows: np.ndarray) -> float:
    """The elements of the largest call in some rows."""
    return float(elements(judged.table)[rows].max())


def _smallest(compiled: CompiledPlan, levels: np.ndarray) -> dict[Reference, int]:
    """The least of a few numbers for every item of an array and every free extent, one after the
    other, with which there are legal calls; items of 2 where others prove nothing.
    """
    arrays = [p.items.values() for p in compiled.spec.parameters.values() if p.is_array]
    items: list[Reference] = [
        (slot[0], "") for several in arrays for slots in several for slot in slots
    ]
    found: dict[Reference, int] = {}
    for ref in dict.fromkeys(ref for ref in items if not compiled.spec.equalities.get(ref)):
        found = _settled(compiled, levels, found, ref, (1, 0))
    for ref in list(found):
        judged = _judged(compiled, levels, [found])
        if (judged.valid <= compiled.vacuous(judged.view, len(levels))).all():
            found = _settled(compiled, levels, found, ref, (2,))
    for ref in free_extents(compiled.spec):
        found = _settled(compiled, levels, found, ref, (1, 2, 3))
    return found


def _settled(
    compiled: CompiledPlan,
    levels: np.ndarray,
    found: Mapping[Reference, int],
    ref: Reference,
    numbers: Sequence[int],
) -> dict[Reference, int]:
    """What is found, with the first of some numbers for a name with which there are legal calls."""
    points = [{**found, ref: number} for number in numbers]
    legal = (point for point in points if _judged(compiled, levels, [point]).valid.any())
    return next(legal, dict(found))


def _judged(compiled: CompiledPlan, levels: np.ndarray, points: Sequence[Wanted]) -> Judgement:
    """The calls of all levels at each of some points, one point after the other."""
    builder = compiled.builder(np.tile(levels, (len(points), 1)))
    put(compiled, builder, points)
    return judge(compiled.spec, builder.table())


def put(compiled: CompiledPlan, builder: CallBuilder, points: Sequence[Wanted]) -> None:
    """Let calls in the making have some points, as many of them each, one point after the other:
    other values of the same names (the same terms), and so many elements in one axis. Tensors whose
    shapes the same axis of the plan sets have as many.
    """
    together = {ref: refs for refs in compiled.refs for ref in refs}
    more: dict[Reference, AxisColumn] = {}
    for (name, what), number in points[0].items():
        if isinstance(number, Term):
            more[name, what] = number.value
            continue
        column = np.repeat([point[name, what] for point in points], builder.rows // len(points))
        if what == "numel":
            shapes = together.get((name, "shape"), ((name, "shape"),))
            extents = Value((np.ones_like(column), column[:, None]))
            more |= {ref: extents for ref in shapes if ref[1] == "shape"}
        else:
            more[name, what] = Value(column)
    builder.chosen = {**builder.chosen, **more}


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
