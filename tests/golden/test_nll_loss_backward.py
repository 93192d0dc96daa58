"""The gradient of the negative log likelihood against its definition, and torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from opgen.golden.nll_loss_backward import MEAN, NONE, SUM, golden, magnitude
from tests.golden import distance, torch_or_skip

Names = dict[str, int]
Tensors = dict[str, np.ndarray]


def calls(seed: int, count: int) -> Iterator[tuple[Names, Tensors]]:
    random = np.random.default_rng(seed)
    for i in range(count):
        samples, classes = (int(random.integers(1, 9)) for _ in range(2))
        names = {"C": classes, "reduction": i % 3, "ignoreIndex": int(random.integers(-1, classes))}
        yield (
            names,
            {
                "gradOutput": random.standard_normal((2, samples) if i % 3 == NONE else (2, 1)),
                "target": random.integers(0, classes, (2, samples)).astype(np.float64),
                "weight": random.uniform(0.5, 2, (2, classes)),
                "totalWeight": random.uniform(0.5, 4, (2, 1)),
            },
        )


def by_definition(names: Names, tensors: Tensors) -> np.ndarray:
    cases, samples = tensors["target"].shape
    out = np.zeros((cases, samples, names["C"]))
    for case in range(cases):
        for n in range(samples):
            target = int(tensors["target"][case, n])
            if target == names["ignoreIndex"]:
                continue
            gradient = tensors["gradOutput"][case, n if names["reduction"] == NONE else 0]
            total = tensors["totalWeight"][case, 0] if names["reduction"] == MEAN else 1
            out[case, n, target] = -gradient * tensors["weight"][case, target] / total
    return out


def run(names: Names, tensors: Tensors) -> np.ndarray:
    return golden({**tensors, "self": None}, names, ["out"])["out"]


def test_definition() -> None:
    for names, tensors in calls(1, 300):
        found = run(names, tensors)
        assert distance(found, by_definition(names, tensors)) <= 1e-15
        size = magnitude({**tensors, "self": None}, names, ["out"])["out"]
        assert np.array_equal(size, np.abs(found))
        other = {**names, "reduction": (names["reduction"] + 1) % 3}
        if names["reduction"] == MEAN:
            assert distance(run(other, tensors), found) > 1e-3 or not found.any()


def test_without_a_batch_axis_there_is_one_sample() -> None:
    tensors = {
        "gradOutput": np.array([[3.0]]),
        "target": np.array([1.0]),
        "weight": np.array([[1.0, 2.0, 4.0]]),
        "totalWeight": np.array([[8.0]]),
    }
    names = {"C": 3, "reduction": SUM, "ignoreIndex": -100}
    assert run(names, tensors).tolist() == [[0, -6, 0]]


@pytest.mark.parametrize("foreign", [np.inf, np.nan])
def test_what_is_ignored_is_zero_whatever_the_gradient(foreign: float) -> None:
    for names, tensors in calls(2, 60):
        ignored = tensors["target"] == names["ignoreIndex"]
        tensors["gradOutput"] = np.full_like(tensors["gradOutput"], foreign)
        found = run(names, tensors)
        assert not found[ignored].any() and not np.isfinite(found[~ignored]).all(axis=1).any()


def test_torch() -> None:
    torch = torch_or_skip()
    for names, tensors in calls(3, 200):
        found = run(names, tensors)
        for case in range(2):
            of = {name: torch.from_numpy(array[case]) for name, array in tensors.items()}
            grad = of["gradOutput"] if names["reduction"] == NONE else of["gradOutput"][0]
            expected = torch.ops.aten.nll_loss_backward(
                grad,
                torch.zeros(found.shape[1:], dtype=torch.float64),
                of["target"].to(torch.int64),
                of["weight"],
                names["reduction"],
                names["ignoreIndex"],
                of["totalWeight"][0],
            )
            assert distance(found[case], expected.numpy()) <= 1e-15
