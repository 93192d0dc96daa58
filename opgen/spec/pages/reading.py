"""From a file to a page: which section says what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from opgen.files.textfile import read_text
from opgen.model import FileError
from opgen.spec.pages import markdown, plain
from opgen.spec.pages.first_phase import first_phase
from opgen.spec.pages.markdown import Code, Section
from opgen.spec.pages.page import Declared, PageParameter, PageText, Sentence, is_sentence
from opgen.spec.pages.products import supported
from opgen.spec.pages.row_sentences import row_sentences
from opgen.spec.pages.tables import Table

FIRST_PHASE = "GetWorkspaceSize"
MOST = 1 << 22
"""Bytes of a page, at most: the vendor's have up to 60 KB."""
API = re.compile(r"\b(aclnn\w+?)(?:GetWorkspaceSize)?\b")
DECLARATION = re.compile(r"(const\s+)?(\w+)\s*(\*{0,2})\s*(?:const\s+)?(\w+)\s*$")
PRODUCTS, FUNCTION = ("产品支持情况", "支持的产品型号"), ("功能说明", "功能描述")
PROTOTYPE, CONSTRAINTS = ("函数原型", "接口原型"), ("约束说明", "约束与限制")
EXAMPLE = ("调用示例",)
NOT_OURS = ("workspacesize", "executor")
"""The last two parameters of every first phase, in lower case."""


def read_page(path: str | Path) -> PageText:
    """The page in a file, Markdown or flattened text; FileError where it is none."""
    text = read_text(path, most=MOST)
    named = API.search(text)
    if named is None:
        raise FileError.of(str(path), "", "is not an operator page: it names no aclnn function")
    api = named[1]
    title, parts = markdown.sections(text)
    if not title:
        own = (api, api + FIRST_PHASE)
        parts = plain.sections(
            text, {*PRODUCTS, *FUNCTION, *PROTOTYPE, *CONSTRAINTS, *EXAMPLE, *own}
        )
    entitled = API.match(title)
    page = _page(entitled[1] if entitled else api, parts)
    if not page.prototype:
        text = f"is not an operator page: it has no prototype of a function aclnn...{FIRST_PHASE}"
        raise FileError.of(str(path), "", text)
    return page


def _page(api: str, parts: list[Section]) -> PageText:
    first = next((part for part in parts if part.title == api + FIRST_PHASE), Section("", 1, []))
    prototype = tuple(_prototype(api, _under(parts, PROTOTYPE)))
    described, notes, codes = first_phase(first)
    second = (part for part in parts if part.title == api)
    codes += [code for part in second for code in first_phase(part)[2]]
    parameters = [p for p in described if p.name.lower() not in NOT_OURS]
    return PageText(
        api,
        products=tuple(supported(_under(parts, PRODUCTS))),
        function=tuple(filter(is_sentence, _under(parts, FUNCTION))),
        prototype=prototype,
        parameters=tuple(parameters),
        notes=tuple(notes),
        codes=tuple(codes),
        constraints=tuple(_said(_under(parts, CONSTRAINTS))),
        faults=tuple(_faults(first, prototype, parameters)),
    )


def _under(parts: list[Section], titles: Iterable[str]) -> list[Sentence | Table | Code]:
    """What stands in the first section of one of these titles."""
    return next((part.parts for part in parts if part.title in titles), [])


def _said(parts: list[Sentence | Table | Code]) -> Iterator[Sentence]:
    """The sentences and the rows of tables in a section."""
    for part in parts:
        if isinstance(part, Table):
            yield from row_sentences(part)
        elif is_sentence(part):
            yield part


# prototype ----------------------------------------------------------------------------------------
def _prototype(api: str, parts: list[Sentence | Table | Code]) -> Iterator[Declared]:
    """The parameters of the first phase, but the last two."""
    for part in parts:
        if isinstance(part, Table):
            continue
        begin = part.text.find(f"{api}{FIRST_PHASE}(")
        end = part.text.find(")", begin)
        if begin < 0 or end < 0:
            continue
        start = part.text.index("(", begin) + 1
        for item in re.finditer(r"[^,]+", part.text[start:end]):
            declared = DECLARATION.search(item[0].strip())
            if declared and declared[4].lower() not in NOT_OURS:
                offset = start + item.start() + len(item[0]) - len(item[0].lstrip())
                line = part.line + part.text[:offset].count("\n")
                const = "const " if declared[1] else ""
                yield Declared(declared[4], const + declared[2] + declared[3], line)
        return


# what a strict reader stops at --------------------------------------------------------------------
def _faults(
    section: Section, prototype: tuple[Declared, ...], parameters: list[PageParameter]
) -> Iterator[Sentence]:
    tables = (part for part in section.parts if isinstance(part, Table))
    yield from chain.from_iterable(map(_uneven, tables))
    names = {declared.name for declared in prototype}
    described = {parameter.name for parameter in parameters}
    yield from (
        Sentence(f"'{p.name}' is not in the prototype", p.line)
        for p in parameters
        if p.name not in names
    )
    yield from (
        Sentence(f"'{d.name}' is not described", d.line)
        for d in prototype
        if d.name not in described
    )


def _uneven(table: Table) -> Iterator[Sentence]:
    width = len(table.rows[0])
    yield from (
        Sentence(f"a row of {len(row)} cells in a table of {width} columns", row[0].line)
        for row in table.rows[1:]
        if row and len(row) != width
    )
