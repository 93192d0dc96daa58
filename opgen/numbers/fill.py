"""Input arrays of a case from (seed, case id, tensor name), the same on every machine and in every order.

The bits are the raw output of the counter-based generator Philox (Salmon et al. 2011), keyed by a digest of the three.
numpy keeps that raw output stable between releases, and the methods of its ``Generator`` not (NEP 19).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Any, TypeAlias

import numpy as np

from opgen.numbers.numerics import DTYPES, Array, blocks, is_tie, ulp
from opgen.numbers.recipes import RECIPES, Draw
from opgen.numbers.slot import Slot

Tensor: TypeAlias = tuple[Sequence[str], str, int]
"""The ids of cases, the name of a tensor that each has, and its real numbers in one of them."""

_KEY = Struct("<2Q")
_LANE, _LITTLE = np.dtype("<u4"), sys.byteorder == "little"


class Source:
    """Random words by case and tensor. Holds one reused generator: cheap to ask, one per worker.

    >>> Source(0).raw("a", "gradOutput", 2).tolist() == Source(0).raw("a", "gradOutput", 3).tolist()[:2]
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._philox = np.random.Philox(0)
        self._key: dict[str, Any] = {"counter": (0, 0, 0, 0), "key": (0, 0)}
        nothing = {"buffer": (0, 0, 0, 0), "buffer_pos": 4, "has_uint32": 0, "uinteger": 0}
        self._state: Any = {"bit_generator": "Philox", "state": self._key, **nothing}

    def raw(self, case_id: str, tensor: str, count: int) -> Array:
        """The first ``count`` uint64 of a tensor's own stream."""
        name = f"{self.seed}:{len(case_id)}:{case_id}:{tensor}".encode()
        self._key["key"] = _KEY.unpack(hashlib.blake2b(name, digest_size=16).digest())
        self._philox.state = self._state  # the counter at zero, and nothing buffered
        words: Array = self._philox.random_raw(count)
        return words

    def lanes(self, tensors: Iterable[Tensor], lanes: int) -> list[Array]:
        """The uint32 behind the first word of every stream, the low half of a word and then the high one: (lanes, count), or (count,)."""
        found = []
        for case_ids, tensor, count in tensors:
            end = 2 + lanes * count
            for case_id in case_ids:
                words = self.raw(case_id, tensor, (end + 1) // 2)
                halves = (words if _LITTLE else words.byteswap()).view(_LANE)
                found.append(halves[2:end] if lanes == 1 else halves[2:end].reshape(lanes, count))
        return found


def draw(recipe: str, source: Source, case_ids: Sequence[str], slot: Slot) -> Array:
    """Fill one tensor of every case of a batch: (B, *slot.shape), float64, or complex128 for complex dtypes.

    Values are exact in the storage dtype; those of grid recipes in the compute dtype too. No case depends on which
    others share its batch. Under HFLOAT32 no value is a tie of the rounding, on which public sources disagree.
    """
    way, shape = RECIPES[recipe].draw(slot.role), (len(case_ids), *slot.shape)
    if way.key is not None:
        return draw_alike(recipe, source, slot, [(case_ids, slot.tensor, slot.count)]).reshape(shape)
    choice = np.array([source.raw(case_id, slot.tensor, 1)[0] for case_id in case_ids], dtype=np.uint64)
    lanes = np.stack(source.lanes([(case_ids, slot.tensor, slot.count)], way.lanes)).reshape(len(case_ids), way.lanes, slot.count)
    return _finished(way.values(lanes, choice, slot), way, slot).view(DTYPES[slot.dtype].wide).reshape(shape)


def draw_alike(recipe: str, source: Source, slot: Slot, tensors: Iterable[Tensor]) -> Array:
    """Fill tensors whose slots have the key of ``slot``: flat, one after the other."""
    way, nothing = RECIPES[recipe].draw(slot.role), np.zeros(1, dtype=np.uint64)
    lanes = np.atleast_2d(np.concatenate(source.lanes(tensors, way.lanes), axis=-1))[None]
    values = np.empty(lanes.shape[2])
    for piece in blocks(len(values)):
        values[piece] = _finished(way.values(lanes[..., piece], nothing, slot), way, slot)
    return values.view(DTYPES[slot.dtype].wide)


def _finished(values: Array, way: Draw, slot: Slot) -> Array:
    if slot.compute == "HFLOAT32" and way.quantum is None and slot.multiple == 1:
        ties = is_tie(values) | is_tie(values, mantissa=10)
        values = np.where(ties, values - np.copysign(ulp(values, DTYPES[slot.dtype].part.name), values), values)
    return values
