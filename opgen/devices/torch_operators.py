"""The torch operator behind each vendor's operator: from a case's arguments to outputs by name.

An operator that has no entry here is skipped by the backend, and it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import torch

TensorsByName: TypeAlias = Mapping[str, torch.Tensor | None]
Arguments: TypeAlias = Mapping[str, Any]
"""A call's arguments as JSON has them."""
Adapter: TypeAlias = Callable[[TensorsByName, Arguments, frozenset[str]], TensorsByName]
"""From inputs, arguments and the names of the outputs that are asked for to outputs."""
aten = torch.ops.aten


class Unable(Exception):
    """A valid call that torch has no way to make."""


def convolution(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.convolution_backward``; padding that differs at the two ends is laid around the input
    and cut off the gradient.
    """
    grad, source, weight = tensors["gradOutput"], tensors["input"], tensors["weight"]
    assert grad is not None and source is not None and weight is not None
    axes = source.dim() - 2
    padding, after = _padding(args["padding"], axes)
    before, padded = padding, source
    if before != after and args["transposed"]:
        padding = [min(pair) for pair in zip(before, after, strict=True)]
        grad = _laid_around(grad, *(_less(ends, padding) for ends in (before, after)))
    elif before != after:
        padding = [0] * axes
        padded = _laid_around(source, before, after)
    stride, dilation, output_padding = (
        _per_axis(args[name], axes) for name in ("stride", "dilation", "outputPadding")
    )
    names = ("gradInput", "gradWeight", "gradBias")
    gradients = aten.convolution_backward(
        grad,
        padded,
        weight,
        args["biasSizes"],
        stride,
        padding,
        dilation,
        args["transposed"],
        output_padding,
        args["groups"],
        [name in wanted for name in names],
    )
    outputs = dict(zip(names, gradients, strict=True))
    inner = outputs["gradInput"]
    if padded is not source and inner is not None:
        for axis in range(axes):
            inner = inner.narrow(axis + 2, before[axis], source.shape[axis + 2])
    return {**outputs, "gradInput": inner}


def _laid_around(tensor: torch.Tensor, before: list[int], after: list[int]) -> torch.Tensor:
    """Zeros before and behind each of the last axes."""
    ends = reversed(list(zip(before, after, strict=True)))
    return torch.nn.functional.pad(tensor, [end for pair in ends for end in pair])


def _less(values: list[int], others: list[int]) -> list[int]:
    return [value - other for value, other in zip(values, others, strict=True)]


def pooling(
    tensors: TensorsByName, args: Arguments, wanted: frozenset[str], axes: int = 2
) -> TensorsByName:
    """``aten.avg_pool2d_backward`` and its like in 3-D; a divisorOverride of 0 is none.

    In 3-D torch refuses an image smaller than its window even where padding makes up for it.
    """
    source = tensors["self"]
    assert source is not None
    window, stride, padding = (
        _per_axis(args[name], axes) for name in ("kernelSize", "stride", "padding")
    )
    image = source.shape[-axes:]
    if axes == 3 and any(extent < k for extent, k in zip(image, window, strict=True)):
        raise Unable("torch refuses an image smaller than its window")
    operator = aten.avg_pool2d_backward if axes == 2 else aten.avg_pool3d_backward
    gradient: torch.Tensor = operator(
        tensors["gradOutput"],
        source,
        window,
        stride,
        padding,
        args["ceilMode"],
        args["countIncludePad"],
        args["divisorOverride"] or None,
    )
    return {"gradInput": gradient}


def normalization(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.native_group_norm_backward``, which wants (N, C, HxW), (N, group) and (C,)."""
    batch, channels, extent, group = (args[name] for name in ("N", "C", "HxW", "group"))
    shapes = {
        "gradOut": (batch, channels, extent),
        "input": (batch, channels, extent),
        "mean": (batch, group),
        "rstd": (batch, group),
        "gamma": (channels,),
    }
    shaped = (
        None if (tensor := tensors[name]) is None else tensor.reshape(shape).contiguous()
        for name, shape in shapes.items()
    )
    names = ("gradInput", "gradGammaOut", "gradBetaOut")
    mask = [name in wanted for name in names]
    gradients = aten.native_group_norm_backward(*shaped, batch, channels, extent, group, mask)
    return dict(zip(names, gradients, strict=True))


def reflection(
    tensors: TensorsByName, args: Arguments, wanted: frozenset[str], axes: int = 2
) -> TensorsByName:
    """``aten.reflection_pad2d_backward`` and its like in 1-D."""
    operator = aten.reflection_pad2d_backward if axes == 2 else aten.reflection_pad1d_backward
    return {"gradInput": operator(tensors["gradOutput"], tensors["self"], args["padding"])}


ADAPTERS: Mapping[str, Adapter] = {
    "aclnnConvolutionBackward": convolution,
    "aclnnAvgPool2dBackward": pooling,
    "aclnnGroupNormBackward": normalization,
    "aclnnReflectionPad2dBackward": reflection,
    "aclnnAvgPool3dBackward": partial(pooling, axes=3),
    "aclnnReflectionPad1dBackward": partial(reflection, axes=1),
}


MODES: Mapping[str, tuple[int, ...]] = {"aclnnAvgPool2dBackward": (0, 2)}
"""The cubeMathTypes that torch_npu can ask an operator for; not named: all four of a convolution.
For a pooling it forbids HFLOAT32, whatever its switches say."""


def _per_axis(values: Sequence[int], axes: int) -> list[int]:
    """A list of length 1 stands for all axes."""
    return list(values) * axes if len(values) == 1 else list(values)


def _padding(values: Sequence[int], axes: int) -> tuple[list[int], list[int]]:
    """What is laid before and after each axis; twice as many values as axes are pairs."""
    if len(values) == 2 * axes and axes > 1:
        return list(values[0::2]), list(values[1::2])
    both = _per_axis(values, axes)
    return both, both
