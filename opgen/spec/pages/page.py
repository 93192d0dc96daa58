"""What a page says, each word with its line: what :mod:`opgen.spec.pages.reading` makes of a file.

Nothing is interpreted. A cell is the sentences that stand in it; a sentence that a page fences for
some products names these by the page's own markers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, TypeGuard

Column: TypeAlias = Literal["role", "description", "usage", "dtype", "format", "rank", "strided"]
"""The columns of a page's table of parameters."""


class Sentence(NamedTuple):
    """Some words and their line, from 1. ``products``: the markers of those for which alone the
    page says it; empty for all. ``about``: the head of its row, in a table of products.
    """

    text: str
    line: int
    products: tuple[str, ...] = ()
    about: str = ""


def is_sentence(part: object) -> TypeGuard[Sentence]:
    """Whether a part of a section is a sentence: neither a table nor code."""
    return isinstance(part, Sentence)


class Support(NamedTuple):
    """Whether a page lists a product, by its key or, where it has none, by the page's name."""

    product: str
    supported: bool
    line: int


class Declared(NamedTuple):
    """A parameter of the prototype: its C type, and the line."""

    name: str
    c_type: str
    line: int


class ReturnCode(NamedTuple):
    """A sentence that a page puts under a status code; ``number``: that of the clause, 0 where the
    page numbers none.
    """

    code: int
    name: str
    sentence: Sentence
    number: int = 0


@dataclass(frozen=True)
class PageParameter:
    """A parameter as the page describes it. ``cells``: column -> its sentences; what describes all
    in one bullet has them under ``usage``.
    """

    name: str
    line: int
    cells: Mapping[Column, tuple[Sentence, ...]]

    def text(self, column: Column) -> str:
        """The words of a cell; empty where the page has none."""
        return " ".join(sentence.text for sentence in self.cells.get(column, ()))


@dataclass(frozen=True)
class PageText:
    """A page of one operator. ``notes`` stand between the parameters and the codes, ``faults`` are
    what a strict reader stopped at.
    """

    api: str
    products: tuple[Support, ...] = ()
    function: tuple[Sentence, ...] = ()
    prototype: tuple[Declared, ...] = ()
    parameters: tuple[PageParameter, ...] = ()
    notes: tuple[Sentence, ...] = ()
    codes: tuple[ReturnCode, ...] = ()
    constraints: tuple[Sentence, ...] = ()
    faults: tuple[Sentence, ...] = field(default=())
