"""The gradients of layer normalisation against torch, and from the definition, place by place."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.layer_norm_backward import both, depth, golden, magnitude
from tests.golden import torch_or_skip

OUTPUTS = ("gradInputOut", "gradWeightOut", "gradBiasOut")
SHAPES = [((2, 3), (4, 5)), ((), (6,)), ((3,), (7,)), ((2, 1, 3), (1, 4))]


def drawn(
    rows: tuple[int, ...], axes: tuple[int, ...], scaled: bool = True
) -> dict[str, np.ndarray | None]:
    random, batch = np.random.default_rng(3), 2
    ones = (1,) * len(axes)
    return {
        "gradOut": random.standard_normal((batch, *rows, *axes)),
        "input": random.standard_normal((batch, *rows, *axes)),
        "mean": random.standard_normal((batch, *rows, *ones)),
        "rstd": random.uniform(0.5, 2, (batch, *rows, *ones)),
        "weightOptional": random.standard_normal((batch, *axes)) if scaled else None,
        "biasOptional": None,
    }


def named(axes: tuple[int, ...]) -> dict[str, int]:
    return {f"R{i}": extent for i, extent in enumerate(axes, 1)}


@pytest.mark.parametrize(("rows", "axes"), SHAPES)
@pytest.mark.parametrize("scaled", [True, False])
def test_the_definition(rows: tuple[int, ...], axes: tuple[int, ...], scaled: bool) -> None:
    """The formulas of the page, lines 34 to 58, each sum by itself."""
    tensors = drawn(rows, axes, scaled)
    found = golden(tensors, named(axes), OUTPUTS)
    for case in range(2):
        dy, x, mean, rstd, weight, _ = (None if a is None else a[case] for a in tensors.values())
        xhat = (x - mean) * rstd
        h = dy * (1 if weight is None else weight)
        inner = tuple(range(len(rows), len(rows) + len(axes)))
        outer = tuple(range(len(rows)))
        count = np.prod(axes)
        first = h.sum(axis=inner, keepdims=True) / count
        second = xhat * (h * xhat).sum(axis=inner, keepdims=True) / count
        expected = ((h - first - second) * rstd, (dy * xhat).sum(axis=outer), dy.sum(axis=outer))
        for name, gradient in zip(OUTPUTS, expected, strict=True):
            assert found[name][case].shape == gradient.shape
            assert np.abs(found[name][case] - gradient).max() <= 1e-12


@pytest.mark.parametrize(("rows", "axes"), SHAPES)
def test_torch(rows: tuple[int, ...], axes: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    tensors = drawn(rows, axes)
    x = torch.from_numpy(tensors["input"])
    inner = tuple(range(-len(axes), 0))
    tensors["mean"] = x.mean(dim=inner, keepdim=True).numpy()
    variance = x.var(dim=inner, unbiased=False, keepdim=True)
    tensors["rstd"] = (1 / torch.sqrt(variance + 1e-5)).numpy()
    found = golden(tensors, named(axes), OUTPUTS)
    for case in range(2):
        at, weight = (
            torch.from_numpy(tensors[name][case]).requires_grad_()
            for name in ("input", "weightOptional")
        )
        bias = torch.zeros(axes, dtype=torch.float64, requires_grad=True)
        out = torch.nn.functional.layer_norm(at, axes, weight, bias, 1e-5)
        out.backward(torch.from_numpy(tensors["gradOut"][case]))
        for name, gradient in zip(OUTPUTS, (at.grad, weight.grad, bias.grad), strict=True):
            assert np.abs(found[name][case] - gradient.numpy()).max() <= 1e-11


def test_magnitudes_are_no_smaller_than_goldens_and_both_agree() -> None:
    tensors, names = drawn((2, 3), (4, 5)), named((4, 5))
    values, sizes = golden(tensors, names, OUTPUTS), magnitude(tensors, names, OUTPUTS)
    together = both(tensors, names, OUTPUTS)
    for name in OUTPUTS:
        assert (sizes[name] >= np.abs(values[name]) * (1 - 1e-12)).all()
        assert np.array_equal(together[0][name], values[name])
        assert np.array_equal(together[1][name], sizes[name])


def test_depth_is_the_length_of_the_sums() -> None:
    shapes = {"input": (2, 3, 4, 5)}
    assert [depth(named((4, 5)), shapes, name) for name in OUTPUTS] == [30, 9, 6]
