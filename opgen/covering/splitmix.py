"""SplitMix64: numbers for breaking ties that are the same on every machine and in every numpy."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 14
"""Numbers that are made at a time: most draws are of a few."""


class SplitMix:
    """A counter hashed by SplitMix64 (Steele, Lea, Flood 2014).

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
        z = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(self._state)
        self._state = (self._state + n * 0x9E3779B97F4A7C15) & (2**64 - 1)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    def small(self, *shape: int, bits: int = 16) -> NDArray[np.int64]:
        """The next numbers below 2**bits, int64."""
        return (self.draw(*shape) >> np.uint64(64 - bits)).astype(np.int64)

    def shuffled(self, n: int) -> NDArray[np.int64]:
        """A permutation of 0 to n - 1."""
        return np.argsort(self.draw(n), kind="stable")
