"""Reading fields that speak of a page: its lines, and terms of the rule language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from opgen.files.yamlfile import Document, Location
from opgen.spec.language.terms import TermError
from opgen.spec.parameter_keys import KeyFault

P = ParamSpec("P")
T = TypeVar("T")


class FieldReader:
    """A document whose fields are read one by one; every problem is noted in it and reading goes
    on.
    """

    def __init__(self, document: Document) -> None:
        self.doc = document

    def attempt(
        self, where: Location, name: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """The result of ``work``, or ``None`` where it fails for a reason that is noted under
        ``name``.
        """
        try:
            return work(*args, **kwargs)
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
