"""Simpler calls near a call: each choice that it follows from made smaller, alone or with others.

Nothing here says whether a simpler call is legal, or whether it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, islice
from typing import Any

from opgen.calls.vocabulary import vocabulary
from opgen.minimization.assignment import Assignment, Candidate, Chosen, flat_shapes
from opgen.spec.language.term import Reference
from opgen.spec.spec import Spec

MOST_PAIRS = 3200
"""Pairs of choices that are made smaller at once, at most: there is one for every two choices."""
BLOCKS = tuple(1 << power for power in range(3, 14))
"""What a number is made smaller by, so that its rest stays the same: a fault may need that."""
SHRINKS = (
    lambda value: min(value, 1),
    lambda value: min(value, 2),
    lambda value: value // 2 if value > 3 else value,
    lambda value: 0,
)
"""Ways to make all letters of a family smaller."""


def simpler(candidate: Candidate) -> Iterator[Assignment]:
    """Assignments with one choice made smaller, or all choices of a kind. Not all are legal."""
    chosen = candidate.chosen
    for change in [*_of_a_kind(candidate), *_axes(chosen, _smaller), *_single(candidate)]:
        yield {ref: value for ref, value in {**chosen, **change}.items() if value is not None}


def simpler_in_pairs(candidate: Candidate) -> Iterator[Assignment]:
    """Assignments with two choices made smaller at once: for where one alone leaves a call illegal,
    or lets it pass.
    """
    changes = [*_single(candidate), *_axes(candidate.chosen, lambda extent: _smaller(extent)[1:3])]
    yield from (
        {**candidate.chosen, **first, **second}
        for first, second in islice(combinations(changes, 2), MOST_PAIRS)
        if first.keys() != second.keys()
    )


def combined(candidate: Candidate, others: Iterable[Candidate]) -> Assignment:
    """All changes that other candidates made to this one; where two differ, the first one's."""
    result = dict(candidate.chosen)
    for other in reversed(list(others)):
        result |= {
            ref: value for ref, value in other.chosen.items() if candidate.chosen.get(ref) != value
        }
    return result


def _single(candidate: Candidate) -> Iterator[Assignment]:
    for ref, value in candidate.chosen.items():
        for smaller in _smaller_choices(candidate.spec, ref, value):
            yield {ref: smaller}


def _smaller_choices(spec: Spec, ref: Reference, value: Chosen) -> Iterable[Chosen]:
    """What may be chosen instead of ``value``, the simplest first."""
    name, what = ref
    parameter = spec.parameters.get(name)
    if what == "" and name != "product":
        return _smaller(value)
    if what == "view":
        return [0] if value else []
    if what == "len" and parameter is not None:
        return [length for length in parameter.items if 0 < length < value]
    if what == "values":
        return [
            (*value[:i], smaller, *value[i + 1 :])
            for i, item in enumerate(value)
            for smaller in _smaller(item)
        ]
    if what == "dtype":
        return [_float()] if value != _float() else []
    if what == "shape" and isinstance(value, tuple) and len(value) > 1 and parameter is not None:
        return flat_shapes(spec, parameter)
    return []


def _axes(chosen: Assignment, smaller: Callable[[int], list[int]]) -> Iterator[Assignment]:
    """Changes of one axis of whole shapes: left out, or made smaller. The axis is one tensor's, or
    that of all, counted from the front or from the end. Extents of 1 stay, multiples of the
    smallest one stay so, and so do letters that equal it.
    """
    tuples = {ref: value for ref, value in chosen.items() if isinstance(value, tuple)}
    shapes = {ref: value for ref, value in tuples.items() if ref[1] == "shape"}
    most = max(map(len, shapes.values()), default=0)
    axes = [
        {ref: axis for ref, shape in shapes.items() if -len(shape) <= axis < len(shape)}
        for axis in range(-most, most)
    ]
    alone = [{ref: axis} for ref, shape in shapes.items() for axis in range(len(shape))]
    for places in {repr(places): places for places in [*axes, *alone]}.values():
        parts = {ref: (shapes[ref], axis % len(shapes[ref])) for ref, axis in places.items()}
        yield {ref: shape[:axis] + shape[axis + 1 :] for ref, (shape, axis) in parts.items()}
        base = min((shape[axis] for shape, axis in parts.values() if shape[axis] > 1), default=1)
        letters = [ref for ref in chosen.keys() - {("product", "")} if chosen[ref] == base > 1]
        for less in smaller(base):
            change: Assignment = {
                ref: (*shape[:axis], shape[axis] // base * less, *shape[axis + 1 :])
                for ref, (shape, axis) in parts.items()
                if shape[axis] >= base and shape[axis] % base == 0
            }
            yield change
            yield change | {ref: less for ref in letters if ref[1] == ""}


def _smaller(value: Any) -> list[Any]:
    """Simpler values than one, the simplest first."""
    if value is None or isinstance(value, str):
        return []
    if isinstance(value, bool):
        return [False] if value else []
    if isinstance(value, float):
        simple = [1.0, 0.0, 0.5]
        return simple[: simple.index(value)] if value in simple else simple
    if value < 0:
        return [0, 1, value // 2 + 1]
    near = (0, 1, 2, value // 2, value - 1, *[value - block for block in BLOCKS if block < value])
    return [less for less in dict.fromkeys(near) if less < value]


def _of_a_kind(candidate: Candidate) -> Iterator[Assignment]:
    """Changes of several choices at once; a choice that becomes None is given up."""
    spec, chosen = candidate.spec, candidate.chosen
    letters = {ref: value for ref, value in chosen.items() if ref in _letters(spec)}
    flats: Assignment = {
        (p.name, "shape"): flat
        for p in spec.parameters.values()
        if (p.name, "shape") in chosen
        for flat in flat_shapes(spec, p)
    }
    yield flats
    yield flats | {ref: 0 for ref in chosen if ref[1] == "view"}
    yield {ref: _float() for ref in chosen if ref[1] == "dtype"}
    for family in _families(spec, letters):
        for shrink in SHRINKS:
            yield {ref: shrink(letters[ref]) for ref in family}
    yield {ref: SHRINKS[0](value) for ref, value in letters.items()}
    yield {ref: SHRINKS[2](value) for ref, value in letters.items()}
    ranks = {ref: value for ref, value in chosen.items() if ref[1] == "rank"}
    known = {rank for p in spec.parameters.values() for rank in p.shapes}
    for rank in sorted(rank for rank in known if rank < min(ranks.values(), default=0)):
        fewer: Assignment = dict.fromkeys(ranks, rank)
        yield fewer
        yield fewer | {ref: None for ref in chosen if ref[1] in ("len", "format")}


def _letters(spec: Spec) -> set[Reference]:
    return {(name, "") for name in spec.scope.occurrences}


def _families(spec: Spec, letters: Iterable[Reference]) -> Iterator[list[Reference]]:
    """Letters that belong together: the slots of an array, the extents of a tensor, or an axis of
    everything.
    """
    parameters = spec.parameters.values()
    arrays = [slots for p in parameters for slots in p.items.values()]
    groups = [
        *([name for slot in slots for name in slot] for slots in arrays),
        *(
            [x for x in shape if isinstance(x, str)]
            for p in parameters
            for shape in p.shapes.values()
        ),
        *(
            [name for name, _ in letters if name.endswith(end)]
            for end in sorted({name[-1] for name, _ in letters})
        ),
    ]
    families: dict[tuple[Reference, ...], None] = dict.fromkeys(
        tuple((name, "") for name in dict.fromkeys(group) if (name, "") in letters)
        for group in groups
    )
    yield from (list(family) for family in families if len(family) > 1)


def _float() -> int:
    return vocabulary().index["dtype"]["FLOAT"]
