"""The section of a page on the first phase: parameters, what stands below them, and codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from opgen.spec.pages.markdown import Code, Section
from opgen.spec.pages.page import Column, PageParameter, ReturnCode, Sentence
from opgen.spec.pages.row_sentences import row_sentences
from opgen.spec.pages.tables import Table

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


def first_phase(section: Section) -> tuple[list[PageParameter], list[Sentence], list[ReturnCode]]:
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
            notes += [] if coded else row_sentences(part)
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
