"""A failing call as a short script on torch, for the operators and calls that torch has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from opgen.devices.torch_dtypes import NATIVE, WIDE
from opgen.minimization.failure import Failure
from opgen.minimization.program_text import NO_ANSWER, docstring, folded, parts, tensors
from opgen.model import TensorDesc
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES, FORMATS
from opgen.numerics.rounding import in_compute
from opgen.numerics.views import index

Arguments: TypeAlias = Mapping[str, Any]
"""A call's arguments by name."""

_HEAD = '''\
"""{summary}

Usage: python3 repro_torch.py [DEVICE]. Exit status: 1 the fault shows, 0 it does not, 2 no answer.
Inputs are rounded to the compute dtype and held as float32.
"""

import os
import sys
from math import inf, nan  # noqa: F401


{no_answer}
import torch  # noqa: E402

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def tensor(shape, dtype, values):
    flat = torch.tensor(values, dtype=torch.float64)
    if dtype.is_complex:
        flat = torch.complex(flat[0::2], flat[1::2])
    return flat.to(dtype).reshape(shape).to(DEVICE)


def compare(name, got, dtype, golden, bound):
    """How many elements are wrong; each is printed. Complex numbers go by parts."""
    got = got.detach().cpu().to(dtype).reshape(-1)
    got = torch.view_as_real(got).reshape(-1) if dtype.is_complex else got
    got, golden, bound = got.double(), torch.tensor(golden, dtype=torch.float64), torch.tensor(bound, dtype=torch.float64)
    right = ((got - golden).abs() <= bound) | (got == golden) | (got.isnan() & golden.isnan())
    for i in (~right).nonzero().reshape(-1).tolist()[:20]:
        print(f"{{name}}, element {{i}}: {{got[i]}}, expected {{golden[i]}} within {{bound[i]}}")
    print(f"{{name}}: {{int((~right).sum())}} of {{golden.numel()}} wrong")
    return int((~right).sum())


'''


def program(failure: Failure) -> str:
    """The whole script; empty where :func:`why_not` says why."""
    if why_not(failure):
        return ""
    held = tensors(failure)
    lines = []
    for name, storage in failure.storage.items():
        desc = held[name].desc
        wide = storage[index(desc.shape, desc.steps, desc.offset)].astype(DTYPES[desc.dtype].wide)
        if failure.compute in FORMATS:
            wide = in_compute(wide, desc.dtype, failure.compute)
        dtype = WIDE.get(desc.dtype, "float32")
        lines.append(f"{name} = tensor({desc.shape}, torch.{dtype}, {_numbers(wide)})")
    lines += [
        "sys.excepthook = sys.__excepthook__  # what is raised from here on is the device's answer",
        CALLS[failure.call.api](failure.call.args),
        "wrong = 0",
    ]
    for name, golden in failure.golden.items():
        dtype = NATIVE[held[name].desc.dtype]
        expected = f"{_numbers(golden)}, {_numbers(failure.bound[name])}"
        lines.append(f'wrong += compare("{name}", {name}, torch.{dtype}, {expected})')
    head = _HEAD.format(summary=docstring(failure), no_answer=NO_ANSWER)
    return head + "\n".join([*lines, "sys.exit(wrong != 0)"]) + "\n"


def why_not(failure: Failure) -> str:
    """Why there is no script of a call; empty where there is one."""
    if failure.call.api not in CALLS:
        return f"opgen/minimization/torch_program.py has no entry for {failure.call.api}"
    if not failure.storage or failure.codes != (0,):
        return "torch makes valid calls with data only"
    made = CALLS[failure.call.api](failure.call.args)
    return "" if made else "torch has no way to make this call"


def _numbers(values: Array) -> str:
    return f"[\n{folded(map(repr, parts(values)), '    ')}\n]"


def _convolution(args: Arguments) -> str:
    padding = args["padding"]
    if len(padding) == 4:
        if padding[0] != padding[1] or padding[2] != padding[3]:
            return ""
        padding = padding[::2]
    return (
        "gradInput, gradWeight, gradBias = torch.ops.aten.convolution_backward(\n    gradOutput,"
        f" input, weight, {_list(args['biasSizes'])}, {_list(args['stride'])}, {_list(padding)},\n "
        f"   {_list(args['dilation'])}, {args['transposed']}, {_list(args['outputPadding'])},"
        f" {args['groups']},\n    {_list(args['outputMask'])},\n)"
    )


def _avg_pool(args: Arguments, axes: int = 2) -> str:
    window = ", ".join(_list(args[name]) for name in ("kernelSize", "stride", "padding"))
    return (
        f"gradInput = torch.ops.aten.avg_pool{axes}d_backward(\n    gradOutput, self, {window},\n"
        f"    {args['ceilMode']}, {args['countIncludePad']}, {args['divisorOverride'] or None},\n)"
    )


def _avg_pool_3d(args: Arguments) -> str:
    window = args["kernelSize"] * (3 // len(args["kernelSize"]))
    small = any(
        extent < kernel for extent, kernel in zip(args["self"].shape[-3:], window, strict=True)
    )
    return "" if small else _avg_pool(args, 3)  # torch refuses an image smaller than its window


def _group_norm(args: Arguments) -> str:
    n, c, area, group = (args[name] for name in ("N", "C", "HxW", "group"))
    gamma = f"gamma.reshape({c})" if isinstance(args["gamma"], TensorDesc) else "None"
    return (
        "gradInput, gradGammaOut, gradBetaOut = torch.ops.aten.native_group_norm_backward(\n   "
        f" gradOut.reshape({n}, {c}, {area}), input.reshape({n}, {c}, {area}), mean.reshape({n},"
        f" {group}), rstd.reshape({n}, {group}),\n    {gamma}, {n}, {c}, {area}, {group},"
        f" {_list(args['outputMask'])},\n)"
    )


def _reflection_pad(args: Arguments, axes: int = 2) -> str:
    return (
        f"gradInput = torch.ops.aten.reflection_pad{axes}d_backward(gradOutput, self,"
        f" {_list(args['padding'])})"
    )


def _list(values: Sequence[int] | None) -> str:
    return "None" if values is None else repr(list(values))


CALLS: Mapping[str, Callable[[Arguments], str]] = {
    "aclnnConvolutionBackward": _convolution,
    "aclnnAvgPool2dBackward": _avg_pool,
    "aclnnGroupNormBackward": _group_norm,
    "aclnnReflectionPad2dBackward": _reflection_pad,
    "aclnnAvgPool3dBackward": _avg_pool_3d,
    "aclnnReflectionPad1dBackward": partial(_reflection_pad, axes=1),
}
"""The operators of :data:`opgen.devices.torch_operators.ADAPTERS`, as text."""
