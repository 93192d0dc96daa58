"""Gathers and their adjoints: small ones against the definition, term by term."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from opgen.golden import _pads, _pools
from opgen.golden._absolute import BOTH, GOLDEN
from opgen.golden._adjoint import Forward
from opgen.golden._gathers import Gather
from tests.golden import distance


def forward_of(gather: Gather, x: np.ndarray) -> np.ndarray:
    """The definition: element by element along the last axis."""
    y = np.zeros((*x.shape[:-1], gather.number))
    for tap, o in np.ndindex(*gather.index.shape):
        if gather.index[tap, o] >= 0:
            weight = 1.0 if gather.weights is None else gather.weights[tap, o]
            y[..., o] += weight * x[..., gather.index[tap, o]]
    return y


def gathers(seed: int, count: int) -> list[Gather]:
    """Of all kinds: any indices, steady ones, runs there and back, with weights and without."""
    random, made = np.random.default_rng(seed), []
    for i in range(count):
        extent, number, taps = (int(n) for n in random.integers(1, 12, 3))
        some = [
            random.integers(-1, extent, (taps, number)),
            np.arange(number) * random.integers(1, 4) + np.arange(-2, taps - 2)[:, None],
            np.abs(np.arange(number)[None] - random.integers(12)),
            np.arange(number)[None] // random.integers(1, 5),
        ][i % 4]
        index = np.where(some < extent, np.maximum(some, -1), -1)
        weights = random.standard_normal(index.shape) if i % 3 == 0 else None
        made.append(Gather(extent, index, weights))
    return made


def test_the_adjoint_of_one_axis() -> None:
    random = np.random.default_rng(1)
    for gather in gathers(1, 160):
        for lead in ((3,), (80, 60)):
            dy = random.standard_normal((*lead, gather.number))
            v = random.standard_normal((*lead, gather.extent))
            got = gather.scatter(dy, len(lead), np.full(v.shape, np.nan))
            assert distance(got, dy @ gather.matrix) < 1e-13
            rows = gather.scatter(dy.T.copy(), 0, np.full(v.T.shape, np.nan))
            assert distance(rows.T, got) < 1e-15
        assert distance(forward_of(gather, v), v @ gather.matrix.T) < 1e-13


def test_an_element_that_meets_one_is_found() -> None:
    seen = 0
    for gather in gathers(2, 400):
        if gather.source is not None:
            seen += 1
            assert np.array_equal(np.eye(gather.number)[gather.source].T, gather.matrix)
        elif gather.weights is None:
            assert (gather.matrix.sum(axis=0) != 1).any()
    assert seen > 20


def test_terms_are_the_most_that_meet() -> None:
    for gather in gathers(3, 400):
        assert gather.terms == max(
            np.count_nonzero(gather.index == i) for i in range(gather.extent)
        )


def test_a_piece_of_an_axis_is_that_of_the_whole() -> None:
    random = np.random.default_rng(4)
    for gather in gathers(4, 400):
        begin, end = sorted(random.integers(0, gather.extent + 1, 2))
        outputs, piece = gather.within(int(begin), int(end))
        assert np.array_equal(piece.matrix, gather.matrix[outputs, begin:end])
        others = np.delete(gather.matrix[:, begin:end], range(gather.number)[outputs], axis=0)
        assert not others.any()


def test_steady_indices_need_few_steps() -> None:
    """Slices, not a Python loop over elements, nor an index where a slice would do."""
    mirrored = Gather(1000, _pads.reflected(np.arange(-300, 1400), 1000)[None])
    assert len(mirrored.steps) == 3
    twice = Gather(500, np.arange(1000)[None] // 2)
    assert len(twice.steps) == 2
    uneven = Gather(300, np.arange(1000)[None] * 3 // 10)
    assert len(uneven.steps) == 4


AXES: dict[str, Callable[[int, int, int], Gather]] = {
    "reflected": lambda n, a, b: _pads._axis(n, a % n, b % n, _pads.reflected),
    "replicated": lambda n, a, b: _pads._axis(n, a, b, _pads.replicated),
    "repeated": lambda n, a, b: _pads._axis(n, a % (n + 1), b % (n + 1), _pads.repeated),
    "windows": lambda n, a, b: _pools._windows(n, a + 1, b + 1, 1 + a % 3, b // 2, True)[0],
    "shares": lambda n, a, b: _pools.shares(n, a + 1)[0],
}
DEFINITIONS: dict[str, Callable[[int, int, int], list[list[int]]]] = {
    "reflected": lambda n, a, b: [
        [[*range(n), *range(n - 2, 0, -1)][o % max(2 * n - 2, 1)]]
        for o in range(-(a % n), n + b % n)
    ],
    "replicated": lambda n, a, b: [[0]] * a + [[i] for i in range(n)] + [[n - 1]] * b,
    "repeated": lambda n, a, b: (
        [[i] for i in [*range(n), *range(n)][n - a % (n + 1) :]] + [[i] for i in range(b % (n + 1))]
    ),
    "windows": lambda n, a, b: [
        [i for i in range(n) if 0 <= i - o * (1 + a % 3) + b // 2 <= b] for o in range(a + 1)
    ],
    "shares": lambda n, a, b: [
        [i for i in range(n) if i * (a + 1) < (o + 1) * n and (i + 1) * (a + 1) > o * n]
        for o in range(a + 1)
    ],
}
"""Kind of axis -> the elements of the axis that each element of the output is a sum of."""


@pytest.mark.parametrize("kind", AXES)
def test_axes_are_those_of_their_definition(kind: str) -> None:
    """All of up to seven elements; a neighbouring one would be seen."""
    for n, a, b in product(range(1, 8), range(7), range(7)):
        wanted = np.zeros((len(DEFINITIONS[kind](n, a, b)), n))
        for o, some in enumerate(DEFINITIONS[kind](n, a, b)):
            np.add.at(wanted[o], some, 1)
        assert np.array_equal(AXES[kind](n, a, b).matrix, wanted), (n, a, b)


def several(seed: int, count: int) -> list[tuple[Forward, np.ndarray]]:
    """Forwards of one to three axes, with divisors and without, and a gradient of each."""
    random, made = np.random.default_rng(seed), []
    some = gathers(seed, 3 * count)
    for i in range(count):
        axes = tuple(some[3 * i : 3 * i + 1 + i % 3])
        numbers = [axis.number for axis in axes]
        divisors = random.integers(1, 9, numbers).astype(np.float64) if i % 2 else None
        made.append((Forward(axes, divisors), random.standard_normal((2, 3, *numbers))))
    return made


def test_axes_together_in_pieces_of_any_size() -> None:
    random = np.random.default_rng(6)
    for forward, dy in several(6, 300):
        want = dy if forward.divisors is None else dy / forward.divisors
        for axis, gather in enumerate(forward.axes):
            want = np.moveaxis(np.moveaxis(want, axis + 2, -1) @ gather.matrix, -1, axis + 2)
        got = forward.adjoint(dy, GOLDEN)
        assert distance(got, np.ascontiguousarray(want)) < 1e-13
        assert distance(forward.adjoint(dy, GOLDEN, int(random.integers(1, 60))), got) < 1e-13
        assert np.array_equal(forward.adjoint(dy[1:], GOLDEN)[0], got[1])


def test_golden_and_magnitude_of_complex_values_by_parts() -> None:
    for forward, dy in several(7, 60):
        if all(axis.weights is None for axis in forward.axes):
            golden, magnitude = np.split(forward.adjoint(dy + 1j * dy[::-1], BOTH), 2)
            real, size = np.split(forward.adjoint(dy, BOTH), 2)
            assert np.array_equal(golden.real, real) and np.array_equal(golden.imag, real[::-1])
            assert distance(magnitude.real, size) < 1e-15
            assert np.array_equal(size, forward.adjoint(np.abs(dy), GOLDEN))
