"""Answers of a device, and the finished results file that they make, wherever their outputs lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from opgen.bundle.format import container, schema
from opgen.bundle.format.container import Skeleton
from opgen.bundle.format.dtypes import (
    WORDS,
    BundleError,
    named,
    numpy_dtype,
    room,
    stored_dtypes,
    text,
)
from opgen.bundle.format.file_bytes import StoredBytes
from opgen.bundle.format.heading import Header
from opgen.bundle.format.root_digest import digest_table
from opgen.bundle.format.schema import NO_STATUS
from opgen.bundle.results.reader import ResultsFile
from opgen.bundle.write.pools import Lists, Strings
from opgen.model import Code


class Output(NamedTuple):
    """One output: parameter, number of its dtype, shape, how many of its elements were never
    written (:data:`~opgen.bundle.results.reader.NOT_KNOWN` where nobody looked), where its bytes
    lie.
    """

    name: str
    dtype: int
    shape: tuple[int, ...]
    unwritten: int
    data: StoredBytes


class CaseAnswer(NamedTuple):
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
    outputs: tuple[Output, ...] = ()

    @property
    def facts(self) -> tuple[str, Code | None, Code | None, float, str]:
        """What a harness said: case, status, status of the run, seconds, error."""
        status, run = (
            None if word == NO_STATUS else word or number
            for number, word in ((self.status, self.word), (self.run_status, self.run_word))
        )
        return self.id, status, run, self.time, self.error


def answers_of(file: ResultsFile) -> Iterator[CaseAnswer]:
    """The answers of a file; their outputs are read later."""
    tensors, text = file.tables["tensors"].tolist(), file.strings
    for row, raw, status, word, run, run_word, time, error, first, count in file.tables[
        "results"
    ].tolist():
        case = raw.decode()
        outputs = tuple(_output(file, *tensor) for tensor in tensors[first : first + count])
        statuses = status, text[word], run, text[run_word]
        yield CaseAnswer(row, case, *statuses, time, text[error], outputs)


def _output(
    file: ResultsFile,
    row: int,
    name: int,
    dtype: int,
    shape: int,
    elements: int,
    position: int,
    unwritten: int,
    digest: bytes,
) -> Output:
    data = StoredBytes(file.path, file.fd, *file.place(dtype, elements, position), digest)
    return Output(file.names[name], dtype, file.sequence(shape) or (), unwritten, data)


def write(
    path: Path,
    header: Header,
    names: list[str],
    answers: Iterable[CaseAnswer],
    progress: Callable[[int], None] | None = None,
) -> str:
    """Write and seal the results file of some answers, in the order of the bundle; returns its root
    digest.

    ``names`` are those of the bundle's tensors; ``progress`` is told of cases that are done.
    BundleError where the bytes of an output do not match its digest, OSError where the file cannot
    be written.
    """
    header, answers = dict(sorted(header.items())), sorted(answers)
    strings, shapes = Strings(), Lists()
    numbers = {name: number for number, name in enumerate(names)}
    blobs: dict[str, int] = {}
    results: list[tuple[object, ...]] = []
    tensors: list[tuple[object, ...]] = []
    for row, answer in enumerate(answers):
        word, run_word, error = map(strings.number, (answer.word, answer.run_word, answer.error))
        statuses = answer.status, word, answer.run_status, run_word
        counts = len(tensors), len(answer.outputs)
        results.append((answer.row, answer.id.encode(), *statuses, answer.time, error, *counts))
        for name, dtype, shape, unwritten, data in answer.outputs:
            elements, position = prod(shape), blobs.setdefault(WORDS[dtype], 0)
            blobs[WORDS[dtype]] += room(elements, numpy_dtype(WORDS[dtype]).itemsize)
            lies = shapes.number(shape), elements, position
            tensors.append((row, numbers[name], dtype, *lies, unwritten, data.digest))
    lists, integers = shapes.tables()
    width = max((len(answer.id.encode()) for answer in answers), default=1)
    tables = {
        "results": np.array(results, dtype=schema.dtype(schema.RESULTS["results"], id=text(width))),
        "tensors": np.array(
            tensors, dtype=schema.dtype(schema.RESULTS["tensors"], name=named(names))
        ),
        "lists": lists,
        "integers": integers,
    }
    there = {name: blobs[name] for name in stored_dtypes() if name in blobs}
    skeleton = container.create(path, "results", header, tables, strings.all, there)
    with open(path, "r+b", buffering=0) as file:
        for name, table in tables.items():
            container.write_table(file.fileno(), skeleton, name, table)
        places = iter(tables["tensors"]["position"].tolist())
        for answer in answers:
            for output, position in zip(answer.outputs, places, strict=False):
                _copy(answer.id, output, file.fileno(), skeleton, position)
            if progress is not None:
                progress(1)
    return container.seal(skeleton, "results", digest_table(header, tables, strings.all))


def _copy(case: str, output: Output, fd: int, skeleton: Skeleton, position: int) -> None:
    """Copy an output to its place in the blob of its dtype."""
    word = WORDS[output.dtype]
    start = skeleton.offsets.get(f"data/{word}", 0) + position * numpy_dtype(word).itemsize
    if not output.data.copy(fd, start):
        raise BundleError(
            f"{output.data.path}: damaged: {case}: {output.name} does not match its digest"
        )
