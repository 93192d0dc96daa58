"""Reading a results file: what a device answered, by case id."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import isnan
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from opgen.bundle.format.heading import RESERVED, Header
from opgen.bundle.read.finished import Finished
from opgen.model import Code

NO_STATUS = "none"
"""The word that stands for a status that nobody recorded."""
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


class Result(NamedTuple):
    """One case's answer: status of the first phase, of the run (or None), seconds (or None), error
    text, outputs.
    """

    id: str
    status: Code | None
    run_status: Code | None = None
    time: float | None = None
    error: str = ""
    outputs: Mapping[str, np.ndarray] = MappingProxyType({})


class Outputs(Mapping[str, np.ndarray]):
    """A case's outputs by parameter name; each is read, and checked, when it is asked for."""

    def __init__(self, file: ResultsFile, rows: list[tuple[Any, ...]]) -> None:
        self._file = file
        self._rows = {file.names[row[1]]: row for row in rows}

    def __getitem__(self, name: str) -> np.ndarray:
        row, number, dtype, shape, *where = self._rows[name]
        extents = self._file.sequence(shape) or ()
        return self._file.elements(row, number, dtype, *where).reshape(extents)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class ResultsFile(Finished):
    """A results file for reading; ``bundle_digest`` is the root digest of the bundle that was
    run.
    """

    KIND, ROWS = "results", "results"

    @property
    def bundle_digest(self) -> str:
        """The root digest of the bundle that was run."""
        return str(self.header["bundle"])

    def __iter__(self) -> Iterator[Result]:
        return (self._result(row) for row in range(len(self)))

    def __getitem__(self, key: str) -> Result:
        if key not in self.rows:
            raise KeyError(f"no case {key!r} among the {len(self)} of {self.path}")
        return self._result(self.rows[key])

    def _result(self, row: int) -> Result:
        _, case, status, word, run, run_word, time, error, first, count = self.tables["results"][
            row
        ].tolist()
        name = case.decode()
        outputs = Outputs(self, self.tables["tensors"][first : first + count].tolist())
        return Result(
            name,
            self._status(status, word),
            self._status(run, run_word),
            None if isnan(time) else time,
            self.strings[error],
            outputs,
        )

    def _status(self, number: int, word: int) -> Code | None:
        if word == 0:
            return number
        return None if self.strings[word] == NO_STATUS else self.strings[word]
