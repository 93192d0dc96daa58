"""SplitMix64 (Steele, Lea, Flood 2014): a counter, hashed. The same on every machine and in every
numpy, and made by the array.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

STEP = 0x9E3779B97F4A7C15
"""What the counter goes on by."""
BLOCK = 1 << 14
"""Numbers that are made at a time: most draws are of a few."""

_ROUNDS = [
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
]
_LAST = np.uint64(31)


def hashed(counters: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The numbers of some counters, in their place."""
    shifted = np.empty_like(counters)
    for shift, factor in _ROUNDS:
        counters ^= np.right_shift(counters, shift, out=shifted)
        counters *= factor
    counters ^= np.right_shift(counters, _LAST, out=shifted)
    return counters


class SplitMix:
    """One number after the other from a seed, for breaking ties.

    >>> [hex(int(n)) for n in SplitMix(0).draw(2)]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & (2**64 - 1)
        self._made = np.zeros(0, dtype=np.uint64)

    def draw(self, *shape: int) -> NDArray[np.uint64]:
        """The next numbers, uint64."""
        n = prod(shape)
        if n > len(self._made):
            self._made = np.concatenate([self._made, self._make(max(n, BLOCK))])
        drawn, self._made = self._made[:n], self._made[n:]
        return drawn.reshape(shape)

    def _make(self, n: int) -> NDArray[np.uint64]:
        counters = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(STEP) + np.uint64(self._state)
        self._state = (self._state + n * STEP) & (2**64 - 1)
        return hashed(counters)

    def small(self, *shape: int, bits: int = 16) -> NDArray[np.int64]:
        """The next numbers below 2**bits, int64."""
        return (self.draw(*shape) >> np.uint64(64 - bits)).astype(np.int64)

    def shuffled(self, n: int) -> NDArray[np.int64]:
        """A permutation of 0 to n - 1."""
        return np.argsort(self.draw(n), kind="stable")
