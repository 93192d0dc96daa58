"""The answers so far, in the unfinished file: a journal of headers and answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from opgen.bundle.format.dtypes import DTYPES, NAMES
from opgen.bundle.format.heading import Header
from opgen.bundle.results.answers import CaseAnswer, Output
from opgen.bundle.results.reader import NOT_KNOWN
from opgen.bundle.write.journal import Journal

_FIRST = {"opgen answers": 3}


class Ledger:
    """The unfinished file behind a descriptor: what it holds, where one of these began it, and what
    is added.

    ``resumed``, None where nobody began: whether its answers go together with those of the finished
    file that it will replace.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self._journal = Journal(path, fd)
        self.resumed: bool | None = None
        self.header: Header = {}
        self.answers: dict[int, CaseAnswer] = {}
        for facts, data in self._journal.entries:
            if self.resumed is None and _FIRST.items() - facts.items():
                self._journal.clear()
                break
            self.resumed = facts.get("resumed", self.resumed)
            self.header = facts.get("header", self.header)
            if "answer" in facts:
                told = zip(facts["outputs"], data, strict=True)
                outputs = (
                    Output(name, dtype, tuple(shape), unwritten, raw)
                    for (name, dtype, shape, unwritten), raw in told
                )
                answer = CaseAnswer._make((*facts["answer"], tuple(outputs)))
                self.answers[answer.row] = answer

    def begin(self, resumed: bool) -> None:
        """Forget what is there, and begin."""
        self._journal.clear()
        self._journal.add({**_FIRST, "resumed": resumed})
        self.resumed, self.header, self.answers = resumed, {}, {}

    def note(self, header: Header) -> None:
        """Write the header of the results down, if it is another one."""
        if header != self.header:
            self._journal.add({"header": header})
            self.header = dict(header)

    def add(
        self, answer: CaseAnswer, arrays: Mapping[str, np.ndarray], unwritten: Mapping[str, int]
    ) -> CaseAnswer:
        """Write an answer down with its outputs, of which it says nothing yet; returns it with
        them.
        """
        told = [
            (name, DTYPES[NAMES[array.dtype]], array.shape, unwritten.get(name, NOT_KNOWN))
            for name, array in arrays.items()
        ]
        flat = (np.ascontiguousarray(array).reshape(-1) for array in arrays.values())
        data = self._journal.add(
            {"answer": answer[:-1], "outputs": told}, [array.view(np.uint8).data for array in flat]
        )
        outputs = (Output(*facts, raw) for facts, raw in zip(told, data, strict=True))
        return answer._replace(outputs=tuple(outputs))
