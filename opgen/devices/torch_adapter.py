"""What the torch operators behind the vendor's share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch

TensorsByName: TypeAlias = Mapping[str, torch.Tensor | None]
Arguments: TypeAlias = Mapping[str, Any]
"""A call's arguments as JSON has them."""
Adapter: TypeAlias = Callable[[TensorsByName, Arguments, frozenset[str]], TensorsByName]
"""From inputs, arguments and the names of the outputs that are asked for to outputs."""


class Unable(Exception):
    """A valid call that torch has no way to make."""


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """In FLOAT at least, as a device computes."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def present(tensors: TensorsByName, *names: str) -> list[torch.Tensor]:
    """Inputs that no call of an operator leaves out."""
    return [tensor for name in names if (tensor := tensors[name]) is not None]


def given(tensors: TensorsByName, *names: str) -> list[torch.Tensor | None]:
    """Some inputs, wide and contiguous; None for a null pointer."""
    return [
        None if (tensor := tensors[name]) is None else wide(tensor).contiguous() for name in names
    ]


def on_cuda(tensor: torch.Tensor | None) -> bool:
    """Whether CUDA's kernels compute with it, some of which fail where a CPU's do not."""
    return tensor is not None and tensor.is_cuda
