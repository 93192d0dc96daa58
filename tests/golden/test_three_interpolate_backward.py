"""The gradient of three-point interpolation, term by term, and by torch's own derivative of it."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.three_interpolate_backward import depth, golden, magnitude
from tests.golden import distance, torch_or_skip

SIZES = [(2, 3, 5, 4), (1, 1, 7, 1), (3, 2, 4, 30)]


@pytest.mark.parametrize("behind", [(), (1,)])
@pytest.mark.parametrize(("b", "c", "n", "m"), SIZES)
def test_each_term_goes_to_its_index(
    b: int, c: int, n: int, m: int, behind: tuple[int, ...]
) -> None:
    random = np.random.default_rng(1)
    dy = random.standard_normal((2, b, c, n, *behind))
    idx, weight = random.integers(0, m, (2, b, n, 3)), random.standard_normal((2, b, n, 3))
    expected, counts = np.zeros((2, b, c, m, *behind)), np.zeros((2, b, m), dtype=int)
    for case, i, j, k in np.ndindex(2, b, n, 3):
        at = idx[case, i, j, k]
        counts[case, i, at] += 1
        expected[case, i, :, at] += dy[case, i, :, j] * weight[case, i, j, k]
    names = {"b": b, "c": c, "n": n, "M": m, "m": m}
    of = {"grad_x": dy, "idx": idx.astype(float), "weight": weight}
    out = golden(of, names, ["grad_y"])["grad_y"]
    size = magnitude(of, names, ["grad_y"])["grad_y"]
    assert distance(out, expected) <= 1e-14 and (np.abs(out) <= size * (1 + 1e-12)).all()
    assert counts.max() < depth(names, {"idx": (b, n, 3)}, "grad_y")
    wrong = golden({**of, "weight": weight[..., ::-1]}, names, ["grad_y"])["grad_y"]
    assert m == 1 or distance(wrong, expected) > 1e-6
    torch = torch_or_skip()
    leaf = torch.zeros(2, b, c, m, dtype=torch.float64, requires_grad=True)
    rows = torch.from_numpy(idx)[:, :, None].expand(2, b, c, n, 3).flatten(-2)
    read = leaf.gather(-1, rows).unflatten(-1, (n, 3)) * torch.from_numpy(weight)[:, :, None]
    read.sum(-1).backward(torch.from_numpy(dy.reshape(2, b, c, n)))
    assert distance(out.reshape(2, b, c, m), leaf.grad.numpy()) <= 1e-14
