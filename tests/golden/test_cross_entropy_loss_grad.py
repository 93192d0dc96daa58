"""The gradient of the cross entropy against its definition, torch, and devices in float32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import pytest

from opgen.golden.cross_entropy_loss_grad import both, golden, saved
from tests.golden import distance, torch_or_skip

Names: TypeAlias = dict[str, int | str]
Tensors: TypeAlias = "dict[str, np.ndarray | None]"
WAYS = ("none", "mean", "sum")
UNIT = 2.0**-24


def calls(seed: int, count: int) -> Iterator[tuple[Names, Tensors]]:
    """Two cases each, of numbers that FLOAT holds; some samples are ignored, some weights 1."""
    random = np.random.default_rng(seed)
    for i in range(count):
        samples, classes = (int(random.integers(1, 9)) for _ in range(2))
        names = {
            "C": classes,
            "reductionOptional": WAYS[i % 3],
            "ignoreIndex": int(random.integers(-1, classes)),
        }
        result = saved({"logProb": random.normal(size=(2, samples, classes)) * 8}, names)["logProb"]
        tensors: Tensors = {
            "gradLoss": random.standard_normal((2, samples) if i % 3 == 0 else (2,)),
            "logProb": result,
            "target": random.integers(0, classes, (2, samples)).astype(np.float64),
            "weightOptional": random.uniform(0.5, 2, (2, classes)) if i % 2 else None,
        }
        held = {n: None if t is None else t.astype(np.float32) for n, t in tensors.items()}
        yield names, {n: None if t is None else t.astype(np.float64) for n, t in held.items()}


def by_definition(names: Names, tensors: Tensors, dtype: type = np.float64) -> np.ndarray:
    """Sample by sample, in some precision; the softmax and 1 are subtracted first."""
    given = {n: None if t is None else t.astype(dtype) for n, t in tensors.items()}
    grad, log_prob, target = (given[n] for n in ("gradLoss", "logProb", "target"))
    assert grad is not None and log_prob is not None and target is not None
    weights = given["weightOptional"]
    out = np.zeros_like(log_prob)
    for case, of in enumerate(target.astype(int).tolist()):
        each = [dtype(1) if weights is None else weights[case, c] for c in of]
        total = sum(w for w, c in zip(each, of, strict=True) if c != names["ignoreIndex"])
        for n, (weight, c) in enumerate(zip(each, of, strict=True)):
            if c != names["ignoreIndex"]:
                factor = grad[case] if grad.ndim == 1 else grad[case, n]
                factor = factor / total if names["reductionOptional"] == "mean" else factor
                one_hot = np.arange(log_prob.shape[2]) == c
                out[case, n] = (np.exp(log_prob[case, n]) - one_hot.astype(dtype)) * factor * weight
    return out


def run(names: Names, tensors: Tensors) -> np.ndarray:
    return golden(tensors, names, ["out"])["out"]


def test_definition() -> None:
    for names, tensors in calls(1, 300):
        found = run(names, tensors)
        assert distance(found, by_definition(names, tensors)) <= 1e-13


def test_devices_of_single_precision_stay_inside_the_bound_and_a_wrong_one_does_not() -> None:
    beyond = 0
    for names, tensors in calls(2, 300):
        exact, size = (each["out"] for each in both(tensors, names, ["out"]))
        device = by_definition(names, tensors, np.float32)
        assert (np.abs(device - exact) <= size * UNIT).all()
        wrong = {**tensors, "logProb": tensors["logProb"] * np.float32(1.001)}  # type: ignore[operator]
        beyond += (np.abs(by_definition(names, wrong, np.float32) - exact) > size * UNIT).any()
    assert beyond > 200


@pytest.mark.parametrize("foreign", [np.inf, np.nan])
def test_of_what_is_ignored_any_value_may_come_of_inf_and_nan(foreign: float) -> None:
    names = {"C": 2, "reductionOptional": "none", "ignoreIndex": 1}
    tensors: Tensors = {
        "gradLoss": np.array([[foreign, 2.0]]),
        "logProb": np.log(np.full((1, 2, 2), 0.5)),
        "target": np.array([[1.0, 1.0]]),
        "weightOptional": None,
    }
    found, size = (each["out"][0] for each in both(tensors, names, ["out"]))
    assert not found.any() and np.isinf(size[0]).all() and (size[1] < 1).all()


def test_torch() -> None:
    torch = torch_or_skip()
    for names, tensors in calls(3, 200):
        found = run(names, tensors)
        of = {n: None if t is None else torch.from_numpy(t) for n, t in tensors.items()}
        for case in range(2):
            target = of["target"][case].long()
            weight = None if of["weightOptional"] is None else of["weightOptional"][case]
            how = WAYS.index(str(names["reductionOptional"])), names["ignoreIndex"]
            rest = (of["logProb"][case], target, weight, *how)
            total = torch.ops.aten.nll_loss_forward(*rest)[1]
            if not total:
                continue
            inner = torch.ops.aten.nll_loss_backward(of["gradLoss"][case], *rest, total)
            expected = torch.ops.aten._log_softmax_backward_data(
                inner, of["logProb"][case], 1, torch.float64
            )
            assert distance(found[case], expected.numpy()) <= 1e-13
