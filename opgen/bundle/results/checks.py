"""What a harness says of a case, now or in the journal of a run that did not end, checked before
anything of it is kept: statuses, seconds, texts and arrays.

Each function takes the beginning of its messages, ``where``, and raises a BundleError for what no
results file can keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from math import prod
from numbers import Real

import numpy as np

from opgen.bundle.format.dtypes import NAMES, WORDS, BundleError, numpy_dtype
from opgen.bundle.format.file_bytes import StoredBytes
from opgen.bundle.format.schema import NO_STATUS, NOT_KNOWN
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.answers import CaseAnswer, Output
from opgen.calls.argument_json import MAX_RANK
from opgen.model import STATUS_WORDS, unkept
from opgen.numerics.rounding import stored

_WIDER = {
    "FLOAT": {"FLOAT16", "BFLOAT16"},
    "DOUBLE": {"FLOAT16", "BFLOAT16", "FLOAT"},
    "COMPLEX128": {"COMPLEX64"},
}
"""What a dump in a wider type may stand for."""


def answer(
    where: str,
    bundle: Bundle,
    case: object,
    status: object,
    run_status: object,
    time: object,
    error: object,
) -> CaseAnswer:
    """An answer to a case of a bundle, without its outputs."""
    row = bundle.rows.get(case) if isinstance(case, str) else None
    if row is None:
        raise BundleError(f"{where}: {case!r} is not a case of {bundle.path}")
    where, name = f"{where}: {case}", bundle.ids[row]
    statuses = *_status(f"{where}: status", status), *_status(f"{where}: run_status", run_status)
    return CaseAnswer(row, name, *statuses, _seconds(where, time), _text(where, error))


def outputs(
    where: str, case: CaseView, told: list[object], data: list[StoredBytes]
) -> tuple[Output, ...]:
    """Outputs as a journal tells of them: name, number of the dtype, shape,
    how many elements were not written; and their bytes.
    """
    kept: list[Output] = []
    for facts, raw in zip_longest(told, data):
        match facts:
            case [str(name), int(number), [*shape], int(left)] if name in case.written and raw:
                item = numpy_dtype(WORDS.get(number, str(number))).itemsize
                extents = tuple(n for n in shape if isinstance(n, int) and n >= 0)
                whole = len(extents) == len(shape) <= MAX_RANK and prod(extents) * item == raw.size
                if whole and NOT_KNOWN <= left <= prod(extents):
                    kept.append(Output(name, number, extents, left, raw))
                    continue
        raise BundleError(f"{where}: {case.id}: {facts!r} is not an output of the call")
    return tuple(kept)


def _status(where: str, given: object) -> tuple[int, str]:
    """A status as number and word; the word is empty for numbers."""
    if given is None:
        return 0, NO_STATUS
    if isinstance(given, str) and given in STATUS_WORDS:
        return 0, given
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool):
        raise BundleError(
            f"{where} {given!r} is not a status: give a number or one of {', '.join(STATUS_WORDS)}"
        )
    if not -(1 << 63) <= given < 1 << 63:
        raise BundleError(
            f"{where} {given} does not fit the 64 bits that a results file keeps of it"
        )
    return int(given), ""


def _seconds(where: str, given: object) -> float:
    """Seconds; NaN where none were taken."""
    if not (given is None or isinstance(given, Real)):
        raise BundleError(f"{where}: time {given!r} is not a number of seconds")
    try:
        taken = np.nan if given is None else float(given)
    except OverflowError:
        taken = np.inf
    if taken < 0 or taken == np.inf:
        raise BundleError(f"{where}: time {given} is not a possible time")
    return taken


def _text(where: str, given: object) -> str:
    """What a device said."""
    if not isinstance(given, str):
        raise BundleError(f"{where}: error {given!r} is not a text; str(error) makes one")
    if reason := unkept(given):
        raise BundleError(f"{where}: error {given!r} {reason}, and a results file cannot keep it")
    return given


def arrays(where: str, bundle: Bundle, row: int, given: object) -> dict[str, np.ndarray]:
    """The outputs of the call in a row of the bundle; what was dumped in a wider type is rounded,
    once, to the dtype of its tensor.
    """
    if not (given is None or isinstance(given, Mapping)):
        raise BundleError(
            f"{where}: outputs of type {type(given).__name__} are not a mapping of names to arrays"
        )
    if not given:
        return {}
    dtypes, kept = bundle[row].written, {}
    for name, value in given.items():
        if name not in dtypes:
            raise BundleError(
                f"{where}: {name!r} is not an output of the call (outputs:"
                f" {', '.join(dtypes) or 'none'})"
            )
        try:
            array = np.asarray(value)
        except Exception as error:  # noqa: BLE001  tensors of other libraries refuse in their own ways
            raise BundleError(f"{where}: numpy cannot make an array of {name}: {error}") from None
        array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        if array.dtype not in NAMES or array.ndim > MAX_RANK:
            raise BundleError(
                f"{where}: {name} of type {array.dtype}: no file keeps it (known:"
                f" {', '.join(map(str, NAMES))})"
            )
        if dtypes[name] in _WIDER.get(NAMES[array.dtype], ()):
            with np.errstate(invalid="ignore"):  # a signalling NaN
                array = stored(array, dtypes[name])
        kept[name] = array
    return kept


def unwritten(where: str, outputs: Mapping[str, np.ndarray], given: object) -> Mapping[str, int]:
    """How many elements of each output a device never wrote; no entry where that is not known."""
    if not (given is None or isinstance(given, Mapping)):
        raise BundleError(f"{where}: unwritten {given!r} is not a mapping of outputs to numbers")
    for name, count in (given or {}).items():
        size = outputs[name].size if name in outputs else -1
        if not isinstance(count, (int, np.integer)) or not 0 <= count <= size:
            raise BundleError(
                f"{where}: unwritten: {name}: {count!r} is not a number of elements of an output"
                " that is returned"
            )
    return {name: int(count) for name, count in (given or {}).items()}
