"""The answers so far, in the unfinished file: whatever is whole in it counts, whenever and wherever
its writer was stopped.

An entry is a line, ``<digest of what follows> <JSON>``, and behind it the bytes of the outputs that
the line tells of. Nothing is written twice, so a file that ends anywhere is good up to its last
whole entry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opgen.bundle.format.container import write_at
from opgen.bundle.format.digest import digest_of
from opgen.bundle.results.answers import Answer, Output

_FIRST = {"opgen answers": 1}


class Ledger:
    """The unfinished file behind a descriptor: what it holds, where one of these began it, and what
    is added.

    ``resumed``, None where nobody began: whether its answers go together with those of the finished
    file that it will replace.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd
        self._end = 0
        self.resumed: bool | None = None
        self.header: dict[str, Any] = {}
        self.answers: dict[int, Answer] = {}
        for said, outputs, end in self._entries():
            if self.resumed is None and _FIRST.items() - said.items():
                break
            self.resumed = said.get("resumed", self.resumed)
            self.header = said.get("header", self.header)
            if "answer" in said:
                self.answers[said["answer"][0]] = Answer._make((*said["answer"], outputs))
            self._end = end
        os.ftruncate(fd, self._end)

    def begin(self, resumed: bool) -> None:
        """Forget what is there, and begin."""
        os.ftruncate(self._fd, 0)
        self._end, self.resumed, self.header, self.answers = 0, resumed, {}, {}
        self._write({**_FIRST, "resumed": resumed})

    def note(self, header: Mapping[str, Any]) -> None:
        """Write the header of the results down, if it is another one."""
        if header != self.header:
            self._write({"header": dict(header)})
            self.header = dict(header)

    def add(self, answer: Answer, data: Sequence[memoryview]) -> None:
        """Write an answer down, and the bytes of its outputs; the places of these are filled in
        here.
        """
        told = [(*one[:3], one.digest.hex(), one.size) for one in answer.outputs]
        start = self._write({"answer": answer[:-1], "outputs": told}, data)
        self.answers[answer.row] = answer._replace(
            outputs=tuple(self._placed(answer.outputs, start))
        )

    def _write(self, said: dict[str, Any], data: Sequence[memoryview] = ()) -> int:
        """Add an entry; returns where its data begin."""
        text = json.dumps(said).encode()
        line = b"%s %s\n" % (digest_of(text).hex().encode(), text)
        start = at = self._end + len(line)
        write_at(self._fd, line, self._end)
        for piece in data:
            write_at(self._fd, piece, at)
            at += piece.nbytes
        self._end = at
        return start

    def _entries(self) -> Iterator[tuple[dict[str, Any], tuple[Output, ...], int]]:
        """What each whole entry says, its outputs, and where it ends; up to the first that is torn,
        or is none.
        """
        with open(self._fd, "rb", closefd=False) as file:
            file.seek(0)
            for line in file:
                digest, _, text = line.rstrip(b"\n").partition(b" ")
                if digest != digest_of(text).hex().encode() or not line.endswith(b"\n"):
                    return
                said = json.loads(text)
                told = [
                    Output(name, dtype, tuple(shape), bytes.fromhex(kept), size)
                    for name, dtype, shape, kept, size in said.get("outputs", ())
                ]
                outputs = tuple(self._placed(told, file.tell()))
                if any(digest_of(file.read(one.size)) != one.digest for one in outputs):
                    return
                yield said, outputs, file.tell()

    def _placed(self, outputs: Sequence[Output], start: int) -> Iterator[Output]:
        """Outputs whose bytes lie one after the other from ``start`` on."""
        for one in outputs:
            yield one._replace(path=self._path, fd=self._fd, start=start)
            start += one.size
