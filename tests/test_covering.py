"""Covering arrays: strength by the independent counter, and that counter by enumeration of every assignment."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen.covering import Model, count, cover, explain


def plain(*counts: tuple[int, int]) -> Model:
    """A model without tables: ``(levels, how many factors)``."""
    return Model(tuple(levels for levels, n in counts for _ in range(n)))


def random_model(seed: int, factors: int = 6, tables: int = 5, density: float = 0.6) -> Model:
    draw = np.random.default_rng(seed)
    levels = tuple(int(n) for n in draw.integers(1, 5, factors))
    scopes = [tuple(int(f) for f in draw.permutation(factors)[: draw.integers(1, 5)]) for _ in range(tables)]
    return Model(levels, tuple((s, draw.random([levels[f] for f in s]) < density) for s in scopes))


def assignments(model: Model) -> np.ndarray:
    """Every assignment that the tables allow, by trying all."""
    every = product(*map(range, model.levels))
    return np.array([a for a in every if all(t[tuple(a[f] for f in s)] for s, t in model.tables)], np.int64)


def held(rows: np.ndarray, factors: tuple[int, ...], t: int) -> set[tuple[tuple[int, int], ...]]:
    return {
        tuple((f, int(row[f])) for f in combo)
        for combo in combinations(factors, t)
        for row in rows
        if all(row[f] >= 0 for f in combo)
    }


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("t", [1, 2, 3, 4])
def test_exactly_the_feasible_tuples(seed: int, t: int) -> None:
    model = random_model(seed)
    legal = assignments(model)
    if not len(legal):
        with pytest.raises(ValueError, match="no assignment satisfies"):
            cover(model, t)
        return
    made = cover(model, t)
    everything = tuple(range(len(model.levels)))
    assert held(made.rows, everything, t) == held(legal, everything, t)
    (counted,) = count(model, made.rows, t)
    assert made.complete
    assert counted.totals() == made.tallies[0].totals()
