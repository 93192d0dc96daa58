"""What a bundle was made from, read back: its cases, the tensors of each that have data, and their
bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opgen.bundle.format.column import Column
from opgen.bundle.format.digest import digest_column
from opgen.bundle.format.dtypes import ROLES, BundleError
from opgen.bundle.format.layout import DataTensor
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.model import Call, Case

_FORM = (
    "name",
    "role",
    "dtype",
    "format",
    "shape",
    "strides",
    "offset",
    "storage_shape",
    "elements",
)
_FACTS = (
    "op",
    "product",
    "kind",
    "intent",
    "recipe",
    "phase",
    "nearest_valid",
    "compute",
    "inconclusive",
)


def recall(bundle: Bundle) -> tuple[list[Case], list[list[DataTensor]]]:
    """The cases of a bundle, and per case its tensors with data; what cases have in common is one
    object.
    """
    table = bundle.tables["cases"]

    def each(fact: str, *columns: np.ndarray) -> list[Any]:
        """A fact of every case, read once where the columns are alike."""
        found = Column.of(list(zip(*(column.tolist() for column in columns), strict=True)))
        values = [getattr(CaseView(bundle, row), fact) for row in found.first.tolist()]
        return [values[number] for number in found.number.tolist()]

    forms = Column.of(list(_forms(bundle)))
    views = [CaseView(bundle, row) for row in forms.first.tolist()]
    args, stored = [view.args for view in views], [list(_stored(view)) for view in views]
    ops, products, kinds, intents, recipes, phases, nearest_valid, computes, inconclusive = (
        each(fact, table[fact]) for fact in _FACTS
    )
    calls = [
        Call(op, product, args[form])
        for op, product, form in zip(ops, products, forms.number.tolist(), strict=True)
    ]
    breaks = np.where(table["breaks"] > 0, table["first_break"], 0)
    pages = each("expect", table["bucket"], table["codes"], table["breaks"], breaks)
    libraries = each(
        "library", table["library_codes"], table["library_basis"], table["library_release"]
    )
    cases = map(
        Case,
        bundle.ids,
        calls,
        kinds,
        intents,
        pages,
        libraries,
        recipes,
        phases,
        nearest_valid,
        computes,
        inconclusive,
    )
    return list(cases), [stored[form] for form in forms.number.tolist()]


def _forms(bundle: Bundle) -> Iterator[tuple[int, bytes, bytes]]:
    """For every case what its arguments and the extents of its data follow from: API, row of
    attributes, rows of tensors.
    """
    cases, tensors = bundle.tables["cases"], bundle.tables["tensors"]
    ranges = np.zeros((2, len(tensors)))
    ranges[:, bundle.tables["ranges"]["tensor"]] = (
        bundle.tables["ranges"]["low"],
        bundle.tables["ranges"]["high"],
    )
    columns = [tensors[name].astype(np.int64) for name in _FORM]
    rows = np.stack([*columns, tensors["position"] >= 0, *ranges.view(np.int64)], axis=1)
    described, width = rows.tobytes(), rows.itemsize * rows.shape[1]
    attributes = {}
    ops = bundle.words["cases.op"]
    for number in np.unique(
        cases["op"]
    ).tolist():  # where no case is, the enumeration has a word that stands for nothing
        table = bundle.tables[f"attributes/{ops[number]}"].copy()
        table["case"] = 0
        attributes[number] = table.tobytes(), table.itemsize
    facts = (cases[name].tolist() for name in ("op", "attributes_row", "first_tensor", "tensors"))
    for op, row, first, count in zip(*facts, strict=True):
        raw, size = attributes[op]
        yield (
            op,
            raw[row * size : (row + 1) * size],
            described[first * width : (first + count) * width],
        )


def _stored(view: CaseView) -> Iterator[DataTensor]:
    """The tensors of a case that have data, as a layout asks for them."""
    bundle = view.bundle
    roles, dtypes = bundle.words["tensors.role"], bundle.words["tensors.dtype"]
    for row in view.tensor_rows:
        if row.has_data:
            yield DataTensor(
                bundle.names[row.name], roles[row.role], dtypes[row.dtype], row.elements
            )


def outputs(bundle: Bundle) -> dict[str, set[str]]:
    """API to the tensors that its operator writes in some case."""
    tensors, ops = bundle.tables["tensors"], bundle.words["cases.op"]
    rows = tensors[np.isin(tensors["role"], (ROLES["output"], ROLES["golden"]))]
    found: dict[str, set[str]] = {op: set() for op in ops.values()}
    for op, name in set(
        zip(bundle.tables["cases"]["op"][rows["case"]].tolist(), rows["name"].tolist(), strict=True)
    ):
        found[ops[op]].add(bundle.names[name])
    return found


def pieces(bundle: Bundle, limit: int) -> Iterator[tuple[np.ndarray, list[memoryview]]]:
    """Tensors as they lie in the file, about ``limit`` bytes at a time: rows of ``/tensors``, and
    the bytes of each.

    All of them are checked; BundleError if one is damaged.
    """
    tensors = bundle.tables["tensors"]
    for number, (kind, start, elements) in bundle.data.types.items():
        rows = np.flatnonzero((tensors["dtype"] == number) & (tensors["position"] >= 0))
        rows = rows[np.argsort(tensors["position"][rows], kind="stable")]
        starts = tensors["position"][rows] * kind.itemsize
        ends = starts + tensors["elements"][rows] * kind.itemsize
        for some in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(starts // limit)) + 1):
            if not len(some):
                continue
            low, high = int(starts[some[0]]), int(ends[some].max())
            if high > elements * kind.itemsize:
                raise BundleError(
                    f"{bundle.path}: damaged: {bundle.ids[tensors['case'][rows[some[0]]]]} lies"
                    " outside the data"
                )
            window = np.empty(high - low, dtype=np.uint8)
            bundle.data.fill(window, start + low)
            found = [
                window.data[a - low : b - low]
                for a, b in zip(starts[some].tolist(), ends[some].tolist(), strict=True)
            ]
            wrong = rows[some][digest_column(found) != tensors["digest"][rows[some]]]
            if len(wrong):
                where = (
                    f"{bundle.ids[tensors['case'][wrong[0]]]}:"
                    f" {bundle.names[tensors['name'][wrong[0]]]}"
                )
                raise BundleError(f"{bundle.path}: damaged: {where} does not match its digest")
            yield rows[some], found
