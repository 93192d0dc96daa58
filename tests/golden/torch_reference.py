"""Gradients by torch, in float64, from the inputs of a bundle's case."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(torch: Any, case: Any) -> dict[str, np.ndarray]:
    """Output -> float64 array, for the outputs of a case that have a golden and that torch can
    compute.
    """
    found = (_convolution if case.call["op"] == "aclnnConvolutionBackward" else _group_norm)(
        torch, case
    )
    wanted = {
        name: value for name, value in found.items() if name in case.golden and value is not None
    }
    return {name: value.numpy().reshape(case.golden[name].shape) for name, value in wanted.items()}


def _tensors(torch: Any, case: Any) -> dict[str, Any]:
    return {
        name: torch.from_numpy(np.ascontiguousarray(value.astype(np.float64)))
        for name, value in case.inputs.items()
    }


def _convolution(torch: Any, case: Any) -> dict[str, Any]:
    args, given = case.call["args"], _tensors(torch, case)
    axes = given["input"].dim() - 2
    if len(args["padding"]) != axes:
        return {}
    outputs = torch.ops.aten.convolution_backward(
        given["gradOutput"],
        given["input"],
        given["weight"],
        args["biasSizes"],
        args["stride"],
        args["padding"],
        args["dilation"],
        args["transposed"],
        args["outputPadding"],
        args["groups"],
        [True, True, True],
    )
    return dict(zip(("gradInput", "gradWeight", "gradBias"), outputs, strict=True))


def _group_norm(torch: Any, case: Any) -> dict[str, Any]:
    args, given = case.call["args"], _tensors(torch, case)
    batch, channels, size, group = args["N"], args["C"], args["HxW"], args["group"]
    shape = (batch, channels, size)
    outputs = torch.ops.aten.native_group_norm_backward(
        given["gradOut"].reshape(shape),
        given["input"].reshape(shape),
        given["mean"].reshape(batch, group),
        given["rstd"].reshape(batch, group),
        given["gamma"].reshape(channels),
        batch,
        channels,
        size,
        group,
        [True, True, True],
    )
    return dict(zip(("gradInput", "gradGammaOut", "gradBetaOut"), outputs, strict=True))
