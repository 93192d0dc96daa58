"""Many equal cases at once: the way to scan a bundle without a step of Python per case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from opgen.bundle.format.digest import digest_of
from opgen.bundle.format.dtypes import ROLES, room
from opgen.bundle.format.tensorrow import DRAWN, TensorRow
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
    cases, tensors = bundle.tables["cases"], bundle.tables["tensors"]
    if not len(cases):
        return
    item, blob = np.ones((2, len(tensors)), dtype=np.int64)
    for place, (number, (kind, _, _)) in enumerate(bundle.blobs.items()):
        mine = tensors["dtype"] == number
        item[mine], blob[mine] = kind.itemsize, place
    taken = np.where(tensors["position"] >= 0, room(tensors["elements"], item), 0)
    drawn = np.where(tensors["position"] == DRAWN, tensors["elements"], 0)
    weight = np.bincount(tensors["case"], (taken + drawn) * item, len(cases)).astype(np.int64)
    alike = _alike(cases, tensors, taken, blob)
    edges = [0, *(np.flatnonzero(~alike) + 1).tolist(), len(cases)]
    for start, end in pairwise(edges):
        step = max(1, limit // max(1, int(weight[start])))
        for case in range(start, end, step):
            rows = range(case, min(end, case + step))
            first, count = int(cases["first_tensor"][case]), int(cases["tensors"][case])
            yield CaseStack(rows, _read(bundle, rows, first, count))


def _alike(
    cases: np.ndarray, tensors: np.ndarray, taken: np.ndarray, blob: np.ndarray
) -> np.ndarray:
    """(cases - 1,) bool: a case is equal in form to the next, whose data follow in every blob;
    ``taken`` are the elements that each tensor takes in its ``blob``.
    """
    case, counts = tensors["case"].astype(np.int64), cases["tensors"].astype(np.int64)
    alike = (counts[:-1] == counts[1:]) & (cases["op"][:-1] == cases["op"][1:])
    here = np.flatnonzero(np.append(alike, False)[case])
    after = here + counts[case[here]]
    group = case * (blob.max(initial=0) + 1) + blob
    step = np.bincount(group, taken).astype(np.int64)[group[here]]
    held, empty = tensors["position"] >= 0, tensors["elements"] == 0
    same = held[here] == held[after]
    same &= (tensors["position"][here] == DRAWN) == (tensors["position"][after] == DRAWN)
    same &= (
        ~held[here] | empty[here] | (tensors["position"][after] - tensors["position"][here] == step)
    )
    for column in _SAME:
        same &= tensors[column][here] == tensors[column][after]
    alike[case[here[~same]]] = False
    return np.asarray(alike, dtype=bool)


def _read(
    bundle: BundleTables, rows: range, first: int, count: int
) -> dict[tuple[str, str], np.ndarray]:
    table = bundle.tables["tensors"]
    described = map(TensorRow._make, table[first : first + count].tolist())
    chosen = [(i, row) for i, row in enumerate(described, first) if row.has_data]
    arrays = {}
    drawn = [(i, row) for i, row in chosen if row.position == DRAWN]
    chosen = [(i, row) for i, row in chosen if row.position != DRAWN]
    for i, row in drawn:
        alike = table[i : i + count * len(rows) : count].tolist()
        stack = np.stack([bundle.tensor(TensorRow._make(each)) for each in alike])
        shape = bundle.sequence(row.shape) or ()
        arrays[bundle.names[row.name], _ROLES[row.role]] = stack.reshape(len(rows), *shape)
    for number, (kind, start, _) in bundle.blobs.items():
        mine = [(i, row) for i, row in chosen if row.dtype == number]
        full = [row for _, row in mine if row.elements]
        if not mine:
            continue
        low = min((row.position for row in full), default=0)
        stride = sum(room(row.elements, kind.itemsize) for row in full) * kind.itemsize
        last = max(
            (row.position + row.elements - low for row in full), default=0
        ) * kind.itemsize + stride * (len(rows) - 1)
        window = bundle.bytes(start + low * kind.itemsize, last)
        view = window.data
        for i, row in mine:
            offset, length = (
                (row.position - low) * kind.itemsize if row.elements else 0,
                row.elements * kind.itemsize,
            )
            digests = table["digest"][i : i + count * len(rows) : count].tolist()
            for k, digest in enumerate(digests if bundle.check else ()):
                begin = offset + k * stride
                if digest_of(view[begin : begin + length]) != digest:
                    raise bundle.damage(rows[k], row.name)
            stack = as_strided(window[offset:], (len(rows), length), (stride, 1)).view(kind)
            shape = bundle.sequence(row.shape) or ()
            whole = row.is_whole and prod(shape) == row.elements
            arrays[bundle.names[row.name], _ROLES[row.role]] = (
                stack.reshape(len(rows), *shape) if whole else stack
            )
    return arrays
