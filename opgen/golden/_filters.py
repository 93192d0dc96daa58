"""Minimal filtering algorithms: ``outputs`` sums of ``taps`` products each, of neighbours, from
``outputs + taps - 1`` products.

Toom and Cook's: a sum of products narrow * wide * weight, wide one further per tap, is that of the
values of the first and the last as polynomials, at as many points as there are products, with the
wide elements taken through the polynomials that vanish at all points but one (Winograd, *Arithmetic
Complexity of Computations*, 1980; Lavin and Gray, *Fast Algorithms for Convolutional Neural
Networks*, 2016). The gradients follow by transposition: of the products' sums over positions for
the weight, over channels for the input. All factors are whole numbers here, and what comes back is
a multiple of a divisor, so that numbers with room for :attr:`Filter.growth` make exact results.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from math import lcm, prod
from typing import NamedTuple

import numpy as np

from opgen.golden import Array

POINTS = ((0, 1), (1, 0), (1, 1), (-1, 1), (2, 1), (1, 2))
"""Where the polynomials are taken: quotients, the second is infinity. No other six, of small ones,
make sums grow less."""


class Filter(NamedTuple):
    """Factors of the products: ``narrow`` (products, outputs), ``wide`` (products, outputs + taps -
    1) and ``weight`` (products, taps); the sums that come back are ``divisor`` times too large.
    """

    narrow: Array
    wide: Array
    weight: Array
    divisor: int

    def reversed(self) -> Filter:
        """The same with the taps in reversed order."""
        return self._replace(weight=self.weight[:, ::-1])

    @property
    def growth(self) -> float:
        """How many times larger all sums can be than the bounds of the definition's, counted in
        units of the data.

        A gradient of the narrow tensor stays below the largest wide element times a sum of absolute
        weights: a product's wide factor is larger by the sum of its absolute ones, and every weight
        comes with one of its own. A gradient of the weight stays below a product of norms: that of
        the narrow factor is larger by its norm, since tiles are disjoint; that of the wide one by
        the norms of its parts within each of the tiles that it reaches.
        """
        narrow, wide, weight = (np.abs(factors) for factors in self[:3])
        outputs = narrow.shape[1]
        parts = [
            np.sqrt(np.square(wide[:, i : i + outputs]).sum(axis=1))
            for i in range(0, wide.shape[1], outputs)
        ]
        norms = np.sqrt(np.square(narrow).sum(axis=1)) * sum(parts)
        of_input = (narrow.T * wide.sum(axis=1)) @ weight
        return float(max(of_input.max(), (norms @ weight).max()))


@lru_cache(maxsize=64)
def minimal(outputs: int, taps: int) -> Filter:
    """The algorithm for so many outputs and taps; for one output the definition's own.

    >>> minimal(4, 3).narrow[4].tolist(), minimal(2, 3).divisor, minimal(4, 3).divisor
    ([1.0, 2.0, 4.0, 8.0], 2, 18)
    """
    number = outputs + taps - 1
    if outputs == 1:
        return Filter(np.ones((taps, 1)), np.eye(taps), np.eye(taps), 1)
    points = POINTS[:number]
    wide, apart = [], []
    for a, b in points:
        others = [point for point in points if point != (a, b)]
        apart.append(prod([a * d - c * b for c, d in others]))
        wide.append(reduce(np.convolve, [(-c, d) for c, d in others], np.ones(1)))
    divisor = lcm(*apart)
    scales = np.array([[divisor / one] for one in apart])
    return Filter(values(outputs, points), np.array(wide), values(taps, points) * scales, divisor)


def values(terms: int, points: tuple[tuple[int, int], ...]) -> Array:
    """What makes the values at points of a polynomial of so many terms, (points, terms)."""
    return np.array([[a**i * b ** (terms - 1 - i) for i in range(terms)] for a, b in points], float)
