"""Simpler calls near a call: every choice that it is made of, made smaller, one at a time or
several together.

Nothing here says whether a simpler call is legal, or whether it fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice
from typing import Any

from opgen.calls.vocabulary import vocabulary
from opgen.minimization.point import Chosen, Flat, Point
from opgen.spec.language.terms import Reference
from opgen.spec.spec import Parameter, Spec

MOST_PAIRS = 3200
"""Pairs of choices that are made smaller at once, at most: there is one for every two choices."""


def simpler(point: Point) -> Iterator[Chosen]:
    """Choices of simpler calls: each choice made smaller alone, and choices of a kind together. Not
    all are legal.
    """
    singles = list(_singles(point))
    for edit in [*_together(point), *singles]:
        yield {ref: value for ref, value in {**point.chosen, **edit}.items() if value is not None}


def simpler_in_pairs(point: Point) -> Iterator[Chosen]:
    """Two choices made smaller at once: for where one alone leaves a call illegal, or lets it
    pass.
    """
    singles = [edit for edit in _singles(point) if len(edit) == 1]
    for one, other in islice(combinations(singles, 2), MOST_PAIRS):
        if one.keys() != other.keys():
            yield {
                ref: value
                for ref, value in {**point.chosen, **one, **other}.items()
                if value is not None
            }


def merged(point: Point, others: Iterable[Point]) -> Chosen:
    """Everything at once that other points have changed."""
    result = dict(point.chosen)
    for other in reversed(list(others)):
        result |= {
            ref: value for ref, value in other.chosen.items() if point.chosen.get(ref) != value
        }
    return result


def _singles(point: Point) -> Iterator[Mapping[Reference, Any]]:
    for ref, value in point.chosen.items():
        name, what = ref
        parameter = point.spec.parameters.get(name)
        if what == "":
            if name != "product":
                yield from ({ref: smaller} for smaller in _smaller(value))
        elif what == "view" and value:
            yield {ref: 0}
        elif what == "len" and parameter is not None:
            yield from ({ref: length} for length in parameter.items if 0 < length < value)
        elif what == "values":
            yield from (
                {ref: (*value[:i], less, *value[i + 1 :])}
                for i, item in enumerate(value)
                for less in _smaller(item)
            )
        elif what == "dtype" and value != _float():
            yield {ref: _float()}
        elif what == "shape" and isinstance(value, tuple) and parameter is not None:
            flat = _flat(point.spec, parameter)
            if flat is not None and len(value) > 1:
                yield {ref: flat}


def _together(point: Point) -> Iterator[Mapping[Reference, Any]]:
    spec, chosen = point.spec, point.chosen
    letters = {
        ref: value
        for ref, value in chosen.items()
        if ref[1] == "" and ref[0] in spec.scope.occurrences
    }
    flats = {
        (p.name, "shape"): flat
        for p in spec.parameters.values()
        if (p.name, "shape") in chosen and (flat := _flat(spec, p))
    }
    yield flats
    yield flats | {ref: 0 for ref in chosen if ref[1] == "view"}
    yield {ref: _float() for ref in chosen if ref[1] == "dtype"}
    for family in _families(spec, letters):
        for shrink in (
            lambda v: min(v, 1),
            lambda v: min(v, 2),
            lambda v: v // 2 if v > 3 else v,
            lambda v: 0,
        ):
            yield {ref: shrink(letters[ref]) for ref in family}
    yield {ref: min(value, 1) for ref, value in letters.items()}
    yield {ref: value // 2 if value > 3 else value for ref, value in letters.items()}
    ranks = {value for ref, value in chosen.items() if ref[1] == "rank"}
    known = {rank for p in spec.parameters.values() for rank in p.shapes}
    for rank in sorted(rank for rank in known if rank < min(ranks, default=0)):
        fewer = {ref: rank for ref in chosen if ref[1] == "rank"}
        yield fewer
        yield fewer | {ref: None for ref in chosen if ref[1] in ("len", "format")}


def _families(spec: Spec, letters: Mapping[Reference, Any]) -> Iterator[list[Reference]]:
    """Letters that belong together: the slots of an array, the extents of a tensor, or one axis of
    everything.
    """
    seen: set[tuple[Reference, ...]] = set()
    places = [slots for p in spec.parameters.values() for slots in p.items.values()]
    groups = [[name for slot in slots for name in slot] for slots in places]
    groups += [
        [x for x in shape if isinstance(x, str)]
        for p in spec.parameters.values()
        for shape in p.shapes.values()
    ]
    groups += [
        [name for name, _ in letters if name.endswith(end)]
        for end in sorted({name[-1] for name, _ in letters})
    ]
    for group in groups:
        family = tuple((name, "") for name in dict.fromkeys(group) if (name, "") in letters)
        if len(family) > 1 and family not in seen:
            seen.add(family)
            yield list(family)


def _smaller(value: Any) -> list[Any]:
    """Simpler values than one, the simplest first."""
    if isinstance(value, bool):
        return [False] if value else []
    if value < 0:
        return [0, 1, value // 2 + 1]
    return [less for less in dict.fromkeys((0, 1, 2, value // 2, value - 1)) if less < value]


def _flat(spec: Spec, parameter: Parameter) -> Flat | None:
    """A flat shape by the rule that says how many elements a tensor without letters has."""
    terms = [
        guard.require.right[0]
        for guard in spec.equalities.get((parameter.name, "numel"), ())
        if guard.when is None
    ]
    return Flat(terms[0]) if terms and not parameter.shapes else None


def _float() -> int:
    return vocabulary().index["dtype"]["FLOAT"]
