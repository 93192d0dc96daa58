"""The operators of :data:`opgen.devices.torch_functions.FUNCTIONS` as text: lines of Python, in
which the numbers of a call stand as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

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


FUNCTIONS: Mapping[str, Callable[[Arguments], str]] = {
    f"aclnn{name}": _text(line) for name, line in _LINES.items()
}
