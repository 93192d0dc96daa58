"""The gradients of a grouped SwiGLU beside those of the unit without quantization, and by torch."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.swiglu_group_quant_grad import both, golden
from opgen.numerics.bounds import bound
from tests.golden import test_swiglu_group_grad as unquantized
from tests.golden import torch_or_skip

OUTPUTS = unquantized.OUTPUTS


@pytest.mark.parametrize(("limit", "same"), [(-1.0, 0.0), (0.7, 0.7)])
def test_a_device_in_float_is_within_the_bound_and_wrong_ones_are_not(
    limit: float, same: float
) -> None:
    """Here, rows of no group have no gradient of a weight either."""
    of = unquantized.inputs(1)
    goldens, sizes = both(of, {"clampLimit": limit}, OUTPUTS)
    limits = [bound(goldens[out], sizes[out], 1, "FLOAT") for out in OUTPUTS]
    right = unquantized.device(of, same, "rows of the weight")
    for out, found, most in zip(OUTPUTS, right, limits, strict=True):
        assert (np.abs(found - goldens[out]) <= most).all(), out
    for fault, place in {"no weight": 0, "first group": 0, "": 1}.items():
        off = np.abs(unquantized.device(of, same, fault)[place] - goldens[OUTPUTS[place]])
        assert (off > limits[place]).any(), fault


@pytest.mark.parametrize("shape", [(6,), (6, 1), (2, 3)])
@pytest.mark.parametrize("limit", [-1.0, 0.7])
def test_torch(limit: float, shape: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(3)
    rows = (2, 3) if shape == (2, 3) else (6,)
    dy = torch.tensor(random.standard_normal((*rows, 5)))
    x = torch.tensor(random.standard_normal((*rows, 10)), requires_grad=True)
    weight = torch.tensor(random.standard_normal(shape), requires_grad=True)
    a, b = x.chunk(2, -1)
    if limit > 0:
        a, b = a.clamp(max=limit), b.clamp(-limit, limit)
    unit = torch.nn.functional.silu(a) * b
    (unit * weight.reshape(*rows, 1)).backward(dy)
    of = {
        "gradY": dy.numpy()[None],
        "x": x.detach().numpy()[None],
        "weightOptional": weight.detach().numpy()[None],
        "yOriginOptional": unit.detach().numpy()[None],
        "groupIndexOptional": None,
    }
    found = golden(of, {"clampLimit": limit}, OUTPUTS)
    for out, tensor in zip(OUTPUTS, (x, weight), strict=True):
        assert found[out].shape == (1, *tensor.shape)
        assert np.abs(found[out][0] - tensor.grad.numpy()).max() <= 1e-12


def test_no_rows_have_no_gradients() -> None:
    """Whose elements an empty tensor does not tell."""
    of = {"gradY": np.zeros((2, 0, 512)), "x": np.zeros((2, 0, 1024))}
    found = golden(of, {"clampLimit": 0.7}, OUTPUTS[:1])
    assert {name: array.shape for name, array in found.items()} == {OUTPUTS[0]: (2, 0, 1024)}
