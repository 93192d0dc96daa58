"""The torch operators behind the vendor's functions of single elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch

from opgen.devices.torch_adapter import Adapter, Arguments, TensorsByName, present, wide

aten = torch.ops.aten
Function = Callable[[torch.Tensor, torch.Tensor, Arguments], torch.Tensor]
"""An output, from the gradient and what the function is evaluated at, of one shape and dtype, and
the numbers of the call.
"""
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def applied(
    tensors: TensorsByName,
    args: Arguments,
    wanted: frozenset[str],
    function: Function,
    at: str = "self",
) -> TensorsByName:
    """A function of two inputs that broadcast; its output has the only name that is wanted."""
    gradient, x = present(tensors, "gradOutput", at)
    dtype = torch.promote_types(wide(gradient).dtype, wide(x).dtype)
    pair = torch.broadcast_tensors(gradient.to(dtype), x.to(dtype))
    numbers = {
        name: float(value["value"]) if isinstance(value, dict) and "value" in value else value
        for name, value in args.items()
    }
    (output,) = wanted
    g, z = (tensor.contiguous() for tensor in pair)
    return {output: function(g, z, numbers)}


def fast_gelu(g: torch.Tensor, x: torch.Tensor, of: Arguments) -> torch.Tensor:
    """By the derivative of ``x * sigmoid(1.702 * x)``, which torch has no operator for."""
    s = torch.sigmoid(1.702 * x)
    return g * (s + 1.702 * x * s * (1 - s))


def hardswish(g: torch.Tensor, x: torch.Tensor, of: Arguments) -> torch.Tensor:
    """At -3 and 3 the slope of the middle, as the page has it."""
    return torch.where(x.abs() == 3, g * (x / 3 + 0.5), aten.hardswish_backward(g, x))


def hardtanh(g: torch.Tensor, x: torch.Tensor, of: Arguments) -> torch.Tensor:
    """At the limits the gradient passes, as the page has it."""
    low, high = of["min"], of["max"]
    edge = ((x == low) & (x <= high)) | ((x == high) & (x >= low))
    return torch.where(edge, g, aten.hardtanh_backward(g, x, low, high))


def log_sigmoid(g: torch.Tensor, x: torch.Tensor, of: Arguments) -> torch.Tensor:
    """With a buffer of its own: unlike the vendor's operator, torch's reads it."""
    _, buffer = aten.log_sigmoid_forward(x)
    result: torch.Tensor = aten.log_sigmoid_backward(g, x, buffer)
    return result


def gelu(g: torch.Tensor, x: torch.Tensor, of: Arguments) -> torch.Tensor:
    """In DOUBLE, since torch's error function of FLOAT is off by as much as 1.5e-7 (Abramowitz and
    Stegun, 7.1.26).
    """
    way = of.get("approximate", "none")
    slope: torch.Tensor = aten.gelu_backward(g.double(), x.double(), approximate=way)
    return slope.to(g.dtype)


def elu(g: torch.Tensor, x: torch.Tensor, of: Arguments) -> torch.Tensor:
    """``aten.elu_backward``."""
    coefficients = of["alpha"], of["scale"], of["inputScale"]
    result: torch.Tensor = aten.elu_backward(g, *coefficients, of["isResult"], x)
    return result


def of_result(
    g: torch.Tensor, y: torch.Tensor, of: Arguments, operator: Callable[..., torch.Tensor]
) -> torch.Tensor:
    """Torch takes the conjugate of complex derivatives."""
    return operator(g, y.conj().resolve_conj())


def swish_gate(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """By the derivative of SiLU at one half of the input."""
    dy, x = map(wide, present(tensors, "yGrad", "x"))
    a, b = x.chunk(2, args["dim"])
    halves = aten.silu_backward(dy * b, a), dy * torch.nn.functional.silu(a)
    return {"out": torch.cat(halves, args["dim"])}


def gelu_gate(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """By the derivative of GELU at one half of the input."""
    dy, x, y = map(wide, present(tensors, "gradOutput", "self", "gelu"))
    a, b = x.chunk(2, args["dim"])
    way = {"approximate": "tanh" if args["approximate"] else "none"}
    return {"gradInput": torch.cat((dy * y, gelu(dy * a, b, way)), args["dim"])}


def prelu(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """``aten._prelu_kernel_backward``, whose gradients of weights are not yet added."""
    dy, x, weight = map(wide, present(tensors, "gradOutput", "self", "weight"))
    axes = [weight.numel() if axis == 1 else 1 for axis in range(x.dim())]
    dx, terms = aten._prelu_kernel_backward(dy.expand(x.shape), x, weight.reshape(axes))
    return {"gradInput": dx, "gradWeight": terms.sum_to_size(axes).reshape(weight.shape)}


def dropout(
    tensors: TensorsByName, args: Arguments, wanted: frozenset[str], gradient: str
) -> TensorsByName:
    """By the bits of the mask, the first of each byte its lowest."""
    dy, mask = present(tensors, gradient, "mask")
    places = torch.arange(8, dtype=torch.uint8, device=mask.device)
    bits = (mask.reshape(-1, 1).to(torch.uint8) >> places) & 1
    kept = bits.reshape(-1)[: dy.numel()].reshape(dy.shape)
    (output,) = wanted
    if args["scale"] == 1 and gradient == "gradOutput":
        return {output: wide(dy)}
    return {output: wide(dy) * kept * args["scale"]}


_AT_SELF: Mapping[str, Function] = {
    "FastGelu": fast_gelu,
    "Gelu": gelu,
    "Hardshrink": lambda g, x, of: aten.hardshrink_backward(g, x, max(of["lambd"], 0.0)),
    "Hardswish": hardswish,
    "Hardtanh": hardtanh,
    "LeakyRelu": lambda g, x, of: aten.leaky_relu_backward(
        g, x, of["negativeSlope"], of["selfIsResult"]
    ),
    "LogSigmoid": log_sigmoid,
    "Silu": lambda g, x, of: aten.silu_backward(g, x),
    "Softplus": lambda g, x, of: aten.softplus_backward(g, x, of["beta"], of["threshold"]),
    "Threshold": lambda g, x, of: aten.threshold_backward(g, x, of["threshold"]),
}
FUNCTIONS: Mapping[str, Adapter] = {
    **{
        f"aclnn{name}Backward": partial(applied, function=function)
        for name, function in _AT_SELF.items()
    },
    "aclnnGeluBackwardV2": partial(applied, function=gelu),
    "aclnnDropoutBackward": partial(dropout, gradient="gradOutput"),
    "aclnnDropoutV3Grad": partial(dropout, gradient="gradY"),
    "aclnnGeGluBackward": gelu_gate,
    "aclnnPreluBackward": prelu,
    "aclnnSwiGluGrad": swish_gate,
    "aclnnEluBackward": partial(applied, function=elu, at="selfOrResult"),
    "aclnnSeluBackward": partial(
        applied,
        function=lambda g, y, of: aten.elu_backward(g, SELU_ALPHA, SELU_SCALE, 1.0, True, y),
        at="result",
    ),
    "aclnnSigmoidBackward": partial(
        applied, function=partial(of_result, operator=aten.sigmoid_backward), at="output"
    ),
    "aclnnTanhBackward": partial(
        applied, function=partial(of_result, operator=aten.tanh_backward), at="output"
    ),
}
