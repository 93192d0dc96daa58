"""What the calls that were run had: values of names, and pairs of sizes at which devices change."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from opgen.numerics.splitmix import SplitMix
from opgen.oracle.judgement import Judgement
from opgen.spec.language.term import Reference
from opgen.suite.random_extents import LARGEST


class ValueCoverage:
    """Values of some names, and pairs of ``sizes``, which ascend, of each two of some extents, seen
    until now.
    """

    def __init__(
        self, names: Sequence[Reference], extents: Sequence[Reference], sizes: np.ndarray
    ) -> None:
        self.names, self.extents, self.sizes = names, extents, sizes
        self.values: set[tuple[int, int]] = set()
        pairs = np.array([*combinations(range(len(extents)), 2)], dtype=np.int64).reshape(-1, 2)
        self.first, self.second = pairs.T
        self.product = np.multiply.outer(sizes, sizes)
        self.seen = np.zeros((len(pairs), *self.product.shape), dtype=bool)
        self.tried = np.zeros(self.seen.shape, dtype=np.int64)

    @property
    def pairs(self) -> int:
        """Pairs of sizes that calls had."""
        return int(self.seen.sum())

    def aims(self, rows: int, random: SplitMix) -> np.ndarray:
        """(rows, extents) int64: in every other row a pair that no call had, as long as there are
        any, small ones rather than large ones, and those that were tried less often rather than
        others, which no legal call may have; -1 where an extent is free.
        """
        aims = np.full((rows, len(self.extents)), -1)
        open_ = np.argwhere(~self.seen & (self.product <= LARGEST))
        tried = self.tried[tuple(open_.T)]
        weight = self.product[open_[:, 1], open_[:, 2]] ** 0.5 * (1 + tried)
        order = np.argsort((random.small(len(open_)) + 1) * weight, kind="stable")[: rows // 2]
        pair, one, other = open_[order].T
        self.tried[pair, one, other] += 1
        aims[2 * np.arange(len(order)), self.first[pair]] = self.sizes[one]
        aims[2 * np.arange(len(order)), self.second[pair]] = self.sizes[other]
        return aims

    def new(self, judged: Judgement) -> np.ndarray:
        """(rows,) int: the pairs of each call that no call had."""
        pair, one, other, sizes = self._pairs(judged)
        return np.asarray((sizes & ~self.seen[pair, one, other]).sum(axis=1))

    def add(self, judged: Judgement) -> None:
        """Take note of calls."""
        pair, one, other, sizes = self._pairs(judged)
        self.seen[np.broadcast_to(pair, sizes.shape)[sizes], one[sizes], other[sizes]] = True
        for place, name in enumerate(self.names):
            self.values |= {(place, value) for value in np.unique(_column(judged, name)).tolist()}

    def _pairs(self, judged: Judgement) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(1, pairs) the number of each pair, (rows, pairs) the places of its sizes, and
        whether they have any.
        """
        none = np.zeros((len(judged.table), 0), dtype=np.int64)
        table = np.column_stack([none, *(_column(judged, name) for name in self.extents)])
        place = np.minimum(np.searchsorted(self.sizes, table), len(self.sizes) - 1)
        size = self.sizes[place] == table
        one, other = place[:, self.first], place[:, self.second]
        both = size[:, self.first] & size[:, self.second]
        return np.arange(len(self.first))[None], one, other, both


def _column(judged: Judgement, name: Reference) -> np.ndarray:
    """(rows,) int64: what calls have under a name, -1 where it has no value; unsigned numbers that
    are larger stand for the largest.
    """
    value, rows = judged.view.get(name), len(judged.table)
    data = np.where(np.asarray(value.bound, dtype=bool), value.data, np.int64(-1))
    return np.broadcast_to(np.minimum(data, np.iinfo(np.int64).max).astype(np.int64), rows)
