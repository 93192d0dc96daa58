"""Cases of a bundle chosen by a condition in the language of specs, such as ``dtype == "FLOAT16"
and padH > 0``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.calls.columns import TensorColumn
from opgen.calls.table import CallTable
from opgen.comparison.calls_by_page import calls_by_page
from opgen.model import FileError
from opgen.numerics.arrays import Array
from opgen.spec.language import parse
from opgen.spec.language.functions import Value, is_true
from opgen.spec.language.term import Term, TermError, View
from opgen.spec.spec import SpecScope
from opgen.spec.table_view import TableView

WORDS = ("kind", "recipe", "bucket", "rule")
"""What a condition may ask of a case beside its call: each is a text, ``rule`` the first rule that
the call breaks."""


def where(bundle: Bundle, text: str) -> list[str]:
    """The ids of the cases for which a condition is true, in the order of the bundle.

    Names are those of each case's spec: parameters, letters of shapes, slots of arrays, words of
    enums, ``product``; and ``dtype``, that of the first tensor, and :data:`WORDS`. A case of an
    operator that lacks a name is not chosen. FileError where the condition holds for no operator's
    names.
    """
    chosen: list[int] = []
    errors: list[str] = []
    pages = 0
    for spec, rows, table in calls_by_page(bundle, range(len(bundle))):
        added = _added(bundle, rows, table)
        pages += 1
        try:
            condition = parse.condition(text, SpecScope(spec.parameters, added))
        except TermError as error:
            errors.append(f"{spec.op}: {error}")
            continue
        truth = is_true(condition.read(TableView(spec, table, added)))
        chosen += rows[np.broadcast_to(truth, len(rows))].tolist()
    if errors and len(errors) == pages:
        raise FileError.of("--where", "", errors[0])
    return [bundle.ids[row] for row in sorted(chosen)]


def _added(bundle: Bundle, rows: Array, table: CallTable) -> Mapping[str, Term]:
    cases = [bundle[bundle.ids[row]] for row in rows.tolist()]
    texts = {
        "kind": [case.kind for case in cases],
        "recipe": [case.recipe for case in cases],
        "bucket": [case.expect.bucket for case in cases],
        "rule": [next((broken.rule for broken in case.expect.breaks), "") for case in cases],
    }
    added = {
        name: Term(name, "string", (), partial(_held, Value(np.array(texts[name], dtype=str))))
        for name in WORDS
    }
    return {**added, "dtype": Term("dtype", "dtype", (), partial(_held, _dtype(table)))}


def _dtype(table: CallTable) -> Value:
    """The dtype of the first tensor that is not null."""
    data, bound = np.zeros(len(table), dtype=np.int64), np.zeros(len(table), dtype=bool)
    for column in table.columns.values():
        if isinstance(column, TensorColumn):
            data = np.where(bound, data, column.dtype)
            bound |= ~column.null
    return Value(data, bound)


def _held(value: Value, view: View) -> Value:
    return value
