"""Tracked numbers: what a formula in float32 may be wrong by, against what it is wrong by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from opgen.golden import _running_error
from opgen.golden._running_error import Tracked
from opgen.numerics.formats import FORMATS

FORMULAS: dict[str, tuple[Callable[..., object], Callable[..., object]]] = {
    "cancelling": (lambda x, y: (x + y) * (x - y) - x, lambda x, y: (x + y) * (x - y) - x),
    "constants": (
        lambda x, y: 1.702 * x - 0.1 + y,
        lambda x, y: np.float32(1.702) * x - np.float32(0.1) + y,
    ),
    "exp": (lambda x, y: _running_error.exp(x * y) - x, lambda x, y: np.exp(x * y) - x),
    "tanh": (lambda x, y: 1 - _running_error.tanh(x * y), lambda x, y: 1 - np.tanh(x * y)),
    "sigmoid": (
        lambda x, y: _running_error.sigmoid(x - y) * x,
        lambda x, y: x / (1 + np.exp(y - x)),
    ),
    "sum": (lambda x, y: (x * y).sum(1) - x, lambda x, y: (x * y).sum(1, keepdims=True) - x),
    "backwards": (
        lambda x, y: (x * y).sum(1),
        lambda x, y: np.add.accumulate((x * y)[:, ::-1], axis=1)[:, -1:],
    ),
    "where": (
        lambda x, y: (x * y).where(x.value > 0, 0.1),
        lambda x, y: np.where(x > 0, x * y, np.float32(0.1)),
    ),
}


def data(scale: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(scale + 200)
    pair = np.ldexp(random.uniform(-2, 2, (2, 50, 400)), random.integers(-3, 2, (2, 50, 400)))
    x, y = (pair * 2.0**scale).astype(np.float32)
    return x, y


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("scale", [0, -70])
def test_a_device_is_no_further_away_than_its_tracked_error(name: str, scale: int) -> None:
    """With numbers around 1, and with so small ones that products are subnormal and flushed."""
    tracked, single = FORMULAS[name]
    x, y = data(scale)
    found = tracked(*(Tracked.given(a.astype(np.float64)) for a in (x, y)))
    assert isinstance(found, Tracked)
    answer = np.asarray(single(x, y))
    assert answer.dtype == np.float32
    flushed = np.where(np.abs(answer) < FORMATS["FLOAT"].min_normal, 0, answer)
    for device in (answer, flushed):
        apart = np.abs(device.astype(np.float64) - found.value) / FORMATS["FLOAT"].unit
        assert (apart <= found.error * 1.001).all()
    if not scale:
        assert (apart > found.error / 1000).any(), "a bound that nothing comes near says little"


def test_of_several_formulas_the_worst_counts() -> None:
    x = Tracked.given(np.array([-1.5, 8.0]))
    one, other = x / 3 + 0.5, (2 * x + 3) / 6
    found = _running_error.either(one, other)
    assert found.error.tolist() == [one.error[0], other.error[1]]
    assert found.value is one.value and one.error[0] > other.error[0]


def test_an_input_may_be_flushed() -> None:
    tiny = Tracked.given(np.array([2.0**-127, 2.0**-126]))
    assert tiny.error.tolist() == [2.0**-103, 0.0]


def test_of_what_may_overflow_nothing_is_known() -> None:
    large = Tracked.given(np.array([2.0**100, 1.0]))
    assert np.isfinite((large * large * 0.0).error).tolist() == [False, True]
    terms = Tracked.given(np.array([[2.0**127, -(2.0**127)]]))
    assert terms.sum(1).value == 0 and np.isinf(terms.sum(1).error).all()


def test_a_number_of_a_formula_is_rounded_unless_float_holds_it() -> None:
    assert Tracked.of(0.5).error == 0 and Tracked.of(-0.1).error == 0.1
