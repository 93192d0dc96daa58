"""From a file to a page: which section says what, and the names and codes in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeGuard

from opgen.calls.vocabulary import vocabulary
from opgen.files.textfile import read_text
from opgen.model import FileError
from opgen.spec.pages import markdown, plain
from opgen.spec.pages.markdown import Code, Section
from opgen.spec.pages.page import (
    Column,
    Declared,
    PageParameter,
    PageText,
    ReturnCode,
    Sentence,
    Support,
)
from opgen.spec.pages.tables import Cell, Table

FIRST_PHASE = "GetWorkspaceSize"
MOST = 1 << 22
"""Bytes of a page, at most: the vendor's have up to 60 KB."""
API = re.compile(r"\b(aclnn\w+?)(?:GetWorkspaceSize)?\b")
DECLARATION = re.compile(r"(const\s+)?(\w+)\s*(\*{0,2})\s*(?:const\s+)?(\w+)\s*$")
NAME = re.compile(r"\s*(\w+)\s*[（(]([^）)]*)[）)]\s*[:：]?\s*(.*)", re.DOTALL)
CODE = re.compile(r"(?:返回)?\s*(\d{6})\s*[（(]?\s*(ACLNN_\w+)\s*[）)]?\s*[:：]\s*(.*)")
NUMBERED = re.compile(r"(\d+)[.、]\s*(.*)")
FRAME = re.compile("参数说明|返回值|返回码|aclnnStatus|第一段接口")
"""How lines begin that stand on every page and say nothing about its operator."""
HEADS: dict[str, Column] = {
    "输入/输出": "role",
    "描述": "description",
    "使用说明": "usage",
    "数据类型": "dtype",
    "数据格式": "format",
    "维度(shape)": "rank",
    "非连续tensor": "strided",
}
"""The heads of the columns of a table of parameters, in lower case and with ASCII brackets."""
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
    described, notes, codes = _first_phase(first)
    second = (part for part in parts if part.title == api)
    codes += [code for part in second for code in _first_phase(part)[2]]
    parameters = [p for p in described if p.name.lower() not in NOT_OURS]
    return PageText(
        api,
        products=tuple(_products(_under(parts, PRODUCTS))),
        function=tuple(filter(_is_sentence, _under(parts, FUNCTION))),
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
            yield from _row_sentences(part)
        elif _is_sentence(part):
            yield part


def _row_sentences(table: Table) -> list[Sentence]:
    """The rows of a table that is not one of parameters or codes, each as one sentence; where its
    columns are products, what each cell says of them.
    """
    columns = [_products_in(cell.text) for cell in table.rows[0][1:]]
    if columns and all(columns):
        return [said for row in table.rows[1:] for said in _of_columns(row, columns)]
    return [
        Sentence(" | ".join(cell.text for cell in row), row[0].line)
        for row in table.rows
        if any(cell.text for cell in row)
    ]


def _products_in(head: str) -> tuple[str, ...]:
    """The keys of the products that the head of a column names, if it names nothing else."""
    keys = tuple(map(product_of, head.split("、")))
    return keys if all(key in vocabulary().products for key in keys) else ()


def _of_columns(row: list[Cell], columns: list[tuple[str, ...]]) -> Iterator[Sentence]:
    """The sentences of a row, each with its products; what reaches over several columns is one."""
    held: dict[Sentence, tuple[str, ...]] = {}
    for cell, products in zip(row[1:], columns, strict=False):
        for said in cell.sentences:
            held[said] = (*held.get(said, ()), *products)
    yield from row[0].sentences
    yield from (s._replace(products=some, about=row[0].text) for s, some in held.items())


def _is_sentence(part: object) -> TypeGuard[Sentence]:
    return isinstance(part, Sentence)


# products -----------------------------------------------------------------------------------------
def product_of(name: str) -> str:
    """The key of a product that a page names, or the name; blanks do not count.

    >>> product_of("Atlas A2 训练系列产品/Atlas 800I A2 推理产品"), product_of("Atlas 9 产品")
    ('ascend910b', 'Atlas 9 产品')
    """
    bare = name.replace(" ", "")
    for key, facts in vocabulary().products.items():
        if bare in [known.replace(" ", "") for known in facts["names"]]:
            return key
    return name


def _products(parts: list[Sentence | Table | Code]) -> Iterator[Support]:
    """Lines ``PRODUCT：支持``, or a bare name in the older edition; or rows with a tick."""
    words = [part for part in parts if _is_sentence(part)]
    ticks = {sentence.line: sentence.text for sentence in words if sentence.text in "√×xX"}
    for sentence in words:
        name, colon, verdict = re.sub("[:：]", ":", sentence.text).rstrip("。").partition(":")
        tick = ticks.get(sentence.line)
        if sentence.text not in "√×xX" and (colon or tick or product_of(name) != name):
            supported = verdict.strip() != "不支持" if tick is None else tick == "√"
            yield Support(product_of(name.strip()), supported, sentence.line)


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


# the first phase ----------------------------------------------------------------------------------
def _first_phase(section: Section) -> tuple[list[PageParameter], list[Sentence], list[ReturnCode]]:
    """The parameters, what stands below them, and the codes."""
    parameters: list[PageParameter] = []
    notes: list[Sentence] = []
    codes: list[ReturnCode] = []
    tabled = any(isinstance(part, Table) and _columns(part) for part in section.parts)
    for part in section.parts:
        if isinstance(part, Table) and _columns(part):
            parameters += _rows(part)
        elif isinstance(part, Table):
            coded = list(_code_rows(part))
            codes += coded
            notes += [] if coded else _row_sentences(part)
        else:
            for sentence in _lines(part):
                bullet = NAME.match(sentence.text)
                if FRAME.match(sentence.text) or _code(sentence, codes):
                    continue
                if bullet and "," in bullet[2].replace("，", ","):
                    cell = (Sentence(bullet[3], sentence.line, sentence.products),)
                    role = (Sentence(bullet[2], sentence.line),)
                    parameters.append(
                        PageParameter(bullet[1], sentence.line, {"role": role, "usage": cell})
                    )
                elif parameters and "usage" in parameters[-1].cells and not tabled:
                    last = parameters[-1]
                    cells = {**last.cells, "usage": (*last.cells["usage"], sentence)}
                    parameters[-1] = replace(last, cells=cells)
                else:
                    notes.append(sentence)
    return parameters, notes, codes


def _lines(part: Sentence | Code) -> list[Sentence]:
    """A sentence, or each line of code that says something."""
    if isinstance(part, Sentence):
        return [part]
    rows = enumerate(part.text.split("\n"), part.line)
    return [Sentence(row.strip(), line) for line, row in rows if row.strip()]


def _columns(table: Table) -> dict[Column, int]:
    """Where the columns of a table of parameters are; empty for another table."""
    heads = [cell.text.lower().replace("（", "(").replace("）", ")") for cell in table.rows[0]]
    if not heads or heads[0] != "参数名":
        return {}
    return {HEADS[head]: i for i, head in enumerate(heads) if head in HEADS}


def _rows(table: Table) -> Iterator[PageParameter]:
    columns = _columns(table)
    for row in table.rows[1:]:
        if row and row[0].text:
            named = NAME.match(row[0].text)
            cells = {c: row[i].sentences for c, i in columns.items() if i < len(row)}
            yield PageParameter(named[1] if named else row[0].text, row[0].line, cells)


def _code_rows(table: Table) -> Iterator[ReturnCode]:
    """The sentences of a table of codes, in which word and number reach down over their rows."""
    for row in table.rows[1:]:
        number = next((cell.text for cell in row[:-1] if cell.text.isdigit()), "")
        name = next((cell.text for cell in row[:-1] if cell.text.startswith("ACLNN_")), "")
        if number and row:
            for sentence in row[-1].sentences:
                yield ReturnCode(int(number), name, sentence)


def _code(sentence: Sentence, codes: list[ReturnCode]) -> bool:
    """Whether a line of a list of codes was read: one that begins a code, or the next number."""
    begins, next_one = CODE.match(sentence.text), NUMBERED.match(sentence.text)
    if begins:
        words = NUMBERED.match(begins[3])
        said = sentence._replace(text=words[2] if words else begins[3])
        number = int(words[1]) if words else 0
        codes.append(ReturnCode(int(begins[1]), begins[2], said, number))
    elif next_one and codes:
        said, number = sentence._replace(text=next_one[2]), int(next_one[1])
        codes.append(codes[-1]._replace(sentence=said, number=number))
    return bool(begins or (next_one and codes))


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
