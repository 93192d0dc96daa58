"""How the pages of 2026-08 are read: a call, what it breaks, and what a device may answer."""

from __future__ import annotations

import pytest

from opgen.model import ANY_ERROR, Argument, Bucket, Call, Code
from tests.oracle.test_errata import conv, judged, tensor

OPEN: tuple[Code, ...] = (0, ANY_ERROR)
ERROR: tuple[Code, ...] = (ANY_ERROR,)
INVALID: tuple[Code, ...] = (161002,)


def channels(groups: int, **changed: Argument) -> Call:
    """A convolution on ascend950, each of whose ``groups`` is one channel."""
    image, weight = (
        tensor(1, groups, 1, 1, layout="NCHW"),
        tensor(groups, 1, 1, 1, layout="NCHW"),
    )
    images: dict[str, Argument] = dict.fromkeys(("gradOutput", "input", "gradInput"), image)
    weights: dict[str, Argument] = dict.fromkeys(("weight", "gradWeight"), weight)
    bias: dict[str, Argument] = {"biasSizes": (groups,), "gradBias": tensor(groups)}
    return conv("ascend950", **{**images, **weights, **bias, "groups": groups, **changed})


def circular(before: int, after: int, columns: int = 4) -> Call:
    """A circular pad of rows of some ``columns``."""
    image, wider = tensor(2, 3, 4, columns), tensor(2, 3, 4, columns + before + after)
    args: dict[str, Argument] = {"gradOutput": wider, "self": image, "gradInput": image}
    args["padding"] = (before, after, 0, 0)
    return Call("aclnnCircularPad2dBackward", "ascend910b", args)


def sampled(**changed: Argument) -> Call:
    """A sampling of 5 by 6 points."""
    image, points = tensor(2, 3, 4, 4), tensor(2, 5, 6, 2)
    args: dict[str, Argument] = {
        "gradOutput": tensor(2, 3, 5, 6),
        "input": image,
        "grid": points,
        "interpolationMode": 0,
        "paddingMode": 0,
        "alignCorners": False,
        "outputMask": (True, True),
        "inputGrad": image,
        "gridGrad": points,
    }
    return Call("aclnnGridSampler2DBackward", "ascend910b", {**args, **changed})


def enlarged(api: str, out: str, layout: str, *shape: int) -> Call:
    """An upsampling from 4 to 8 in each spatial axis of ``layout``, with an output of ``shape``."""
    axes = layout[2:]
    args: dict[str, Argument] = {
        "gradOut": tensor(2, 3, *(8 for _ in axes), layout=layout),
        "outputSize": tuple(8 for _ in axes),
        "inputSize": (2, 3, *(4 for _ in axes)),
        "alignCorners": False,
        **{f"scales{axis}": 2.0 for axis in axes},
        out: tensor(*shape, layout=layout),
    }
    return Call(api, "ascend910b", args)


def nearest(before: str, after: str) -> Call:
    """A nearest upsampling from 4 to 8 of tensors in two formats."""
    args: dict[str, Argument] = {
        "gradOutput": tensor(2, 3, 8, 8, layout=before),
        "outputSize": (8, 8),
        "inputSize": (2, 3, 4, 4),
        "scalesH": 2.0,
        "scalesW": 2.0,
        "out": tensor(2, 3, 4, 4, layout=after),
    }
    return Call("aclnnUpsampleNearestExact2dBackward", "ascend910b", args)


def deformed(*kernel: int) -> Call:
    """A deformable convolution whose weight has a kernel of 3 by 3, and which says ``kernel``."""
    image, weight, offset = (
        tensor(*shape, layout="NCHW") for shape in ((1, 2, 5, 5), (4, 2, 3, 3), (1, 27, 3, 3))
    )
    args: dict[str, Argument] = {
        "input": image,
        "gradOutput": tensor(1, 4, 3, 3, layout="NCHW"),
        "offsetOut": tensor(1, 2, 9, 9, layout="NCHW"),
        "weight": weight,
        "offset": offset,
        "kernelSize": kernel,
        "stride": (1, 1, 1, 1),
        "padding": (0, 0, 0, 0),
        "dilation": (1, 1, 1, 1),
        "groups": 1,
        "deformableGroups": 1,
        "modulated": True,
        "gradInput": image,
        "gradWeight": weight,
        "gradOffset": offset,
        "gradBias": tensor(4),
    }
    return Call("aclnnDeformableConv2dBackward", "ascend950", args)


PLANE = ("aclnnUpsampleBilinear2dBackwardV2", "out", "NCHW")
VOLUME = ("aclnnUpsampleTrilinear3dBackward", "gradInput", "NCDHW")
READ: list[tuple[Call, set[str], Bucket, tuple[Code, ...]]] = [
    # a shape that must equal another has its rank too: lines 480, 279 and 327
    (sampled(), set(), "valid", (0,)),
    (sampled(inputGrad=tensor(2, 3, 16)), {"inputGrad.rank"}, "stated", INVALID),
    (sampled(gridGrad=tensor(2, 5, 6, 2, 1)), {"gridGrad.rank"}, "stated", INVALID),
    (enlarged(*PLANE, 2, 3, 4, 4), set(), "valid", (0,)),
    (enlarged(*PLANE, 2, 3, 16), {"out.rank"}, "stated", INVALID),
    (enlarged(*VOLUME, 2, 3, 4, 4, 4), set(), "valid", (0,)),
    (enlarged(*VOLUME, 2, 3, 4, 16), {"gradInput.rank"}, "stated", INVALID),
    # formats that do not meet the constraint of line 238: two that differ, and one not listed
    (nearest("NCHW", "NCHW"), set(), "valid", (0,)),
    (nearest("NCHW", "ND"), {"out_format"}, "stated", INVALID),
    (nearest("NHWC", "NHWC"), {"gradOutput.format", "out.format"}, "stated", INVALID),
    # the kernel of weight is that of kernelSize, of which the outputs follow: lines 170, 190, 35
    (deformed(3, 3), set(), "valid", (0,)),
    (deformed(2, 3), {"kernel_height", "out_height"}, "stated", (161002, "any_error")),
    (deformed(3, 4), {"kernel_width", "out_width"}, "stated", (161002, "any_error")),
    # line 253 limits the groups of every convolution
    (channels(65535), set(), "valid", (0,)),
    (channels(65535, transposed=True), set(), "valid", (0,)),
    (channels(65536), {"groups_limit"}, "unstated", ERROR),
    (channels(65536, transposed=True), {"groups_limit"}, "unstated", ERROR),
    # lines 247 and 248 leave out rows of nothing, line 179 those that were nothing before the pad
    (circular(-1, -2), {"padding.min"}, "assumed", OPEN),
    (circular(-2, -2), {"padding.min", "row_of_some"}, "unstated", ERROR),
    (circular(0, 0, 0), {"width", "left_below_width", "right_below_width"}, "stated", INVALID),
]


@pytest.mark.parametrize(("call", "rules", "bucket", "codes"), READ)
def test_a_reading(call: Call, rules: set[str], bucket: Bucket, codes: tuple[Code, ...]) -> None:
    said = judged(call).expectation(0)
    assert {broken.rule for broken in said.breaks} == rules
    assert (said.bucket, said.codes) == (bucket, codes)
