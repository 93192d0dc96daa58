"""The torch programs of normalisations: the text that computes their outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opgen.minimization.program_text import Arguments
from opgen.model import TensorDesc


def group_norm(args: Arguments) -> str:
    """Of (N, C, HxW), (N, group) and (C,)."""
    n, c, area, group = (args[name] for name in ("N", "C", "HxW", "group"))
    gamma = f"gamma.reshape({c})" if isinstance(args["gamma"], TensorDesc) else "None"
    return (
        "gradInput, gradGammaOut, gradBetaOut = torch.ops.aten.native_group_norm_backward(\n   "
        f" gradOut.reshape({n}, {c}, {area}), input.reshape({n}, {c}, {area}), mean.reshape({n},"
        f" {group}), rstd.reshape({n}, {group}),\n    {gamma}, {n}, {c}, {area}, {group},"
        f" {list(args['outputMask'])},\n)"
    )


def layer_norm(args: Arguments) -> str:
    """With ones and zeros for parameters that are left out."""
    axes = list(args["normalizedShape"])
    weight, bias = (
        name if isinstance(args[name], TensorDesc) else f"torch.{filler}({axes}, dtype=mean.dtype)"
        for name, filler in (("weightOptional", "ones"), ("biasOptional", "zeros"))
    )
    return (
        "gradInputOut, gradWeightOut, gradBiasOut = torch.ops.aten.native_layer_norm_backward(\n"
        f"    gradOut, input, {axes}, mean, rstd,\n    {weight}, {bias},"
        f" {list(args['outputMask'])},\n)"
    )


def batch_norm(args: Arguments) -> str:
    """With channels behind samples."""
    last = args["input"].format in ("NHWC", "NDHWC")
    to = ".movedim(-1, 1).contiguous()" if last else ""
    names = ("weight", "runningMean", "runningVar", "saveMean", "saveInvstd")
    others = ", ".join(name if isinstance(args[name], TensorDesc) else "None" for name in names)
    program = (
        "gradInput, gradWeight, gradBias = torch.ops.aten.native_batch_norm_backward(\n"
        f"    gradOut{to}, input{to}, {others},\n"
        f"    {args['training']}, {args['eps']!r}, {list(args['outputMask'])},\n)"
    )
    back = "\ngradInput = gradInput.movedim(1, -1)"
    return program + (back if last and args["outputMask"][0] else "")


def rms_norm(args: Arguments) -> str:
    """By the formula of the page."""
    count, rows = len(args["gamma"].shape), list(range(len(args["rstd"].shape)))
    shape = [*args["rstd"].shape, *(1,) * count]
    return (
        f"r = rstd.reshape({shape})\nnormal = x * r\n"
        f"mean = (dy * gamma * normal).mean({list(range(-count, 0))}, keepdim=True)\n"
        "dxOut = (dy * gamma - normal * mean) * r\n"
        f"dgammaOut = (dy * normal).sum({rows})"
    )


def ada_layer_norm(args: Arguments) -> str:
    """Of a gradient that is scaled first, and sums of rows."""
    shape = list(args["input"].shape)
    weight, bias = (
        name if isinstance(args[name], TensorDesc) else f"mean.new_{filler}({shape[-1:]})"
        for name, filler in (("weightOptional", "ones"), ("biasOptional", "zeros"))
    )
    return (
        f"w, b = {weight}, {bias}\n"
        f"scaled = (gradOut * (1 + scale.reshape({[*shape[:-2], 1, shape[-1]]}))).contiguous()\n"
        "gradInputOut, gradWeightOut, gradBiasOut = torch.ops.aten.native_layer_norm_backward(\n"
        f"    scaled, input, {shape[-1:]}, mean, rstd, w, b, [True] * 3,\n)\n"
        "normal = (input - mean) * rstd * w + b\n"
        "gradScaleOut = (gradOut * normal).sum(-2).reshape(scale.shape)\n"
        "gradShiftOut = gradOut.sum(-2).reshape(scale.shape)"
    )


def group_norm_swish(args: Arguments) -> str:
    """Of the gradient of Swish."""
    (n, c, *_), group = args["x"].shape, args["numGroups"]
    return (
        f"groups = (x.reshape({n}, {group}, -1) - mean[..., None]) * rstd[..., None]\n"
        f"y = groups.reshape({n}, {c}, -1) * gamma[:, None] + beta[:, None]\n"
        f"scaled = {args['swishScale']!r} * y\n"
        "part = torch.sigmoid(scaled)\n"
        f"dy = part * (1 + scaled * (1 - part)) * dy.reshape({n}, {c}, -1)\n"
        "dxOut, dgammaOut, dbetaOut = torch.ops.aten.native_group_norm_backward(\n"
        f"    dy.contiguous(), x.reshape({n}, {c}, -1), mean, rstd, gamma,"
        f" {n}, {c}, dy.shape[2], {group}, [True] * 3,\n)"
    )


def masked_softmax(args: Arguments) -> str:
    """The softmax without a mask, scaled and masked."""
    return (
        "out = torch.ops.aten._softmax_backward_data(gradOutput, y, -1, y.dtype)\n"
        f"out = (out * {args['scale']!r}).masked_fill(mask.bool(), 0)"
    )


def modulate(args: Arguments) -> str:
    """By the formula of the page."""
    scaled = " * scale.unsqueeze(1)" if isinstance(args["scale"], TensorDesc) else ""
    return (
        f"grad_input = grad_output{scaled}\n"
        "grad_scale, grad_shift = (grad_output * input).sum(1), grad_output.sum(1)"
    )


CALLS: Mapping[str, Callable[[Arguments], str]] = {
    "aclnnAdaLayerNormBackward": ada_layer_norm,
    "aclnnBatchNormBackward": batch_norm,
    "aclnnGroupNormBackward": group_norm,
    "aclnnGroupNormSwishGrad": group_norm_swish,
    "aclnnLayerNormBackward": layer_norm,
    "aclnnModulateBackward": modulate,
    "aclnnRmsNormGrad": rms_norm,
    "aclnnScaledMaskedSoftmaxBackward": masked_softmax,
}
