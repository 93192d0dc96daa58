"""Claims where they stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opgen.spec.drafting.facts import products_term
from opgen.spec.drafting.patterns import Claim


class PlacedClaim(NamedTuple):
    """A claim where it stands: its line, the products for which alone it holds, the parameter in
    whose cell it is, and the condition with which its sentence begins.
    """

    claim: Claim
    line: int
    products: tuple[str, ...] = ()
    own: str = ""
    held: str = ""

    @property
    def subjects(self) -> tuple[str, ...]:
        """The parameters of which it speaks; none where it names none and stands in no cell."""
        return self.claim.of("subject") or ((self.own,) if self.own else ())

    @property
    def when(self) -> str:
        """The condition under which it holds."""
        return " and ".join(filter(None, (products_term(self.products), self.held)))

    def about(self, subjects: Iterable[str]) -> PlacedClaim:
        """The same of other parameters."""
        return self._replace(
            claim=self.claim._replace(lists=({**self.claim.lists, "subject": tuple(subjects)}))
        )
