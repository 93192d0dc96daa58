"""The gradients of normalisation by the root mean square: from the definition, against torch, and
devices in FLOAT.
"""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.rms_norm_grad import both, golden
from opgen.numerics.bounds import bound
from tests.golden import distance, torch_or_skip

OUTPUTS = ("dxOut", "dgammaOut")
SHAPES = [((2, 3), (4, 5)), ((4,), (7,)), ((2, 1, 3), (1, 4)), ((50,), (300,))]


def drawn(rows: tuple[int, ...], axes: tuple[int, ...]) -> dict[str, np.ndarray]:
    random, batch = np.random.default_rng(3), 2
    tensors = {
        "dy": random.standard_normal((batch, *rows, *axes)),
        "x": random.standard_normal((batch, *rows, *axes)),
        "rstd": random.uniform(0.5, 2, (batch, *rows)),
        "gamma": random.standard_normal((batch, *axes)),
    }
    return {name: array.astype(np.float32).astype(float) for name, array in tensors.items()}


def by_definition(of: dict[str, np.ndarray], case: int, real: type) -> list[np.ndarray]:
    """Row by row, with plain sums."""
    dy, x, rstd, gamma = (of[name][case].astype(real) for name in ("dy", "x", "rstd", "gamma"))
    dx, dgamma = np.zeros_like(x), np.zeros_like(gamma)
    for row in np.ndindex(*rstd.shape):
        normal = x[row] * rstd[row]
        mean = (dy[row] * gamma * normal).sum() / real(gamma.size)
        dx[row] = (dy[row] * gamma - normal * mean) * rstd[row]
        dgamma += dy[row] * normal
    return [dx, dgamma]


@pytest.mark.parametrize(("rows", "axes"), SHAPES)
def test_definition_and_a_device_in_float(rows: tuple[int, ...], axes: tuple[int, ...]) -> None:
    tensors = drawn(rows, axes)
    values, sizes = both(tensors, {}, OUTPUTS)
    other = {**tensors, "rstd": tensors["rstd"] ** 2}
    for case in range(2):
        exact = by_definition(tensors, case, np.float64)
        device = by_definition(tensors, case, np.float32)
        wrong = by_definition(other, case, np.float64)
        for i, name in enumerate(OUTPUTS):
            assert distance(values[name][case], exact[i]) <= 1e-12
            limit = bound(values[name], sizes[name], 1, "FLOAT")[case]
            assert (np.abs(device[i] - values[name][case]) <= limit).all()
            assert (np.abs(wrong[i] - values[name][case]) > limit).mean() > 0.8


@pytest.mark.parametrize(("rows", "axes"), SHAPES)
def test_torch(rows: tuple[int, ...], axes: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    tensors = drawn(rows, axes)
    inner = tuple(range(-len(axes), 0))
    squares = np.square(tensors["x"]).mean(axis=inner)
    tensors["rstd"] = 1 / np.sqrt(squares + 1e-5)
    found = golden(tensors, {}, OUTPUTS)
    for case in range(2):
        at, gamma = (torch.from_numpy(tensors[n][case]).requires_grad_() for n in ("x", "gamma"))
        out = torch.nn.functional.rms_norm(at, axes, gamma, 1e-5)
        out.backward(torch.from_numpy(tensors["dy"][case]))
        for name, gradient in zip(OUTPUTS, (at.grad, gamma.grad), strict=True):
            assert distance(found[name][case], gradient.numpy()) <= 1e-11
