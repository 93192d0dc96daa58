"""The torch programs of pools: the text that computes their outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from opgen.minimization.program_text import Arguments, listed


def avg_pool(args: Arguments, axes: int = 2, output: str = "gradInput") -> str:
    """Without a divisor of its own where that is 0."""
    window = ", ".join(listed(args[name]) for name in ("kernelSize", "stride", "padding"))
    return (
        f"{output} = torch.ops.aten.avg_pool{axes}d_backward(\n    gradOutput, self, {window},\n"
        f"    {args['ceilMode']}, {args['countIncludePad']}, {args['divisorOverride'] or None},\n)"
    )


def avg_pool_3d(args: Arguments) -> str:
    """Of images at least as large as a window: torch refuses others."""
    window = args["kernelSize"] * (3 // len(args["kernelSize"]))
    small = any(
        extent < kernel for extent, kernel in zip(args["self"].shape[-3:], window, strict=True)
    )
    return "" if small else avg_pool(args, 3, "output")


def max_pool(args: Arguments) -> str:
    """Of images with elements, channels first, and padding of at most half a window."""
    window, stride, padding, dilation = (
        args[name] * (2 // len(args[name])) if args[name] else args["kernelSize"]
        for name in ("kernelSize", "stride", "padding", "dilation")
    )
    empty = 0 in args["self"].shape[-3:]
    if (
        empty
        or args["self"].format == "NHWC"
        or 2 * padding[0] > window[0]
        or 2 * padding[1] > window[1]
    ):
        return ""
    steps = ", ".join(map(listed, (window, stride, padding, dilation)))
    return (
        "gradInput = torch.ops.aten.max_pool2d_with_indices_backward(\n"
        f"    gradOutput, self, {steps}, {args['ceilMode']}, indices.long(),\n)"
    )


def adaptive_avg_pool(args: Arguments, axes: int) -> str:
    """Of images with elements."""
    some = all(extent for name in ("gradOutput", "self") for extent in args[name].shape)
    call = f"out = torch.ops.aten._adaptive_avg_pool{axes}d_backward(gradOutput, self)"
    return call if some else ""


def adaptive_max_pool(args: Arguments) -> str:
    """Of images with elements."""
    some = all(extent for name in ("gradOutput", "self") for extent in args[name].shape)
    call = "gradInput = torch.ops.aten.adaptive_max_pool2d_backward"
    return f"{call}(gradOutput, self, indices.long())" if some else ""


def unpool(args: Arguments) -> str:
    """The formula of torch's own derivative."""
    places = "indices.flatten(-2).long()"
    return f"out = gradOutput.flatten(-2).gather(-1, {places}).reshape(indices.shape)"


def columns(args: Arguments) -> str:
    """Of images with elements."""
    names = ("inputSize", "kernelSize", "dilation", "padding", "stride")
    sizes = ", ".join(listed(args[name]) for name in names)
    call = f"out = torch.ops.aten.col2im(gradOutput, {sizes})"
    return call if all(args["gradOutput"].shape) else ""


def unfold(args: Arguments) -> str:
    """Of any call."""
    sizes = f"{listed(args['inputSizes'])}, {args['dim']}, {args['size']}, {args['step']}"
    return f"gradIn = torch.ops.aten.unfold_backward(gradOut, {sizes})"


CALLS: Mapping[str, Callable[[Arguments], str]] = {
    "aclnnAdaptiveAvgPool2dBackward": partial(adaptive_avg_pool, axes=2),
    "aclnnAdaptiveAvgPool3dBackward": partial(adaptive_avg_pool, axes=3),
    "aclnnAdaptiveMaxPool2dBackward": adaptive_max_pool,
    "aclnnAvgPool2dBackward": avg_pool,
    "aclnnAvgPool3dBackward": avg_pool_3d,
    "aclnnIm2colBackward": columns,
    "aclnnMaxPool2dWithIndicesBackward": max_pool,
    "aclnnMaxUnpool2dBackward": unpool,
    "aclnnUnfoldGrad": unfold,
}
