"""Covering arrays: strength by the independent counter, and that counter by enumeration of every
assignment.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen.numerics.splitmix import SplitMix
from opgen.suite.covering import Model, count, cover, explain
from opgen.suite.covering.counter import CELLS
from opgen.suite.covering.solver import Solver
from opgen.suite.covering.tuples import Tuples


def plain(*counts: tuple[int, int]) -> Model:
    """A model without tables: ``(levels, how many factors)``."""
    return Model(tuple(levels for levels, n in counts for _ in range(n)))


def table(
    levels: dict[str, int], factors: str, rule: Callable[..., bool]
) -> tuple[tuple[int, ...], np.ndarray]:
    names = factors.split()
    shape = [levels[name] for name in names]
    cells = [bool(rule(*values)) for values in product(*map(range, shape))]
    return tuple(list(levels).index(name) for name in names), np.array(cells).reshape(shape)


def convolution() -> Model:
    """Sixteen factors tied like those of a convolution."""
    n = {
        "product": 4,
        "dtype": 3,
        "rank": 3,
        "format": 5,
        "transposed": 2,
        "groups": 3,
        "channels": 4,
        "kernel": 4,
    }
    n |= {
        "stride": 3,
        "padding": 4,
        "dilation": 3,
        "outpad": 3,
        "mask": 7,
        "cube": 4,
        "N": 3,
        "view": 3,
    }
    return Model(
        tuple(n.values()),
        (
            table(n, "format rank", lambda f, r: f // 2 == r if f < 4 else r == 2),
            table(
                n, "groups channels", lambda g, c: (g != 0 or c != 3) and (g != 2 or c in (1, 2))
            ),
            table(n, "outpad transposed", lambda o, t: t == 1 or o == 0),
            table(n, "outpad stride dilation", lambda o, s, d: o < max(s + 1, d + 1)),
            table(
                n,
                "cube dtype product",
                lambda c, d, p: (p, d, c) not in ((0, 1, 0), (0, 1, 3)) and (d < 2 or p > 1),
            ),
            table(n, "padding kernel dilation", lambda p, k, d: p <= k * (d + 1)),
            table(n, "mask transposed", lambda m, t: not (t == 1 and m == 6)),
        ),
    )


def random_model(seed: int, factors: int = 6, tables: int = 5, density: float = 0.6) -> Model:
    draw = np.random.default_rng(seed)
    levels = tuple(int(n) for n in draw.integers(1, 5, factors))
    scopes = [
        tuple(int(f) for f in draw.permutation(factors)[: draw.integers(1, 5)])
        for _ in range(tables)
    ]
    return Model(levels, tuple((s, draw.random([levels[f] for f in s]) < density) for s in scopes))


def assignments(model: Model) -> np.ndarray:
    """Every assignment that the tables allow, by trying all."""
    every = product(*map(range, model.levels))
    return np.array(
        [a for a in every if all(t[tuple(a[f] for f in s)] for s, t in model.tables)], np.int64
    )


def held(rows: np.ndarray, factors: tuple[int, ...], t: int) -> set[tuple[tuple[int, int], ...]]:
    return {
        tuple((f, int(row[f])) for f in combo)
        for combo in combinations(factors, t)
        for row in rows
        if all(row[f] >= 0 for f in combo)
    }


def every_tuple(model: Model, t: int) -> set[tuple[tuple[int, int], ...]]:
    return {
        tuple(zip(combo, values, strict=True))
        for combo in combinations(range(len(model.levels)), t)
        for values in product(*(range(model.levels[f]) for f in combo))
    }


def witnessed(model: Model, t: int) -> int:
    """How many tuples some complete assignment of the solver holds: as many as are feasible."""
    tuples = Tuples(model.levels, list(combinations(range(len(model.levels)), t)))
    return int(tuples.held(Solver(model, SplitMix(0)).witnesses(tuples)).sum())


def check_strength(model: Model, t: int, cells: int = CELLS) -> None:
    """Cover and count agree with the enumeration of all assignments."""
    legal = assignments(model)
    if not len(legal):
        with pytest.raises(ValueError, match="no assignment satisfies the tables"):
            cover(model, t)
        return
    made = cover(model, t)
    factors = tuple(range(len(model.levels)))
    feasible = held(legal, factors, t)
    assert {tuple(row) for row in made.tolist()} <= {tuple(row) for row in legal.tolist()}
    assert held(made, factors, t) == feasible
    (counted,) = count(model, made, t, cells=cells)
    assert counted.missing == []
    assert set(counted.impossible) == every_tuple(model, t) - feasible
    assert counted.totals() == (len(feasible), len(feasible), len(counted.impossible))
    assert witnessed(model, t) == len(feasible)


@pytest.mark.parametrize("t", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(15))
def test_exactly_the_feasible_tuples(seed: int, t: int) -> None:
    check_strength(random_model(seed), t)


@pytest.mark.parametrize("seed", range(15))
def test_tight_models(seed: int) -> None:
    check_strength(random_model(100 + seed, factors=7, tables=9, density=0.55), 2)


@pytest.mark.parametrize("seed", range(12))
def test_large_joins_are_replaced_by_trying_values(seed: int) -> None:
    model = random_model(200 + seed, factors=7, tables=6, density=0.7)
    check_strength(model, 2 + seed % 3, cells=8 if seed < 6 else 100)


def test_refuted_by_search_alone() -> None:
    """Three factors of two values that must all differ: each table is content, together they
    refuse.
    """
    differ = np.array([[[True, True], [True, True]], [[False, True], [True, False]]])
    triangle = tuple(((0, *pair), differ) for pair in combinations((1, 2, 3), 2))
    for t in (1, 2, 3):
        check_strength(Model((2, 2, 2, 2, 3), triangle), t, cells=8)
    assert explain(Model((2, 2, 2, 2), triangle), ((0, 1),)) == (0, 1, 2)
    with pytest.raises(ValueError, match="contradict each other: 0, 1, 2$"):
        cover(Model((2, 2, 2), tuple((pair, differ[1]) for pair in combinations(range(3), 2))))


@given(
    seed=st.integers(0, 10**6),
    factors=st.integers(1, 7),
    tables=st.integers(0, 8),
    density=st.floats(0.3, 0.95),
    t=st.integers(1, 4),
)
@settings(max_examples=40, deadline=None)
def test_any_model(seed: int, factors: int, tables: int, density: float, t: int) -> None:
    check_strength(random_model(seed, factors, tables, density), min(t, factors))


def test_a_row_less_is_noticed() -> None:
    """The counter reports exactly the tuples that only the removed row held."""
    model = convolution()
    rows = cover(model, 2)
    everything = tuple(range(16))
    for gone in range(len(rows)):
        fewer = np.delete(rows, gone, axis=0)
        (tally,) = count(model, fewer, 2)
        assert set(tally.missing) == held(rows, everything, 2) - held(fewer, everything, 2)
    assert tally.missing, "the last row of a greedy array holds a tuple of its own"


def test_a_changed_value_is_noticed() -> None:
    """Nine rows of an orthogonal array hold every pair once: any change loses pairs."""
    model = plain((3, 4))
    rows = np.array([(a, b, (a + b) % 3, (a + 2 * b) % 3) for a in range(3) for b in range(3)])
    assert count(model, rows)[0].totals() == (54, 54, 0)
    for row, factor in product(range(9), range(4)):
        wrong = rows.copy()
        wrong[row, factor] = (wrong[row, factor] + 1) % 3
        assert count(model, wrong)[0].totals() == (51, 54, 0)


def test_unlawful_and_open_rows() -> None:
    """A row that breaks a table counts for nothing; an open value leaves the other tuples."""
    model = Model((2, 2, 2), (((0, 1), np.array([[True, False], [True, True]])),))
    assert count(model, np.array([[0, 1, 0]]))[0].totals() == (0, 11, 1)
    assert count(model, np.array([[0, 1, -1]]))[0].totals() == (0, 11, 1)
    assert count(model, np.array([[0, -1, 1]]))[0].totals() == (1, 11, 1)
    assert count(model, np.array([[0, 0, 1]]))[0].of_factor(2) == (2, 8, 0)


def test_infeasible_through_a_chain() -> None:
    """Tables rule out a pair that none of them binds; explain names the chain and no more."""
    equal = np.eye(3, dtype=bool)
    model = Model(
        (3,) * 6,
        (((4, 5), equal), ((0, 1), equal), ((1, 2), equal), ((2, 3), equal), ((0, 4), ~equal)),
    )
    (tally,) = count(model, cover(model, 2))
    assert tally.infeasible[tally.combinations.tolist().index([0, 3])] == 6
    assert explain(model, ((0, 0), (3, 1))) == (1, 2, 3)
    assert explain(model, ((0, 0), (1, 1))) == (1,)
    assert explain(model, ((0, 0), (3, 0))) == ()
    assert explain(model, ((3, 2), (5, 2))) == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("seed", range(20))
def test_explanations(seed: int) -> None:
    """The named tables suffice, and none can be spared."""
    model = random_model(300 + seed)
    if not len(assignments(model)):
        return
    (tally,) = count(model, np.empty((0, 6), np.int64))
    for values in tally.impossible[:10]:
        named = explain(model, values)

        def left(tables: tuple[int, ...], values: tuple[tuple[int, int], ...] = values) -> bool:
            found = assignments(Model(model.levels, tuple(model.tables[i] for i in tables)))
            return any(all(row[f] == v for f, v in values) for row in found)

        assert named and not left(named)
        assert all(left(tuple(j for j in named if j != i)) for i in named)


def test_seeds_are_counted_first() -> None:
    """What seeds hold is not repeated; unlawful seeds are ignored."""
    model = convolution()
    everything = tuple(range(16))
    whole = cover(model, 2)
    assert len(cover(model, 2, seeds=whole)) == 0
    seeds = whole[:20].copy()
    seeds[3, 4], seeds[3, 11] = 0, 2  # outputPadding without transposed
    seeds[7, 5:] = -1
    seeds[9, [4, 11]] = 0, 2
    seeds[9, 12:] = -1
    more = cover(model, 2, seeds=seeds)
    used = np.delete(seeds, [3, 9], axis=0)
    assert held(more, everything, 2) | held(used, everything, 2) == held(whole, everything, 2)
    assert 10 < len(more) < len(whole)
    covered, feasible, _ = count(model, np.concatenate([used, more]))[0].totals()
    assert covered == feasible


def test_budget_takes_the_best_rows() -> None:
    model = convolution()
    whole, part, none = (cover(model, 2, budget=budget) for budget in (None, 18, 0))
    assert (part == whole[:18]).all() and none.shape == (0, 16)
    covered, feasible, _ = count(model, part)[0].totals()
    assert 0.8 * feasible < covered < feasible


def test_mixed_strength() -> None:
    """More strength among some factors, with and without tables; groups may overlap."""
    model = convolution()
    groups = [((4, 8, 10, 11), 4), ((0, 1, 13, 12), 3), ((1,), 2)]
    made = cover(model, 2, groups=groups)
    counted = count(model, made, 2, groups)
    legal = assignments(Model((4, 3, 4), tuple((s, model.tables[4][1]) for s in [(2, 1, 0)])))
    assert all(tally.totals()[0] == tally.totals()[1] for tally in counted)
    assert [(t.factors, t.strength) for t in counted[1:]] == [
        ((4, 8, 10, 11), 4),
        ((0, 1, 12, 13), 3),
        ((1,), 1),
    ]
    assert len(held(made, (0, 1, 13), 3)) == len(legal)
    assert len(cover(model, 1, groups=[((0, 1), 2)])) < 15


def test_the_same_everywhere() -> None:
    """Equal arguments give equal rows, in another process with other hashes too; another state
    gives others.
    """
    model = convolution()
    assert (cover(model, 2) == cover(model, 2)).all()
    other = cover(model, 2, random_state=1)
    assert other.shape != cover(model, 2).shape or (other != cover(model, 2)).any()
    code = "from tests.suite.test_covering import *; print(cover(convolution(), 2).tolist())"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[2],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert found == {f"{cover(model, 2).tolist()}\n"}


def test_splitmix_reference() -> None:
    """The published first outputs for seed 1234567."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    stream = SplitMix(1234567)
    assert [int(n) for n in stream.draw(3)] + [int(n) for n in stream.draw(1)] == published
    assert sorted(stream.shuffled(50).tolist()) == list(range(50))


def test_tables_that_contradict_each_other_are_named() -> None:
    no = np.zeros((2, 2), bool)
    with pytest.raises(ValueError, match=r"contradict each other: 1$"):
        cover(Model((2, 2, 2), (((0, 1), ~no), ((1, 2), no))))
    equal = np.eye(2, dtype=bool)
    with pytest.raises(ValueError, match=r"contradict each other: 0, 1, 3$"):
        cover(
            Model(
                (2, 2, 2),
                (((0, 1), equal), ((1, 2), equal), ((0,), np.ones(2, bool)), ((2, 0), ~equal)),
            )
        )


# Rows that Microsoft PICT needs: as published at pairwise.org, and as measured with PICT 3.7.4 for
# 4^10, 2^20 and the convolution model; and the product of the largest level counts, below which no
# array can be.
PICT = [
    (plain((3, 4)), 2, 9, 9),
    (plain((3, 13)), 2, 20, 9),
    (plain((4, 10)), 2, 31, 16),
    (plain((10, 20)), 2, 212, 100),
    (plain((4, 15), (3, 17), (2, 29)), 2, 37, 16),
    (plain((4, 1), (3, 39), (2, 35)), 2, 27, 12),
    (plain((2, 100)), 2, 15, 4),
    (plain((2, 20)), 3, 28, 8),
    (convolution(), 2, 44, 28),
    (convolution(), 3, 233, 112),
]


@pytest.mark.parametrize(("model", "t", "pict", "least"), PICT)
def test_as_short_as_pict(model: Model, t: int, pict: int, least: int) -> None:
    """Within 15 % of PICT's row count, above the number of feasible tuples of the largest
    combination.
    """
    made = cover(model, t)
    (counted,) = count(model, made, t)
    assert (counted.covered == counted.feasible).all()
    assert least <= max(counted.feasible) <= len(made) <= 1.15 * pict


def test_large_tables_and_many_levels() -> None:
    """A factor of 60 levels and a table of 90,000 cells; the pairs of the two largest factors set
    the rows.
    """
    levels = (60, 5, 4, 5, 5, 3, 20, 6, 4, 3, 3, 2, 5, 4)
    grid = np.indices((60, 5, 4, 5, 5, 3), sparse=True)
    allowed = grid[0] // 10 + grid[1] + grid[2] <= 3 + grid[3] + grid[4] + 2 * grid[5]
    model = Model(
        levels, (((0, 1, 2, 3, 4, 5), allowed), ((5, 6), np.indices((3, 20)).sum(axis=0) % 5 > 0))
    )
    made = cover(model, 2, budget=60)
    (counted,) = count(model, made)
    assert counted.totals()[1] == witnessed(model, 2)
    assert counted.infeasible.sum() > 0
