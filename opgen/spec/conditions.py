"""Cases chosen by a condition in the language of specs, such as ``dtype == "FLOAT16"``.

Names are those of each case's spec: parameters, letters of shapes, slots of arrays, words of enums,
``product``; and ``dtype``, that of the first tensor, and what cases are beside their calls, a text
each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from opgen.calls.table import CallTable
from opgen.model import FileError
from opgen.spec.language import parse
from opgen.spec.language.term import Term, TermError, View
from opgen.spec.language.value import Value
from opgen.spec.rules import true_where
from opgen.spec.spec import Spec, SpecScope
from opgen.spec.table_view import TableView


class CasesOfPage(NamedTuple):
    """Cases that one page judges: their numbers, their calls, and texts that say more of them."""

    spec: Spec
    rows: np.ndarray
    table: CallTable
    texts: Mapping[str, Sequence[str]]


def chosen(pages: Iterable[CasesOfPage], condition: str) -> list[int]:
    """The numbers of the cases for which a condition is true, ascending. A case of an operator that
    lacks a name is not chosen. FileError where the condition holds for no operator's names.
    """
    rows: list[int] = []
    errors: list[str] = []
    count = 0
    for page in pages:
        added = {
            name: _term(name, np.array(texts, dtype=str)) for name, texts in page.texts.items()
        }
        added["dtype"] = Term("dtype", "dtype", (), partial(_held, _dtype(page.table)))
        count += 1
        try:
            asked = parse.condition(condition, SpecScope(page.spec.parameters, added))
        except TermError as error:
            errors.append(f"{page.spec.op}: {error}")
            continue
        view = TableView(page.spec, page.table, added)
        rows += page.rows[true_where(asked, view, len(page.rows))].tolist()
    if errors and len(errors) == count:
        raise FileError.of("--where", "", errors[0])
    return sorted(rows)


def _term(name: str, texts: np.ndarray) -> Term:
    return Term(name, "string", (), partial(_held, Value(texts)))


def _dtype(table: CallTable) -> Value:
    """The dtype of the first tensor that is not null."""
    data, bound = np.zeros(len(table), dtype=np.int64), np.zeros(len(table), dtype=bool)
    for column in table.tensors.values():
        data = np.where(bound, data, column.dtype)
        bound |= ~column.null
    return Value(data, bound)


def _held(value: Value, view: View) -> Value:
    return value
