"""Do the tables of a file make sense? They are compared with their declaration, and every number
in them that stands for something else against what it stands for.

Digests cannot tell: whoever writes a file writes its digests, too. So no reader meets a word that
it does not know, or a reference into nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.bundle.format import dtypes, schema
from opgen.bundle.format.dtypes import PARAMETER_KINDS, words_of
from opgen.bundle.format.root_digest import root_digest
from opgen.bundle.format.schema import Column, Columns
from opgen.bundle.read.omitted_inputs import computed_inputs, drawn_inputs
from opgen.bundle.read.opening import OpenedFile
from opgen.bundle.read.sound_tensors import tensor_places, tensor_roles, tensor_shapes
from opgen.bundle.read.table_checks import Checks, Tables, holding, spans
from opgen.calls.argument_json import MAX_ITEMS
from opgen.calls.vocabulary import vocabulary


def unsoundness(file: OpenedFile) -> str:
    """The first thing in a file that means nothing; an empty text where all of it does."""
    return next((text for wrong, text in _checks(file) if wrong), "")


def _checks(file: OpenedFile) -> Checks:
    tables, declared = file.tables, schema.TABLES[file.kind]
    yield from _declared(file, declared)
    yield root_digest(tables["digests"]) != file.digest, "the root digest does not match"
    yield file.strings[:1] != [""], "the first text is not empty"
    yield from _lists(tables)
    rows, tensors = tables[schema.ROWS[file.kind]], tables["tensors"]
    yield from _ids(rows["id"].tolist())
    if file.kind == "bundle":
        arguments = _arguments(tables)
        yield from _declared(file, arguments)
        declared = {**declared, **arguments}
        yield from _follow(rows, tensors, "tensors", "case")
        yield from _follow(rows, tables["breaks"], "breaks", "case")
        yield from _attributes(tables)
        yield from _codes(tables)
        yield from tensor_roles(tensors)
        yield from drawn_inputs(tables)
    else:
        yield from _follow(rows, tensors, "tensors", "result")
        yield (
            (tensors["unwritten"] > tensors["elements"]).any(),
            "more elements of an output were left unwritten than it has",
        )
    for name in sorted(tables.keys() - declared.keys()):
        yield True, f"{name} is not a table that it can have"
    yield from tensor_places(file)
    yield from tensor_shapes(tables)
    if file.kind == "bundle":
        yield from computed_inputs(tables)


def _declared(file: OpenedFile, declared: Mapping[str, Columns]) -> Checks:
    """Tables that are missing or not as they are declared, and cells that they cannot have."""
    for name in sorted(declared.keys() - file.tables.keys()):
        yield True, f"there is no table {name}"
    for name, columns in declared.items():
        table = file.tables[name]
        yield (
            (table.dtype.names or ("",)) != tuple(columns),
            f"{name}: has other columns than {', '.join(columns)}",
        )
        for title, column in columns.items():
            kind, cells = (table.dtype[title], table[title]) if title else (table.dtype, table)
            yield not column.fits(kind), f"{name}: {title} is of another type than it can be"
            for wrong, text in _cells(file, column, cells, title):
                yield wrong, f"{name}: {text}"


def _cells(file: OpenedFile, column: Column, cells: np.ndarray, title: str) -> Checks:
    """Cells of a column that mean nothing there."""
    if column.words is not None:
        plain = f"u{cells.itemsize}"
        # of one byte or two: to count them is many times as fast as to sort them
        there = np.flatnonzero(np.bincount(cells.view(plain))).astype(plain).view(cells.dtype)
        for number in set(there.tolist()) - words_of(cells.dtype).keys():
            yield True, f"{number} is not a {title}"
    if column.of:
        count = len(file.strings if column.of == "strings" else file.tables[column.of])
        beyond = len(cells) and cells.max() >= count
        yield beyond, f"{title} names none of the {count} {column.of}"
    if column.texts:
        numbers = set(cells.tolist())
        beyond = max(numbers, default=-1) >= len(file.strings)
        yield beyond, f"{title} names none of the {len(file.strings)} strings"
        for text in {file.strings[number] for number in numbers} - column.texts:
            yield True, f"{text!r} is not a {title}"
    if column.bounded:
        for number in cells[(cells < column.least) | (cells > column.most)]:
            yield True, f"{title} cannot be {number}"


def _lists(tables: Tables) -> Checks:
    """Lists beyond the integers, longer than any can be, or not what the first two stand for."""
    starts, lengths = spans(tables)
    yield (
        (starts + lengths).max(initial=0) > len(tables["integers"]),
        "a list reaches beyond the integers",
    )
    yield lengths.max(initial=0) > MAX_ITEMS, f"a list is longer than {MAX_ITEMS}"
    yield lengths[:2].tolist() != [0, 0], "the first two lists are not empty"


def _ids(ids: list[bytes]) -> Checks:
    text = b"\n".join(ids).decode(errors="replace")
    yield "\ufffd" in text and text.encode() != b"\n".join(ids), "an id is not UTF-8"
    yield "\0" in text or b"" in ids, "an id is empty, or holds a NUL character"
    yield len(set(ids)) != len(ids), "two cases have the same id"


def _arguments(tables: Tables) -> dict[str, dict[str, Column]]:
    """The tables of arguments, as the parameters have them."""
    table, apis = tables["parameters"], words_of(tables["cases"].dtype["op"])
    ops, names, kinds = (words_of(table.dtype[column]) for column in ("op", "name", "kind"))
    there = apis.values() if len(tables["cases"]) else ()
    result = {f"attributes/{op}": {"case": schema.CASE} for op in there}
    for op, name, number in table.tolist():
        api, title, kind = f"attributes/{ops[op]}", names[name], kinds[number]
        columns = result.setdefault(api, {"case": schema.CASE})
        if kind in schema.ARGUMENTS:
            columns[title] = schema.ARGUMENTS[kind]
            if kind == "scalar":
                columns[f"{title}.dtype"] = schema.SCALAR_DTYPE
            if api in tables and f"{title}.null" in (tables[api].dtype.names or ()):
                columns[f"{title}.null"] = schema.ABSENT
    return result


def _follow(rows: np.ndarray, table: np.ndarray, what: str, owner: str) -> Checks:
    """Whether the rows of a table stand one after the other as the cases say that they belong to,
    and say so themselves.
    """
    counts = rows[what].astype(np.int64)
    first = rows[f"first_{what.removesuffix('s')}"]
    yield (
        counts.sum() != len(table) or (first != np.cumsum(counts) - counts).any(),
        f"the {what} do not follow their cases",
    )
    yield (
        (table[owner] != np.repeat(np.arange(len(counts)), counts)).any(),
        f"a row of {what} names another {owner} than the one that it belongs to",
    )


def _attributes(tables: Tables) -> Checks:
    """Arguments that a case cannot have: of products that nobody knows, rows of attributes beyond
    the last, tensors that are no parameter of its API.
    """
    cases, tensors, parameters = tables["cases"], tables["tensors"], tables["parameters"]
    if not len(cases):
        return
    ops, products = (words_of(cases.dtype[name]) for name in ("op", "product"))
    for word in sorted(set(products.values()) - vocabulary().products.keys()):
        yield True, f"{word} is not a product"
    names = {word: number for number, word in words_of(tensors.dtype["name"]).items()}
    titles, apis = (words_of(parameters.dtype[name]) for name in ("name", "op"))
    allowed = np.zeros((len(ops), len(names)), dtype=bool)
    for number, op in ops.items():
        mine, count = (
            cases["attributes_row"][cases["op"] == number],
            len(tables[f"attributes/{op}"]),
        )
        yield (
            len(mine) and mine.max() >= count,
            f"cases: attributes_row names none of the {count} rows of {op}",
        )
        for api, name, kind in parameters.tolist():
            if kind == PARAMETER_KINDS["tensor"] and apis[api] == op and titles[name] in names:
                allowed[number, names[titles[name]]] = True
    known = allowed[cases["op"][tensors["case"]], tensors["name"]].all()
    yield not known, "a tensor is not a parameter of its case's API"


def _codes(tables: Tables) -> Checks:
    """Status codes that none can be, and cases that admit none."""
    lengths, least = tables["lists"]["length"], min(dtypes.CODE_WORDS.values())
    wrong = (lengths == 0) | holding(tables, tables["integers"] < least)
    yield wrong[tables["cases"]["codes"]].any(), "codes of a case are not status codes"
    wrong[0] = False  # nothing is known
    yield wrong[tables["cases"]["library_codes"]].any(), "library_codes of a case are not codes"
