"""Outputs of a device measured against their goldens: read once, laid one behind the other by
dtype, reduced in blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgen.bundle.format.dtypes import BundleError, words_of
from opgen.bundle.format.tensorrow import TensorRow
from opgen.bundle.read.reader import Bundle
from opgen.comparison.alignment import AlignedResults, GoldenRows
from opgen.comparison.metrics import MetricTable, measure, pieces
from opgen.comparison.standards import precision
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES
from opgen.spec.catalog import catalog

BLOCK = 1 << 17
"""Elements measured at a time: three float64 arrays and their scratch stay in the cache."""


@dataclass(frozen=True)
class Precisions:
    """Of every output: its dtype and the name of the precision that the published standards hold it
    to.
    """

    dtype: Array
    name: Array


def precisions(bundle: Bundle, outputs: GoldenRows) -> Precisions:
    """Dtype and precision of every output. Outputs that no compute mode rounds are held to their
    own dtype.
    """
    words = words_of(bundle.tables["tensors"].dtype["dtype"])
    dtype = np.array(
        [words[n] for n in bundle.tables["tensors"]["dtype"][outputs.described].tolist()],
        dtype=object,
    )
    cases = bundle.tables["cases"][outputs.case]
    ops, products = bundle.words["cases.op"], bundle.words["cases.product"]
    pages = catalog().by_page
    known: dict[tuple[Any, ...], str] = {}
    found = np.empty(len(outputs), dtype=object)
    rows = zip(
        dtype,
        cases["op"].tolist(),
        cases["product"].tolist(),
        cases["compute"].tolist(),
        outputs.name.tolist(),
        strict=True,
    )
    for i, key in enumerate(rows):
        if key not in known:
            spec = pages.get((ops[key[1]], products[key[2]]))
            exact = spec is not None and bundle.names[key[4]] in spec.exact
            known[key] = precision(key[0], "" if exact else bundle.strings[key[3]])
        found[i] = known[key]
    return Precisions(dtype, found)


def flat(values: Array) -> Array:
    """Real values as they are; complex ones as twice as many, real and imaginary parts in turn."""
    return values.view(values.real.dtype) if np.iscomplexobj(values) else values


def measured(
    bundle: Bundle, outputs: GoldenRows, answers: AlignedResults, which: Precisions, chosen: Array
) -> MetricTable:
    """The metrics of the outputs at positions ``chosen``; the others' rows stay 0. BundleError
    where either file is damaged.
    """
    table = MetricTable(len(outputs))
    for key in sorted(
        set(zip(which.dtype[chosen].tolist(), which.name[chosen].tolist(), strict=True))
    ):
        mine = chosen[(which.dtype[chosen] == key[0]) & (which.name[chosen] == key[1])]
        block = _Block(table, *key)
        for i in mine.tolist():
            device = answers.tensor(i)
            golden, bound = golden_of(bundle, outputs, i)
            block.take(i, flat(device), flat(golden), flat(bound))
        block.flush()
    return table


def golden_of(bundle: Bundle, outputs: GoldenRows, i: int) -> tuple[Array, Array]:
    """Golden and bound of an output, 1-D."""
    table = bundle.tables["tensors"]
    golden = bundle.tensor(TensorRow._make(table[outputs.golden[i]].item()))
    bound = bundle.tensor(TensorRow._make(table[outputs.bound[i]].item()))
    if len(golden) != len(bound):
        raise BundleError(
            f"{bundle.path}: damaged: {bundle.ids[outputs.case[i]]}: golden and bound differ in"
            " length"
        )
    return golden, bound


class _Block:
    """Pieces of outputs of one dtype and precision, measured whenever enough of them are there."""

    def __init__(self, table: MetricTable, dtype: str, precision: str) -> None:
        self.table, self.dtype, self.precision = table, dtype, precision
        self.part = DTYPES[dtype].part.name
        self.values = np.empty((3, BLOCK))
        self.used = 0
        self.rows: list[int] = []
        self.starts: list[int] = []
        self.offsets: list[int] = []

    def take(self, row: int, *three: Array) -> None:
        for start, end in pieces(len(three[0]), BLOCK):
            if self.used + end - start > BLOCK:
                self.flush()
            self.rows.append(row)
            self.starts.append(self.used)
            self.offsets.append(start)
            with np.errstate(invalid="ignore"):  # a NaN may be a signalling one
                for values, given in zip(self.values, three, strict=True):
                    values[self.used : self.used + end - start] = given[start:end]
            self.used += end - start

    def flush(self) -> None:
        if self.used:
            with np.errstate(all="ignore"):
                device, golden, bound = self.values[:, : self.used]
                columns = measure(device, golden, bound, self.precision, self.part)
                self.table.add(
                    np.array(self.rows),
                    np.array(self.starts),
                    np.array(self.offsets),
                    columns,
                    self.dtype,
                )
        self.used, self.rows, self.starts, self.offsets = 0, [], [], []
