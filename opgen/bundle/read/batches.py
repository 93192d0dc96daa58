"""Many equal cases at once: the way to scan a bundle without a step of Python per case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from opgen.bundle.format.digest import digest_of
from opgen.bundle.format.dtypes import ROLES, BundleError, room
from opgen.bundle.format.tensorrow import TensorRow
from opgen.bundle.read.contents import BundleTables

_SAME = ("name", "role", "dtype", "shape", "strides", "offset", "storage_shape", "elements")
_ROLES = {number: word for word, number in ROLES.items()}


@dataclass(frozen=True)
class CaseStack:
    """Neighbouring cases whose tensors agree in everything but their data.

    ``arrays`` maps (name, role) to (B, ...): goldens, bounds and contiguous inputs in their shape,
    other inputs as their storage (B, elements).
    """

    rows: range
    arrays: dict[tuple[str, str], np.ndarray]


def batches(bundle: BundleTables, limit: int = 4 << 20) -> Iterator[CaseStack]:
    """All cases in order, as many at a time as are equal in form and have at most ``limit`` bytes.

    Every tensor is checked unless ``bundle.check`` is false; BundleError if one is damaged.
    """
    cases = bundle.tables["cases"]
    firsts, counts = cases["first_tensor"].astype(np.int64), cases["tensors"].astype(np.int64)
    size = _bytes(bundle)
    totals = np.concatenate([[0], np.cumsum(size)])
    weight = totals[firsts + counts] - totals[firsts]
    for start, end in _runs(bundle, firsts, counts, size):
        step = max(1, limit // max(1, int(weight[start])))
        for case in range(start, end, step):
            rows = range(case, min(end, case + step))
            yield CaseStack(rows, _read(bundle, rows, int(firsts[case]), int(counts[case])))


def _bytes(bundle: BundleTables) -> np.ndarray:
    """Bytes in its blob of each tensor row, padding included; 0 without data."""
    tensors = bundle.tables["tensors"]
    size = np.zeros(len(tensors), dtype=np.int64)
    for number, (kind, _, _) in bundle.blobs.items():
        rows = (tensors["dtype"] == number) & (tensors["position"] >= 0)
        size[rows] = room(tensors["elements"][rows], kind.itemsize) * kind.itemsize
    return size


def _runs(
    bundle: BundleTables, firsts: np.ndarray, counts: np.ndarray, size: np.ndarray
) -> Iterator[tuple[int, int]]:
    """Ranges of cases that are equal in form and follow one another in every blob."""
    cases, tensors = bundle.tables["cases"], bundle.tables["tensors"]
    if not len(cases):
        return
    case = np.repeat(np.arange(len(cases)), counts)
    inside = np.flatnonzero(case < len(cases) - 1)
    inside = inside[counts[case[inside]] == counts[case[inside] + 1]]
    after = inside + counts[case[inside]]
    same = np.ones(len(inside), dtype=bool)
    for column in _SAME:
        same &= tensors[column][inside] == tensors[column][after]
    apart = np.zeros(len(inside), dtype=np.int64)
    for number, (kind, _, _) in bundle.blobs.items():
        of_kind = tensors["dtype"] == number
        footprint = np.bincount(case[of_kind], weights=size[of_kind], minlength=len(cases)).astype(
            np.int64
        )
        mine = of_kind[inside]
        apart[mine] = footprint[case[inside[mine]]] // kind.itemsize
    data = (tensors["position"][inside] >= 0) & (tensors["elements"][inside] > 0)
    same &= ~data | (tensors["position"][after] - tensors["position"][inside] == apart)
    same &= (tensors["position"][inside] >= 0) == (tensors["position"][after] >= 0)
    joined = np.zeros(len(cases) - 1, dtype=bool)
    joined[counts[:-1] == counts[1:]] = True
    np.logical_and.at(joined, case[inside], same)
    joined &= cases["op"][:-1] == cases["op"][1:]
    edges = [0, *(np.flatnonzero(~joined) + 1).tolist(), len(cases)]
    yield from zip(edges[:-1], edges[1:], strict=True)


def _read(
    bundle: BundleTables, rows: range, first: int, count: int
) -> dict[tuple[str, str], np.ndarray]:
    table = bundle.tables["tensors"]
    described = map(TensorRow._make, table[first : first + count].tolist())
    chosen = [(i, row) for i, row in enumerate(described, first) if row.has_data]
    arrays = {}
    for number, (kind, start, limit) in bundle.blobs.items():
        mine = [(i, row) for i, row in chosen if row.dtype == number]
        full = [row for _, row in mine if row.elements]
        if not mine:
            continue
        low = min((row.position for row in full), default=0)
        stride = sum(room(row.elements, kind.itemsize) for row in full) * kind.itemsize
        last = max(
            (row.position + row.elements - low for row in full), default=0
        ) * kind.itemsize + stride * (len(rows) - 1)
        if low < 0 or low * kind.itemsize + last > limit * kind.itemsize:
            raise BundleError(
                f"{bundle.path}: damaged: {bundle.ids[rows[0]]} lies outside the data"
            )
        window = bundle.bytes(start + low * kind.itemsize, last)
        for i, row in mine:
            offset, length = (
                (row.position - low) * kind.itemsize if row.elements else 0,
                row.elements * kind.itemsize,
            )
            if bundle.check:
                digests = table["digest"][i : i + count * len(rows) : count].tolist()
                _check(bundle, rows, window, offset, length, stride, digests, row.name)
            stack = as_strided(window[offset:], (len(rows), length), (stride, 1)).view(kind)
            shape = bundle.sequence(row.shape) or ()
            whole = row.is_whole and prod(shape) == row.elements
            arrays[bundle.names[row.name], _ROLES[row.role]] = (
                stack.reshape(len(rows), *shape) if whole else stack
            )
    return arrays


def _check(
    bundle: BundleTables,
    rows: range,
    window: np.ndarray,
    offset: int,
    length: int,
    stride: int,
    digests: list[bytes],
    name: int,
) -> None:
    view = window.data
    for i, digest in enumerate(digests):
        start = offset + i * stride
        if digest_of(view[start : start + length]) != digest:
            where = f"{bundle.ids[rows[i]]}: {bundle.names[name]}"
            raise BundleError(f"{bundle.path}: damaged: {where} does not match its digest")
