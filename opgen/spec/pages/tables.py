"""The HTML tables of a page: cells of sentences with their lines, row spans filled in."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import NamedTuple

from opgen.spec.pages.page import Sentence

BREAKS = {"li", "br", "p", "ul", "ol", "div"}
"""Tags before which a sentence ends."""


class Cell(NamedTuple):
    """What stands in a cell, and the line on which it begins."""

    sentences: tuple[Sentence, ...]
    line: int

    @property
    def text(self) -> str:
        """All its words."""
        return " ".join(sentence.text for sentence in self.sentences)


class Table(NamedTuple):
    """The rows of a table, the first of which is its head, and its first and last line."""

    rows: list[list[Cell]]
    first: int
    last: int


def tables(text: str) -> list[Table]:
    """The tables of a text, in order; a table inside another is part of its cell.

    >>> head, row = tables("<table><tr><th>a</th></tr><tr><td>b<br>c</td></tr></table>")[0].rows
    >>> [sentence.text for sentence in row[0].sentences]
    ['b', 'c']
    """
    lines = text.split("\n")
    reader = _TableReader()
    reader.feed(
        "\n".join(line if own else "" for line, own in zip(lines, of_tables(lines), strict=True))
    )
    reader.close()
    return reader.tables


def of_tables(lines: list[str]) -> list[bool]:
    """Which lines belong to a table; elsewhere a formula may hold what looks like a tag."""
    result, inside = [], False
    for line in lines:
        inside = inside or "<table" in line
        result.append(inside)
        inside = inside and "</table>" not in line
    return result


class _TableReader(HTMLParser):
    """Collects cells; ``spans`` are the cells that reach down into the next rows, by column."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[Table] = []
        self.depth = 0
        self.rows: list[list[Cell]] = []
        self.spans: dict[int, tuple[Cell, int]] = {}
        self.first = 0
        self.cell: list[tuple[str, int]] | None = None
        self.begin, self.reach, self.width = 0, 1, 1

    @property
    def line(self) -> int:
        return self.getpos()[0]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.depth += 1
            if self.depth == 1:
                self.rows, self.spans, self.first = [], {}, self.line
        elif self.depth != 1:
            return
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            spans = (dict(attributes).get(name) or "" for name in ("rowspan", "colspan"))
            self.cell, self.begin = [], self.line
            self.reach, self.width = (int(span) if span.isdigit() else 1 for span in spans)
        elif tag in BREAKS and self.cell is not None:
            self.cell.append(("", self.line))

    def handle_endtag(self, tag: str) -> None:
        if tag == "table" and self.depth:
            self.depth -= 1
            if not self.depth:
                self.tables.append(Table(self.rows, self.first, self.line))
        elif self.depth == 1 and tag in ("td", "th") and self.cell is not None:
            for _ in range(self.width):
                self.place(Cell(_sentences(self.cell), self.begin))
            self.cell = None
        elif self.depth == 1 and tag == "tr" and self.rows:
            self.fill()
        elif tag in BREAKS and self.cell is not None:
            self.cell.append(("", self.line))

    def handle_data(self, data: str) -> None:
        if self.cell is not None:
            self.cell.append((data, self.line))

    def place(self, cell: Cell) -> None:
        """Puts a cell behind those of its row, and behind what reaches down from above."""
        self.fill()
        row = self.rows[-1]
        if self.reach > 1:
            self.spans[len(row)] = cell, self.reach - 1
        row.append(cell)

    def fill(self) -> None:
        """The cells from above that stand next in this row."""
        row = self.rows[-1]
        while len(row) in self.spans:
            cell, reach = self.spans.pop(len(row))
            if reach > 1:
                self.spans[len(row)] = cell, reach - 1
            row.append(cell)


def _sentences(parts: list[tuple[str, int]]) -> tuple[Sentence, ...]:
    """What stands between two breaks is a sentence, on the line of its first word."""
    result: list[Sentence] = []
    words, start = "", 0
    for text, line in [*parts, ("", 0)]:
        if text.strip() and not words.strip():
            start = line + text[: len(text) - len(text.lstrip())].count("\n")
        words += text
        if not text and words.strip():
            result.append(Sentence(" ".join(words.split()), start))
        words = words if text else ""
    return tuple(result)
