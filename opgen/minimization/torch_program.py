"""A failing call as a short script on torch, for the operators and calls that torch has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from opgen.devices.torch_dtypes import NATIVE, WIDE
from opgen.minimization import torch_losses, torch_normalizations, torch_pools, torch_recurrent
from opgen.minimization.failure import Failure
from opgen.minimization.program_text import (
    NO_ANSWER,
    Arguments,
    docstring,
    folded,
    listed,
    parts,
    tensors,
)
from opgen.minimization.torch_function_calls import FUNCTIONS
from opgen.model import TensorDesc
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES, FORMATS
from opgen.numerics.rounding import in_compute
from opgen.numerics.views import index

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
    lists = dict.fromkeys(name.partition("[")[0] for name in failure.storage if "[" in name)
    lines = [f"{name} = {{}}" for name in lists]
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
        f" input, weight, {listed(args['biasSizes'])}, {listed(args['stride'])}, {listed(padding)},\n "
        f"   {listed(args['dilation'])}, {args['transposed']}, {listed(args['outputPadding'])},"
        f" {args['groups']},\n    {listed(args['outputMask'])},\n)"
    )


def _convolution_over_time(args: Arguments) -> str:
    return (
        "gradInput, gradWeight, gradBias = torch.ops.aten.conv_tbc_backward(\n"
        f"    self, input, weight, bias, {args['pad']}\n)"
    )


def _pad(args: Arguments, kind: str) -> str:
    return (
        f"gradInput = torch.ops.aten.{kind}_backward(gradOutput, self, {listed(args['padding'])})"
    )


def _circular_pad(args: Arguments) -> str:
    return (
        "leaf = torch.zeros_like(self, requires_grad=True)\n"
        f'padded = torch.nn.functional.pad(leaf, {listed(args["padding"])}, mode="circular")\n'
        "gradInput = torch.autograd.grad(padded, leaf, gradOutput)[0]"
    )


def _upsample(args: Arguments, kind: str) -> str:
    gradient, output = [name for name in args if isinstance(args[name], TensorDesc)]
    size, given, end = list(args[output].shape), gradient, ""
    if args[gradient].format in ("NHWC", "NDHWC"):
        size, given, end = [size[0], size[-1], *size[1:-1]], f"{gradient}.movedim(-1, 1)", "(1, -1)"
    flags = [args["alignCorners"]] if "alignCorners" in args else []
    scales = [args[name] if flags and args[name] > 0 else None for name in args if "scales" in name]
    return (
        f"{output} = torch.ops.aten.{kind}_backward(\n    {given}.contiguous(),"
        f" {listed(args['outputSize'])}, {size}, {', '.join(map(repr, (*flags, *scales)))}\n)"
        + (f".movedim{end}" if end else "")
    )


def _log_softmax(args: Arguments) -> str:
    return (
        "out = torch.ops.aten._log_softmax_backward_data(\n"
        f"    gradOutput, output, {args['dim']}, output.dtype\n)"
    )


def _softmax(args: Arguments) -> str:
    return (
        "out = torch.ops.aten._softmax_backward_data(\n"
        f"    gradOutput, output, {args['dim']}, output.dtype\n)"
    )


def _embedding(args: Arguments) -> str:
    weights, padding = args["numWeights"], args["paddingIdx"]
    shape = listed([*args["indices"].shape, args["grad"].shape[-1]])
    return (
        "out = torch.ops.aten.embedding_dense_backward(\n"
        f"    grad.reshape({shape}), indices.long(), {weights},"
        f" {padding if padding < weights else -1}, {args['scaleGradByFreq']},\n)"
    )


def _grid_sampler(args: Arguments) -> str:
    modes = f"{args['interpolationMode']}, {args['paddingMode']}, {args['alignCorners']}"
    return (
        "inputGrad, gridGrad = torch.ops.aten.grid_sampler_2d_backward(\n"
        f"    gradOutput, input, grid, {modes}, {listed(args['outputMask'])},\n)"
    )


def _nll_loss(args: Arguments) -> str:
    each = args["reduction"] == 0 and len(args["self"].shape) == 2
    return (
        "out = torch.ops.aten.nll_loss_backward(\n"
        f"    {'gradOutput' if each else 'gradOutput.reshape(())'}, self, target.long(), weight,"
        f" {args['reduction']}, {args['ignoreIndex']}, totalWeight.reshape(()),\n)"
    )


def _grouped_bias(args: Arguments) -> str:
    if args["groupIdxOptional"] is None:
        return "out = gradY.sum(1)"
    return (
        "ends = [0, *groupIdxOptional.long().tolist()]\n"
        "out = torch.stack([gradY[i:j].sum(0) for i, j in zip(ends, ends[1:])])"
    )


CALLS: Mapping[str, Callable[[Arguments], str]] = {
    **FUNCTIONS,
    "aclnnConvTbcBackward": _convolution_over_time,
    "aclnnConvolutionBackward": _convolution,
    **torch_losses.CALLS,
    **torch_normalizations.CALLS,
    **torch_pools.CALLS,
    **torch_recurrent.CALLS,
    **{
        f"aclnn{kind}{axes}dBackward": partial(_pad, kind=f"{kind[:-3].lower()}_pad{axes}d")
        for kind, several in {"ReflectionPad": (1, 2, 3), "ReplicationPad": (1, 2)}.items()
        for axes in several
    },
    "aclnnCircularPad2dBackward": _circular_pad,
    **{
        f"aclnnUpsample{name}": partial(_upsample, kind=kind)
        for name, kind in {
            "Bilinear2dAABackward": "_upsample_bilinear2d_aa",
            "Bilinear2dBackward": "upsample_bilinear2d",
            "Bilinear2dBackwardV2": "upsample_bilinear2d",
            "Bicubic2dBackward": "upsample_bicubic2d",
            "Trilinear3dBackward": "upsample_trilinear3d",
            "Nearest1dBackward": "upsample_nearest1d",
            "Nearest2dBackward": "upsample_nearest2d",
            "NearestExact2dBackward": "_upsample_nearest_exact2d",
            "NearestExact3dBackward": "_upsample_nearest_exact3d",
        }.items()
    },
    "aclnnEmbeddingDenseBackward": _embedding,
    "aclnnGridSampler2DBackward": _grid_sampler,
    "aclnnGroupedBiasAddGrad": _grouped_bias,
    "aclnnLogSoftmaxBackward": _log_softmax,
    "aclnnNLLLossBackward": _nll_loss,
    "aclnnSoftmaxBackward": _softmax,
}
"""The operators of :data:`opgen.devices.torch_operators.ADAPTERS`, as text."""
