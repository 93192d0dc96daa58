"""Do the tables of a file mean something? Every number in them that stands for something else is
held against what it stands for.

Digests cannot tell: whoever writes a file writes its digests, too. So no reader meets a reference
into nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np

from opgen.bundle.format.dtypes import PARAMETER_KINDS, TEXTS, words_of
from opgen.bundle.format.layout import spread
from opgen.bundle.format.tensorrow import NO_DATA

Tables: TypeAlias = Mapping[str, np.ndarray]

_TEXTS = {
    "cases": ("library_release", *TEXTS),
    "breaks": ("rule", "clause", "found"),
    "results": ("status_word", "run_status_word", "error"),
}
_LISTS = {"cases": ("codes", "library_codes"), "tensors": ("shape", "strides", "storage_shape")}
_OTHER = "a tensor has another number of elements than its shape"
_ARRAYS = [number for kind, number in PARAMETER_KINDS.items() if kind.endswith("array")]


def unsound(tables: Tables, strings: int) -> Iterator[str]:
    """What of the tables of a bundle or of results means nothing, a line each; ``strings`` is how
    many texts the file has.

    What comes later may fail where something is said before, and all of it where a table or a
    column is missing.
    """
    yield from _words(tables)
    yield from _references(tables, strings)
    rows = "cases" if "cases" in tables else "results"
    yield from _follow(tables, rows, "tensors", "case" if rows == "cases" else "result")
    if rows == "cases":
        yield from _follow(tables, rows, "breaks", "case")
        yield from _attributes(tables)
    yield from _ids(tables[rows]["id"].tolist())
    yield from _shapes(tables)


def unsoundness(tables: Tables, strings: int) -> str:
    """The first line of :func:`unsound`; an empty text where the tables mean something."""
    try:
        return next(unsound(tables, strings), "")
    except Exception as error:  # noqa: BLE001  a table or a column of another kind than any that opgen wrote
        return f"{type(error).__name__}: {error}"


def _words(tables: Tables) -> Iterator[str]:
    """Enumerations whose number has no word."""
    for name, table in tables.items():
        for column in table.dtype.names or ():
            if words := words_of(table.dtype[column]):
                cells = table[column]
                counts = np.bincount(
                    cells.view(f"u{cells.itemsize}")
                )  # of one byte or two: many times as fast as to sort them
                for number in (
                    np.flatnonzero(counts).astype(f"u{cells.itemsize}").view(cells.dtype).tolist()
                ):
                    if number not in words:
                        yield f"{name}: {number} is not a {column}"


def _references(tables: Tables, strings: int) -> Iterator[str]:
    """Numbers of texts, of lists, of integers and of rows beyond the last."""
    lists = tables["lists"]
    reach = lists["start"].astype(np.int64) + lists["length"]
    if len(lists) and (
        int(reach.max()) > len(tables["integers"])
        or int(lists["start"].min()) < 0
        or int(lists["length"].min()) < 0
    ):
        yield "a list reaches beyond the integers"
    known = [
        (name, column, strings, "texts") for name, columns in _TEXTS.items() for column in columns
    ]
    known += [
        (name, column, len(lists), "lists")
        for name, columns in _LISTS.items()
        for column in columns
    ]
    known += [
        (f"attributes/{op}", name, len(lists), "lists")
        for op, name, kind in _parameters(tables)
        if kind in _ARRAYS
    ]
    if "cases" in tables:
        known.append(("ranges", "tensor", len(tables["tensors"]), "tensors"))
        known += [
            (name, "case", len(tables["cases"]), "cases")
            for name in tables
            if name.startswith("attributes/")
        ]
    for name, column, count, what in known:
        if (
            name in tables
            and column in (tables[name].dtype.names or ())
            and _beyond(tables[name][column], count)
        ):
            yield f"{name}: {column} names none of the {count} {what}"


def _beyond(column: np.ndarray, count: int) -> bool:
    return bool(len(column) and (int(column.max()) >= count or int(column.min()) < 0))


def _parameters(tables: Tables) -> list[tuple[str, str, int]]:
    """The parameters of every API by name, and the numbers of their kinds; none in results."""
    if "parameters" not in tables:
        return []
    table = tables["parameters"]
    ops, names = words_of(table.dtype["op"]), words_of(table.dtype["name"])
    return [(ops[op], names[name], kind) for op, name, kind in table.tolist()]


def _follow(tables: Tables, rows: str, what: str, owner: str) -> Iterator[str]:
    """Whether the rows of a table stand one behind the other as the cases say that they belong to,
    and say so themselves.
    """
    counts = tables[rows][what].astype(np.int64)
    singular = what.removesuffix("s")
    if not np.array_equal(tables[rows][f"first_{singular}"], np.cumsum(counts) - counts) or int(
        counts.sum()
    ) != len(tables[what]):
        yield f"the {what} do not follow their cases"
    elif not np.array_equal(tables[what][owner], np.repeat(np.arange(len(counts)), counts)):
        yield f"a row of {what} names another {owner} than the one that it belongs to"


def _attributes(tables: Tables) -> Iterator[str]:
    """Arguments that a case cannot have: rows of attributes beyond the last, tensors that are no
    parameter of its API.
    """
    cases, tensors = tables["cases"], tables["tensors"]
    ops, names = (
        words_of(cases.dtype["op"]),
        {word: number for number, word in words_of(tensors.dtype["name"]).items()},
    )
    allowed = np.zeros((max(ops, default=0) + 1, max(names.values(), default=0) + 1), dtype=bool)
    numbers = {word: number for number, word in ops.items()}
    for op, name, kind in _parameters(tables):
        scalar = kind not in (PARAMETER_KINDS["tensor"], PARAMETER_KINDS["null"])
        if scalar and name not in (tables[f"attributes/{op}"].dtype.names or ()):
            yield f"attributes/{op}: has no column {name}"
        if kind == PARAMETER_KINDS["tensor"] and op in numbers and name in names:
            allowed[numbers[op], names[name]] = True
    for number, op in ops.items():
        mine = cases["attributes_row"][cases["op"] == number]
        if len(mine) and _beyond(mine, len(tables[f"attributes/{op}"])):
            yield (
                f"cases: attributes_row names none of the {len(tables[f'attributes/{op}'])} rows of"
                f" {op}"
            )
    if not allowed[cases["op"][tensors["case"]], tensors["name"]].all():
        yield "a tensor is not a parameter of its case's API"


def _ids(ids: list[bytes]) -> Iterator[str]:
    try:
        b"\n".join(ids).decode()
    except UnicodeDecodeError:
        yield "an id is not UTF-8"


def _shapes(tables: Tables) -> Iterator[str]:
    """Data of tensors with extents below zero, or of another number of elements than their shape
    has, and views that leave them.
    """
    tensors, lists, integers = tables["tensors"], tables["lists"], tables["integers"]
    starts, lengths = lists["start"].astype(np.int64), lists["length"].astype(np.int64)
    tensors = tensors[tensors["position"] != NO_DATA]
    negative = np.concatenate([[0], np.cumsum(integers < 0)])
    below = negative[starts + lengths] - negative[starts] > 0
    edges = np.stack([starts, starts + lengths], axis=1).reshape(-1)
    product = np.where(
        lengths > 0,
        np.multiply.reduceat(np.append(integers, 1).astype(np.float64), edges)[::2],
        1.0,
    )
    shape, elements = tensors["shape"], tensors["elements"]
    if (elements < 0).any() or below[shape].any():
        yield "a tensor with data has fewer elements than none"
    if "role" not in (tensors.dtype.names or ()):
        if (product[shape] != elements).any():
            yield _OTHER
        return
    strides, storage, offset = tensors["strides"], tensors["storage_shape"], tensors["offset"]
    plain = (strides == 0) & (offset == 0)
    whole = np.where(storage > 0, storage, shape)
    if (product[whole] != elements)[plain | (storage > 0)].any():
        yield _OTHER
    given = np.flatnonzero(strides)
    if (lengths[strides[given]] != lengths[shape[given]]).any():
        yield "a tensor with data has strides of another rank"
    view, within = spread(lengths[shape[given]])
    steps = (integers[starts[shape[given]][view] + within] - 1.0) * integers[
        starts[strides[given]][view] + within
    ]
    low, high = offset.astype(np.float64), offset + np.maximum(product[shape] - 1, 0)
    low[given] += np.bincount(view, np.minimum(steps, 0), len(given))
    high[given] = offset[given] + np.bincount(view, np.maximum(steps, 0), len(given))
    if ((low < 0) | (high >= elements))[product[shape] > 0].any():
        yield "a view leaves its data"
