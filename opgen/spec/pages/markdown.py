"""The text of a page around its tables: headings, sentences and code, each with line and fence.

A fence is a pair of comments, ``<!-- npu="910,310p" id7 -->`` and ``<!-- end id7 -->``: what stands
between them holds for these products alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from opgen.spec.pages.page import Sentence
from opgen.spec.pages.tables import Cell, Table, of_tables, tables

OPEN, END = (
    re.compile(r'<!--\s*npu="([^"]*)"\s*(\w*)\s*-->'),
    re.compile(r"<!--\s*end\s*(\w+)\s*-->"),
)


class Code(NamedTuple):
    """A block of code and the line of its first line."""

    text: str
    line: int


class Section(NamedTuple):
    """What stands under a heading of the second level, in order."""

    title: str
    line: int
    parts: list[Sentence | Table | Code]


def sections(text: str) -> tuple[str, list[Section]]:
    r"""The title of a page and its sections.

    >>> title, (section,) = sections("# op\n\n## about\n- one\n- two")
    >>> title, section.title, [part.text for part in section.parts]
    ('op', 'about', ['one', 'two'])
    """
    lines = text.split("\n")
    fences = _fences(lines)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(_without_html(lines))
    parts = [*_blocks(tokens, fences), *_tables(text, fences)]
    title, result = "", [Section("", 1, [])]
    for level, line, part in sorted(parts, key=lambda part: part[1]):
        if level == 1 and isinstance(part, Sentence):
            title = title or part.text
        elif level == 2 and isinstance(part, Sentence):
            result.append(Section(part.text, line, []))
        else:
            result[-1].parts.append(part)
    return title, result[1:]


_Part = tuple[int, int, Sentence | Table | Code]
"""The level of a heading or 0, the line, and what stands there."""


def _blocks(tokens: list[Token], fences: list[tuple[str, ...]]) -> list[_Part]:
    """The headings, sentences and code of a page."""
    result: list[_Part] = []
    level, line = 0, 1
    for token in tokens:
        if token.map:
            line = token.map[0] + 1
        if token.type == "heading_open":
            level = int(token.tag[1:])
        elif token.type == "heading_close":
            level = 0
        elif token.type in ("fence", "code_block"):
            first = line + 1 if token.type == "fence" else line
            result.append((0, first, Code(token.content, first)))
        elif token.type == "inline":
            for i, words in enumerate(_words(token)):
                if words:
                    result.append((level, line + i, Sentence(words, line + i, fences[line + i])))
    return result


def _words(token: Token) -> list[str]:
    """The words of each line of some inline text: links give their text, tags nothing."""
    rows = [""]
    for child in token.children or ():
        if child.type in ("softbreak", "hardbreak"):
            rows.append("")
        elif child.type in ("text", "code_inline"):
            rows[-1] += child.content
    return [" ".join(row.split()) for row in rows]


def _tables(text: str, fences: list[tuple[str, ...]]) -> Iterator[_Part]:
    """The tables in HTML, each sentence with the products that it holds for."""
    for table in tables(text):
        rows = [[_fenced(cell, fences) for cell in row] for row in table.rows]
        yield 0, table.first, table._replace(rows=rows)


def _fenced(cell: Cell, fences: list[tuple[str, ...]]) -> Cell:
    said = (s._replace(products=fences[s.line]) for s in cell.sentences)
    return cell._replace(sentences=tuple(said))


def _without_html(lines: list[str]) -> str:
    """The text with an empty line for each that belongs to a table in HTML or to a fence."""
    return "\n".join(
        "" if own or OPEN.search(line) or END.search(line) else line
        for line, own in zip(lines, of_tables(lines), strict=True)
    )


def _fences(lines: list[str]) -> list[tuple[str, ...]]:
    """Line, from 1 -> the markers of the products that it holds for; of fences inside each other
    the inner one counts.
    """
    result: list[tuple[str, ...]] = [()]
    stack: list[tuple[str, tuple[str, ...]]] = []
    for line in lines:
        opened, ended = OPEN.search(line), END.search(line)
        if opened:
            names = tuple(name.strip() for name in opened[1].split(",") if name.strip())
            stack.append((opened[2], names))
        result.append(stack[-1][1] if stack else ())
        if ended and any(key == ended[1] for key, _ in stack):
            while stack.pop()[0] != ended[1]:
                pass
    return result
