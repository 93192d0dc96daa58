"""What the published library does in the calls of ``full`` that the errata once missed: each row is
a kind of call, made of a legal one, and the status that the host code returned.
"""

from __future__ import annotations

from typing import Any

import pytest

import opgen

NO, REFUSED, GRAPH = 0, 161002, 561103
Args = dict[str, Any]
LETTERS = {"N": 0, "C": 1, "D": -3, "H": -2, "W": -1}


def tensor(*shape: int, dtype: str = "FLOAT", format: str = "ND") -> Args:
    return {"shape": [*shape], "dtype": dtype, "format": format}


def statuses(op: str, product: str, args: Args) -> list[object]:
    call = {"id": "a", "op": op, "product": product, "args": args}
    [answer] = opgen.judge([call])
    assert answer.library is not None
    return list(answer.library.codes)


# group norm ---------------------------------------------------------------------------------------
def group_norm(mean: list[int], rstd: list[int], mask: list[bool]) -> Args:
    grad = tensor(2, 4, 3)
    return {
        **{"gradOut": grad, "input": grad, "mean": tensor(*mean), "rstd": tensor(*rstd)},
        **{"gamma": tensor(4), "N": 2, "C": 4, "HxW": 3, "group": 2, "outputMask": mask},
        **{"gradInput": grad, "gradGammaOut": tensor(4), "gradBetaOut": tensor(4)},
    }


@pytest.mark.parametrize("product", ["ascend910", "ascend310p"])
@pytest.mark.parametrize(
    ("mean", "rstd", "status"),
    [
        ([2, 2], [2, 2], NO),
        ([4], [4], NO),
        ([4], [1, 4], NO),
        ([4], [2, 2], NO),
        ([1, 4], [2, 2], GRAPH),
        ([4, 1], [4, 1], GRAPH),
        ([2, 2], [1, 4], GRAPH),
        ([2, 2], [4], GRAPH),
        ([2, 2, 1], [2, 2], GRAPH),
    ],
)
def test_statistics_of_group_norm(
    product: str, mean: list[int], rstd: list[int], status: int
) -> None:
    op = "aclnnGroupNormBackward"
    assert statuses(op, product, group_norm(mean, rstd, [True, True, True])) == [status]
    for mask in ([True, False, False], [False, False, True]):
        assert statuses(op, product, group_norm(mean, rstd, mask)) == [NO]
    assert statuses(op, "ascend910b", group_norm(mean, rstd, [True, True, True])) == [NO]


def test_a_single_statistic_of_group_norm() -> None:
    args = group_norm([1, 1, 1], [1, 1, 1], [False, True, False]) | {"N": 1, "group": 1}
    args |= {name: tensor(1, 4, 3) for name in ("gradOut", "input", "gradInput")}
    assert statuses("aclnnGroupNormBackward", "ascend910", args) == [GRAPH]


# convolution --------------------------------------------------------------------------------------
def convolution(rank: int, mask: list[bool], dtype: str = "FLOAT16") -> Args:
    form = {"dtype": dtype, "format": {3: "NCL", 4: "NCHW", 5: "NCDHW"}[rank]}
    spatial = rank - 2
    out, image, kernel = ([n] * spatial for n in (4, 6, 3))
    each: dict[str, Any] = {key: [n] * spatial for key, n in (("stride", 1), ("dilation", 1))}
    return {
        "gradOutput": tensor(2, 3, *out, **form),
        "input": tensor(2, 5, *image, **form),
        "weight": tensor(3, 5, *kernel, **form),
        **{"biasSizes": [3], **each, "padding": [0] * spatial, "transposed": False},
        **{"outputPadding": [0] * spatial, "groups": 1, "outputMask": mask, "cubeMathType": 1},
        "gradInput": tensor(2, 5, *image, **form),
        "gradWeight": tensor(3, 5, *kernel, **form),
        "gradBias": tensor(3, dtype=dtype),
    }


def negated(args: Args, name: str, letter: str) -> Args:
    """The same call with one extent of a tensor, and of its gradient, below 0."""
    of = {"input": ("input", "gradInput"), "weight": ("weight", "gradWeight")}
    made = dict(args)
    for each in of.get(name, (name,)):
        shape = list(args[each]["shape"])
        shape[LETTERS[letter]] *= -1
        made[each] = args[each] | {"shape": shape}
    return made


INPUT, WEIGHT, BIAS = [True, False, False], [False, True, False], [False, False, True]


@pytest.mark.parametrize(
    ("rank", "name", "letter", "mask", "status"),
    [
        *[(5, "gradOutput", letter, BIAS, REFUSED) for letter in "CDHW"],
        *[(rank, "gradOutput", "N", BIAS, GRAPH) for rank in (3, 4, 5)],
        *[(rank, "gradOutput", "N", INPUT, NO) for rank in (3, 4, 5)],
        *[(rank, "gradOutput", "C", BIAS, REFUSED) for rank in (3, 4)],
        *[(3, "gradOutput", "W", mask, NO) for mask in (INPUT, WEIGHT, BIAS)],
        *[(4, "gradOutput", letter, WEIGHT, NO) for letter in "HW"],
        *[(rank, "input", "N", WEIGHT, GRAPH) for rank in (3, 4, 5)],
        *[(rank, "input", "C", WEIGHT, REFUSED) for rank in (3, 4, 5)],
        *[(4, "input", letter, WEIGHT, GRAPH) for letter in "HW"],
        *[(4, "input", letter, BIAS, NO) for letter in "HW"],
        *[(5, "input", letter, WEIGHT, REFUSED) for letter in "DHW"],
        *[(rank, "weight", "C", BIAS, REFUSED) for rank in (3, 4, 5)],
        *[(4, "weight", letter, INPUT, GRAPH) for letter in "HW"],
        *[(4, "weight", letter, BIAS, NO) for letter in "HW"],
        (3, "weight", "W", INPUT, GRAPH),
        *[(5, "weight", letter, BIAS, REFUSED) for letter in "DHW"],
    ],
)
def test_negative_extents_of_convolution(
    rank: int, name: str, letter: str, mask: list[bool], status: int
) -> None:
    args = negated(convolution(rank, mask), name, letter)
    for product in ("ascend910b", "ascend910"):
        wanted = REFUSED if rank == 5 and product == "ascend910" else status  # no 3D there
        assert statuses("aclnnConvolutionBackward", product, args) == [wanted]


def test_a_negative_extent_of_convolution_in_float_on_the_910() -> None:
    args = negated(convolution(4, WEIGHT, "FLOAT"), "input", "H") | {"cubeMathType": 0}
    assert statuses("aclnnConvolutionBackward", "ascend910", args) == [REFUSED]


@pytest.mark.parametrize("groups", [131_065, 131_066])
def test_many_groups_of_convolution(groups: int) -> None:
    args = convolution(4, BIAS)
    form = {"dtype": "FLOAT16", "format": "NCHW"}
    args |= {"groups": groups, "biasSizes": [groups], "gradBias": tensor(groups, dtype="FLOAT16")}
    args |= {"gradOutput": tensor(2, groups, 4, 4, **form)}
    args |= {name: tensor(2, groups, 6, 6, **form) for name in ("input", "gradInput")}
    args |= {name: tensor(groups, 1, 3, 3, **form) for name in ("weight", "gradWeight")}
    assert statuses("aclnnConvolutionBackward", "ascend910b", args) == [GRAPH]


# average pooling ----------------------------------------------------------------------------------
@pytest.mark.parametrize("product", ["ascend910b", "ascend910"])
@pytest.mark.parametrize("odd", ["gradOutput", "self", "gradInput", ""])
def test_formats_of_average_pooling_of_rank_4(odd: str, product: str) -> None:
    form = {"dtype": "FLOAT16", "format": "NCHW"}
    args = {
        **{"gradOutput": tensor(1, 2, 2, 2, **form), "self": tensor(1, 2, 4, 4, **form)},
        **{"kernelSize": [2, 2], "stride": [2, 2], "padding": [0, 0], "ceilMode": False},
        **{"countIncludePad": True, "divisorOverride": 0, "cubeMathType": 0},
        "gradInput": tensor(1, 2, 4, 4, **form),
    }
    if odd:
        args[odd] = args[odd] | {"format": "NCL"}  # type: ignore[operator]
    assert statuses("aclnnAvgPool2dBackward", product, args) == [REFUSED if odd else NO]
