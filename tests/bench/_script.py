"""What a person would write instead of opgen: PyTorch's operators in float64, a loop, and one HDF5 group per case.

No rules, no bounds, no digests, no recipes: random inputs, the gradients, the arguments as attributes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import torch

from opgen.calls.jsonl import NamedCall
from opgen.model import TensorDesc

aten = torch.ops.aten
OUTPUTS = ("gradInput", "gradWeight", "gradBias", "gradGammaOut", "gradBetaOut")


def avg_pool(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    grad = aten.avg_pool2d_backward(
        t["gradOutput"], t["self"], a["kernelSize"], a["stride"], a["padding"], a["ceilMode"], a["countIncludePad"],
        a["divisorOverride"] or None,
    )  # fmt: skip
    return {"gradInput": grad}


def convolution(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    grads = aten.convolution_backward(
        t["gradOutput"], t["input"], t["weight"], a["biasSizes"], a["stride"], a["padding"], a["dilation"], a["transposed"],
        a["outputPadding"], a["groups"], a["outputMask"],
    )  # fmt: skip
    return dict(zip(("gradInput", "gradWeight", "gradBias"), grads, strict=True))


def group_norm(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    grads = aten.native_group_norm_backward(
        t["gradOut"], t["input"], t["mean"], t["rstd"], t["gamma"], a["N"], a["C"], a["HxW"], a["group"], a["outputMask"]
    )
    return dict(zip(("gradInput", "gradGammaOut", "gradBetaOut"), grads, strict=True))


def reflection(t: dict[str, Any], a: dict[str, Any]) -> dict[str, Any]:
    return {"gradInput": aten.reflection_pad2d_backward(t["gradOutput"], t["self"], a["padding"])}


COMPUTE = {
    "aclnnAvgPool2dBackward": avg_pool, "aclnnConvolutionBackward": convolution,
    "aclnnGroupNormBackward": group_norm, "aclnnReflectionPad2dBackward": reflection,
}  # fmt: skip


def write(calls: Iterable[NamedCall], path: Path) -> None:
    """Inputs in float32, gradients in float64, arguments as attributes: a group per case."""
    with h5py.File(path, "w") as file:
        for seed, named in enumerate(calls):
            torch.manual_seed(seed)
            args = named.call.args
            plain = {name: list(v) if isinstance(v, tuple) else v for name, v in args.items() if not isinstance(v, TensorDesc)}
            tensors = {name: d for name, d in args.items() if isinstance(d, TensorDesc) and name not in OUTPUTS}
            inputs = {name: torch.randn(d.shape) for name, d in tensors.items()}
            goldens = COMPUTE[named.call.api]({name: x.double() for name, x in inputs.items()}, plain)
            group = file.create_group(named.id)
            group.attrs["op"], group.attrs["product"], group.attrs["seed"] = named.call.api, named.call.product, seed
            for name, value in plain.items():
                group.attrs[name] = value
            for name, array in (inputs | goldens).items():
                group.create_dataset(name, data=array.numpy())
