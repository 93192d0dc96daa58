"""What calls are in a suite for: rules for programs, words for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

Verb: TypeAlias = Literal[
    "covers",
    "computes",
    "limits",
    "lists",
    "exempts",
    "breaks",
    "orders",
    "nearest_valid",
    "handwritten",
    "note",
]


class Purpose(NamedTuple):
    """One thing that a call is for.

    ``rules`` are those that it breaks, the one aimed at first, then its side violations; the
    two whose order it tells; the one at whose limit it stands, of whose list it has a member, or
    that forbids the same elsewhere. ``name`` is that of a handwritten call, ``codes`` are those of
    two rules, ``note`` is what more there is to say.
    """

    verb: Verb
    rules: tuple[str, ...] = ()
    name: str = ""
    note: str = ""
    codes: tuple[int | None, ...] = ()

    def __str__(self) -> str:
        first, *others = self.rules or ("",)
        match self.verb:
            case "covers" | "note":
                return self.note
            case "computes":
                return f"shows a rounding to {self.note}"
            case "limits":
                return f"at the limit of {first}"
            case "lists":
                return f"one of what {first} lists"
            case "exempts":
                return f"does what {first} forbids elsewhere"
            case "breaks":
                return f"breaks {first}" + (f" with {', '.join(others)}" if others else "")
            case "orders":
                order = " and ".join(
                    f"{rule} ({code})" for rule, code in zip(self.rules, self.codes, strict=True)
                )
                return f"orders {order}: the code tells which is checked first"
            case "nearest_valid":
                return "the nearest valid call of an invalid one"
            case "handwritten":
                return f"{self.name}: {self.note}"


Purposes: TypeAlias = tuple[Purpose, ...]


def describe(purposes: Iterable[Purpose]) -> str:
    """The intent of a call, for people."""
    return "; ".join(map(str, purposes))
