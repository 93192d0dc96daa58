"""The kernel of circular padding over 2 axes against its definition, its adjoint and torch."""

from __future__ import annotations

from typing import Any

from tests.golden.pads import against_definition, against_torch

OP = "circular_pad2d_backward"


def border(place: int, extent: int) -> int:
    return [*range(extent)][place % extent]


def of_autograd(torch: Any) -> Any:
    def gradient(dy: Any, x: Any, padding: list[int]) -> Any:
        leaf = x.requires_grad_()
        padded = torch.nn.functional.pad(leaf, padding, mode="circular")
        return torch.autograd.grad(padded, leaf, dy)[0]

    return gradient


def test_definition_and_adjoint() -> None:
    against_definition(OP, "HW", border)


def test_torch() -> None:
    against_torch(OP, "HW", of_autograd)
