"""The torch operator behind each vendor's operator: from a case's arguments to outputs by name.

An operator that has no entry here is skipped by the backend, and it says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch

from opgen.devices.torch_adapter import (
    Adapter,
    Arguments,
    TensorsByName,
    Unable,
    on_cuda,
    present,
    wide,
)
from opgen.devices.torch_functions import FUNCTIONS
from opgen.devices.torch_losses import LOSSES
from opgen.devices.torch_normalizations import NORMALIZATIONS
from opgen.devices.torch_pads import PADS
from opgen.devices.torch_pools import POOLS, per_axis
from opgen.devices.torch_recurrent import RECURRENT
from opgen.devices.torch_upsampling import UPSAMPLINGS

aten = torch.ops.aten


def convolution(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.convolution_backward``; padding that differs at the two ends is laid around the input
    and cut off the gradient.
    """
    grad, source, weight = present(tensors, "gradOutput", "input", "weight")
    if on_cuda(grad) and not grad.numel():
        raise Unable("torch makes no convolution without outputs on CUDA")
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
        per_axis(args[name], axes) for name in ("stride", "dilation", "outputPadding")
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


def convolution_over_time(
    tensors: TensorsByName, args: Arguments, wanted: frozenset[str]
) -> TensorsByName:
    """``aten.conv_tbc_backward``, which takes no views."""
    given = (t.contiguous() for t in present(tensors, "self", "input", "weight", "bias"))
    gradients = aten.conv_tbc_backward(*given, args["pad"])
    return dict(zip(("gradInput", "gradWeight", "gradBias"), gradients, strict=True))


def _laid_around(tensor: torch.Tensor, before: list[int], after: list[int]) -> torch.Tensor:
    """Zeros before and after each of the last axes."""
    ends = reversed(list(zip(before, after, strict=True)))
    return torch.nn.functional.pad(tensor, [end for pair in ends for end in pair])


def _less(values: list[int], others: list[int]) -> list[int]:
    return [value - other for value, other in zip(values, others, strict=True)]


def likelihood(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.nll_loss_backward``, which wants targets of 64 bits and a scalar as the gradient of
    all samples.
    """
    grad, source, target, total = present(tensors, "gradOutput", "self", "target", "totalWeight")
    each = args["reduction"] == 0 and source.dim() == 2
    gradient: torch.Tensor = aten.nll_loss_backward(
        grad if each else grad.reshape(()),
        source,
        target.to(torch.int64),
        tensors["weight"],
        args["reduction"],
        args["ignoreIndex"],
        total.reshape(()),
    )
    return {"out": gradient}


def embedding(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.embedding_dense_backward``, in FLOAT; an index of padding that no row has is -1."""
    gradient, indices = present(tensors, "grad", "indices")
    if on_cuda(gradient) and not gradient.numel():
        raise Unable("torch's CUDA kernel reads memory that is not its own for rows of no elements")
    weights, padding = args["numWeights"], args["paddingIdx"]
    sums: torch.Tensor = aten.embedding_dense_backward(
        wide(gradient).reshape(*indices.shape, gradient.shape[-1]),
        indices.to(torch.int64),
        weights,
        padding if padding < weights else -1,
        args["scaleGradByFreq"],
    )
    return {"out": sums}


def grid_sampler(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten.grid_sampler_2d_backward``, in FLOAT at least."""
    order = ("gradOutput", "input", "grid")
    arrays = [wide(tensor) for name in order if (tensor := tensors[name]) is not None]
    modes = args["interpolationMode"], args["paddingMode"], args["alignCorners"]
    names = ("inputGrad", "gridGrad")
    mask = [name in wanted for name in names]
    gradients = aten.grid_sampler_2d_backward(*arrays, *modes, mask)
    return dict(zip(names, gradients, strict=True))


def softmax(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten._softmax_backward_data``."""
    gradient, result = present(tensors, "gradOutput", "output")
    pair = wide(gradient).contiguous(), wide(result).contiguous()
    return {"out": aten._softmax_backward_data(*pair, args["dim"], pair[0].dtype)}


def log_softmax(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten._log_softmax_backward_data``."""
    (output,) = present(tensors, "output")
    backward = aten._log_softmax_backward_data
    return {"out": backward(tensors["gradOutput"], output, args["dim"], output.dtype)}


def grouped_bias(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """Sums of the rows between the ends of groups."""
    (grad,), ends = map(wide, present(tensors, "gradY")), tensors["groupIdxOptional"]
    if ends is None:
        return {"out": grad.sum(1)}
    limits = [0, *ends.long().tolist()]
    return {"out": torch.stack([grad[i:j].sum(0) for i, j in pairwise(limits)])}


ADAPTERS: Mapping[str, Adapter] = {
    **NORMALIZATIONS,
    **FUNCTIONS,
    **LOSSES,
    **PADS,
    **POOLS,
    **RECURRENT,
    **UPSAMPLINGS,
    "aclnnConvTbcBackward": convolution_over_time,
    "aclnnConvolutionBackward": convolution,
    "aclnnEmbeddingDenseBackward": embedding,
    "aclnnGridSampler2DBackward": grid_sampler,
    "aclnnGroupedBiasAddGrad": grouped_bias,
    "aclnnLogSoftmaxBackward": log_softmax,
    "aclnnNLLLossBackward": likelihood,
    "aclnnSoftmaxBackward": softmax,
}


MODES: Mapping[str, tuple[int, ...]] = {"aclnnAvgPool2dBackward": (0, 2)}
"""The cubeMathTypes that torch_npu can ask an operator for; not named: all four of a convolution.
For a pooling it forbids HFLOAT32, whatever its switches say."""


def _padding(values: Sequence[int], axes: int) -> tuple[list[int], list[int]]:
    """What is laid before and after each axis; twice as many values as axes are pairs."""
    if len(values) == 2 * axes and axes > 1:
        return list(values[0::2]), list(values[1::2])
    both = per_axis(values, axes)
    return both, both
