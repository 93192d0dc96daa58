"""The gradient of exponentials of segment sums: term by term, and by torch from the forward."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.exp_segsum_backward import depth, golden, magnitude, places
from opgen.numerics.bounds import bound
from tests.golden import torch_or_skip

SHAPES = [(2, 3, 5, 5), (1, 2, 2, 9, 9), (1, 1, 1, 1), (2, 1, 0, 0)]


def naive(dy: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Each product goes to every element of its segment."""
    result = np.zeros(dy.shape[:-1])
    for *where, row, column in np.ndindex(*dy.shape):
        for i in range(column + 1, row + 1):
            result[(*where, i)] += dy[(*where, row, column)] * y[(*where, row, column)]
    return result


def pair(shape: tuple[int, ...], cases: int = 2) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    return random.standard_normal((cases, *shape)), np.exp(random.standard_normal((cases, *shape)))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_product_reaches_its_segment(shape: tuple[int, ...]) -> None:
    dy, y = pair(shape)
    tensors = {"gradOutput": dy, "gradSelf": y}
    found, sizes = (f(tensors, {}, ["gradInput"])["gradInput"] for f in (golden, magnitude))
    for case in range(2):
        assert np.abs(found[case] - naive(dy[case], y[case])).max(initial=0) <= 1e-12
        assert np.abs(sizes[case] - naive(np.abs(dy[case]), y[case])).max(initial=0) <= 1e-12


def test_what_is_not_below_the_diagonal_has_no_part() -> None:
    dy, y = pair((1, 2, 4, 4))
    kept = np.zeros(dy[0].size, dtype=bool)
    kept[places({}, {"gradOutput": dy.shape[1:]}, ["gradInput"], True)] = True
    foreign = np.where(kept.reshape(dy.shape[1:]), dy, np.nan)
    right = golden({"gradOutput": dy, "gradSelf": y}, {}, ["gradInput"])["gradInput"]
    found = golden({"gradOutput": foreign, "gradSelf": y}, {}, ["gradInput"])["gradInput"]
    assert kept.sum() == 2 * 6 and found.tobytes() == right.tobytes()


def test_a_device_in_float_is_within_the_bound_and_wrong_ones_are_not() -> None:
    dy, y = (a.astype(np.float32) for a in pair((2, 2, 33, 33), 1))
    tensors = {"gradOutput": dy.astype(float), "gradSelf": y.astype(float)}
    right, sizes = (f(tensors, {}, ["gradInput"])["gradInput"] for f in (golden, magnitude))
    limit = bound(right, sizes, depth({}, {"gradOutput": dy.shape[1:]}, "gradInput"), "FLOAT")

    def device(first: int, second: int) -> np.ndarray:
        """Masks that begin at a diagonal."""
        terms = np.tril(dy * y, first)
        ends = np.cumsum(terms[..., ::-1, :], -2, dtype=np.float32)[..., ::-1, :]
        return np.tril(ends, second).sum(-1, dtype=np.float32)

    assert (np.abs(device(-1, -1) - right) <= limit).all()
    for masks in [(0, -1), (-1, 0), (-2, -1), (-1, -2)]:
        wrong = np.abs(device(*masks) - right) > limit
        assert wrong.any() == (masks != (0, -1)), masks  # the diagonal is masked a second time


@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 2, 2, 9)])
def test_torch(shape: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    x = torch.tensor(np.random.default_rng(5).standard_normal(shape), requires_grad=True)
    ends = x.cumsum(-1)
    below = torch.ones(shape[-1], shape[-1], dtype=torch.bool).tril()
    y = (ends[..., :, None] - ends[..., None, :]).masked_fill(~below, -np.inf).exp()
    dy = torch.randn(y.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    y.backward(dy)
    tensors = {"gradOutput": dy.numpy()[None], "gradSelf": y.detach().numpy()[None]}
    found = golden(tensors, {}, ["gradInput"])["gradInput"][0]
    assert np.abs(found - x.grad.numpy()).max() <= 1e-11
