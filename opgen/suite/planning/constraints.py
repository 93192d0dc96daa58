"""Which values of a plan's axes go together: a rule of the page, seen through the axes that it
depends on, is a table of allowed combinations. Nothing about an operator stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Protocol, TypeAlias

import numpy as np

from opgen.calls.vocabulary import vocabulary
from opgen.numerics.formats import FLOATING
from opgen.numerics.recipes import DEFAULT, RECIPES, applies
from opgen.spec.compute_dtype import compute_dtypes
from opgen.spec.language.term import Reference, Term
from opgen.spec.rules import Rule, true_where
from opgen.spec.spec import Spec
from opgen.suite.planning.call_builder import CallBuilder
from opgen.suite.planning.overlay import flat
from opgen.suite.planning.plan_form import Vacuous
from opgen.suite.planning.strides import LEAST, SHARING

RECIPE: Reference = ("recipe", "")
"""The name under which a plan's axis sets the data recipe."""
MOST_CELLS = 300_000
"""A rule whose axes have more combinations than this is sampled."""
SAMPLE = 20_000
"""Combinations of a sample."""
Check: TypeAlias = Callable[[CallBuilder], np.ndarray]
"""CallBuilder -> (rows,) bool: what must not be."""


class Axes(Protocol):
    """The axes of a plan, compiled: the references that each sets, and how many values it has."""

    @property
    def spec(self) -> Spec: ...
    @property
    def refs(self) -> list[tuple[Reference, ...]]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def vacuities(self) -> list[tuple[Vacuous, Term]]: ...
    def builder(self, rows: np.ndarray) -> CallBuilder: ...


@dataclass(frozen=True)
class Constraints:
    """``tables``: (axes, allowed combinations, the ids of what forbids the rest). ``sampled`` rules
    have too many combinations to list and were seen broken on a sample: rows that break them are
    dropped later.
    """

    tables: tuple[tuple[tuple[int, ...], np.ndarray, tuple[str, ...]], ...]
    sampled: tuple[str, ...]


def constraints(compiled: Axes) -> Constraints:
    """Every rule, the page's way of reading arrays, and what a plan calls vacuous, as tables over
    the axes they depend on.
    """
    by_axes: dict[tuple[int, ...], list[tuple[str, Check]]] = {}
    row = compiled.builder(np.zeros((1, len(compiled.shape)), dtype=np.int64))
    for name, reads, check in _checks(compiled):
        if axes := axes_read(compiled, row, reads):
            by_axes.setdefault(axes, []).append((name, check))
    tables, sampled = [], []
    for axes, checks in by_axes.items():
        shape = tuple(compiled.shape[i] for i in axes)
        listed = prod(shape) <= MOST_CELLS
        builder = compiled.builder(grid(compiled, axes, shape) if listed else _sample(compiled))
        seen = [(name, broken) for name, check in checks if (broken := check(builder)).any()]
        if listed and seen:
            allowed = ~np.logical_or.reduce([broken for _, broken in seen])
            tables.append((axes, allowed.reshape(shape), tuple(name for name, _ in seen)))
        elif seen:
            sampled += [name for name, _ in seen]
    return Constraints(tuple(tables), tuple(sampled))


def axes_read(
    compiled: Axes, builder: CallBuilder, reads: Callable[[CallBuilder], object]
) -> tuple[int, ...]:
    """The positions of the axes that what reads a builder depends on."""
    read = builder.depends(reads)
    return tuple(i for i, refs in enumerate(compiled.refs) if any(ref in read for ref in refs))


def defaults(compiled: Axes, names: Iterable[str]) -> dict[str, int]:
    """The names that what forbids reads and nothing sets, neither a plan nor a page, and what they
    are then.
    """
    builder = compiled.builder(_sample(compiled))
    reads = [reads for name, reads, _ in _checks(compiled) if name in names]
    unset = builder.depends(lambda names: [read(names) for read in reads]) - builder.chosen.keys()
    return {
        name: flat(builder, name, what)[0].item()
        for name, what in sorted(unset, key=str)
        if what == ""
    }


def _checks(compiled: Axes) -> Iterator[tuple[str, Callable[[CallBuilder], object], Check]]:
    """(what forbids, what reads all that it may depend on, the check): a rule reads only what the
    rows at hand make it ask for.
    """
    for rule in compiled.spec.rules:
        yield rule.id, partial(read_all, references=rule.refs), partial(_violated, rule=rule)
    for name, parameter in compiled.spec.parameters.items():
        if parameter.items:
            array = partial(misread, name=name)
            yield f"{name}.items", array, array
        if parameter.is_tensor:
            tensor = partial(flattened, name=name)
            yield f"{name}.view", tensor, tensor
    yield "recipe", pointless, pointless
    yield from (
        (f"vacuous: {entry.why}", when.read, partial(_holds, when=when))
        for entry, when in compiled.vacuities
        if not entry.rules
    )


def read_all(builder: CallBuilder, references: Iterable[Reference]) -> None:
    """Read some names off a builder, so that it notes what they depend on."""
    for reference in references:
        builder.get(reference)


def _violated(builder: CallBuilder, rule: Rule) -> np.ndarray:
    return rule.violated(builder, builder.rows)


def _holds(builder: CallBuilder, when: Term) -> np.ndarray:
    return true_where(when, builder, builder.rows)


def pointless(builder: CallBuilder) -> np.ndarray:
    """(rows,) bool: where a data recipe says nothing for the dtypes of the call. Of a gradient of
    whole numbers, which all recipes draw alike, that is every recipe but the default, where a plan
    has that; of one whose elements share a place, a recipe that is about few of them.
    """
    if not builder.given(RECIPE):
        return np.zeros(builder.rows, dtype=bool)
    recipes, names = (np.array([*n], dtype=object) for n in (RECIPES, vocabulary().names["dtype"]))
    gradient, chosen = builder.spec.inputs[0].name, flat(builder, *RECIPE)
    storage, view = flat(builder, gradient, "dtype"), flat(builder, gradient, "view")
    compute = compute_dtypes(builder.spec, builder, builder.rows).dtype
    other = np.asarray(recipes[chosen] != DEFAULT)
    undrawn = np.array([name not in FLOATING for name in names])[storage]
    said = applies(recipes[chosen], names[storage], compute)
    few = np.array([r.gradient.sparse or r.gradient.planted for r in RECIPES.values()])[chosen]
    return np.asarray(~said | other & undrawn & ~other.all() | few & np.isin(view, SHARING))


def flattened(builder: CallBuilder, name: str) -> np.ndarray:
    """(rows,) bool: where a tensor has too few axes to lie as its view says."""
    rank = np.broadcast_to(builder.get((name, "shape")).data[0], builder.rows)
    return np.asarray(rank < np.array(LEAST)[flat(builder, name, "view")])


def grid(compiled: Axes, axes: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """(combinations, axes) every combination of the values of some axes; 0 for the others."""
    rows = np.zeros((prod(shape), len(compiled.shape)), dtype=np.int64)
    rows[:, list(axes)] = np.indices(shape).reshape(len(shape), prod(shape)).T
    return rows


def _sample(compiled: Axes) -> np.ndarray:
    """Rows spread over all combinations, the same every time: multiples of the golden ratio, one
    per axis.
    """
    steps = np.arange(1, SAMPLE + 1)[:, None] * (
        (5**0.5 - 1) / 2 * np.arange(1, len(compiled.shape) + 1) ** 0.5
    )
    return np.asarray(np.floor((steps % 1.0) * np.array(compiled.shape)), dtype=np.int64)


def misread(builder: CallBuilder, name: str) -> np.ndarray:
    """(rows,) bool: where an array of the chosen length cannot say the names chosen for it (one
    item for two values).
    """
    parameter = builder.spec.parameters[name]
    length = flat(builder, name, "len")
    wrong = np.zeros(builder.rows, dtype=bool)
    for size, slots in parameter.items.items():
        for first, *others in slots:
            for other in others:
                wrong |= (length == size) & (
                    builder.get((first, "")).data != builder.get((other, "")).data
                )
    for size, fallbacks in parameter.otherwise.items():
        for slot, other in fallbacks.items():
            wrong |= (length == size) & (
                builder.get((slot, "")).data != builder.get((other, "")).data
            )
    return wrong
