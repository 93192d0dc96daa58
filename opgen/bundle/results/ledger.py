"""The answers so far, in the unfinished file: a journal of headers and answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from opgen.bundle.format import heading
from opgen.bundle.format.dtypes import DTYPES, NAMES, BundleError
from opgen.bundle.format.heading import Header
from opgen.bundle.format.schema import NO_STATUS, NOT_KNOWN
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results import checks
from opgen.bundle.results.answers import CaseAnswer, Output, answers_of
from opgen.bundle.results.reader import ResultsFile, said
from opgen.bundle.write.journal import Entry, Journal

_FIRST = {"opgen answers": 3}


class Ledger:
    """The unfinished file behind a descriptor: what it holds, where one of these began it, and what
    is added.

    ``resumed``, None where nobody began: whether its answers go together with those of the finished
    file that it will replace.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._journal = Journal(path, fd)
        self.resumed: bool | None = None
        self.header: Header = {}
        self.answers: dict[int, CaseAnswer] = {}

    def __len__(self) -> int:
        """How many answers are there, whatever they say."""
        return sum("answer" in entry.facts for entry in self._journal.entries)

    def take(self, bundle: Bundle) -> None:
        """Read what is there as answers to a bundle, or as far as it shows that they are to
        another; BundleError where something is none.
        """
        for number, entry in enumerate(self._journal.entries, 1):
            if self.header and self.header["bundle"] != bundle.digest:
                return
            try:
                self._take(bundle, entry)
            except BundleError as error:
                raise BundleError(
                    f"{self._path}: unsound: entry {number}: {error}; move it away, or --force"
                    " drops it"
                ) from None

    def _take(self, bundle: Bundle, entry: Entry) -> None:
        match entry.facts:
            case {"opgen answers": 3, "resumed": bool(resumed)}:
                self.resumed = resumed
            case {"header": {"bundle": str(digest)} as header}:
                own = heading.own("results") | {"bundle": digest}
                self.header = heading.header(said(header), own)
            case {"answer": [case, status, run_status, time, error], "outputs": [*told]}:
                answer = checks.answer("answer", bundle, case, status, run_status, time, error)
                outputs = checks.outputs("outputs", bundle[answer.row], told, entry.data)
                self.answers[answer.row] = answer._replace(outputs=outputs)
            case _:
                raise BundleError("is neither a header nor an answer")

    def begin(self, resumed: bool) -> None:
        """Drop what the file holds, and begin."""
        self._journal.clear()
        self._journal.add({**_FIRST, "resumed": resumed})
        self.resumed, self.header = resumed, {}

    def note(self, header: Header) -> None:
        """Write the header of the results down, if it is another one."""
        if header != self.header:
            self._journal.add({"header": header})
            self.header = dict(header)

    def complete(self, file: ResultsFile) -> None:
        """Take over the answers of a finished file to cases that have none here, or none with a
        status.
        """
        for result in file:
            list(result.outputs.values())  # what is damaged is told now, not at the end
        for answer in answers_of(file):
            left = self.answers.setdefault(answer.row, answer)
            if left.word == NO_STATUS != answer.word:
                self.answers[answer.row] = answer

    def add(
        self, answer: CaseAnswer, arrays: Mapping[str, np.ndarray], unwritten: Mapping[str, int]
    ) -> None:
        """Write an answer down with its outputs, of which it says nothing yet."""
        told = [
            (name, DTYPES[NAMES[array.dtype]], array.shape, unwritten.get(name, NOT_KNOWN))
            for name, array in arrays.items()
        ]
        flat = (np.ascontiguousarray(array).reshape(-1) for array in arrays.values())
        data = self._journal.add(
            {"answer": answer.facts, "outputs": told}, [array.view(np.uint8).data for array in flat]
        )
        outputs = (Output(*facts, raw) for facts, raw in zip(told, data, strict=True))
        self.answers[answer.row] = answer._replace(outputs=tuple(outputs))
