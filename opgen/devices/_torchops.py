"""The torch operator behind each vendor's operator: from a case's arguments to outputs by name.

An operator that has no entry here is skipped by the backend, and it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch

Tensors: TypeAlias = Mapping[str, torch.Tensor | None]
Adapter: TypeAlias = Callable[
    [Tensors, Mapping[str, Any], frozenset[str]], dict[str, torch.Tensor | None]
]
aten = torch.ops.aten


class Unable(Exception):
    """A valid call that torch has no way to make."""


def convolution(
    tensors: Tensors, args: Mapping[str, Any], wanted: frozenset[str]
) -> dict[str, torch.Tensor | None]:
    """``aten.convolution_backward``; padding that differs at the two ends is laid around the input
    and cut off the gradient.
    """
    grad, source, weight = tensors["gradOutput"], tensors["input"], tensors["weight"]
    assert grad is not None and source is not None and weight is not None
    axes = source.dim() - 2
    before, after = _padding(args["padding"], axes)
    lists = [_long(args[name], axes) for name in ("stride", "dilation", "outputPadding")]
    mask = [name in wanted for name in ("gradInput", "gradWeight", "gradBias")]
    if before == after or args["transposed"]:
        if before != after:
            grad, before = _around(grad, before, after)
        found = aten.convolution_backward(
            grad,
            source,
            weight,
            args["biasSizes"],
            lists[0],
            before,
            lists[1],
            args["transposed"],
            lists[2],
            args["groups"],
            mask,
        )
        return dict(zip(("gradInput", "gradWeight", "gradBias"), found, strict=True))
    wide = torch.nn.functional.pad(
        source, [side for i in reversed(range(axes)) for side in (before[i], after[i])]
    )
    found = aten.convolution_backward(
        grad,
        wide,
        weight,
        args["biasSizes"],
        lists[0],
        [0] * axes,
        lists[1],
        False,
        lists[2],
        args["groups"],
        mask,
    )
    result = dict(zip(("gradInput", "gradWeight", "gradBias"), found, strict=True))
    inner = result["gradInput"]
    for i in range(axes if inner is not None else 0):
        inner = inner.narrow(i + 2, before[i], source.shape[i + 2])
    return {**result, "gradInput": inner}


def _around(
    grad: torch.Tensor, before: list[int], after: list[int]
) -> tuple[torch.Tensor, list[int]]:
    """A transposed convolution cuts its output: zeros for what more was cut at one end, so that
    both cut the same.
    """
    least = [min(a, b) for a, b in zip(before, after, strict=True)]
    sides = [
        side
        for i in reversed(range(len(before)))
        for side in (before[i] - least[i], after[i] - least[i])
    ]
    return torch.nn.functional.pad(grad, sides), least


def pooling(
    tensors: Tensors, args: Mapping[str, Any], wanted: frozenset[str]
) -> dict[str, torch.Tensor | None]:
    """``aten.avg_pool2d_backward`` and its like in 3-D; a divisorOverride of 0 is none."""
    return {"gradInput": _pooled(aten.avg_pool2d_backward, 2, tensors, args)}


def pooling_3d(
    tensors: Tensors, args: Mapping[str, Any], wanted: frozenset[str]
) -> dict[str, torch.Tensor | None]:
    """``aten.avg_pool3d_backward``, which refuses an image smaller than its window even where
    padding makes up for it.
    """
    source, window = tensors["self"], _long(args["kernelSize"], 3)
    assert source is not None
    if any(extent < kernel for extent, kernel in zip(source.shape[-3:], window, strict=True)):
        raise Unable("torch refuses an image smaller than its window")
    return {"gradInput": _pooled(aten.avg_pool3d_backward, 3, tensors, args)}


def _pooled(operator: Any, axes: int, tensors: Tensors, args: Mapping[str, Any]) -> torch.Tensor:
    window = [
        _long(args[name], axes) if args[name] else []
        for name in ("kernelSize", "stride", "padding")
    ]
    found: torch.Tensor = operator(
        tensors["gradOutput"],
        tensors["self"],
        *window,
        args["ceilMode"],
        args["countIncludePad"],
        args["divisorOverride"] or None,
    )
    return found


def normalisation(
    tensors: Tensors, args: Mapping[str, Any], wanted: frozenset[str]
) -> dict[str, torch.Tensor | None]:
    """``aten.native_group_norm_backward``, which wants (N, C, HxW), (N, group) and (C,)."""
    batch, channels, extent, group = (args[name] for name in ("N", "C", "HxW", "group"))
    shapes = {
        "gradOut": (batch, channels, extent),
        "input": (batch, channels, extent),
        "mean": (batch, group),
        "rstd": (batch, group),
        "gamma": (channels,),
    }
    one = {
        name: None if (value := tensors[name]) is None else value.reshape(shape).contiguous()
        for name, shape in shapes.items()
    }
    mask = [name in wanted for name in ("gradInput", "gradGammaOut", "gradBetaOut")]
    found = aten.native_group_norm_backward(*one.values(), batch, channels, extent, group, mask)
    return dict(zip(("gradInput", "gradGammaOut", "gradBetaOut"), found, strict=True))


def reflection(
    tensors: Tensors, args: Mapping[str, Any], wanted: frozenset[str]
) -> dict[str, torch.Tensor | None]:
    """``aten.reflection_pad2d_backward``."""
    return {
        "gradInput": aten.reflection_pad2d_backward(
            tensors["gradOutput"], tensors["self"], args["padding"]
        )
    }


def reflection_1d(
    tensors: Tensors, args: Mapping[str, Any], wanted: frozenset[str]
) -> dict[str, torch.Tensor | None]:
    """``aten.reflection_pad1d_backward``."""
    return {
        "gradInput": aten.reflection_pad1d_backward(
            tensors["gradOutput"], tensors["self"], args["padding"]
        )
    }


ADAPTERS: Mapping[str, Adapter] = {
    "aclnnConvolutionBackward": convolution,
    "aclnnAvgPool2dBackward": pooling,
    "aclnnGroupNormBackward": normalisation,
    "aclnnReflectionPad2dBackward": reflection,
    "aclnnAvgPool3dBackward": pooling_3d,
    "aclnnReflectionPad1dBackward": reflection_1d,
}


MODES: Mapping[str, tuple[int, ...]] = {"aclnnAvgPool2dBackward": (0, 2)}
"""The cubeMathTypes that torch_npu can ask an operator for; not named: all four of a convolution.
For a pooling it forbids HFLOAT32, whatever its switches say."""


def _long(values: list[int], count: int) -> list[int]:
    """A list of length 1 stands for all."""
    return list(values) * count if len(values) == 1 else list(values)


def _padding(values: list[int], axes: int) -> tuple[list[int], list[int]]:
    """What is laid before and after each axis; twice as many values as axes are pairs."""
    if len(values) == 2 * axes and axes > 1:
        return list(values[0::2]), list(values[1::2])
    both = _long(values, axes)
    return both, both
