"""How reports lie on a terminal: paragraphs and tables, broken between words only, with no blanks
at the ends of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from opgen.report.terminal import visible

GAPS = (3, 1)
"""Blanks between two columns, and the least."""
READABLE = 24
"""A column of text is not made narrower than this, unless its lines are shorter."""


def show(console: Console, *parts: RenderableType, apart: bool = False) -> None:
    """Print paragraphs and tables, with a blank line below each if they stand ``apart``. A word
    that is longer than a line is not cut: the terminal breaks it, and it is copied as one.
    """
    for part in parts:
        console.print(part, crop=False)
        if apart:
            console.print()


class Paragraph:
    """A text, and a label that hangs in its indentation. It stays on one line where the output has
    no edge: a log is searched by lines.
    """

    def __init__(self, text: Text | str, label: Text | str = "", indent: int = 0) -> None:
        self.text = text if isinstance(text, Text) else Text(visible(text))
        self.label = Text.assemble(label)
        self.indent = indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if console.soft_wrap:
            self.label.pad_right(self.indent - self.label.cell_len)
            yield self.label + self.text
        else:
            yield from hanging(self.text, self.label, self.indent, options.max_width)


def hanging(text: Text, label: Text, indent: int, width: int) -> Iterator[Text]:
    """The lines of a text beside its label, or below it where a word is too long for that."""
    if label and max(map(len, text.plain.split()), default=0) > width - indent:
        yield label
        label, indent = Text(), 2
    for line in [*_wrapped(text, width - indent)] or [Text()]:
        label.pad_right(indent - label.cell_len)
        whole = Text.assemble(label, line, no_wrap=True, overflow="ignore")
        whole.rstrip()
        yield whole
        label = Text()


def _wrapped(text: Text, width: int) -> Iterator[Text]:
    """As many words on each line as it holds, at least one."""
    words = re.compile(rf"\S.{{0,{max(width, 1) - 1}}}(?=\s|$)|\S+")
    for line in text.split():
        yield from (line[slice(*match.span())] for match in words.finditer(line.plain))


class TextTable:
    """A table with these headings, of which those in ``right`` hold numbers; ``lines`` stand
    between its rows.

    A cell is a rich text, or anything that :func:`opgen.report.terminal.visible` shows; of a list,
    each item stands on a line of its own. A table breaks between words only, and has no blanks at
    the ends of its lines. Print it with :func:`show`.
    """

    def __init__(
        self,
        *heads: str,
        rows: Iterable[Iterable[object]],
        title: str = "",
        right: Sequence[str] = (),
        lines: bool = False,
    ) -> None:
        self.heads, self.title, self.lines = heads, title, lines
        self.numeric = [head in right for head in heads]
        self.rows = [[_text(cell) for cell in row] for row in rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title:
            yield Paragraph(Text(self.title, "bold"))
        for part in self._parts(options.max_width):
            for line in Segment.split_lines(console.render(part, options)):
                yield from _trimmed(line)
                yield Segment.line()

    def _parts(self, width: int) -> Iterable[RenderableType]:
        for gap in GAPS:
            if widths := self._widths(width, gap):
                return [self._columns(widths, gap)]
        return self._records(width)

    def _widths(self, width: int, gap: int) -> list[int] | None:
        """The width of each column, the narrowest widened first; None where they do not fit."""
        least, most = [], []
        for head, numeric, *cells in zip(self.heads, self.numeric, *self.rows, strict=True):
            words = max((len(word) for word in head.split()), default=0)
            lines = max((_widest(cell.split()) for cell in cells), default=0)
            text = max((_widest(cell.split(" ")) for cell in cells), default=0)
            most.append(max(lines, len(head)))
            least.append(max(words, lines if numeric else max(text, min(lines, READABLE))))
        widths = least
        spare = width - sum(widths) - gap * (len(widths) - 1)
        if spare < 0:
            return None
        for _ in range(spare):
            wanting = [i for i, narrow in enumerate(widths) if narrow < most[i]]
            if not wanting:
                break
            widths[min(wanting, key=widths.__getitem__)] += 1
        return widths

    def _columns(self, widths: Sequence[int], gap: int) -> Table:
        table = Table(
            box=SIMPLE_HEAD,
            padding=(0, gap // 2),
            pad_edge=False,
            show_edge=False,
            show_lines=self.lines,
        )
        for head, numeric, width in zip(self.heads, self.numeric, widths, strict=True):
            table.add_column(head, justify="right" if numeric else "left", width=width)
        for row in self.rows:
            table.add_row(*row)
        return table

    def _records(self, width: int) -> Iterator[RenderableType]:
        """The rows one below the other: texts on lines of their own, numbers together."""
        aligned = max(
            len(head) for head, number in zip(self.heads, self.numeric, strict=True) if not number
        )
        for place, row in enumerate(self.rows):
            if place:
                yield Text()
            numbers = []
            for head, numeric, cell in zip(self.heads, self.numeric, row, strict=True):
                label = Text(head, "bold")
                if numeric and cell:
                    numbers.append(Text.assemble(label, " ", cell))
                elif cell:
                    yield from hanging(cell, label, aligned + 2, width)
            from rich.columns import Columns

            yield Columns(numbers, padding=(0, 2))


def _text(cell: object) -> Text:
    if isinstance(cell, Text):
        return cell
    return Text("\n".join(map(visible, cell if isinstance(cell, list) else [cell])))


def _widest(texts: Iterable[Text]) -> int:
    return max((text.cell_len for text in texts), default=0)


def _trimmed(line: list[Segment]) -> list[Segment]:
    """The same without blanks at its end."""
    while line and not line[-1].text.strip():
        line.pop()
    if line:
        text, style, control = line.pop()
        line.append(Segment(text.rstrip(), style, control))
    return line
