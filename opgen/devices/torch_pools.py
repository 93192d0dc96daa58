"""The torch operators behind the vendor's pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import torch

from opgen.devices.torch_adapter import Adapter, Arguments, TensorsByName, Unable, present

aten = torch.ops.aten


def average(
    tensors: TensorsByName, args: Arguments, wanted: frozenset[str], axes: int = 2
) -> TensorsByName:
    """``aten.avg_pool2d_backward`` and its like in 3-D; a divisorOverride of 0 is none.

    In 3-D torch refuses an image smaller than its window even where padding makes up for it.
    """
    (source,) = present(tensors, "self")
    window, stride, padding = (
        per_axis(args[name], axes) for name in ("kernelSize", "stride", "padding")
    )
    image = source.shape[-axes:]
    if axes == 3 and any(extent < k for extent, k in zip(image, window, strict=True)):
        raise Unable("torch refuses an image smaller than its window")
    if axes == 3 and 0 in source.shape[-4:]:
        raise Unable("torch refuses images without channels")
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
    return {"gradInput" if axes == 2 else "output": gradient}


def largest(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.max_pool2d_with_indices_backward``, which wants channels before rows."""
    channels_last = args["self"]["format"] == "NHWC"
    grad, source, indices = (
        tensor.permute(0, 3, 1, 2) if channels_last and tensor is not None else tensor
        for tensor in (tensors["gradOutput"], tensors["self"], tensors["indices"])
    )
    assert indices is not None
    window, stride, padding, dilation = (
        per_axis(args[name], 2) for name in ("kernelSize", "stride", "padding", "dilation")
    )
    if source is not None and 0 in source.shape[-3:]:
        raise Unable("torch refuses images without channels")
    if any(2 * pad > k for pad, k in zip(padding, window, strict=True)):
        raise Unable("torch refuses a padding of more than half a window")
    if not stride:
        stride = window
    gradient: torch.Tensor = aten.max_pool2d_with_indices_backward(
        grad, source, window, stride, padding, dilation, args["ceilMode"], indices.to(torch.int64)
    )
    return {"gradInput": gradient.permute(0, 2, 3, 1) if channels_last else gradient}


def per_axis(values: Sequence[int], axes: int) -> list[int]:
    """A list of length 1 stands for all axes."""
    return list(values) * axes if len(values) == 1 else list(values)


def adaptive_average(
    tensors: TensorsByName, args: Arguments, wanted: frozenset[str], axes: int
) -> TensorsByName:
    """``aten._adaptive_avg_pool2d_backward`` and its like in 3-D."""
    grad, source = present(tensors, "gradOutput", "self")
    if not grad.numel() or not source.numel():
        raise Unable("torch refuses images without elements")
    operator = getattr(aten, f"_adaptive_avg_pool{axes}d_backward")
    gradient: torch.Tensor = operator(grad, source)
    return {"out": gradient}


def adaptive_largest(
    tensors: TensorsByName, args: Arguments, wanted: frozenset[str]
) -> TensorsByName:
    """``aten.adaptive_max_pool2d_backward``, which wants indices of 64 bits."""
    grad, source, indices = present(tensors, "gradOutput", "self", "indices")
    if not grad.numel() or not source.numel():
        raise Unable("torch refuses images without elements")
    gradient: torch.Tensor = aten.adaptive_max_pool2d_backward(
        grad, source, indices.to(torch.int64).contiguous()
    )
    return {"gradInput": gradient}


def unpooled(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """The formula of torch's own derivative of ``max_unpool2d``, which has no name."""
    grad, indices = present(tensors, "gradOutput", "indices")
    out = grad.flatten(-2).gather(-1, indices.flatten(-2).to(torch.int64))
    return {"out": out.reshape(indices.shape)}


def columns(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.col2im``, which is the gradient of ``im2col``."""
    (grad,) = present(tensors, "gradOutput")
    if not grad.numel():
        raise Unable("torch refuses images without elements")
    sizes = [args[name] for name in ("inputSize", "kernelSize", "dilation", "padding", "stride")]
    return {"out": aten.col2im(grad, *sizes)}


def unfolded(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.unfold_backward``."""
    sizes = [args[name] for name in ("inputSizes", "dim", "size", "step")]
    return {"gradIn": aten.unfold_backward(tensors["gradOut"], *sizes)}


POOLS: Mapping[str, Adapter] = {
    "aclnnAdaptiveAvgPool2dBackward": partial(adaptive_average, axes=2),
    "aclnnAdaptiveAvgPool3dBackward": partial(adaptive_average, axes=3),
    "aclnnAdaptiveMaxPool2dBackward": adaptive_largest,
    "aclnnAvgPool2dBackward": average,
    "aclnnAvgPool3dBackward": partial(average, axes=3),
    "aclnnIm2colBackward": columns,
    "aclnnMaxPool2dWithIndicesBackward": largest,
    "aclnnMaxUnpool2dBackward": unpooled,
    "aclnnUnfoldGrad": unfolded,
}
