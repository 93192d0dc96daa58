"""Functions in float64: within 0.51 units of mpmath's in the last place, C's answers at special
values, and the same bits on every processor.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from opgen.numerics import functions
from tests.support.processors import levels
from tests.support.suites import SLOW

mpmath = pytest.importorskip("mpmath")
MANY = 1_000_000 if SLOW else 3000
SMALLEST = 2.0**-1074
SPECIAL = [0.0, 1.0, 2.0, 3.0, 0.5, 1e-20, 750.0, 709.79, 745.2, 2.0**53, 1.7e308, 2.3e-308]
SPECIAL += [SMALLEST, math.inf]
SPECIAL += [-value for value in SPECIAL] + [math.nan]


def both_signs(low: float, high: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Numbers whose size is log-uniform between two limits."""

    def draw(rng: np.random.Generator, count: int) -> np.ndarray:
        size = np.exp(rng.uniform(math.log(low), math.log(high), count))
        return size * rng.choice([-1.0, 1.0], count)

    return draw


def between(low: float, high: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, count: rng.uniform(low, high, count)


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


TRUTH = {
    "exp": (mpmath.exp, [between(-708, 709), between(-1, 1), both_signs(1e-30, 700)]),
    "log": (mpmath.log, [between(0, 3), between(0.99, 1.01), between(0, 1e308)]),
    "log1p": (mpmath.log1p, [between(-1, 3), both_signs(1e-300, 0.99), between(0, 1e308)]),
    "sigmoid": (sigmoid, [between(-708, 40), between(-3, 3), both_signs(1e-300, 700)]),
    "tanh": (mpmath.tanh, [between(-20, 20), between(-1, 1), both_signs(1e-300, 20)]),
    "erf": (mpmath.erf, [between(-6, 6), between(-0.1, 0.1), both_signs(1e-300, 6)]),
}
"""Function -> mpmath's, and where to draw its arguments."""


def units(value: float, true: object) -> float:
    """How far a value is from the truth, in units of its last place."""
    unit = mpmath.mpf(2) ** max(int(mpmath.floor(mpmath.log(abs(true), 2))) - 52, -1074)
    return float(abs(mpmath.mpf(value) - true) / unit)


@pytest.mark.parametrize("name", TRUTH)
def test_the_last_rounding_is_nearly_all_of_the_error(name):
    truth, draws = TRUTH[name]
    rng = np.random.default_rng(len(name))
    x = np.concatenate([draw(rng, MANY // len(draws)) for draw in draws])
    with mpmath.workprec(160):
        for argument, value in zip(x.tolist(), getattr(functions, name)(x).tolist(), strict=True):
            true = truth(mpmath.mpf(argument))
            assert value == true or units(value, true) < 0.51, argument


def test_powers():
    rng = np.random.default_rng(8)
    half = MANY // 2
    x = np.concatenate([both_signs(1e-9, 1e9)(rng, half), between(0.9, 1.1)(rng, half)])
    y = np.concatenate([between(-30, 30)(rng, half), between(-3000, 3000)(rng, half)])
    y = np.where(x < 0, np.rint(y), y)
    with mpmath.workprec(160):
        for a, b, value in zip(x.tolist(), y.tolist(), functions.power(x, y).tolist(), strict=True):
            assert units(value, mpmath.mpf(a) ** mpmath.mpf(b)) < 0.51, (a, b)


def test_subnormal_results_are_one_of_the_two_neighbours():
    x = np.linspace(-745.2, -708.4, 500)
    with mpmath.workprec(160):
        for name, truth in [("exp", mpmath.exp), ("sigmoid", sigmoid)]:
            for a, value in zip(x.tolist(), getattr(functions, name)(x).tolist(), strict=True):
                assert units(value, truth(mpmath.mpf(a))) < 1, (name, a)
        tiny = both_signs(SMALLEST, 1e-300)(np.random.default_rng(1), 500)
        for a, value in zip(tiny.tolist(), functions.erf(tiny).tolist(), strict=True):
            assert units(value, mpmath.erf(mpmath.mpf(a))) < 1, a


def c_answer(function: Callable[..., float], *arguments: float) -> float:
    """What C99 answers, of which Python makes exceptions where it overflows or divides by 0."""
    try:
        return function(*arguments)
    except (OverflowError, ZeroDivisionError, ValueError):
        with np.errstate(all="ignore"):
            name = {math.pow: "power"}.get(function, function.__name__)
            return float(getattr(np, name)(*arguments))


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def alike(value: float, true: float) -> bool:
    """The same number, or one within two units; the signs of zeros count."""
    if math.isnan(true) or math.isinf(true) or true == 0:
        return str(value) == str(true)
    return abs(value - true) <= 2 * math.ulp(true)


@pytest.mark.parametrize(
    ("name", "truth"),
    [(name, getattr(math, name)) for name in ("exp", "log", "log1p", "tanh", "erf")]
    + [("sigmoid", logistic)],
)
def test_special_values(name, truth):
    for x, value in zip(SPECIAL, getattr(functions, name)(np.array(SPECIAL)).tolist(), strict=True):
        assert alike(value, c_answer(truth, x)), x


def test_special_values_of_powers():
    x, y = (list(column) for column in zip(*product(SPECIAL, SPECIAL), strict=True))
    values = functions.power(np.array(x), np.array(y)).tolist()
    for a, b, value in zip(x, y, values, strict=True):
        assert alike(value, c_answer(math.pow, a, b)), (a, b)


def test_any_shape_and_no_warning():
    x = np.linspace(-2, 2, 24).reshape(2, 3, 4)[:, ::-1]
    with np.errstate(all="raise"):
        assert np.array_equal(functions.exp(x), functions.exp(x.ravel()).reshape(x.shape))
        assert functions.exp(np.float64(1e9)).shape == ()
        assert functions.power(x[..., :1], x).shape == x.shape


PROGRAM = """
import hashlib, numpy as np
from opgen.numerics import functions
from tests.support.processors import levels
x = np.linspace(-30, 30, 100_001)
print(hashlib.sha256(b"".join(
    getattr(functions, name)(np.abs(x) if name == "log" else x).tobytes()
    for name in ("exp", "log", "log1p", "sigmoid", "tanh", "erf")
)).hexdigest(), hashlib.sha256(np.exp(x).tobytes()).hexdigest())
"""


def test_the_same_bits_with_and_without_vector_instructions():
    """The exponential of numpy shows that hiding instructions changes bits at all."""
    ours, numpys = set(), set()
    for hidden in levels():
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"NPY_DISABLE_CPU_FEATURES": hidden},
            capture_output=True,
            text=True,
            check=True,
        )
        digest, other = run.stdout.split()
        ours.add(digest)
        numpys.add(other)
    assert len(ours) == 1
    assert len(numpys) > 1 or len(levels()) < 3
