"""Answers of a device, and the finished results file that they make, wherever their outputs lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opgen.bundle.format import container
from opgen.bundle.format.digest import DIGEST_TYPE, Digest
from opgen.bundle.format.dtypes import (
    DTYPES,
    WORDS,
    BundleError,
    enum,
    named,
    numpy_dtype,
    room,
    stored_dtypes,
    text,
)
from opgen.bundle.write.pools import Lists, Strings

_COPIED_AT_ONCE = 4 << 20
"""Bytes of an output that are in memory at a time."""


class Output(NamedTuple):
    """One output: parameter, number of its dtype, shape, digest, bytes; and where these lie: in
    which open file, from which on.
    """

    name: str
    dtype: int
    shape: tuple[int, ...]
    digest: bytes
    size: int
    path: Path = Path()
    fd: int = -1
    start: int = 0


class Answer(NamedTuple):
    """The answer to one case: its row in the bundle, both statuses as number and word, seconds (NaN
    where not taken), what was said.
    """

    row: int
    id: str
    status: int
    word: str
    run_status: int
    run_word: str
    time: float
    error: str
    outputs: tuple[Output, ...]


def write(
    path: Path,
    header: Mapping[str, Any],
    names: list[str],
    answers: Sequence[Answer],
    progress: Callable[[int], None] | None = None,
) -> str:
    """Write and seal the results file of some answers, in the order of the bundle; returns its root
    digest.

    ``names`` are those of the bundle's tensors; ``progress`` is told of cases that are done.
    BundleError where the bytes of an output do not match its digest, OSError where the file cannot
    be written.
    """
    header = dict(sorted(header.items()))
    rows: list[tuple[Any, ...]] = []
    outputs: list[tuple[Any, ...]] = []
    copies: list[list[tuple[str, int, Output]]] = []
    blobs: dict[str, int] = {}
    strings, sequences, numbers = Strings(), Lists(), {name: i for i, name in enumerate(names)}
    for at, one in enumerate(sorted(answers)):
        texts = strings(one.word), strings(one.run_word), strings(one.error)
        counts = len(outputs), len(one.outputs)
        rows.append(
            (
                one.row,
                one.id.encode(),
                one.status,
                texts[0],
                one.run_status,
                texts[1],
                one.time,
                texts[2],
                *counts,
            )
        )
        copies.append([])
        for output in one.outputs:
            word, elements = WORDS[output.dtype], prod(output.shape)
            position = blobs.setdefault(word, 0)
            blobs[word] += room(elements, numpy_dtype(word).itemsize)
            copies[-1].append((word, position, output))
            outputs.append(
                (
                    at,
                    numbers[output.name],
                    output.dtype,
                    sequences(output.shape),
                    elements,
                    position,
                    output.digest,
                )
            )
    lists, integers = sequences.tables()
    tables = {
        "results": np.array(
            rows, dtype=_results_dtype(max((len(row[1]) for row in rows), default=1))
        ),
        "tensors": np.array(outputs, dtype=_tensors_dtype(names)),
        "lists": lists,
        "integers": integers,
    }
    there = {name: blobs[name] for name in stored_dtypes() if name in blobs}
    skeleton = container.create(path, "results", header, tables, strings.all, there)
    with open(path, "r+b", buffering=0) as file:
        for name, table in tables.items():
            container.write_table(file.fileno(), skeleton, name, table)
        for row, mine in zip(rows, copies, strict=True):
            for word, position, output in mine:
                if output.size:
                    target = (
                        skeleton.offsets[f"data/{word}"] + position * numpy_dtype(word).itemsize
                    )
                    _copy(output, file.fileno(), target, row[1].decode())
            if progress is not None:
                progress(1)
    return container.seal(skeleton, "results", container.digests(header, tables, strings.all))


def _copy(output: Output, fd: int, target: int, case: str) -> None:
    digest = Digest()
    for start in range(0, output.size, _COPIED_AT_ONCE):
        piece = np.empty(min(_COPIED_AT_ONCE, output.size - start), dtype=np.uint8)
        container.read_at(output.path, output.fd, piece, output.start + start)
        digest.update(piece.data)
        container.write_at(fd, piece, target + start)
    if digest.digest() != output.digest:
        raise BundleError(
            f"{output.path}: damaged: {case}: {output.name} does not match its digest"
        )


def _results_dtype(width: int) -> np.dtype[Any]:
    return np.dtype(
        [
            ("case", "<u4"),
            ("id", text(width)),
            ("status", "<i8"),
            ("status_word", "<u4"),
            ("run_status", "<i8"),
            ("run_status_word", "<u4"),
            ("time", "<f8"),
            ("error", "<u4"),
            ("first_tensor", "<u4"),
            ("tensors", "<u2"),
        ]
    )


def _tensors_dtype(names: list[str]) -> np.dtype[Any]:
    return np.dtype(
        [
            ("result", "<u4"),
            ("name", named(names)),
            ("dtype", enum(DTYPES)),
            ("shape", "<u4"),
            ("elements", "<i8"),
            ("position", "<i8"),
            ("digest", DIGEST_TYPE),
        ]
    )
