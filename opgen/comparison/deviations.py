"""Numbers that are not the page's and are known to be the library's: numeric errata, tried on
outputs that failed.

An erratum says that results are only as good as another dtype, or pass through one, or are those of
the same call in another compute dtype or with other values, or are not written at all. Each gives
another reference and a wider bound; an output within it is a known deviation. Of results that pass
through a dtype every element must be a value of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.calls.table import from_calls
from opgen.comparison.elements import errors
from opgen.golden import Kernel, kernel
from opgen.numerics.arrays import Array
from opgen.numerics.bounds import bound, gamma
from opgen.numerics.formats import FORMATS, Format
from opgen.numerics.rounding import binade, in_compute, kept_in, rounded
from opgen.oracle import library
from opgen.oracle.errata import Errata, Numeric
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.catalog import catalog
from opgen.spec.compute_dtype import compute_dtypes
from opgen.spec.spec import Spec

Output: TypeAlias = tuple[Array, int | None]
"""What a device returned, and how many elements of it were never written, where that is known."""
Returned = Callable[[int], Mapping[str, Output]]


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

    def inputs(self, compute: str) -> dict[str, Array | None]:
        """What a kernel takes."""
        return inputs_of(self.view, self.spec, compute)


def inputs_of(case: CaseView, spec: Spec, compute: str) -> dict[str, Array | None]:
    """The inputs of a case as a kernel takes them: float64 with a leading axis of one, None for a
    null pointer; rounded to a dtype to compute in, if one is given.
    """
    inputs: dict[str, Array | None] = {p.name: None for p in spec.inputs}
    for name, values in case.inputs.items():
        wide = values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)[None]
        storage = case.call["args"][name]["dtype"]
        inputs[name] = in_compute(wide, storage, compute) if compute in FORMATS else wide
    return inputs


def by_page(bundle: Bundle, rows: Sequence[int]) -> Iterator[tuple[list[int], Judgement]]:
    """The rows that one page judges, and what it says of them, page by page."""
    pages: dict[str, tuple[Spec, list[int]]] = {}
    for row in rows:
        spec = catalog().by_page.get((bundle[row].op, bundle[row].product))
        if spec is not None:
            pages.setdefault(spec.name, (spec, []))[1].append(row)
    for spec, own in pages.values():
        table = from_calls(spec.api, spec.kinds, [bundle[row].asked for row in own])
        yield own, judge(spec, table)


def explained(
    bundle: Bundle,
    rows: Sequence[int],
    returned: Returned,
    errata: Mapping[str, Errata] | None = None,
) -> Iterator[tuple[int, list[str], str]]:
    """(row, ids of entries, reason) of the cases all of whose wrong outputs numeric errata explain.

    ``returned`` gives the outputs of a row, flat; ``errata`` are by operator, the shipped ones
    unless others are given.
    """
    for own, answers in _answered(bundle, rows, errata):
        for case, entries in _known(bundle, own, answers):
            reasons = _explain(case, entries, returned(case.view.row))
            if reasons:
                yield case.view.row, list(reasons), "; ".join(reasons.values())


def faulted(
    bundle: Bundle, rows: Sequence[int], errata: Mapping[str, Errata] | None = None
) -> Iterator[tuple[int, list[str], str]]:
    """(row, id of the fault, reason) of the cases in which a device of the library may fault."""
    for own, answers in _answered(bundle, rows, errata):
        for i in np.flatnonzero(answers.faulty).tolist():
            fault = answers.page.stages[int(answers.stage[i])]
            yield own[i], [fault.id], f"{fault.id}: {fault.note}"


def _answered(
    bundle: Bundle, rows: Sequence[int], errata: Mapping[str, Errata] | None
) -> Iterator[tuple[list[int], library.LibraryAnswers]]:
    """The rows that one page judges, and what the library answers to them, page by page."""
    for own, judged in by_page(bundle, rows):
        known = None if errata is None else errata.get(judged.spec.api)
        answers = library.answers_to(judged, known)
        if answers is not None:
            yield own, answers


def _known(
    bundle: Bundle, rows: list[int], answers: library.LibraryAnswers
) -> Iterator[tuple[_Case, list[Numeric]]]:
    """The cases of one page to which numeric entries apply."""
    spec, table = answers.judgement.spec, answers.judgement.table
    applies = library.applies(answers)
    optional = compute_dtypes(spec, answers.view, len(table)).optional
    some = np.flatnonzero(applies.any(axis=0))
    for i, names in zip(some.tolist(), answers.judgement.view.bindings(some), strict=True):
        entries = [
            entry for entry, here in zip(answers.page.numeric, applies[:, i], strict=True) if here
        ]
        view = bundle[rows[i]]
        readings = (view.compute, "") if optional[i] else (view.compute,)
        yield _Case(view, spec, i, names, answers, readings), entries


def _explain(case: _Case, entries: list[Numeric], outputs: Mapping[str, Output]) -> dict[str, str]:
    """The entries behind every wrong output of a case, id -> in words; empty where one is wrong by
    itself.
    """
    reasons: dict[str, str] = {}
    for name, (device, unwritten) in outputs.items():
        golden, limit = case.view.golden[name], case.view.bound[name]
        if not unwritten and _within(device.reshape(golden.shape), golden, limit):
            continue
        own = [entry for entry in entries if not entry.outputs or name in entry.outputs]
        with np.errstate(invalid="ignore"):  # NaN of any kind
            zeros = not unwritten and not device.any()
        holds = {"zeros": zeros, "untouched": unwritten == device.size}
        used = [entry for entry in own if holds.get(entry.written)][:1]
        if not used and not unwritten:
            used = _computed(case, own, name, device.reshape(golden.shape))
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
    written = case.view.call["args"][name]["dtype"]
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
    module = kernel(case.spec.op)
    inputs, output = case.inputs(compute), case.view.call["args"][name]["dtype"]
    names = dict(case.names)
    for entry in others:
        names |= {
            key: int(column[case.row])
            for key, column in library.reference(case.answers, entry).items()
        }
    with np.errstate(all="ignore"):
        golden, limit = (
            np.asarray(tensors[name], dtype=np.float64)
            for tensors in (case.view.golden, case.view.bound)
        )
        size = module.magnitude(inputs, names, (name,))[name][0]
        if others:
            shapes = {key: value.shape[1:] for key, value in inputs.items() if value is not None}
            golden = module.golden(inputs, names, (name,))[name][0]
            depth, through = module.depth(names, shapes, name), kept_in(compute, output)
            limit = bound(golden, size, depth, output, through=through).astype(np.float64)
        free = np.zeros(size.shape, dtype=bool)
        for entry in bounds:
            if entry.through:
                limit, lost = _cast(device, golden, limit, FORMATS[entry.through])
                free |= lost
                continue
            form = FORMATS[entry.bound]
            grown = _grown(module, inputs, names, name, entry)
            more = np.maximum(grown - size, 0.0)
            limit, again = (
                limit + more,
                (more > size * 2.0**-30) | (output != entry.bound),
            )  # rounded on the way, or once more at its end
            free |= _overflown(device, golden, limit, form)
            if entry.roundings:
                free |= (grown >= form.max) & _at_an_end(
                    device, form
                )  # a term may have been too large
            free |= _reads_too_large(module, inputs, names, name, entry.bound) & _at_an_end(
                device, form
            )
            limit = limit + np.where(
                again, form.unit * (np.abs(golden) + limit) + form.min_subnormal / 2, 0.0
            )
        limit = np.where(np.isfinite(golden), limit, 0.0)
    return _within(device, golden, np.where(free, np.inf, limit))


def _made_of(device: Array, dtype: str, written: str) -> bool:
    """Whether every finite element is what a value of a dtype becomes in the dtype that is
    written.
    """
    largest = FORMATS[dtype].max
    with np.errstate(invalid="ignore"):  # NaN of any kind
        values = device.astype(np.float64)
        nearest = rounded(rounded(np.clip(values, -largest, largest), dtype), written)
    return bool(((nearest == values) | ~np.isfinite(values)).all())


def _cast(device: Array, golden: Array, limit: Array, form: Format) -> tuple[Array, Array]:
    """The limits of results that are rounded to a format; and where one overflows there, or is
    flushed to zero below its normal numbers.
    """
    largest = np.abs(golden) + limit
    flushed = (device == 0) & (np.abs(golden) < form.min_normal + limit)
    return limit + np.minimum(binade(largest, form.low) * form.unit, largest), flushed | _overflown(
        device, golden, limit, form
    )


def _at_an_end(device: Array, form: Format) -> Array:
    """Where a device has what overflow in a format leaves: Inf, NaN, or the largest value."""
    return np.asarray(~np.isfinite(device) | (np.abs(device.astype(np.float64)) == form.max))


def _overflown(device: Array, golden: Array, limit: Array, form: Format) -> Array:
    """Where a result that may be too large for a format has become Inf there, or its largest value,
    on the side where it overflows.
    """
    highest = np.copysign(1.0, device.astype(np.float64)) * golden + limit
    beyond = np.isfinite(golden) & (highest >= form.max + form.half_ulp_at_max)
    return np.asarray(beyond & _at_an_end(device, form) & ~np.isnan(device))


def _reads_too_large(
    module: Kernel,
    inputs: Mapping[str, Array | None],
    names: Mapping[str, int],
    name: str,
    dtype: str,
) -> Array:
    """Where a term has a finite factor that is too large for a dtype: what becomes of Inf on the
    way cannot be said.
    """
    finite = {
        key: None if value is None else np.where(np.isfinite(value), np.abs(value), 1.0)
        for key, value in inputs.items()
    }
    fit = {
        key: None if value is None else np.where(np.isfinite(rounded(value, dtype)), value, 0.0)
        for key, value in finite.items()
    }
    whole, rest = (module.magnitude(tensors, names, (name,))[name][0] for tensors in (finite, fit))
    return np.asarray(whole != rest)


def _grown(
    module: Kernel,
    inputs: Mapping[str, Array | None],
    names: Mapping[str, int],
    name: str,
    entry: Numeric,
) -> Array:
    """The sum of absolute terms where inputs pass through another dtype on their way, and so do the
    weights of operators that have some.

    Weights are what multiplies a gradient that is no input: 1 / divisor in a pooling. Terms that
    are rounded oftener say how often.
    """
    larger = {
        key: None if value is None else _through(value, entry.bound)
        for key, value in inputs.items()
    }
    times = entry.roundings or (0 if hasattr(module, "PARTNERS") else 1)
    terms = 1 + gamma(times, FORMATS[entry.bound].unit)
    return np.asarray(module.magnitude(larger, names, (name,))[name][0] * terms * (1 + 2.0**-40))


def _through(value: Array, dtype: str) -> Array:
    """The size of each value and of what another dtype takes from it."""
    size = np.abs(value)
    narrow = np.abs(rounded(size, dtype))
    return np.asarray(np.where(np.isfinite(narrow), size + np.abs(size - narrow), size))


def _within(device: Array, golden: Array, limit: Array) -> bool:
    """Whether every element is within its bound."""
    wide = np.complex128 if np.iscomplexobj(golden) else np.float64
    with np.errstate(invalid="ignore"):  # a NaN may be a signalling one
        return not errors(device.astype(wide), golden.astype(wide), limit.astype(wide)).wrong.any()
