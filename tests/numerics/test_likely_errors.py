"""Errors of every way to add stay below what is likely; those of small wrong factors do not."""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, sqrt

import numpy as np
import pytest

from opgen.numerics.arrays import Array
from opgen.numerics.bounds import bound
from opgen.numerics.fill import draw, keys
from opgen.numerics.input_tensor import InputTensor
from opgen.numerics.likely_errors import RECIPES, likely_error
from opgen.numerics.rounding import rounded
from tests.support.suites import SLOW

OUTPUTS = 1 << 17
"""More than 100,000: of so many correct ones one may be called unusual."""
TURNS = 1 if SLOW else 8
"""Columns of right factors that each column of left ones meets: fewer numbers are drawn."""


def operands(recipe: str, depth: int, outputs: int) -> Array:
    """(depth, outputs) exact products of two drawn factors."""
    known, limits = keys(depth, ["likely"]), (0.0, 1.0) if recipe == "positive" else None
    pair = [
        draw(
            "grid" if recipe == "positive" else recipe,
            known,
            InputTensor(name, (depth, outputs // TURNS), "FLOAT", "FLOAT", depth, range=limits),
        )[0]
        for name in ("left", "right")
    ]
    return np.hstack([pair[0] * np.roll(pair[1], turn, axis=1) for turn in range(TURNS)])


def nearest(values: Array) -> Array:
    return values.astype(np.float32).astype(np.float64)


def cut(values: Array) -> Array:
    """To FLOAT's digits, towards zero."""
    bits = np.ascontiguousarray(values).view(np.int64) & ~np.int64((1 << 29) - 1)
    return bits.view(np.float64)


def sequential(terms: Array, to: Callable[[Array], Array]) -> Array:
    total = np.zeros(terms.shape[1:])
    for term in terms:
        total = to(total + to(term))
    return total


def blocked(terms: Array, to: Callable[[Array], Array]) -> Array:
    blocks = terms.reshape(8, -1, terms.shape[1])
    return sequential(np.stack([sequential(block, to) for block in blocks]), to)


def pairwise(terms: Array, to: Callable[[Array], Array]) -> Array:
    terms = to(terms)
    while len(terms) > 1:
        terms = to(terms[::2] + terms[1::2])
    return np.asarray(terms[0])


@pytest.mark.parametrize("recipe", ["grid", "normal", "wide_exponent", "positive"])
@pytest.mark.parametrize("depth", [32, 256])
def test_no_correct_sum_is_unusual(recipe: str, depth: int) -> None:
    terms = operands(recipe, depth, OUTPUTS)
    golden, magnitude = terms.sum(axis=0), np.abs(terms).sum(axis=0)
    limit = bound(golden, magnitude, depth, "FLOAT").astype(np.float64)
    most = likely_error(limit, golden, magnitude, depth, "FLOAT")
    for add in (sequential, blocked, pairwise):
        for to in (nearest, cut) if recipe in {*RECIPES, "positive"} else (nearest,):
            assert (np.abs(add(terms, to) - golden) <= most).all(), (add, to)
    assert recipe not in RECIPES or np.median(most / limit) < 0.9


def test_roundings_as_large_as_all_terms_together_pass_it_once_in_hundreds_of_billions() -> None:
    """A 1, and then terms whose sums stay near it; what the size of the golden adds to the likely
    share is left aside.
    """
    depth, outputs, random = 4096, 1 << 15, np.random.default_rng(29)
    golden = np.full(outputs, 1 + 2.0**-10)
    device, magnitude = golden.astype(np.float32), golden.copy()
    for _ in range(depth - 1):
        term = random.integers(-(2**16), 2**16, outputs) * 2.0**-36
        golden, magnitude = golden + term, magnitude + np.abs(term)
        device += term.astype(np.float32)
    assert ((golden > 1) & (magnitude < 1.004)).all()
    limit = bound(golden, magnitude, depth, "FLOAT").astype(np.float64)
    most = likely_error(limit, np.zeros(outputs), magnitude, depth, "FLOAT")
    deviations = most.mean() / np.std(device - golden)
    assert 1e11 < 1 / erfc(deviations / sqrt(2)) < 5e11


@pytest.mark.parametrize("recipe", ["grid", "normal"])
def test_long_sums_have_room_and_a_small_factor_is_seen(recipe: str) -> None:
    """Of 4096 terms an error of one in 1000 hides in the bound of every sum, and in what is likely
    of three in five.
    """
    depth = 4096
    terms = operands(recipe, depth, 4096)
    golden, magnitude = terms.sum(axis=0), np.abs(terms).sum(axis=0)
    limit = bound(golden, magnitude, depth, "FLOAT").astype(np.float64)
    most = likely_error(limit, golden, magnitude, depth, "FLOAT")
    right, wrong = sequential(terms, nearest), sequential(terms * 1.001, nearest)
    assert (np.abs(right - golden) <= most / 4).all()
    hidden, usual = (np.abs(wrong - golden) <= limits for limits in (limit, most))
    assert hidden.all() and usual.mean() < 0.7


@pytest.mark.parametrize("output", ["FLOAT16", "BFLOAT16", "FLOAT"])
@pytest.mark.parametrize("through", [None, "FLOAT16"])
def test_the_rounding_of_the_output_is_likely_in_full(output: str, through: str | None) -> None:
    terms = operands("grid", 256, 1 << 14) * 64
    golden, magnitude = terms.sum(axis=0), np.abs(terms).sum(axis=0)
    limit = bound(golden, magnitude, 256, output, through=through).astype(np.float64)
    most = likely_error(limit, golden, magnitude, 256, output, through=through)
    device = rounded(sequential(terms, nearest), through or output)
    assert (np.abs(rounded(device, output) - golden) <= most).all()
    assert (most <= limit).all() and (most < limit).any()


def test_nothing_is_claimed_of_exact_sums_and_of_what_is_not_finite() -> None:
    golden, magnitude = np.array([1.0, np.inf, 3.0, 4.0]), np.array([9.0, np.inf, 9.0, np.inf])
    limit = np.array([0.0, 0.0, np.inf, np.inf])
    assert (likely_error(limit, golden, magnitude, 1000, "FLOAT") == limit).all()


def test_parts_of_complex_outputs_are_by_themselves() -> None:
    golden, magnitude = np.array([1.0 + 9.0j]), np.array([100.0 + 10.0j])
    limit = bound(golden, magnitude, 400, "COMPLEX64").astype(np.complex128)
    most = likely_error(limit, golden, magnitude, 400, "COMPLEX64")
    for part in ("real", "imag"):
        alone = [getattr(array, part) for array in (limit, golden, magnitude)]
        assert np.array_equal(getattr(most, part), likely_error(*alone, 400, "FLOAT"))
