"""Input arrays of a case from (seed, case id, tensor name), the same on every machine and in every
order.

The bits are those of SplitMix64, one stream per tensor, seeded by digests of the three. A counter
that is hashed can be hashed by the array, for tensors of many cases at once: a generator of numpy
costs more to seed than a small tensor to draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from functools import cache
from typing import TypeAlias

import numpy as np

from opgen.numerics.arrays import Array, blocks
from opgen.numerics.draw import Draw, from_steps
from opgen.numerics.formats import DTYPES
from opgen.numerics.input_tensor import InputTensor
from opgen.numerics.recipes import RECIPES
from opgen.numerics.rounding import is_tie, stored, ulp
from opgen.numerics.splitmix import STEP, hashed

VERSION = 1
"""Raised by hand whenever a stream has other bits; a test sees to it."""

Tensor: TypeAlias = tuple[Array, str, int]
"""The keys of cases, the name of a tensor that each has, and its real numbers in one of them."""

_WORD = np.dtype("<u8")
_STEP, _HALF, _LOW = np.uint64(STEP), np.uint64(32), np.uint64(2**32 - 1)


def keys(seed: int, case_ids: Iterable[str]) -> Array:
    """(cases,) uint64: what the streams of a case begin with, a digest of the seed and its id."""
    joined = b"".join([_key(f"{seed}:{case_id}") for case_id in case_ids])
    return np.frombuffer(joined, dtype=_WORD).astype(np.uint64)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_WORD.itemsize).digest()


@cache
def _key_of_tensor(name: str) -> int:
    return int.from_bytes(_key(name), "little")


@cache
def _steps(bits: int) -> Array:
    """What a counter has gone on by, for numbers below ``2**bits``."""
    return np.arange(1 << bits, dtype=np.uint64) * _STEP


class Streams:
    """The random words of tensors that stand one after the other, ``lanes`` of 32 bits to each of
    their real numbers.

    The first word of a stream is a ``choice``, those behind it belong to the numbers, in turn.

    >>> two, three = (Streams([(keys(0, ["a"]), "gradOutput", count)], 1) for count in (2, 3))
    >>> two.lanes(slice(0, 2)).tolist() == three.lanes(slice(0, 3))[:, :2].tolist()
    True
    """

    def __init__(self, tensors: Collection[Tensor], lanes: int) -> None:
        known, names, counts = zip(*tensors, strict=True)
        cases = list(map(len, known))
        of_names = np.array(list(map(_key_of_tensor, names)), dtype=np.uint64)
        self._words, self._lanes = -(-lanes // 2), lanes
        self._starts = hashed(np.bitwise_xor(np.concatenate(known), of_names.repeat(cases)))
        self._edges = np.concatenate([[0], np.array(counts).repeat(cases).cumsum()])

    @property
    def total(self) -> int:
        """The real numbers of all tensors."""
        return int(self._edges[-1])

    @property
    def choices(self) -> Array:
        """(tensors of cases,) uint64."""
        return hashed(self._starts.copy())

    def lanes(self, piece: slice) -> Array:
        """(lanes, numbers) uint64 below 2**32, for some of all numbers: the high half of a word and
        then the low one.
        """
        first, end, words = piece.start, piece.stop, self._words
        some = slice(*self._edges.searchsorted((first, end - 1), side="right") - (1, 0))
        edges = self._edges[some.start : some.stop + 1].copy()
        edges[0], edges[-1] = first, end
        behind = (
            self._edges[some] - first
        ) * words - 1  # where each stream begins, before the first of these words
        counters = (self._starts[some] - behind.astype(np.uint64) * _STEP).repeat(
            (edges[1:] - edges[:-1]) * words
        )
        counters += _steps(len(counters).bit_length())[: len(counters)]
        drawn = hashed(counters)
        if self._lanes == 1:
            return np.right_shift(drawn, _HALF, out=drawn)[None]
        halves = drawn.reshape(end - first, words).T
        return np.stack([halves >> _HALF, halves & _LOW], axis=1).reshape(2 * words, end - first)[
            : self._lanes
        ]


def starts(known: Array, name: str) -> Array:
    """(cases,) uint64: where the streams of a tensor begin, by the keys of its cases."""
    return hashed(np.bitwise_xor(known, np.uint64(_key_of_tensor(name))))


def drawn_again(start: int, steps: tuple[int, int, int], count: int, dtype: str) -> Array:
    """(count,) a contiguous tensor as stored, from where its stream begins and its steps
    (:attr:`opgen.numerics.draw.Draw.steps`); what :func:`draw` drew, in blocks.
    """
    numbers = DTYPES[dtype]
    values = np.empty(count, dtype=numbers.numpy)
    reals = values.view(DTYPES[numbers.part.name].numpy)
    for piece in blocks(len(reals)):
        counters = np.arange(piece.start + 1, piece.stop + 1, dtype=np.uint64)
        counters *= _STEP
        counters += np.uint64(start)
        drawn = hashed(counters)
        drawn >>= _HALF
        reals[piece] = stored(from_steps(drawn, *steps), numbers.part.name)
    return values


def draw(recipe: str, known: Array, tensor: InputTensor) -> Array:
    """Fill one tensor of every case of a batch, by their :func:`keys`: (B, *tensor.shape), float64,
    or complex128 for complex dtypes.

    Values are exact in the storage dtype; those of grid recipes in the compute dtype too. No case
    depends on which others share its batch. Under HFLOAT32 no value is a tie of the rounding, on
    which public sources disagree.
    """
    way, shape = RECIPES[recipe].draw(tensor.role), (len(known), *tensor.shape)
    stream = known, tensor.name, tensor.count
    if way.key is not None:
        return draw_alike(recipe, tensor, [stream]).reshape(shape)
    streams = Streams([stream], way.lanes)
    lanes = np.empty(
        (way.lanes, streams.total), dtype=np.uint32
    )  # which is half of what pieces come in
    for piece in blocks(streams.total):
        lanes[:, piece] = streams.lanes(piece)
    values = way.values(lanes.reshape(way.lanes, len(known), tensor.count), streams.choices, tensor)
    return _finished(values, way, tensor).view(DTYPES[tensor.dtype].wide).reshape(shape)


def draw_alike(
    recipe: str, tensor: InputTensor, tensors: Collection[Tensor], first: int = 0
) -> Array:
    """Fill tensors that have the key of ``tensor``: flat, one after the other, without the
    ``first`` numbers.
    """
    way = RECIPES[recipe].draw(tensor.role)
    streams = Streams(tensors, way.lanes)
    nothing, values = np.zeros(1, dtype=np.uint64), np.empty(streams.total - first)
    for piece in blocks(len(values)):
        lanes = streams.lanes(slice(first + piece.start, first + piece.stop))
        values[piece] = _finished(way.values(lanes[:, None], nothing, tensor), way, tensor)
    return values.view(DTYPES[tensor.dtype].wide)


def _finished(values: Array, way: Draw, tensor: InputTensor) -> Array:
    if tensor.compute == "HFLOAT32" and way.quantum is None:
        ties = is_tie(values) | is_tie(values, mantissa=10)
        values = np.where(
            ties, values - np.copysign(ulp(values, DTYPES[tensor.dtype].part.name), values), values
        )
    return values
