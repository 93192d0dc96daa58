"""The gradient of the sigmoid against torch, Python's complex numbers, and float32."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.sigmoid_backward import depth, golden, magnitude
from opgen.numerics.bounds import bound
from tests.golden import torch_or_skip

SHAPES = [((4, 5), (4, 5)), ((3, 1, 5), (4, 1)), ((), (2, 3))]


def drawn(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], complex_: bool = False
) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    parts = [random.uniform(-2, 2, (2, 2, *shape)) for shape in shapes]
    single = [part.astype(np.float32).astype(np.float64) for part in parts]
    arrays = [part[0] + 1j * part[1] if complex_ else part[0] for part in single]
    return dict(zip(("gradOutput", "output"), arrays, strict=True))


def result(batch: dict[str, np.ndarray]) -> np.ndarray:
    return golden(batch, {}, ["gradInput"])["gradInput"]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("complex_", [False, True])
def test_every_element_is_the_formula(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], complex_: bool
) -> None:
    batch = drawn(shapes, complex_)
    found = result(batch)
    for case in range(2):
        a, b = np.broadcast_arrays(batch["gradOutput"][case], batch["output"][case])
        assert found[case].shape == a.shape
        for place in np.ndindex(a.shape):
            dy, y = a[place].item(), b[place].item()
            assert abs(found[case][place] - dy * y * (1 - y)) <= 1e-13


def test_torch() -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    dy, x = torch.from_numpy(random.standard_normal((2, 3, 50)))
    at = x.clone().requires_grad_()
    torch.sigmoid(at).backward(dy)
    batch = {"gradOutput": dy.numpy(), "output": torch.sigmoid(x).numpy()}
    assert np.abs(result(batch) - at.grad.numpy()).max() <= 1e-12


FORMULAS = [
    lambda dy, y: dy * y * (1 - y),
    lambda dy, y: dy * (y * (1 - y)),
    lambda dy, y: dy * (y - y * y),
    lambda dy, y: (1 - y) * dy * y,
]


@pytest.mark.parametrize("complex_", [False, True])
def test_devices_in_float32_stay_inside_and_wrong_ones_do_not(complex_: bool) -> None:
    batch = drawn(((5000,), (5000,)), complex_)
    found = result(batch)
    sizes = magnitude(batch, {}, ["gradInput"])["gradInput"]
    dtype = "COMPLEX64" if complex_ else "FLOAT"
    limit = bound(found, sizes, depth({}, {}, "gradInput"), dtype)
    single = np.complex64 if complex_ else np.float32
    dy, y = batch["gradOutput"].astype(single), batch["output"].astype(single)

    def outside(answer: np.ndarray) -> int:
        wide = answer.astype(found.dtype)
        parts = [(wide.real - found.real, limit.real), (wide.imag - found.imag, limit.imag)]
        return sum(int((np.abs(error) > most).sum()) for error, most in parts[: 1 + complex_])

    for formula in FORMULAS:
        assert outside(formula(dy, y)) == 0
    assert outside(dy * y) > 9000 and outside(dy * y * (1 + y)) > 9000
    if complex_:
        assert outside(dy * np.conj(y * (1 - y))) > 9000
    assert (np.abs(limit) < 2.0**-20 * np.abs(sizes)).all()
