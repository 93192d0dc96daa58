"""Backends that are made up of a generator of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.devices import Backend


class Scripted(Backend):
    """Answers with what a generator yields; ``header`` is what it says of itself."""

    def __init__(
        self,
        script: Callable[[Bundle, Sequence[str]], Iterator[Result]],
        header: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__()
        self.script, self.header = script, header or {}

    def open(self, bundle: Bundle, cases: Sequence[str]) -> Mapping[str, object]:
        self.bundle = bundle
        return self.header

    def answers(self, cases: Sequence[str]) -> Iterator[Result]:
        return self.script(self.bundle, cases)
