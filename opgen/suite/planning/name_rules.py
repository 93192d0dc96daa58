"""What the rules of an operator's pages say of one name: what it may be, and whether it is free."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgen.spec.language.term import NOTHING, Reference
from opgen.spec.language.value import Value
from opgen.spec.parameter import Parameter
from opgen.spec.rules import Guard
from opgen.spec.spec import Spec


@dataclass(frozen=True)
class NameRules:
    """The rules of some pages, where names that are ``taken`` are set elsewhere."""

    pages: Sequence[Spec]
    taken: Collection[Reference]

    def bound(self, ref: Reference) -> bool:
        """Whether something says what a name is: a plan or a page."""
        return ref in self.taken or self.defined(ref)

    def defined(self, ref: Reference) -> bool:
        """Whether an equality of a page says what a name is, under a condition that does not ask
        for it.
        """
        return any(
            guard.when is None or ref not in guard.when.refs
            for spec in self.pages
            for guard in spec.equalities.get(ref, ())
        )

    def guards(self) -> Iterator[Guard]:
        return (guard for spec in self.pages for rule in spec.rules for guard in rule.guards)

    def members(self, ref: Reference) -> list[Any]:
        """What a name may be by the lists of all pages, numbers or words."""
        return list(
            dict.fromkeys(
                term.value(NOTHING).data.item()
                for spec in self.pages
                for guard in spec.memberships.get(ref, ())
                for term in guard.require.right
                if not term.refs
            )
        )

    def legal(self, refs: Sequence[Reference], values: Iterable[Any]) -> list[Any]:
        """Those of some numbers that every limit of a name by itself allows; a limit where none
        is.
        """
        limits = [
            guard
            for guard in self.guards()
            if guard.when is None and len(guard.require.refs) == 1 and guard.require.refs[0] in refs
        ]
        ends = [
            term.value(NOTHING).data.item()
            for guard in limits
            for term in guard.require.right
            if not term.refs
        ]
        for some in (list(values), ends):
            view, rows = _Column(np.array(some)), len(some)
            kept = ~np.logical_or.reduce(
                [np.zeros(rows, bool), *(g.broken(view, rows) for g in limits)]
            )
            if kept.any():
                return [value for value, legal in zip(some, kept, strict=True) if legal]
        return []

    def demanded(self, parameter: Parameter) -> bool:
        """Whether some call must not leave a pointer out, whatever else it says."""
        return self.bound((parameter.name, "null")) and any(
            guard.when is None and guard.require.refs == ((parameter.name, "null"),)
            for guard in self.guards()
        )


class _Column:
    """The same numbers, whatever is asked for."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.value = Value(numbers, np.asarray(True))

    def get(self, reference: Reference) -> Value:
        return self.value
