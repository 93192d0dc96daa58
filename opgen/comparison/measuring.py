"""Outputs of a device measured against their goldens: read once, laid one after the other by
dtype, reduced in blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from opgen.bundle.format.dtypes import BundleError, words_of
from opgen.bundle.format.tensorrow import TensorRow
from opgen.bundle.read.reader import Bundle
from opgen.comparison.alignment import AlignedResults, GoldenRows
from opgen.comparison.metrics import MetricTable, measure
from opgen.comparison.standards import precision
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES
from opgen.spec.catalog import catalog, edition_of

BLOCK = 1 << 17
"""Elements measured at a time: three float64 arrays and their scratch stay in the cache."""


@dataclass(frozen=True)
class Precisions:
    """Of every output: its dtype and the name of the precision that the published standards hold it
    to.
    """

    dtype: Array
    name: Array


def precisions(bundle: Bundle, goldens: GoldenRows) -> Precisions:
    """Dtype and precision of every output. Outputs that no compute mode rounds are held to their
    own dtype.
    """
    words = words_of(bundle.tables["tensors"].dtype["dtype"])
    cases = bundle.tables["cases"][goldens.case]
    dtypes = bundle.tables["tensors"]["dtype"][goldens.described]
    columns = (dtypes, cases["op"], cases["product"], cases["compute"], goldens.name)
    kinds, kind = np.unique(np.stack(columns).astype(np.int64), axis=1, return_inverse=True)
    names, known = [], catalog(edition_of(bundle.header))
    for dtype, op, product, compute, name in kinds.T.tolist():
        page = bundle.words["cases.op"][op], bundle.words["cases.product"][product]
        spec = known.by_page.get(page)
        exact = spec is not None and bundle.names[name] in spec.exact
        names.append(precision(words[dtype], "" if exact else bundle.strings[compute]))
    return Precisions(
        np.array([words[number] for number in dtypes.tolist()], dtype=object),
        np.array(names, dtype=object)[kind.reshape(-1)],
    )


def flat(values: Array) -> Array:
    """Real values as they are; complex ones as twice as many, real and imaginary parts in turn."""
    return values.view(values.real.dtype) if np.iscomplexobj(values) else values


def measured(
    bundle: Bundle,
    goldens: GoldenRows,
    answers: AlignedResults,
    precisions: Precisions,
    wanted: Array,
    block: int = BLOCK,
) -> MetricTable:
    """The metrics of the outputs of goldens ``wanted``; the others' rows stay 0. BundleError where
    either file is damaged. ``block`` elements are measured at a time.
    """
    table = MetricTable(len(goldens))
    columns = (precisions.dtype[wanted], precisions.name[wanted], wanted)
    rows = sorted(zip(*(column.tolist() for column in columns), strict=True))
    for (dtype, coarser), kind in groupby(rows, key=lambda row: row[:2]):
        pieces = _Block(table, dtype, coarser, block)
        for *_, i in kind:
            device = looked_at(bundle, goldens, i, answers.tensor(i))
            golden, bound = golden_of(bundle, goldens, i)
            pieces.take(i, flat(device), flat(golden), flat(bound))
        pieces.flush()
    return table


def golden_of(bundle: Bundle, goldens: GoldenRows, i: int) -> tuple[Array, Array]:
    """Golden and bound of an output, 1-D."""
    golden, bound = (
        bundle.tensor(TensorRow._make(bundle.tables["tensors"][rows[i]].item()))
        for rows in (goldens.golden, goldens.bound)
    )
    if len(golden) != len(bound):
        case = bundle.ids[goldens.case[i]]
        raise BundleError(f"{bundle.path}: damaged: {case}: golden and bound differ in length")
    return golden, bound


def looked_at(bundle: Bundle, goldens: GoldenRows, i: int, device: Array) -> Array:
    """The elements of an output, 1-D, that its golden has."""
    if goldens.places[i] < 0:
        return device
    places = bundle.tensor(TensorRow._make(bundle.tables["tensors"][goldens.places[i]].item()))
    if len(places) and not 0 <= places.min() <= places.max() < len(device):
        case = bundle.ids[goldens.case[i]]
        raise BundleError(f"{bundle.path}: damaged: {case}: a golden has places beyond its output")
    return np.asarray(device[places])


class _Block:
    """Pieces of outputs of one dtype and precision, measured whenever enough of them are there."""

    def __init__(self, table: MetricTable, dtype: str, precision: str, size: int) -> None:
        self.table, self.dtype, self.precision = table, dtype, precision
        self.part = DTYPES[dtype].part.name
        self.values = np.empty((3, size))
        self.used = 0
        self.pieces: list[tuple[int, int, int]] = []  # output, start in the block, in the output

    def take(self, row: int, *tensors: Array) -> None:
        """Device, golden and bound of one output."""
        size = self.values.shape[1]
        for start in range(0, len(tensors[0]), size):
            length = min(len(tensors[0]) - start, size)
            if self.used + length > size:
                self.flush()
            self.pieces.append((row, self.used, start))
            with np.errstate(invalid="ignore"):  # a NaN may be a signalling one
                for values, tensor in zip(self.values, tensors, strict=True):
                    values[self.used : self.used + length] = tensor[start : start + length]
            self.used += length

    def flush(self) -> None:
        """Measure what is there."""
        if self.used:
            with np.errstate(all="ignore"):
                device, golden, bound = self.values[:, : self.used]
                columns = measure(device, golden, bound, self.precision, self.part)
                rows, starts, offsets = np.array(self.pieces).T
                self.table.add(rows, starts, offsets, columns, self.dtype)
        self.used, self.pieces = 0, []
