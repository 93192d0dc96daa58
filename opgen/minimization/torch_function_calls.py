"""The operators of :data:`opgen.devices.torch_functions.FUNCTIONS` as text: lines of Python, in
which the numbers of a call stand as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from opgen.minimization.program_text import Arguments
from opgen.model import AclScalar

_ATEN = "torch.ops.aten"
_LINES: Mapping[str, str] = {
    "EluBackward": (
        f"gradInput = {_ATEN}.elu_backward(\n"
        "    gradOutput, {alpha}, {scale}, {inputScale}, {isResult}, selfOrResult\n)"
    ),
    "FastGeluBackward": (
        "s = torch.sigmoid(1.702 * self)\ngradInput = gradOutput * (s + 1.702 * self * s * (1 - s))"
    ),
    "GeluBackward": f"gradInput = {_ATEN}.gelu_backward(*pair).float()",
    "GeluBackwardV2": (
        f"gradInput = {_ATEN}.gelu_backward(*pair, approximate={{approximate}}).float()"
    ),
    "HardshrinkBackward": f"gradInput = {_ATEN}.hardshrink_backward(*pair, max({{lambd}}, 0.0))",
    "HardswishBackward": (
        f"out = {_ATEN}.hardswish_backward(gradOutput, self)\n"
        "out = torch.where(self.abs() == 3, gradOutput * (self / 3 + 0.5), out)"
    ),
    "HardtanhBackward": (
        f"out = {_ATEN}.hardtanh_backward(gradOutput, self, {{min}}, {{max}})\n"
        "edge = (self == {min}) & (self <= {max}) | (self == {max}) & (self >= {min})\n"
        "out = torch.where(edge, gradOutput, out)"
    ),
    "LeakyReluBackward": (
        f"out = {_ATEN}.leaky_relu_backward(*pair, {{negativeSlope}}, {{selfIsResult}})"
    ),
    "LogSigmoidBackward": (
        f"_, buffer = {_ATEN}.log_sigmoid_forward(self)\n"
        f"gradInput = {_ATEN}.log_sigmoid_backward(gradOutput, self, buffer)"
    ),
    "SeluBackward": (
        f"gradInput = {_ATEN}.elu_backward(\n"
        "    gradOutput, 1.6732632423543772, 1.0507009873554805, 1.0, True, result\n)"
    ),
    "SigmoidBackward": f"gradInput = {_ATEN}.sigmoid_backward(gradOutput, output.conj())",
    "SiluBackward": f"gradInput = {_ATEN}.silu_backward(gradOutput, self)",
    "SoftplusBackward": (
        f"gradInput = {_ATEN}.softplus_backward(gradOutput, self, {{beta}}, {{threshold}})"
    ),
    "TanhBackward": f"gradInput = {_ATEN}.tanh_backward(gradOutput, output.conj())",
    "ThresholdBackward": f"out = {_ATEN}.threshold_backward(*pair, {{threshold}})",
}


def _text(line: str) -> Callable[[Arguments], str]:
    wide = ".double()" if "gelu" in line else ""  # as opgen/devices/torch_functions.py says
    both = f"pair = torch.broadcast_tensors(gradOutput{wide}, self{wide})\n"
    pair = both if "*pair" in line else ""
    return lambda args: (
        pair
        + line.format(
            **{
                name: repr(float(value.value) if isinstance(value, AclScalar) else value)
                for name, value in args.items()
            }
        )
    )


def _gelu_gate(args: Arguments) -> str:
    way = "tanh" if args["approximate"] else "none"
    return (
        f"a, b = self.float().chunk(2, {args['dim']})\n"
        "dy = gradOutput.float()\n"
        f"gated = {_ATEN}.gelu_backward(dy * a, b, approximate='{way}')\n"
        f"gradInput = torch.cat((dy * gelu.float(), gated), {args['dim']})"
    )


def _swish_gate(args: Arguments) -> str:
    return (
        f"a, b = x.float().chunk(2, {args['dim']})\n"
        "dy = yGrad.float()\n"
        f"halves = {_ATEN}.silu_backward(dy * b, a), dy * torch.nn.functional.silu(a)\n"
        f"out = torch.cat(halves, {args['dim']})"
    )


def _prelu(args: Arguments) -> str:
    return (
        "axes = [weight.numel() if axis == 1 else 1 for axis in range(self.dim())]\n"
        "dy, slopes = gradOutput.float().expand(self.shape), weight.float().reshape(axes)\n"
        f"gradInput, terms = {_ATEN}._prelu_kernel_backward(dy, self.float(), slopes)\n"
        "gradWeight = terms.sum_to_size(axes).reshape(weight.shape)"
    )


def _dropout(args: Arguments, gradient: str, output: str) -> str:
    if args["scale"] == 1 and gradient == "gradOutput":
        return f"{output} = {gradient}.float()"
    return (
        "bits = (mask.reshape(-1, 1).to(torch.uint8) >> torch.arange(8, dtype=torch.uint8)) & 1\n"
        f"kept = bits.reshape(-1)[: {gradient}.numel()].reshape({gradient}.shape)\n"
        f"{output} = {gradient}.float() * kept * {args['scale']!r}"
    )


FUNCTIONS: Mapping[str, Callable[[Arguments], str]] = {
    **{f"aclnn{name}": _text(line) for name, line in _LINES.items()},
    "aclnnDropoutBackward": partial(_dropout, gradient="gradOutput", output="out"),
    "aclnnDropoutV3Grad": partial(_dropout, gradient="gradY", output="gradX"),
    "aclnnGeGluBackward": _gelu_gate,
    "aclnnPreluBackward": _prelu,
    "aclnnSwiGluGrad": _swish_gate,
}
