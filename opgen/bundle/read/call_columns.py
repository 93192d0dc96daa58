"""The calls of a bundle as columns, the way they were before it was written."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.bundle.format.dtypes import ROLES, WORDS
from opgen.bundle.read.contents import BundleTables
from opgen.calls.columns import (
    UNLIMITED,
    ArrayColumn,
    Column,
    ScalarColumn,
    TensorColumn,
    TypedColumn,
)
from opgen.calls.kinds import KINDS, column_of
from opgen.calls.table import CallTable
from opgen.calls.vocabulary import vocabulary

_KINDS = {"int": "int64", "float": "double", "null": "int_array"}
"""Kind of a parameter in a bundle to its kind in a call, where they are not called alike."""


def call_table(
    bundle: BundleTables, api: str, cases: np.ndarray, kinds: Mapping[str, str]
) -> CallTable:
    """The calls of the cases of an API, a row per case; ``kinds`` are those that the bundle has, or
    another that is made of the same page.
    """
    columns: dict[str, Column] = {}
    known = {name: _kind(bundle, api, name, kind) for name, kind in kinds.items()}
    attributes = bundle.tables[f"attributes/{api}"]
    attributes = attributes[bundle.tables["cases"]["attributes_row"][cases]]
    names = attributes.dtype.names or ()
    for name, kind in known.items():
        element = KINDS[kind].element.dtype
        if KINDS[kind].family == "tensor":
            columns[name] = _tensor_column(bundle, name, cases)
            continue
        nothing = np.zeros(len(cases), dtype=np.int64)
        values = attributes[name] if name in names else nothing
        if KINDS[kind].family == "array":
            length, items = _lists(bundle, values, 0)
            items = items.view(np.float64) if element.kind == "f" else items
            columns[name] = ArrayColumn(values == 0, length, items.astype(element))
        else:
            if KINDS[kind].family == "typed":
                dtype = _positions("dtype", WORDS, attributes[f"{name}.dtype"]).astype(np.int16)
                null = attributes[f"{name}.null"] if f"{name}.null" in names else nothing
                columns[name] = TypedColumn(null.astype(bool), dtype, values.astype(element))
                continue
            if element.kind == "U":
                values = np.array(bundle.strings)[values.astype(np.int64)]
            marked = attributes[f"{name}.null"] if f"{name}.null" in names else nothing
            null = marked if name in names else nothing == 0
            columns[name] = ScalarColumn(null.astype(bool), column_of(element, values.tolist()))
    words, numbers = bundle.words["cases.product"], bundle.tables["cases"]["product"][cases]
    return CallTable(api, known, _positions("product", words, numbers).astype(np.int8), columns)


def _kind(bundle: BundleTables, api: str, name: str, kind: str) -> str:
    """The kind in calls of a parameter: the widest that a bundle does not tell apart."""
    wide = kind == "int" and bundle.tables[f"attributes/{api}"].dtype[name].kind == "u"
    return "uint64" if wide else _KINDS.get(kind, kind)


def _tensor_column(bundle: BundleTables, name: str, cases: np.ndarray) -> TensorColumn:
    """What calls describe as one parameter."""
    tensors, words = bundle.tables["tensors"], bundle.words
    number = bundle.names.index(name) if name in bundle.names else -1
    rows = np.flatnonzero((tensors["name"] == number) & (tensors["role"] < ROLES["golden"]))
    rows = rows[np.isin(tensors["case"][rows], cases)]
    null = np.ones(len(cases), dtype=bool)
    null[np.searchsorted(cases, tensors["case"][rows])] = False
    described = np.zeros(len(cases), dtype=tensors.dtype)
    described["dtype"] = described["format"] = -1
    described[~null] = tensors[rows]
    limits = np.full((len(tensors), 2), UNLIMITED)
    ranges = bundle.tables["ranges"]
    limits[ranges["tensor"]] = np.stack([ranges["low"], ranges["high"]], axis=1)
    mine = np.full((len(cases), 2), UNLIMITED)
    mine[~null] = limits[rows]
    rank, shape = _lists(bundle, described["shape"], 1)
    width, storage = _lists(bundle, described["storage_shape"], 1)
    return TensorColumn(
        null=null,
        dtype=_positions("dtype", words["tensors.dtype"], described["dtype"]).astype(np.int16),
        format=_positions("format", words["tensors.format"], described["format"]).astype(np.int16),
        rank=rank,
        shape=shape,
        strided=described["strides"] > 0,
        strides=_lists(bundle, described["strides"], 0)[1],
        offset=described["offset"].astype(np.int64),
        storage_rank=np.where(described["storage_shape"] > 0, width, -1),
        storage=storage,
        limits=mine,
    )


def _lists(bundle: BundleTables, numbers: np.ndarray, fill: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows,) lengths of lists by their numbers, and (rows, width) what they hold."""
    lists = bundle.tables["lists"][numbers.astype(np.int64)]
    length = lists["length"].astype(np.int64)
    place = np.arange(max(int(length.max(initial=0)), 1))
    inside = place < length[:, None]
    source = np.where(inside, lists["start"].astype(np.int64)[:, None] + place, 0)
    return length, np.where(inside, np.append(bundle.tables["integers"], fill)[source], fill)


def _positions(kind: str, words: Mapping[int, str], numbers: np.ndarray) -> np.ndarray:
    """The positions in the vocabulary of the words that numbers stand for."""
    position = np.zeros(max(words) + 2, dtype=np.int64)
    for number, word in words.items():
        position[number] = vocabulary().index[kind][word]  # -1 is the last
    return position.take(numbers)
