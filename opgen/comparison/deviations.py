"""Numbers that are not the page's and are known to be the library's: numeric errata, tried on
outputs that failed.

An erratum says that results are only as good as another dtype, or pass through one, or are those of
the same call in another compute dtype or with other values, or are not written at all. Each gives
another reference and a wider bound; an output within it is a known deviation. Of results that pass
through a dtype every element must be a value of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, product
from typing import TypeAlias

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.comparison.calls_by_page import calls_by_page
from opgen.comparison.comparing import Comparison
from opgen.comparison.elements import errors
from opgen.comparison.recomputation import recomputation
from opgen.comparison.statuses import ENDED
from opgen.comparison.wider_bounds import LibraryResult
from opgen.numerics.arrays import Array
from opgen.numerics.bounds import bound
from opgen.numerics.formats import FORMATS
from opgen.numerics.rounding import kept_in, rounded
from opgen.oracle import library
from opgen.oracle.errata import Numeric
from opgen.oracle.judgement import judge
from opgen.spec.spec import Spec

Known: TypeAlias = tuple[int, list[str], str]
"""The row of a case, the ids of the entries behind it, and why, in words."""


@dataclass(frozen=True)
class _Case:
    """A case, the page that judges it, its row in the table of all such cases, the names bound
    there, the library's answers.

    ``readings``: the dtypes that inputs may be rounded to; an empty text stands for none.
    """

    view: CaseView
    spec: Spec
    row: int
    names: Mapping[str, int]
    answers: library.LibraryAnswers
    readings: tuple[str, ...]


def deviations(given: Comparison, rows: Sequence[int]) -> Iterator[Known]:
    """Those of some cases that fail which are the library's: it may fault in them, or numeric
    errata explain every output that is wrong.
    """
    for spec, own, table in calls_by_page(given.bundle, rows):
        answers = library.answers_to(judge(spec, table), given.source)
        if answers is not None:
            yield from _faulted(given, own, answers)
            yield from _explained(given, own, answers)


def _faulted(given: Comparison, rows: Array, answers: library.LibraryAnswers) -> Iterator[Known]:
    """The cases of one page that ran, or died, and in which a device of the library may fault."""
    for row, stage in zip(
        rows[answers.faulty].tolist(), answers.stage[answers.faulty].tolist(), strict=True
    ):
        if given.answers.status(row) in (0, *ENDED):
            fault = answers.page.stages[stage]
            yield row, [fault.id], f"{fault.id}: {fault.note}"


def _explained(given: Comparison, rows: Array, answers: library.LibraryAnswers) -> Iterator[Known]:
    """The cases of one page all of whose outputs are there, and the wrong ones explained."""
    spec, applies = answers.judgement.spec, library.applies(answers)
    whole = [given.is_whole(row) for row in rows.tolist()]
    optional = answers.judgement.compute.optional
    some = np.flatnonzero(applies.any(axis=0) & np.array(whole))
    for i, names in zip(some.tolist(), answers.judgement.view.bindings(some), strict=True):
        view = given.bundle[int(rows[i])]
        readings = (view.compute, "") if optional[i] else (view.compute,)
        case = _Case(view, spec, i, names, answers, readings)
        reasons = _explain(given, case, list(compress(answers.page.numeric, applies[:, i])))
        if reasons:
            yield view.row, list(reasons), "; ".join(reasons.values())


def _explain(given: Comparison, case: _Case, entries: list[Numeric]) -> dict[str, str]:
    """The entries behind every wrong output of a case, id -> in words; empty where one is wrong by
    itself.
    """
    reasons: dict[str, str] = {}
    for i in given.of_case[case.view.row]:
        name, device, unwritten = given.name(i), given.answers.tensor(i), given.unwritten[i]
        golden, limit = case.view.golden[name], case.view.bound[name]
        values = device.reshape(golden.shape)
        if not unwritten and not errors(values, golden, limit).wrong.any():
            continue
        own = [entry for entry in entries if not entry.outputs or name in entry.outputs]
        with np.errstate(invalid="ignore"):  # NaN of any kind
            zeros = not unwritten and not device.any()
        holds = {"zeros": zeros, "untouched": unwritten == device.size}
        used = [entry for entry in own if holds.get(entry.written)][:1]
        if not used and not unwritten:
            used = _computed(case, own, name, values)
        if not used:
            return {}
        for entry in used:
            because = f": {entry.note}" if entry.note else f" ({', '.join(entry.where)})"
            reasons[entry.id] = entry.id + because
    return reasons


def _computed(case: _Case, entries: list[Numeric], name: str, device: Array) -> list[Numeric]:
    """The first combination of other references, coarser dtypes and one that results pass through
    that the output fits.
    """
    coarse = [entry for entry in entries if entry.bound]
    others = [entry for entry in entries if entry.reference or entry.compute]
    choices = [[], *([entry] for entry in others), *([others] if len(others) > 1 else [])]
    written = case.view.plain_args[name]["dtype"]
    known = (
        written,
        "" if name in case.spec.exact else kept_in(case.view.compute, written),
    )  # the page's bound has these roundings
    passed = [
        entry
        for entry in entries
        if entry.through and entry.through not in known and _made_of(device, entry.through, written)
    ]
    lasts = [[], *([entry] for entry in passed)]
    for chosen, bounds, last in product(choices, ([], coarse) if coarse else ([],), lasts):
        used = [*chosen, *bounds, *last]
        for compute in _readings(case, chosen, name) if used else ():
            if _fits(case, chosen, [*bounds, *last], name, device, compute):
                return used
    return []


def _readings(case: _Case, others: list[Numeric], name: str) -> tuple[str, ...]:
    """The dtypes that the inputs behind an output may be rounded to."""
    if name in case.spec.exact:
        return ("",)
    return (
        tuple(entry.compute for entry in others if entry.compute)[:1]
        or case.readings[: None if others else 1]
    )


def _fits(
    case: _Case,
    others: list[Numeric],
    bounds: list[Numeric],
    name: str,
    device: Array,
    compute: str,
) -> bool:
    """Whether an output is within the bound of the call that ``others`` make of it, as wide as
    ``bounds`` make it.
    """
    dtype, names = case.view.plain_args[name]["dtype"], dict(case.names)
    for entry in others:
        values = library.reference(case.answers, entry)
        names |= {key: int(column[case.row]) for key, column in values.items()}
    made = recomputation(case.view, case.spec, names, compute)
    golden, limit = (
        np.asarray(tensors[name], dtype=np.float64)
        for tensors in (case.view.golden, case.view.bound)
    )
    with np.errstate(all="ignore"):
        if others:
            golden, through = made.golden(name), kept_in(compute, dtype)
            terms, depth = made.magnitude(name), made.depth(name)
            limit = bound(golden, terms, depth, dtype, through=through).astype(np.float64)
        limit = LibraryResult(made, name, dtype, golden, device).bound(limit, bounds)
    return not errors(device, golden, limit).wrong.any()


def _made_of(device: Array, dtype: str, written: str) -> bool:
    """Whether every finite element is what a value of a dtype becomes in the dtype that is
    written.
    """
    largest = FORMATS[dtype].max
    with np.errstate(invalid="ignore"):  # NaN of any kind
        values = device.astype(np.float64)
        nearest = rounded(rounded(np.clip(values, -largest, largest), dtype), written)
    return bool(((nearest == values) | ~np.isfinite(values)).all())
