"""Calls of one page become a part of a suite: judged, labelled, and those with data grouped into
batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from opgen.calls.aims import describe
from opgen.calls.layout import elements
from opgen.calls.table import CallTable
from opgen.model import Call, Case
from opgen.oracle.judgement import Judgement, judge
from opgen.oracle.library import LibraryAnswers, answers_to
from opgen.spec.compute_dtype import computed
from opgen.spec.rules import holds
from opgen.spec.spec import Spec
from opgen.suite.batch import Batch, WithData, batches
from opgen.suite.computable import computable, holdable, single, sized
from opgen.suite.naming import Purpose
from opgen.suite.planning.plan import Plan
from opgen.suite.stored import Stored, stored
from opgen.suite.vacuity import inconclusive


@dataclass(frozen=True)
class Asked:
    """Calls of one page, as a table too, and what is to become of them: case ``i`` makes call
    ``of[i]``, for what ``purpose`` says of it, and stands in the suite at ``places[i]``. A call of
    more than ``most`` elements has no data.
    """

    spec: Spec
    plan: Plan
    calls: Sequence[Call]
    table: CallTable
    of: np.ndarray
    purpose: Purpose
    most: int
    places: np.ndarray


@dataclass(frozen=True)
class Part:
    """The cases of one page, what is stored of each, their batches, and for ids without data though
    they are accepted: why.
    """

    cases: list[Case]
    stored: Stored
    batches: list[Batch]
    without_data: dict[str, str]


def part(asked: Asked) -> Part:
    """Judge calls, make cases of them, and group those with data into batches."""
    judged = judge(asked.spec, asked.table)
    answers = answers_to(judged)
    wanted, compute = _wanted(judged), computed(asked.spec, judged.view, len(asked.table))
    held, without = _with_data(asked, judged, answers, wanted)
    why = inconclusive(
        judged, asked.plan, wanted, asked.of, asked.purpose.recipe, asked.purpose.aims
    )
    cases = _cases(asked, judged, answers, held, compute.dtype[asked.of].tolist(), why)
    rows = np.flatnonzero(held)
    used, position = np.unique(asked.of[rows], return_inverse=True)
    of = np.full(len(cases), -1)
    of[rows] = position
    purpose = asked.purpose.take(rows)
    having = WithData(
        used, position, asked.places[rows], purpose.recipe, purpose.ids, purpose.given
    )
    kept = stored(asked.spec, asked.table, wanted, used, of)
    return Part(
        cases,
        kept,
        list(batches(asked.plan, judged, asked.calls, compute, wanted, having)),
        without,
    )


def _with_data(
    asked: Asked,
    judged: Judgement,
    answers: LibraryAnswers | None,
    wanted: Mapping[str, np.ndarray],
) -> tuple[np.ndarray, dict[str, str]]:
    """(cases,) bool: which have data; and for ids of those that have none although their call is
    accepted: why.
    """
    accepted = judged.valid if answers is None else judged.valid | answers.may_succeed
    held = (
        np.array([kind != "invalid" for kind in asked.purpose.kind], dtype=bool)
        & accepted[asked.of]
    )
    without: dict[str, str] = {}
    for able, why_not in _conditions(asked, judged, answers, wanted):
        without |= dict.fromkeys(compress(asked.purpose.ids, held & ~able[asked.of]), why_not)
        held &= able[asked.of]
    return held, without


def _conditions(
    asked: Asked,
    judged: Judgement,
    answers: LibraryAnswers | None,
    wanted: Mapping[str, np.ndarray],
) -> Iterator[tuple[np.ndarray, str]]:
    """What a call with data must be, (calls,) bool, and what is said of those that are not."""
    yield sized(asked.table, wanted), "an extent is negative"
    yield computable(judged, answers), "what they break leaves no gradient to expect"
    yield holdable(asked.table), "a view leaves its storage, or there are no data of a dtype"
    outputs = [p.name for p in asked.spec.outputs]
    yield (
        single(asked.table, outputs),
        "places of an output overlap, so that no golden can stand there",
    )
    yield (
        elements(asked.table) <= asked.most,
        f"their tensors have more than {asked.most:,} elements in all",
    )


def _cases(
    asked: Asked,
    judged: Judgement,
    answers: LibraryAnswers | None,
    held: np.ndarray,
    compute: Sequence[str],
    why: Sequence[str],
) -> list[Case]:
    """One case after the other; recipe, compute dtype and what is ``why`` inconclusive belong to
    data alone, a recipe to drawn ones.
    """
    page, library = (
        judged.expectations(),
        [None] * len(asked.calls) if answers is None else answers.answers(),
    )
    row, data, purpose = asked.of.tolist(), held.tolist(), asked.purpose
    intent = {aims: describe(aims) for aims in set(purpose.aims)}
    own = [
        bool(arrays) and _whole(arrays, asked, i)
        for arrays, i in zip(purpose.given, row, strict=True)
    ]
    recipe = (
        ["" if given else name for given, name in zip(own, purpose.recipe, strict=True)]
        if any(own)
        else purpose.recipe
    )

    def where_data(values: Sequence[str]) -> Sequence[str]:
        return (
            values
            if all(data)
            else [value if there else "" for value, there in zip(values, data, strict=True)]
        )

    columns = zip(
        purpose.ids,
        map(asked.calls.__getitem__, row),
        purpose.kind,
        map(intent.__getitem__, purpose.aims),
        map(page.__getitem__, row),
        map(library.__getitem__, row),
        where_data(recipe),
        [2 if there else 1 for there in data],
        purpose.nearest_valid,
        where_data(compute),
        where_data(why),
        strict=True,
    )
    return list(map(Case._make, columns))


def _whole(arrays: Mapping[str, object], asked: Asked, call: int) -> bool:
    """Whether every input of a call has values of its own, so that nothing is drawn."""
    return all(
        p.name in arrays for p in asked.spec.inputs if asked.calls[call].args[p.name] is not None
    )


def _wanted(judged: Judgement) -> dict[str, np.ndarray]:
    """Output -> (rows,) bool: where its mask is set and its pointer is not null."""
    view, rows = judged.view, len(judged.table)
    return {
        p.name: ~view.get((p.name, "null")).data & holds(p.mask, view, rows)
        for p in judged.spec.outputs
    }
