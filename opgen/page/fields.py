"""Reading the fields of a document: what is expected where, and a problem with its line where it is something else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from opgen.language.terms import TermError
from opgen.page.rules import KeyFault
from opgen.yamlfile import Document, Location, did_you_mean

T = TypeVar("T")


class Fields:
    """A document whose fields are read one by one; every problem is noted in it and reading goes on."""

    def __init__(self, document: Document) -> None:
        self.doc = document

    def known(self, where: Location, value: Iterable[Any], keys: Iterable[Any], what: str) -> None:
        """Note every key that is not one of ``keys``."""
        keys = tuple(keys)
        for key in value:
            if key not in keys:
                self.doc.problem((*where, key), f"no such {what}{did_you_mean(key, keys)}; known are {', '.join(map(str, keys))}")

    def need(self, where: Location, value: Any, kind: type[T], what: str) -> T | None:
        """``value`` where it is of that kind; else note it and give ``None``."""
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
        self.doc.problem(where, f"expects {what}, not {value!r}")
        return None

    def mapping(self, where: Location, value: Any, what: str) -> dict[Any, Any]:
        """``value`` where it is a mapping, else an empty one; ``None`` is an absent key."""
        return {} if value is None else self.need(where, value, dict, what) or {}

    def attempt(self, where: Location, name: str, work: Callable[[], T]) -> T | None:
        """The result of ``work``, or ``None`` where it fails for a reason that is noted under ``name``."""
        try:
            return work()
        except (TermError, KeyFault) as error:
            self.doc.problem(where, str(error), name)
            return None

    def lines(self, where: Location, value: Any) -> tuple[int, ...]:
        """A line of the page, or a list of them."""
        found = value if isinstance(value, list) else [value]
        if not all(isinstance(v, int) and not isinstance(v, bool) and v > 0 for v in found):
            self.doc.problem(where, f"expects a line of the page or a list of lines, not {value!r}")
            return ()
        return tuple(found)
