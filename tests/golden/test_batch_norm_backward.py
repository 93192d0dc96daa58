"""The gradients of batch normalisation from the definition, channel by channel, and against torch,
in training and outside of it.
"""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.batch_norm_backward import both, depth, golden
from opgen.numerics.bounds import bound
from tests.golden import distance, torch_or_skip

OUTPUTS = ("gradInput", "gradWeight", "gradBias")
SHAPES = [(4, 3), (2, 3, 5), (2, 3, 4, 5), (1, 2, 3, 1, 2, 2), (3, 1, 7), (1, 4, 1)]
Tensors = dict[str, np.ndarray | None]


def drawn(shape: tuple[int, ...], weighted: bool = True) -> Tensors:
    random, batch, channels = np.random.default_rng(3), 2, shape[1]
    tensors = {
        "gradOut": random.standard_normal((batch, *shape)),
        "input": random.standard_normal((batch, *shape)),
        "weight": random.standard_normal((batch, channels)) if weighted else None,
        "runningMean": random.standard_normal((batch, channels)),
        "runningVar": random.uniform(0.1, 2, (batch, channels)),
        "saveMean": random.standard_normal((batch, channels)),
        "saveInvstd": random.uniform(0.5, 2, (batch, channels)),
    }
    return {
        name: None if array is None else array.astype(np.float32).astype(float)
        for name, array in tensors.items()
    }


def by_definition(tensors: Tensors, names: dict[str, float], case: int, real: type) -> list[object]:
    """Lines 34 to 58 of the page, each channel by itself."""
    of = {k: None if a is None else a[case].astype(real) for k, a in tensors.items()}
    dy, x, training = of["gradOut"], of["input"], names["training"]
    found = [np.empty_like(x), np.empty(x.shape[1], real), np.empty(x.shape[1], real)]
    for c in range(x.shape[1]):
        part, inner = dy[:, c], x[:, c]
        weight = real(1) if of["weight"] is None else of["weight"][c]
        if training:
            centred, by = inner - of["saveMean"][c], of["saveInvstd"][c]
        else:
            by = real(1) / np.sqrt(of["runningVar"][c] + real(names["eps"]))
            centred = inner - of["runningMean"][c]
        found[0][:, c] = weight * by * part
        if training:
            rest = part.sum() + centred * by * (part * centred * by).sum()
            found[0][:, c] = weight * by * (part - rest / real(part.size))
        found[1][c] = (part * centred).sum() * by
        found[2][c] = part.sum()
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [1, 0])
@pytest.mark.parametrize("weighted", [True, False])
def test_definition_and_a_device_in_float(
    shape: tuple[int, ...], training: int, weighted: bool
) -> None:
    tensors, names = drawn(shape, weighted), {"training": training, "eps": 0.1}
    values, sizes = both(tensors, names, OUTPUTS)
    for case in range(2):
        exact, device, other = (
            by_definition(tensors, n, case, real)
            for n, real in [
                (names, np.float64),
                (names, np.float32),
                ({**names, "training": 1 - training}, np.float64),
            ]
        )
        for i, name in enumerate(OUTPUTS):
            assert distance(values[name][case], exact[i]) <= 1e-12
            length = depth(names, {"input": shape}, name)
            limit = bound(values[name], sizes[name], length, "FLOAT")[case]
            assert (np.abs(device[i] - values[name][case]) <= limit).all()
            if name != "gradBias":
                assert (np.abs(other[i] - values[name][case]) > limit).any()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [True, False])
def test_torch(shape: tuple[int, ...], training: bool) -> None:
    torch = torch_or_skip()
    tensors, names = drawn(shape), {"training": int(training), "eps": 0.1}
    found = golden(tensors, names, OUTPUTS)
    for case in range(2):
        given = [torch.from_numpy(array[case]) for array in tensors.values()]
        expected = torch.ops.aten.native_batch_norm_backward(*given, training, 0.1, [True] * 3)
        for name, gradient in zip(OUTPUTS, expected, strict=True):
            assert distance(found[name][case], gradient.numpy()) <= 1e-12


def test_eps_counts_outside_of_training_alone() -> None:
    tensors = drawn((2, 3, 4))
    for training in (0, 1):
        one, other = (
            golden(tensors, {"training": training, "eps": eps}, ("gradInput",))["gradInput"]
            for eps in (0.0, 0.5)
        )
        assert np.array_equal(one, other) == bool(training)
