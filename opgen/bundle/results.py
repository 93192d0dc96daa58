"""What a device answered: written case by case while it runs, in the form of a bundle at the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from numbers import Real
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

import opgen
from opgen.bundle import container
from opgen.bundle.blocks import DIGEST
from opgen.bundle.claim import Claim, one_line
from opgen.bundle.dtypes import ALIGNMENT, DTYPES, ROLES, BundleError, enum, named, numpy_dtype, stored_dtypes, text
from opgen.bundle.pools import Lists, Strings, checked
from opgen.bundle.reader import Bundle
from opgen.bundle.resultsfile import NO_STATUS, ResultsFile
from opgen.model import STATUS_WORDS, Code
from opgen.numbers.numerics import stored

_NAMES = {numpy_dtype(name): name for name in stored_dtypes()}
_WIDER = {"FLOAT": {"FLOAT16", "BFLOAT16"}, "DOUBLE": {"FLOAT16", "BFLOAT16", "FLOAT"}, "COMPLEX128": {"COMPLEX64"}}
"""What a dump in a wider type may stand for."""
_COPIED_AT_ONCE = 4 << 20


class Results:
    """A results file being written: ``with opgen.Results.create("results.h5", bundle) as results``.

    Outputs go to a nameless file in the same folder as they come; leaving the block normally writes the
    results file and gives it its name, leaving it by an exception leaves nothing.
    """

    def __init__(self, path: str | Path, bundle: Bundle, header: Mapping[str, Any], force: bool) -> None:
        self.path = Path(path)
        self._bundle = bundle
        own = {"format": "opgen results", "format_version": container.FORMAT_VERSION, "bundle": bundle.digest}
        self.header = container.header(header, {**own, "opgen_version": opgen.__version__})
        self._claim: Claim | None = Claim(self.path, 0, force)
        try:
            with one_line(self.path):
                self._spool = tempfile.TemporaryFile(dir=self.path.parent, buffering=1 << 20)  # noqa: SIM115
        except BaseException:
            self._claim.drop()
            raise
        self._rows: dict[int, tuple[Any, ...]] = {}
        self._outputs: dict[int, list[tuple[Any, ...]]] = {}
        self._spooled = 0

    @classmethod
    def create(
        cls, path: str | Path, bundle: Bundle, *, header: Mapping[str, Any] | None = None, force: bool = False
    ) -> Results:
        """Start the results of ``bundle``; ``header`` may name the device, the backend and their versions.

        BundleError where ``path`` exists (unless ``force``) or cannot be written.
        """
        return cls(path, bundle, header or {}, force)

    @staticmethod
    def open(path: str | Path) -> ResultsFile:
        """A finished results file, for reading."""
        return ResultsFile(path)

    def add(
        self,
        case: str,
        status: Code,
        outputs: Mapping[str, np.ndarray] | None = None,
        run_status: Code | None = None,
        time: float | None = None,
        error: str = "",
    ) -> None:
        """Add one case: the status of the first phase, the outputs by name, the status of the run, seconds.

        A status is an integer, a word of :data:`opgen.model.STATUS_WORDS`, or None where nobody recorded one. BundleError for
        anything else, for an unknown or repeated case, and for what is no output of its call or of a type that no file keeps.
        An output that was dumped in a wider type (BFLOAT16 as FLOAT, anything as DOUBLE) is rounded, once, to the dtype of its tensor.
        """
        row = self._bundle.rows.get(case)
        if self._claim is None:
            raise BundleError(f"{self.path}: the results are closed")
        if row is None:
            raise BundleError(f"{self.path}: {case!r} is no case of {self._bundle.path}")
        if row in self._rows:
            raise BundleError(f"{self.path}: {case!r} has been added already")
        where = f"{self.path}: {case}"
        statuses = *_status(f"{where}: status", status), *_status(f"{where}: run_status", run_status)
        if not (time is None or isinstance(time, Real)):
            raise BundleError(f"{where}: time {time!r} is no number of seconds")
        written = self._written(row) if outputs else []
        found = []
        with one_line(self.path):
            for name, value in (outputs or {}).items():
                array = np.asarray(value)
                if name not in written:
                    raise BundleError(f"{where}: {name!r} is no output of the call (outputs: {', '.join(written) or 'none'})")
                if array.dtype not in _NAMES:
                    raise BundleError(f"{where}: {name} of type {array.dtype}: no file keeps it (known: {', '.join(map(str, _NAMES))})")
                if _NAMES[array.dtype] in _WIDER:
                    array = self._narrowed(row, name, array)
                raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
                found.append((
                    self._bundle.names.index(name), DTYPES[_NAMES[array.dtype]], array.shape, array.size,
                    self._spooled, len(raw), sha256(raw.data).digest()[:DIGEST],
                ))  # fmt: skip
                padding = -len(raw) % ALIGNMENT
                self._spool.write(raw.data)
                self._spool.write(bytes(padding))
                self._spooled += len(raw) + padding
        self._outputs[row] = found
        self._rows[row] = (
            row, case.encode(), *statuses, np.nan if time is None else float(time), checked(error),
        )  # fmt: skip

    def _written(self, row: int) -> list[str]:
        """The outputs that a call has."""
        return [self._bundle.names[tensor[1]] for tensor in self._bundle[row].tensor_rows if tensor[2] == ROLES["output"]]

    def _narrowed(self, row: int, name: str, array: np.ndarray) -> np.ndarray:
        """The array in the dtype that the call gives its tensor, where that is a narrower one."""
        described = self._bundle[row].call["args"].get(name)
        dtype = described["dtype"] if isinstance(described, dict) else ""
        if dtype not in _WIDER[_NAMES[array.dtype]]:
            return array
        with np.errstate(invalid="ignore"):  # a signalling NaN
            return stored(array, dtype)

    def __enter__(self) -> Results:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def close(self) -> None:
        """Write the results in the order of the bundle, and give the file its name."""
        if self._claim is None:
            return
        try:
            with one_line(self.path):
                self._write(self._claim)
                self._claim.keep()
        except BaseException:
            self.abort()
            raise
        self._claim = None
        self._spool.close()

    def abort(self) -> None:
        """Drop everything; nothing appears under the final name."""
        if self._claim is not None:
            self._claim.drop()
            self._claim = None
            self._spool.close()

    def _write(self, claim: Claim) -> None:
        rows: list[tuple[Any, ...]] = []
        outputs: list[tuple[Any, ...]] = []
        copies: list[tuple[str, int, int, int]] = []
        blobs: dict[str, int] = {}
        strings, sequences = Strings(), Lists()
        words = {number: name for name, number in DTYPES.items()}
        for at, row in enumerate(sorted(self._rows)):
            case, name, status, word, run, run_word, time, error = self._rows[row]
            texts = strings(word), strings(run_word), strings(error)
            counts = len(outputs), len(self._outputs[row])
            rows.append((case, name, status, texts[0], run, texts[1], time, texts[2], *counts))
            for name, dtype, shape, elements, source, size, digest in self._outputs[row]:
                unit = ALIGNMENT // numpy_dtype(words[dtype]).itemsize
                position = blobs.setdefault(words[dtype], 0)
                blobs[words[dtype]] += -(-elements // unit) * unit
                copies.append((words[dtype], position, source, size))
                outputs.append((at, name, dtype, sequences(shape), elements, position, digest))
        blobs = {name: blobs[name] for name in stored_dtypes() if name in blobs}
        lists, integers = sequences.tables()
        tables = {
            "results": np.array(rows, dtype=_results_dtype(max((len(row[1]) for row in rows), default=1))),
            "tensors": np.array(outputs, dtype=_tensors_dtype(self._bundle.names)),
            "lists": lists,
            "integers": integers,
        }
        skeleton = container.create(claim.partial, "results", self.header, tables, strings.all, blobs)
        for name, table in tables.items():
            container.write_table(claim.fd, skeleton, name, table)
        self._spool.flush()
        for dtype, position, source, size in copies:
            target = skeleton.offsets[f"data/{dtype}"] + position * numpy_dtype(dtype).itemsize if size else 0
            for start in range(0, size, _COPIED_AT_ONCE):
                piece = os.pread(self._spool.fileno(), min(_COPIED_AT_ONCE, size - start), source + start)
                container.write_at(claim.fd, piece, target + start)
        digests = container.digests(self.header, tables, strings.all)
        self.digest = container.seal(skeleton, "results", digests)


def _status(where: str, status: Code | None) -> tuple[int, str]:
    """A status as number and word; the word is empty for numbers. BundleError, beginning with ``where``, for what is neither."""
    if status is None:
        return 0, NO_STATUS
    if isinstance(status, str) and status in STATUS_WORDS:
        return 0, status
    if not isinstance(status, (int, np.integer)) or isinstance(status, bool):
        raise BundleError(f"{where} {status!r} is no status: an integer, or one of {', '.join(STATUS_WORDS)}")
    if not -(1 << 63) <= status < 1 << 63:
        raise BundleError(f"{where} {status} does not fit the 64 bits that a results file keeps of it")
    return int(status), ""


def _results_dtype(width: int) -> np.dtype[Any]:
    return np.dtype([
        ("case", "<u4"), ("id", text(width)), ("status", "<i8"), ("status_word", "<u4"), ("run_status", "<i8"),
        ("run_status_word", "<u4"), ("time", "<f8"), ("error", "<u4"), ("first_tensor", "<u4"), ("tensors", "<u2"),
    ])  # fmt: skip


def _tensors_dtype(names: list[str]) -> np.dtype[Any]:
    return np.dtype([
        ("result", "<u4"), ("name", named(names)), ("dtype", enum(DTYPES)), ("shape", "<u4"),
        ("elements", "<i8"), ("position", "<i8"), ("digest", f"V{DIGEST}"),
    ])  # fmt: skip
