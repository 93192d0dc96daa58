"""What a person would write instead of opgen: PyTorch's operators in float64, a loop, and one HDF5
group per case.

No rules, no bounds, no digests, no recipes: random inputs, the gradients, the arguments as
attributes. Two of them: one by somebody who knows aten's backward operators, and one that asks
autograd and notes each tensor's dtype and format besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import h5py
import torch
import torch.nn.functional as F

from opgen.calls.jsonl import NamedCall
from opgen.model import TensorDesc

aten = torch.ops.aten
Operators: TypeAlias = Mapping[str, Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]]
OUTPUTS = ("gradInput", "gradWeight", "gradBias", "gradGammaOut", "gradBetaOut")


def avg_pool(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    grad = aten.avg_pool2d_backward(
        t["gradOutput"],
        t["self"],
        a["kernelSize"],
        a["stride"],
        a["padding"],
        a["ceilMode"],
        a["countIncludePad"],
        a["divisorOverride"] or None,
    )
    return {"gradInput": grad}


def convolution(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    grads = aten.convolution_backward(
        t["gradOutput"],
        t["input"],
        t["weight"],
        a["biasSizes"],
        a["stride"],
        a["padding"],
        a["dilation"],
        a["transposed"],
        a["outputPadding"],
        a["groups"],
        a["outputMask"],
    )
    return dict(zip(("gradInput", "gradWeight", "gradBias"), grads, strict=True))


def group_norm(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    grads = aten.native_group_norm_backward(
        t["gradOut"],
        t["input"],
        t["mean"],
        t["rstd"],
        t["gamma"],
        a["N"],
        a["C"],
        a["HxW"],
        a["group"],
        a["outputMask"],
    )
    return dict(zip(("gradInput", "gradGammaOut", "gradBetaOut"), grads, strict=True))


def reflection(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    return {"gradInput": aten.reflection_pad2d_backward(t["gradOutput"], t["self"], a["padding"])}


def pooled_by_autograd(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    x = t["self"].requires_grad_()
    y = F.avg_pool2d(
        x,
        a["kernelSize"],
        a["stride"],
        a["padding"],
        a["ceilMode"],
        a["countIncludePad"],
        a["divisorOverride"] or None,
    )
    return {"gradInput": torch.autograd.grad(y, x, t["gradOutput"])[0]}


def convolved_by_autograd(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    bias = torch.zeros(a["biasSizes"], dtype=torch.float64)
    ends = [x.requires_grad_() for x in (t["input"], t["weight"], bias)]
    y = F.conv2d(*ends, a["stride"], a["padding"], a["dilation"], a["groups"])
    return dict(
        zip(
            ("gradInput", "gradWeight", "gradBias"),
            torch.autograd.grad(y, ends, t["gradOutput"]),
            strict=True,
        )
    )


def normed_by_autograd(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    ends = [x.requires_grad_() for x in (t["input"], t["gamma"], torch.zeros_like(t["gamma"]))]
    y = F.group_norm(ends[0], a["group"], *ends[1:])
    return dict(
        zip(
            ("gradInput", "gradGammaOut", "gradBetaOut"),
            torch.autograd.grad(y, ends, t["gradOut"]),
            strict=True,
        )
    )


def reflected_by_autograd(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    x = t["self"].requires_grad_()
    return {
        "gradInput": torch.autograd.grad(
            F.pad(x, a["padding"], mode="reflect"), x, t["gradOutput"]
        )[0]
    }


ATEN: Operators = {
    "aclnnAvgPool2dBackward": avg_pool,
    "aclnnConvolutionBackward": convolution,
    "aclnnGroupNormBackward": group_norm,
    "aclnnReflectionPad2dBackward": reflection,
}
AUTOGRAD: Operators = {
    "aclnnAvgPool2dBackward": pooled_by_autograd,
    "aclnnConvolutionBackward": convolved_by_autograd,
    "aclnnGroupNormBackward": normed_by_autograd,
    "aclnnReflectionPad2dBackward": reflected_by_autograd,
}


def write(calls: Iterable[NamedCall], path: Path, operators: Operators) -> None:
    """Inputs in float32, gradients in float64, arguments as attributes: a group per case."""
    with h5py.File(path, "w") as file:
        for seed, named in enumerate(calls):
            torch.manual_seed(seed)
            args = named.call.args
            plain = {
                name: list(v) if isinstance(v, tuple) else v
                for name, v in args.items()
                if not isinstance(v, TensorDesc)
            }
            tensors = {name: d for name, d in args.items() if isinstance(d, TensorDesc)}
            inputs = {
                name: torch.randn(d.shape) for name, d in tensors.items() if name not in OUTPUTS
            }
            goldens = operators[named.call.api](
                {name: x.double() for name, x in inputs.items()}, plain
            )
            group = file.create_group(named.id)
            group.attrs["op"], group.attrs["product"], group.attrs["seed"] = (
                named.call.api,
                named.call.product,
                seed,
            )
            for name, value in plain.items():
                group.attrs[name] = value
            for name, array in (inputs | goldens).items():
                data = group.create_dataset(name, data=array.numpy())
                if operators is AUTOGRAD:
                    data.attrs["dtype"], data.attrs["format"] = (
                        tensors[name].dtype,
                        tensors[name].format,
                    )
