"""The rows of a table as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from opgen.spec.pages.page import Sentence
from opgen.spec.pages.products import products_in
from opgen.spec.pages.tables import Cell, Table


def row_sentences(table: Table) -> list[Sentence]:
    """The rows of a table that is not one of parameters or codes, each as one sentence; where its
    columns are products, what each cell says of them.
    """
    columns = [products_in(cell.text) for cell in table.rows[0][1:]]
    if columns and all(columns):
        return [said for row in table.rows[1:] for said in _of_columns(row, columns)]
    return [
        Sentence(" | ".join(cell.text for cell in row), row[0].line)
        for row in table.rows
        if any(cell.text for cell in row)
    ]


def _of_columns(row: list[Cell], columns: list[tuple[str, ...]]) -> Iterator[Sentence]:
    """The sentences of a row, each with its products; what reaches over several columns is one."""
    held: dict[Sentence, tuple[str, ...]] = {}
    for cell, products in zip(row[1:], columns, strict=False):
        for said in cell.sentences:
            held[said] = (*held.get(said, ()), *products)
    yield from row[0].sentences
    yield from (s._replace(products=some, about=row[0].text) for s, some in held.items())
