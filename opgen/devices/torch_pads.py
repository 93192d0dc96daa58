"""The torch operators behind the vendor's pads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

aten = torch.ops.aten


def pad(
    tensors: Mapping[str, torch.Tensor | None],
    args: Mapping[str, Any],
    wanted: frozenset[str],
    operator: Callable[..., torch.Tensor],
) -> dict[str, torch.Tensor]:
    """``aten.reflection_pad2d_backward`` and its like."""
    return {"gradInput": operator(tensors["gradOutput"], tensors["self"], args["padding"])}


def circular(gradient: torch.Tensor, source: torch.Tensor, padding: list[int]) -> torch.Tensor:
    """The gradient of torch's circular padding, which has no backward operator of its own."""
    with torch.inference_mode(False), torch.enable_grad():
        leaf = torch.zeros_like(source, requires_grad=True)
        padded = torch.nn.functional.pad(leaf, padding, mode="circular")
        return torch.autograd.grad(padded, leaf, gradient.clone())[0]


PADS: Mapping[str, Callable[..., dict[str, torch.Tensor]]] = {
    f"aclnn{name}Backward": partial(pad, operator=operator)
    for name, operator in {
        "ReflectionPad1d": aten.reflection_pad1d_backward,
        "ReflectionPad2d": aten.reflection_pad2d_backward,
        "ReflectionPad3d": aten.reflection_pad3d_backward,
        "ReplicationPad1d": aten.replication_pad1d_backward,
        "ReplicationPad2d": aten.replication_pad2d_backward,
        "CircularPad2d": circular,
    }.items()
}
