"""What a bundle was made from, read back: its cases, which tensors have data, and their bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from opgen.bundle.format.digest import digest_column
from opgen.bundle.format.dtypes import ROLES
from opgen.bundle.format.seeds import Maxima, Seed
from opgen.bundle.format.tensorrow import DRAWN, NO_DATA
from opgen.bundle.read.call_columns import call_table
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.read.windows import windows
from opgen.calls.case_table import CaseTable
from opgen.calls.categorical import Categorical
from opgen.calls.factorize import factorize_rows
from opgen.calls.purposes import Purpose, Purposes
from opgen.calls.stored_tensors import StoredTensors

_ANY = ("null", "int_array")
"""Kinds of parameters that another bundle may know better."""


def stored_tensors(bundle: Bundle) -> StoredTensors:
    """What a bundle has data of."""
    table = bundle.tables["tensors"]
    table = table[table["position"] != NO_DATA]
    drawn = table["position"] == DRAWN
    columns = np.stack(
        [*(table[name].astype(np.int64) for name in ("name", "role", "dtype")), drawn], axis=1
    )
    number, first = factorize_rows(columns)
    roles, dtypes = bundle.words["tensors.role"], bundle.words["tensors.dtype"]
    kinds = [
        (bundle.names[name], "drawn" if again else roles[role], dtypes[dtype])
        for name, role, dtype, again in columns[first].tolist()
    ]
    counts = np.bincount(table["case"], minlength=len(bundle))
    of = np.arange(len(bundle))
    return StoredTensors(Categorical(tuple(kinds), number), table["elements"], counts, of)


def seeds_of(bundle: Bundle) -> Iterator[Seed | Maxima]:
    """The inputs that a bundle draws, or computes of others."""
    tensors, names = bundle.tables["tensors"][["case", "name"]], bundle.names
    for tensor, *seed in bundle.tables["seeds"].tolist():
        case, name = tensors[tensor].tolist()
        yield Seed(case, names[name], *seed)
    for tensor, of, rows, columns in bundle.tables["maxima"].tolist():
        (case, name), (_, source) = tensors[[tensor, of]].tolist()
        places = (bundle.sequence(number) or () for number in (rows, columns))
        yield Maxima(case, names[name], names[source], *places)


def kinds_of(bundle: Bundle) -> dict[str, dict[str, str]]:
    """The kind of every parameter of every API."""
    return {
        api: {parameter.name: parameter.kind for parameter in parameters}
        for api, parameters in bundle.parameters.items()
    }


def common_kinds(parts: Iterable[Mapping[str, Mapping[str, str]]]) -> dict[str, dict[str, str]]:
    """The kinds that fit the calls of all bundles: a null pointer is of any kind, an empty list of
    that of any array.

    >>> common_kinds([{"f": {"x": "null", "y": "int_array"}}, {"f": {"x": "int", "y": "null"}}])
    {'f': {'x': 'int', 'y': 'null'}}
    """
    common: dict[str, dict[str, str]] = {}
    for part in parts:
        for api, kinds in part.items():
            known = common.setdefault(api, dict(kinds))
            known.update({n: kind for n, kind in kinds.items() if known[n] in _ANY})
    return common


def case_table(bundle: Bundle, kinds: Mapping[str, Mapping[str, str]]) -> CaseTable:
    """The cases of a bundle, whose parameters are of some ``kinds``."""
    table = bundle.tables["cases"]
    ops, api = np.unique(table["op"], return_inverse=True)
    calls, row = [], np.zeros(len(table), dtype=np.int64)
    for op in ops.tolist():
        cases, name = np.flatnonzero(table["op"] == op), bundle.words["cases.op"][op]
        calls.append(call_table(bundle, name, cases, kinds[name]))
        row[cases] = np.arange(len(cases))

    def fact(name: str, *columns: np.ndarray) -> Categorical[Any]:
        """A fact of every case, read once where the columns are alike."""
        number, first = factorize_rows(np.stack(columns, axis=1).astype(np.int64))
        values = [getattr(CaseView(bundle, row), name) for row in first.tolist()]
        return Categorical.coded(values, number)

    def purposes(intent: str) -> Purposes:
        return (Purpose("note", note=intent),) if intent else ()

    texts = {
        name: Categorical.coded(bundle.strings, table[name])
        for name in ("nearest_valid", "recipe", "compute", "inconclusive")
    }
    breaks = np.where(table["breaks"] > 0, table["first_break"], 0)
    library = (table[f"library_{name}"] for name in ("codes", "basis", "until", "release"))
    return CaseTable(
        calls=tuple(calls),
        table=api,
        row=row,
        id=bundle.ids,
        kind=fact("kind", table["kind"]),
        purposes=Categorical.coded(bundle.strings, table["intent"]).map(purposes),
        page=fact("expect", table["bucket"], table["codes"], table["breaks"], breaks),
        library=fact("library", *library),
        phase=table["phase"].astype(np.int64),
        **texts,
    )


def outputs(bundle: Bundle) -> dict[str, set[str]]:
    """API to the tensors that its operator writes in some case."""
    tensors, ops = bundle.tables["tensors"], bundle.words["cases.op"]
    rows = tensors[np.isin(tensors["role"], (ROLES["output"], ROLES["golden"]))]
    written: dict[str, set[str]] = {op: set() for op in ops.values()}
    for op, name in set(
        zip(bundle.tables["cases"]["op"][rows["case"]].tolist(), rows["name"].tolist(), strict=True)
    ):
        written[ops[op]].add(bundle.names[name])
    return written


def pieces(bundle: Bundle, limit: int) -> Iterator[tuple[np.ndarray, list[memoryview]]]:
    """Tensors as they lie in the file, about ``limit`` bytes at a time: rows of ``/tensors``, and
    the bytes of each.

    All of them are checked; BundleError if one is damaged.
    """
    tensors = bundle.tables["tensors"]
    for window in windows(bundle, limit):
        data, digests = window.data, tensors["digest"][window.rows]
        for row in window.rows[digest_column(data) != digests].tolist():
            raise bundle.damage(*tensors[row].item()[:2])
        yield window.rows, data
