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

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.calls.table import ScalarColumn, from_calls
from opgen.comparison.elements import errors
from opgen.comparison.explain import untouched
from opgen.golden import Kernel, kernel
from opgen.numerics.arrays import Array
from opgen.numerics.bounds import bound, gamma
from opgen.numerics.formats import FORMATS, Format
from opgen.numerics.rounding import binade, in_compute, kept_in, rounded
from opgen.oracle import library
from opgen.oracle.errata import Numeric
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from opgen.spec.compute_dtype import computed
from opgen.spec.spec import Spec

Returned = Callable[[int], Mapping[str, Array]]


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
        """float64 values with a leading axis of one; rounded to a dtype to compute in, if one is
        given.
        """
        found: dict[str, Array | None] = {}
        stored = self.view.inputs
        for p in self.spec.inputs:
            if p.name not in stored:
                found[p.name] = None
                continue
            values = stored[p.name]
            wide = values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)[None]
            storage = self.view.call["args"][p.name]["dtype"]
            found[p.name] = in_compute(wide, storage, compute) if compute in FORMATS else wide
        return found


def explained(
    bundle: Bundle, rows: Sequence[int], returned: Returned
) -> Iterator[tuple[int, list[str], str]]:
    """(row, ids of entries, reason) of the cases all of whose wrong outputs numeric errata explain.

    ``returned`` gives the outputs of a row, flat.
    """
    pages: dict[str, list[int]] = {}
    specs: dict[str, Spec] = {}
    for row in rows:
        spec = catalog().by_page.get((bundle[row].op, bundle[row].product))
        if spec is not None:
            specs[spec.name] = spec
            pages.setdefault(spec.name, []).append(row)
    for name, mine in pages.items():
        for case, entries in _known(bundle, specs[name], mine):
            reasons = _explain(case, entries, returned(case.view.row))
            if reasons:
                yield case.view.row, list(reasons), "; ".join(reasons.values())


def _known(bundle: Bundle, spec: Spec, rows: list[int]) -> Iterator[tuple[_Case, list[Numeric]]]:
    """The cases of one page to which numeric entries apply."""
    table = from_calls(spec.api, spec.kinds, [bundle[row].asked for row in rows])
    answers = library.answers_to(judge(spec, table))
    if answers is None:
        return
    applies, optional = library.applies(answers), computed(spec, answers.view, len(table)).optional
    scalars = [
        p.name for p in spec.parameters.values() if isinstance(table.columns[p.name], ScalarColumn)
    ]
    values = {name: answers.view.get((name, "")) for name in (*scalars, *spec.scope.occurrences)}
    for at in np.flatnonzero(applies.any(axis=0)).tolist():
        names = {
            name: int(np.broadcast_to(value.data, len(table))[at])
            for name, value in values.items()
            if np.broadcast_to(np.asarray(value.bound, dtype=bool), len(table))[at]
        }
        entries = [
            entry for entry, here in zip(answers.page.numeric, applies[:, at], strict=True) if here
        ]
        view = bundle[rows[at]]
        yield (
            _Case(
                view,
                spec,
                at,
                names,
                answers,
                (view.compute, "") if optional[at] else (view.compute,),
            ),
            entries,
        )


def _explain(case: _Case, entries: list[Numeric], outputs: Mapping[str, Array]) -> dict[str, str]:
    """The entries behind every wrong output of a case, id -> in words; empty where one is wrong by
    itself.
    """
    reasons: dict[str, str] = {}
    for name, device in outputs.items():
        golden, limit = case.view.golden[name], case.view.bound[name]
        if _within(device.reshape(golden.shape), golden, limit):
            continue
        mine = [entry for entry in entries if not entry.outputs or name in entry.outputs]
        used = _written(mine, device) or _computed(case, mine, name, device.reshape(golden.shape))
        if not used:
            return {}
        reasons |= {
            entry.id: (
                f"{entry.id}: {entry.note}"
                if entry.note
                else f"{entry.id} ({', '.join(entry.where)})"
            )
            for entry in used
        }
    return reasons


def _written(entries: list[Numeric], device: Array) -> list[Numeric]:
    with np.errstate(invalid="ignore"):  # NaN of any kind
        something = device.any()
    for entry in entries:
        if entry.written == "zeros" and not something:
            return [entry]
        if entry.written == "untouched" and untouched(device) == device.size:
            return [entry]
    return []


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
    for chosen in choices:
        for bounds in ([], coarse) if coarse else ([],):
            for last in ([], *([entry] for entry in passed)):
                for compute in _readings(case, chosen, name) if chosen or bounds or last else ():
                    if _fits(case, chosen, [*bounds, *last], name, device, compute):
                        return [*chosen, *bounds, *last]
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
            np.asarray(case.view.golden[name], dtype=np.float64),
            np.asarray(case.view.bound[name], dtype=np.float64),
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
    some, rest = (module.magnitude(tensors, names, (name,))[name][0] for tensors in (finite, fit))
    return np.asarray(some != rest)


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
