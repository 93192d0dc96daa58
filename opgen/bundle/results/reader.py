"""Reading a results file: what a device answered, by case id."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import isnan
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen.bundle.format.heading import RESERVED, Header
from opgen.bundle.format.schema import NO_STATUS, NOT_KNOWN
from opgen.bundle.read.finished import FinishedFile, LazyArrays
from opgen.model import Code

_OWN = (*RESERVED, "bundle")


def said(header: Header) -> Header:
    """What a header says of the device: all but what opgen says of the file."""
    return {key: value for key, value in header.items() if key not in _OWN}


def contradiction(header: Header, other: Header) -> str:
    """The first fact on which two headers differ, as ``device 'npu:0' and 'npu:1'``; empty where
    none is in both.
    """
    for key in header:
        if key in other and not _same(header[key], other[key]):
            return f"{key} {header[key]!r} and {other[key]!r}"
    return ""


def _same(fact: object, other: object) -> bool:
    """Whether two facts are one; NaN is, wherever it stands in them."""
    facts = (json.dumps(each, sort_keys=True) for each in (fact, other))
    return bool(fact == other) or next(facts) == next(facts)


OutputRow: TypeAlias = tuple[int, int, int, int, int, int, int, bytes]
"""A row of ``/tensors``: result, name, dtype, shape, elements, position, unwritten, digest."""


class Result(NamedTuple):
    """One case's answer: status of the first phase, of the run (or None), seconds (or None), error
    text, outputs, and how many elements of an output were never written, where that is known.
    """

    id: str
    status: Code | None
    run_status: Code | None = None
    time: float | None = None
    error: str = ""
    outputs: Mapping[str, np.ndarray] = MappingProxyType({})
    unwritten: Mapping[str, int] = MappingProxyType({})


class ResultsFile(FinishedFile):
    """A results file for reading; ``bundle_digest`` is the root digest of the bundle that was
    run.
    """

    def __init__(self, path: str | Path, *, check: bool = True) -> None:
        super().__init__(path, "results", check)

    @property
    def bundle_digest(self) -> str:
        """The root digest of the bundle that was run."""
        return str(self.header["bundle"])

    def status(self, row: int, run: bool = False) -> Code | None:
        """The status of a case's first phase, or of its run; None where nobody recorded one."""
        number, word = self._statuses[run][row]
        if word == 0:
            return number
        return None if self.strings[word] == NO_STATUS else self.strings[word]

    @cached_property
    def _statuses(self) -> list[list[tuple[int, int]]]:
        """Of both phases: (rows,) the number of each status, and that of its word, or 0."""
        table = self.tables["results"]
        return [
            list(zip(table[phase].tolist(), table[f"{phase}_word"].tolist(), strict=True))
            for phase in ("status", "run_status")
        ]

    def __iter__(self) -> Iterator[Result]:
        return (self._result(row) for row in range(len(self)))

    def __getitem__(self, key: str) -> Result:
        if key not in self.rows:
            raise KeyError(f"no case {key!r} among the {len(self)} of {self.path}")
        return self._result(self.rows[key])

    def _result(self, row: int) -> Result:
        _, case, *_, time, error, first, count = self.tables["results"][row].tolist()
        tensors = {
            self.names[tensor[1]]: tensor
            for tensor in self.tables["tensors"][first : first + count].tolist()
        }
        return Result(
            case.decode(),
            self.status(row),
            self.status(row, run=True),
            None if isnan(time) else time,
            self.strings[error],
            LazyArrays(tensors, self._output),
            {name: tensor[6] for name, tensor in tensors.items() if tensor[6] != NOT_KNOWN},
        )

    def _output(self, tensor: OutputRow) -> np.ndarray:
        row, name, dtype, shape, elements, position, _, digest = tensor
        array = self.elements(row, name, dtype, elements, position, digest)
        return array.reshape(self.sequence(shape) or ())
