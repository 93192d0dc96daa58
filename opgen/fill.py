"""Input arrays of a case from (seed, case id, tensor name), the same on every machine and in every order.

The bits are the raw output of the counter-based generator Philox (Salmon et al. 2011), keyed by a digest of the three.
numpy keeps that raw output stable between releases, and the methods of its ``Generator`` not (NEP 19).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from opgen.numerics import DTYPES, Array, is_tie, ulp
from opgen.recipes import RECIPES, Draw
from opgen.slot import Slot


class Source:
    """Random words by case and tensor. Holds one reused generator: cheap to ask, one per worker.

    >>> Source(0).raw("a", "gradOutput", 2).tolist() == Source(0).raw("a", "gradOutput", 3).tolist()[:2]
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._philox = np.random.Philox(0)
        self._state = self._philox.state
        self._state["state"]["counter"] = np.zeros(4, dtype=np.uint64)
        self._state["buffer_pos"] = 4

    def raw(self, case_id: str, tensor: str, count: int) -> Array:
        """The first ``count`` uint64 of a tensor's own stream."""
        name = f"{self.seed}:{len(case_id)}:{case_id}:{tensor}".encode()
        key = np.frombuffer(hashlib.blake2b(name, digest_size=16).digest(), dtype="<u8")
        self._state["state"]["key"] = key
        self._philox.state = self._state  # the counter at zero, and nothing buffered
        return np.asarray(self._philox.random_raw(count))

    def lanes(self, case_ids: Sequence[str], tensor: str, count: int) -> tuple[Array, Array]:
        """One uint64 of choice per case, (B,), and ``count`` uint32 per case, (B, count)."""
        words = np.empty((len(case_ids), 1 + (count + 1) // 2), dtype="<u8")
        for row, case_id in enumerate(case_ids):
            words[row] = self.raw(case_id, tensor, words.shape[1])
        return words[:, 0].astype(np.uint64), words[:, 1:].view("<u4")[:, :count]


def draw(recipe: str, source: Source, case_ids: Sequence[str], slot: Slot) -> Array:
    """Fill one tensor of every case of a batch: (B, *slot.shape), float64, or complex128 for complex dtypes.

    Values are exact in the storage dtype; those of grid recipes in the compute dtype too. No case depends on which
    others share its batch. Under HFLOAT32 no value is a tie of the rounding, on which public sources disagree.
    """
    way = RECIPES[recipe].draw(slot.role)
    choice, lanes = source.lanes(case_ids, slot.tensor, way.lanes * slot.count)
    values = way.values(lanes.reshape(len(case_ids), way.lanes, slot.count), choice, slot)
    return _finished(values, way, slot).reshape(len(case_ids), *slot.shape)


def draw_alike(recipe: str, source: Source, drawings: Sequence[tuple[Sequence[str], Slot]]) -> Array:
    """What :func:`draw` gives for each (case ids, slot), flat and one after the other.

    The slots have the same role and the same key under the recipe.
    """
    first = drawings[0][1]
    way = RECIPES[recipe].draw(first.role)
    if way.key is None or len(drawings) == 1:
        return np.concatenate([draw(recipe, source, ids, slot).reshape(-1) for ids, slot in drawings])
    total = sum(len(ids) * slot.count for ids, slot in drawings)
    lanes, at = np.empty((1, way.lanes, total), dtype="<u4"), 0
    for ids, slot in drawings:
        count, width = slot.count, way.lanes * slot.count
        for case_id in ids if width else ():
            words = source.raw(case_id, slot.tensor, 1 + (width + 1) // 2).astype("<u8", copy=False)
            lanes[0, :, at : at + count] = words.view("<u4")[2 : 2 + width].reshape(way.lanes, count)
            at += count
    flat = replace(first, shape=(total // 2 if DTYPES[first.dtype].complex else total,))
    return _finished(way.values(lanes, np.zeros(1, dtype=np.uint64), flat), way, flat).reshape(-1)


def _finished(values: Array, way: Draw, slot: Slot) -> Array:
    if slot.compute == "HFLOAT32" and way.quantum is None and slot.multiple == 1:
        ties = is_tie(values) | is_tie(values, mantissa=10)
        values = np.where(ties, values - np.copysign(ulp(values, DTYPES[slot.dtype].part.name), values), values)
    return values.view(np.complex128) if DTYPES[slot.dtype].complex else values
