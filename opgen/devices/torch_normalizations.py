"""The torch operators behind the vendor's normalisations, and a softmax with a mask."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from opgen.devices.torch_adapter import (
    Adapter,
    Arguments,
    TensorsByName,
    Unable,
    given,
    on_cuda,
    present,
    wide,
)

aten = torch.ops.aten


def group_norm(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.native_group_norm_backward``, which wants (N, C, HxW), (N, group) and (C,), and no
    null pointer where it computes the gradient of gamma. A gamma of ones gives the same.
    """
    batch, channels, extent, group = (args[name] for name in ("N", "C", "HxW", "group"))
    if on_cuda(tensors["gradOut"]) and not batch * channels * extent:
        raise Unable("torch starts a CUDA kernel of no threads for no elements")
    shapes = {
        "gradOut": (batch, channels, extent),
        "input": (batch, channels, extent),
        "mean": (batch, group),
        "rstd": (batch, group),
        "gamma": (channels,),
    }
    if tensors["gamma"] is None and (source := tensors["input"]) is not None:
        tensors = {**tensors, "gamma": source.new_ones(channels)}
    shaped = (
        None if (tensor := tensors[name]) is None else tensor.reshape(shape).contiguous()
        for name, shape in shapes.items()
    )
    names = ("gradInput", "gradGammaOut", "gradBetaOut")
    mask = [name in wanted for name in names]
    gradients = aten.native_group_norm_backward(*shaped, batch, channels, extent, group, mask)
    return dict(zip(names, gradients, strict=True))


def layer_norm(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.native_layer_norm_backward``, in the dtype of the statistics."""
    order = ("gradOut", "input", "mean", "rstd", "weightOptional", "biasOptional")
    grad, source, mean, rstd, weight, bias = given(tensors, *order)
    assert mean is not None
    names = ("gradInputOut", "gradWeightOut", "gradBiasOut")
    axes, mask = list(args["normalizedShape"]), [name in wanted for name in names]
    ones = mean.new_ones(axes) if weight is None else weight
    zeros = torch.zeros_like(ones) if bias is None else bias
    gradients = aten.native_layer_norm_backward(grad, source, axes, mean, rstd, ones, zeros, mask)
    return dict(zip(names, gradients, strict=True))


def batch_norm(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.native_batch_norm_backward``, which wants channels behind samples, and on CUDA no null
    pointer: a weight of ones gives the same, statistics that the formula does not read are ones,
    and outside of training the saved ones are those of the running ones.
    """
    last = args["input"]["format"] in ("NHWC", "NDHWC")
    grad, source = (
        tensor.movedim(-1, 1).contiguous() if last and tensor is not None else tensor
        for tensor in given(tensors, "gradOut", "input")
    )
    if source is not None and not source.numel():
        raise Unable("torch divides by the number of elements")
    assert grad is not None and source is not None
    weight, *running = given(tensors, "weight", "runningMean", "runningVar")
    saved = given(tensors, "saveMean", "saveInvstd")
    ones = grad.new_ones(source.shape[1])
    if args["training"]:
        running = [ones, ones]
    elif running[0] is None or running[1] is None:
        raise Unable("torch reads the running statistics outside of training")
    else:
        saved = [running[0], (running[1] + args["eps"]).rsqrt()]
    names = ("gradInput", "gradWeight", "gradBias")
    gradients: list[torch.Tensor] = aten.native_batch_norm_backward(
        grad,
        source,
        ones if weight is None else weight,
        *running,
        *saved,
        args["training"],
        args["eps"],
        [name in wanted for name in names],
    )
    outputs: dict[str, torch.Tensor | None] = dict(zip(names, gradients, strict=True))
    inner = outputs["gradInput"]
    return {**outputs, "gradInput": inner.movedim(1, -1) if last and inner is not None else inner}


def rms_norm(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """By the formula of the page; torch's own operator takes no rstd."""
    grad, source, rstd, weight = map(wide, present(tensors, "dy", "x", "rstd", "gamma"))
    inner = tuple(range(-weight.dim(), 0))
    normal = source * rstd.reshape(*rstd.shape, *(1,) * weight.dim())
    mean = (grad * weight * normal).mean(inner, keepdim=True)
    factor = rstd.reshape(*rstd.shape, *(1,) * weight.dim())
    sums = (grad * normal).sum(tuple(range(rstd.dim())))
    return {"dxOut": (grad * weight - normal * mean) * factor, "dgammaOut": sums}


def ada_layer_norm(
    tensors: TensorsByName, args: Arguments, wanted: frozenset[str]
) -> TensorsByName:
    """``aten.native_layer_norm_backward`` of a gradient that is scaled first, and sums of rows."""
    order = ("gradOut", "input", "mean", "rstd", "scale")
    grad, source, mean, rstd, scale = (wide(t).contiguous() for t in present(tensors, *order))
    weight, bias = given(tensors, "weightOptional", "biasOptional")
    axes, rows = [source.shape[-1]], (*source.shape[:-2], 1, source.shape[-1])
    ones = grad.new_ones(axes) if weight is None else weight
    zeros = torch.zeros_like(ones) if bias is None else bias
    scaled = (grad * (1 + scale.reshape(rows))).contiguous()
    mask = [True] * 3
    found = aten.native_layer_norm_backward(scaled, source, axes, mean, rstd, ones, zeros, mask)
    normal = (source - mean) * rstd * ones + zeros
    shape = scale.shape
    return {
        **dict(zip(("gradInputOut", "gradWeightOut", "gradBiasOut"), found, strict=True)),
        "gradScaleOut": (grad * normal).sum(-2).reshape(shape),
        "gradShiftOut": grad.sum(-2).reshape(shape),
    }


def group_norm_swish(
    tensors: TensorsByName, args: Arguments, wanted: frozenset[str]
) -> TensorsByName:
    """``aten.native_group_norm_backward`` of the gradient of Swish."""
    order = ("dy", "mean", "rstd", "x", "gamma", "beta")
    dy, mean, rstd, x, gamma, beta = (wide(t).contiguous() for t in present(tensors, *order))
    batch, channels, group = x.shape[0], x.shape[1], args["numGroups"]
    flat, rows = (batch, channels, -1), (batch, group, 1)
    groups = (x.reshape(batch, group, -1) - mean.reshape(rows)) * rstd.reshape(rows)
    scaled = args["swishScale"] * (groups.reshape(flat) * gamma[:, None] + beta[:, None])
    part = torch.sigmoid(scaled)
    dy = (part * (1 + scaled * (1 - part)) * dy.reshape(flat)).contiguous()
    gradients = aten.native_group_norm_backward(
        dy, x.reshape(flat), mean, rstd, gamma, batch, channels, dy.shape[2], group, [True] * 3
    )
    outputs = dict(zip(("dxOut", "dgammaOut", "dbetaOut"), gradients, strict=True))
    return {**outputs, "dxOut": outputs["dxOut"].reshape(x.shape)}


def masked_softmax(
    tensors: TensorsByName, args: Arguments, wanted: frozenset[str]
) -> TensorsByName:
    """``aten._softmax_backward_data``, scaled and masked."""
    grad, result, mask = present(tensors, "gradOutput", "y", "mask")
    grad, result = wide(grad).contiguous(), wide(result).contiguous()
    gradient = aten._softmax_backward_data(grad, result, -1, grad.dtype) * args["scale"]
    return {"out": gradient.masked_fill(mask.bool(), 0)}


def modulate(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """By the formula of the page."""
    grad, source, *scale = map(wide, present(tensors, "grad_output", "input", "scale"))
    gradient = grad * scale[0].unsqueeze(1) if scale else grad
    return {"grad_input": gradient, "grad_scale": (grad * source).sum(1), "grad_shift": grad.sum(1)}


NORMALIZATIONS: Mapping[str, Adapter] = {
    "aclnnAdaLayerNormBackward": ada_layer_norm,
    "aclnnBatchNormBackward": batch_norm,
    "aclnnGroupNormBackward": group_norm,
    "aclnnGroupNormSwishGrad": group_norm_swish,
    "aclnnLayerNormBackward": layer_norm,
    "aclnnModulateBackward": modulate,
    "aclnnRmsNormGrad": rms_norm,
    "aclnnScaledMaskedSoftmaxBackward": masked_softmax,
}
