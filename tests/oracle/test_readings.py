"""How the pages are read where they leave room: a call, what it breaks, and what a device may
answer.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from opgen.cli import main
from opgen.model import ANY_ERROR, Argument, Bucket, Call, Code, TensorDesc
from tests.oracle.test_errata import conv, judged, longer, norm, pool, tensor

OPEN: tuple[Code, ...] = (0, ANY_ERROR)
ERROR: tuple[Code, ...] = (ANY_ERROR,)
LIMITS = {
    "stride_height_3d": {"stride": (1, 64, 1)},
    "padding_height_3d": {"padding": (0, 256, 0)},
    "dilation_limit": {"dilation": (1, 256, 1)},
    "groups_limit": {"groups": 65536},
    "stride.min": {"stride": (1, 0, 1)},
    "padding.min": {"padding": (0, -1, 0)},
    "dilation.min": {"dilation": (1, 0, 1)},
    "groups.min": {"groups": 0},
}
"""Both ends of the ranges of line 54, 56, 58 and 62, on three axes."""


def volume(**changed: Argument) -> Call:
    """A convolution of three axes on ascend910b."""
    image, weight, grad = (
        tensor(1, *shape, layout="NCDHW") for shape in ((2, 5, 5, 5), (2, 3, 3, 3), (1, 3, 3, 3))
    )
    three = {"stride": (1, 1, 1), "padding": (0, 0, 0), "dilation": (1, 1, 1)}
    args: dict[str, Argument] = {
        "gradOutput": grad,
        "input": image,
        "weight": weight,
        "biasSizes": (1,),
        **three,
        "outputPadding": (0, 0, 0),
        "gradInput": image,
        "gradWeight": weight,
        "gradBias": tensor(1),
    }
    return conv(**{**args, **changed})


def stepped(desc: TensorDesc) -> TensorDesc:
    """Every second element of a storage twice as large."""
    return replace(desc, strides=tuple(2 * step for step in desc.steps))


def out(rows: int, ceil: bool = False) -> Call:
    """A pooling of 12 rows by windows of 2 with stride 3 and padding 1, and ``rows`` of gradOutput:
    5 windows, of which the last, at row 13 of padding, is left out where rounding up would add it.
    """
    image = tensor(1, 2, 12, 12, layout="NCHW")
    grad = tensor(1, 2, rows, 5, layout="NCHW")
    return pool(
        gradOutput=grad,
        self=image,
        gradInput=image,
        kernelSize=(2, 2),
        stride=(3, 3),
        padding=(1, 1),
        ceilMode=ceil,
    )


def mixed(*dtypes: str, mode: int = 2) -> Call:
    """A convolution whose gradOutput, input and weight have these dtypes, and its outputs what the
    page asks for.
    """
    call = conv(cubeMathType=mode)
    names = ("gradOutput", "input", "weight", "gradBias", "gradInput", "gradWeight")
    described = {name: call.args[name] for name in names}
    changed = {
        name: replace(desc, dtype=dtype)
        for (name, desc), dtype in zip(described.items(), dtypes * 2, strict=True)
        if isinstance(desc, TensorDesc)
    }
    return replace(call, args={**call.args, **changed})


HALF: dict[str, Any] = {"product": "ascend910", "cubeMathType": 1}
READ: list[tuple[Call, set[str], Bucket, tuple[Code, ...]]] = [
    # transposed: line 61 ties groups to the channels of the input, line 52 to those of gradOutput
    (longer(0), {"groups_in_transposed"}, "disputed", OPEN),
    (longer(0, product="ascend910"), {"groups_in_transposed"}, "disputed", OPEN),
    (
        longer(
            0,
            gradOutput=tensor(1, 3, 7, 7, layout="NCHW"),
            biasSizes=(0,),
            weight=tensor(2, 2, 3, 3, layout="NCHW"),
            gradWeight=tensor(2, 2, 3, 3, layout="NCHW"),
            outputMask=(True, True, False),
        ),
        {"groups_out"},
        "disputed",
        OPEN,
    ),
    # null pointers of which the Atlas page says nothing, and the one of which it does
    (
        conv(**HALF, outputMask=(False, True, True), gradInput=None),
        {"gradInput.null"},
        "assumed",
        OPEN,
    ),
    (
        conv(**HALF, outputMask=(True, True, False), gradBias=None),
        {"gradBias.null"},
        "assumed",
        OPEN,
    ),
    (conv(**HALF, biasSizes=None), {"biasSizes.null"}, "assumed", OPEN),
    (
        conv(
            **HALF,
            biasSizes=None,
            input=tensor(0, 2, 5, 5, layout="NCHW"),
            gradInput=tensor(0, 2, 5, 5, layout="NCHW"),
            gradOutput=tensor(0, 4, 3, 3, layout="NCHW"),
        ),
        {"bias_sizes_of_empty_input", "grad_output_of_empty_input"},
        "unstated",
        ERROR,
    ),
    # the extents of a pooling follow from line 51; when the last window is left out, from none
    (out(5), set(), "valid", (0,)),
    (out(4), {"out_height"}, "unstated", ERROR),
    (out(5, ceil=True), set(), "valid", (0,)),
    (out(6, ceil=True), {"out_height_rounded_up", "last_window_height"}, "unstated", ERROR),
    (
        pool(
            gradOutput=tensor(1, 2, 5, 5, layout="NCHW"),
            self=tensor(1, 2, 8, 8, layout="NCHW"),
            gradInput=tensor(1, 2, 8, 8, layout="NCHW"),
            padding=(1, 1),
            ceilMode=True,
        ),
        set(),
        "valid",
        (0,),
    ),
    (
        pool(
            gradOutput=tensor(1, 2, 5, 4, layout="NCHW"),
            self=tensor(1, 2, 10, 10, layout="NCHW"),
            gradInput=tensor(1, 2, 10, 10, layout="NCHW"),
            kernelSize=(1, 1),
            stride=(3, 3),
            padding=(0, 0),
            ceilMode=True,
        ),
        {"out_height_rounded_up", "last_window_height"},
        "unstated",
        ERROR,
    ),
    (
        pool(
            gradOutput=tensor(1, 2, 5, 4, layout="NCHW"),
            self=tensor(1, 2, 11, 11, layout="NCHW"),
            gradInput=tensor(1, 2, 11, 11, layout="NCHW"),
            kernelSize=(1, 1),
            stride=(3, 3),
            padding=(0, 0),
            ceilMode=True,
        ),
        {"last_window_height"},
        "assumed",
        OPEN,
    ),
    # a bias that is not there has the size 0, where its gradient is not asked for
    (conv(biasSizes=(0,), outputMask=(True, True, False)), set(), "valid", (0,)),
    (conv(biasSizes=(1,), outputMask=(True, True, False)), {"no_bias_channels"}, "unstated", ERROR),
    (conv(biasSizes=(1,)), {"bias_channels"}, "unstated", ERROR),
    # outputs that are not contiguous, of which the lines of a convolution do not speak
    (
        conv(gradInput=stepped(tensor(1, 2, 5, 5, layout="NCHW"))),
        {"grad_input_layout"},
        "assumed",
        OPEN,
    ),
    (conv(gradBias=stepped(tensor(4))), {"grad_bias_layout"}, "assumed", OPEN),
    (conv(input=stepped(tensor(1, 2, 5, 5, layout="NCHW"))), set(), "valid", (0,)),
    # BFLOAT16 among dtypes that promote to FLOAT: line 70 converts it, line 71 forbids it
    (mixed("BFLOAT16", "BFLOAT16", "FLOAT16"), {"bf16_among_fp16"}, "disputed", OPEN),
    (mixed("FLOAT", "FLOAT16", "FLOAT"), set(), "valid", (0,)),
    (mixed("BFLOAT16", "BFLOAT16", "BFLOAT16"), {"bf16_as_fp16"}, "unstated", ERROR),
]


@pytest.mark.parametrize(("call", "rules", "bucket", "codes"), READ)
def test_a_reading(call: Call, rules: set[str], bucket: Bucket, codes: tuple[Code, ...]) -> None:
    said = judged(call).expectation(0)
    assert {broken.rule for broken in said.breaks} == rules
    assert (said.bucket, said.codes) == (bucket, codes)


@pytest.mark.parametrize("rule", LIMITS)
def test_a_limit_has_a_code_that_is_likely_and_not_demanded(rule: str) -> None:
    call = volume(**LIMITS[rule])
    said = judged(call).expectation(0)
    [broken] = [broken for broken in said.breaks if broken.rule == rule]
    assert broken.clause is None and ANY_ERROR in said.codes and 561103 not in said.codes
    args = {
        name: {"shape": list(value.shape), "dtype": value.dtype, "format": value.format}
        if isinstance(value, TensorDesc)
        else value
        for name, value in call.args.items()
    }
    line = json.dumps({"id": "a", "op": call.api, "product": call.product, "args": args})
    told = json.loads(CliRunner().invoke(main, ["judge"], input=line).stdout)["page"]["breaks"]
    assert {b["rule"]: b.get("likely") for b in told}[rule] == 561103
    text = CliRunner().invoke(main, ["judge", "--format", "text"], input=line).stdout
    assert f"    {rule} (line {broken.at}, likely 561103): " in text


def as_torch_npu(call: Call) -> Call:
    """The same call as torch_npu makes it: formats by rank, strides and a storage of one axis,
    every output allocated whatever the mask, and 0 as the size of a bias that is not there.
    """
    formats = {3: "NCL", 4: "NCHW", 5: "NCDHW"}
    args = {
        name: replace(
            value,
            format=formats.get(len(value.shape), "ND"),
            strides=value.steps,
            storage_shape=(value.storage_elements,),
        )
        if isinstance(value, TensorDesc)
        else value
        for name, value in call.args.items()
    }
    return replace(call, args={**args, "biasSizes": (0,)} if "biasSizes" in args else args)


@pytest.mark.parametrize(
    "call",
    [
        pool(),
        pool(
            **{name: tensor(2, 12, 12, layout="NCL") for name in ("self", "gradInput")},
            gradOutput=tensor(2, 6, 6, layout="NCL"),
        ),
        *(
            conv(product=product, outputMask=mask)
            for product in ("ascend910b", "ascend910_93", "ascend310p", "ascend910")
            for mask in ((True, True, False), (True, False, False), (False, True, False))
        ),
        volume(outputMask=(True, True, False)),
        norm(
            "ascend910b", 2, 3, gradOut=tensor(12, 4), input=tensor(12, 4), gradInput=tensor(12, 4)
        ),
    ],
)
def test_a_call_as_torch_npu_makes_it_is_accepted(call: Call) -> None:
    """Wherever a page leaves room: GroupNorm and ReflectionPad list ND alone, whatever the rank."""
    said = judged(as_torch_npu(call)).expectation(0)
    assert (said.bucket, said.breaks) == ("valid", ())
