"""What the tests of losses share: their inputs, PyTorch, and devices that reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opgen.golden import kernel
from tests.golden import torch_or_skip
from tests.golden.elementwise import COUNT, Arrays, Device

NAMES = ("gradOutput", "self", "target", "weightOptional", "posWeightOptional")
WORDS = ("none", "mean", "sum", "batchmean")


def assert_torch_agrees(
    op: str,
    output: str,
    loss: Callable[..., Any],
    draw: Callable[..., np.ndarray],
    *shapes: tuple[int, ...],
    **names: Any,
) -> None:
    """1e-12 from what torch makes of the reduced loss in float64; the first shape is the
    gradient's, which has one element unless nothing is reduced.
    """
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    inputs = {name: draw(random, (2, *s)) for name, s in zip(NAMES, shapes, strict=False)}
    found = kernel(op).golden(inputs, names, [output])[output]
    for case in range(2):
        g, *given = (torch.tensor(a[case]) for a in inputs.values())
        x, *rest = (tensor.clone() for tensor in torch.broadcast_tensors(*given))
        y = loss(x.requires_grad_(), *rest, reduction=WORDS[names["reduction"]])
        y.backward(g.reshape(y.shape) if g.numel() == y.numel() else g.expand(y.shape))
        assert np.abs(found[case] - x.grad.numpy()).max() <= 1e-12


def reducing(term: Device, reduction: int) -> Device:
    """A device of elements in a row whose mean is a quotient."""
    return lambda of: term(of) / np.float32(COUNT) if reduction == 1 else term(of)


def wrong(term: Device, reduction: int) -> dict[str, Device]:
    """Devices that every loss must tell from a right one."""

    def shifted(of: Arrays) -> np.ndarray:
        return term({**of, "self": of["self"] * np.float32(1.01) + np.float32(0.001)})

    return {
        "the other reduction": reducing(term, 2 if reduction == 1 else 1),
        "turned": lambda of: -reducing(term, reduction)(of),
        "another argument": reducing(shifted, reduction),
    }
