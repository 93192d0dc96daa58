"""The gradient of an embedding's weights against its definition, its adjoint and torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from opgen.golden.embedding_dense_backward import depth, golden, magnitude
from tests.golden import distance, torch_or_skip

Names = dict[str, int]
Tensors = dict[str, np.ndarray]
NONE = 2**64 - 1


def calls(seed: int, count: int) -> Iterator[tuple[Names, Tensors]]:
    random = np.random.default_rng(seed)
    for i in range(count):
        weights, width = (int(random.integers(1, 7)) for _ in range(2))
        rows = tuple(random.integers(1, 4, 1 + i % 3).tolist())
        names = {
            "numWeights": weights,
            "paddingIdx": int(random.integers(0, weights + 1)) if i % 2 else NONE,
            "scaleGradByFreq": i // 2 % 2,
        }
        indices = random.integers(0, weights, (2, *rows)).astype(np.float64)
        yield names, {"grad": random.standard_normal((2, *rows, width)), "indices": indices}


def by_definition(names: Names, tensors: Tensors) -> np.ndarray:
    gradients, indices = tensors["grad"], tensors["indices"]
    out = np.zeros((len(gradients), names["numWeights"], gradients.shape[-1]))
    for case, (gradient, index) in enumerate(zip(gradients, indices, strict=True)):
        words = index.reshape(-1).tolist()
        for row, word in zip(gradient.reshape(len(words), -1), words, strict=True):
            if word != names["paddingIdx"]:
                often = words.count(word) if names["scaleGradByFreq"] else 1
                out[case, int(word)] += row / often
    return out


def run(names: Names, tensors: Tensors) -> np.ndarray:
    return golden(tensors, names, ["out"])["out"]


def test_definition() -> None:
    for names, tensors in calls(1, 300):
        found = run(names, tensors)
        assert distance(found, by_definition(names, tensors)) <= 1e-15
        absolute = {**tensors, "grad": np.abs(tensors["grad"])}
        size = magnitude(tensors, names, ["out"])["out"]
        assert distance(size, by_definition(names, absolute)) <= 1e-15
        rows = tensors["indices"].shape[1:]
        assert depth(names, {"indices": rows}, "out") >= np.prod(rows)
    assert golden(tensors, names, []) == {}


def test_adjoint() -> None:
    """<lookup(weights), grad> = <weights, out>, where nothing is scaled and no row is padding."""
    random = np.random.default_rng(2)
    for names, tensors in calls(2, 100):
        names |= {"scaleGradByFreq": 0, "paddingIdx": NONE}
        weights = random.standard_normal((2, names["numWeights"], tensors["grad"].shape[-1]))
        looked_up = [w[i.astype(int)] for w, i in zip(weights, tensors["indices"], strict=True)]
        forward = float((np.stack(looked_up) * tensors["grad"]).sum())
        assert abs(forward - float((weights * run(names, tensors)).sum())) < 1e-12


@pytest.mark.parametrize("scaled", [0, 1])
def test_a_lost_duplicate_shows(scaled: int) -> None:
    names = {"numWeights": 3, "paddingIdx": 2, "scaleGradByFreq": scaled}
    tensors = {
        "grad": np.array([[[1.0], [2.0], [5.0], [7.0]]]),
        "indices": np.array([[1, 1, 2, 0]]),
    }
    assert run(names, tensors).reshape(-1).tolist() == [7, 1.5 if scaled else 3, 0]


def test_torch() -> None:
    torch = torch_or_skip()
    for names, tensors in calls(3, 200):
        padding = names["paddingIdx"] if names["paddingIdx"] < names["numWeights"] else -1
        for case, found in enumerate(run(names, tensors)):
            expected = torch.ops.aten.embedding_dense_backward(
                torch.from_numpy(tensors["grad"][case]),
                torch.from_numpy(tensors["indices"][case]).long(),
                names["numWeights"],
                padding,
                bool(names["scaleGradByFreq"]),
            )
            assert distance(found, expected.numpy()) <= 1e-15
