"""Lists of tensors in calls: read, put into columns, judged by rules on them, and written again."""

from __future__ import annotations

import pytest

from opgen.calls.call_json import CallFault, make_call, to_json
from opgen.calls.table import concatenate, from_calls
from opgen.model import Call, FileError
from opgen.oracle.judgement import judge
from opgen.spec import specfile

TEXT = """
api: aclnnChainBackward
page: none
products: [ascend910b]
parameters:
  grad: {kind: tensor, dtype: [FLOAT], shape: {2: [N, M]}}
  hx: {kind: tensor_list, length: 2, most: 3, dtype: [FLOAT, FLOAT16], shape: {2: [N, H]}}
  weights: {kind: tensor_list, most: 4, dtype: [FLOAT], shape: {2: [H, M]}, null: true}
  layers: {kind: int64, range: [1, 2]}
  out: {kind: output_list, length: {layers: {1: [1], 2: [2]}}, most: 2, shape: {2: [N, H]}}
rules:
  as_many: {require: len(weights) == layers}
  second: {require: "hx[1].dtype == hx[0].dtype"}
  rows: {require: "hx[1].shape[0] == grad.shape[0]"}
returns:
  161001: [grad.null, hx.null, weights.null, out.null]
  161002: [hx.length, hx.dtype, hx.rank, hx.shape, weights.dtype, weights.rank, weights.shape,
           out.length, out.rank, out.shape, as_many, second, rows, layers.range,
           grad.dtype, grad.rank]
  assumed: [product]
"""
SPEC = specfile.loads(TEXT)


def tensor(*shape: int, dtype: str = "FLOAT") -> dict[str, object]:
    return {"shape": list(shape), "dtype": dtype, "format": "ND"}


def arguments(**changes: object) -> dict[str, object]:
    usual = {"hx": [tensor(3, 5), tensor(3, 5)], "weights": [tensor(5, 4)], "layers": 1}
    return {"grad": tensor(3, 4), **usual, "out": [tensor(3, 5)], **changes}


def call(**changes: object) -> Call:
    return make_call(SPEC.api, "ascend910b", arguments(**changes), {SPEC.api: SPEC.kinds})


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({}, []),
        ({"layers": 2, "weights": [tensor(5, 4)] * 2, "out": [tensor(3, 5)] * 2}, []),
        ({"weights": None}, []),
        ({"hx": None}, ["hx.null"]),
        ({"hx": [tensor(3, 5), None]}, ["hx.null"]),
        ({"hx": [None, tensor(3, 5)]}, ["hx.null"]),
        ({"hx": []}, ["hx.length"]),
        ({"hx": [tensor(3, 5)]}, ["hx.length"]),
        ({"hx": [tensor(3, 5)] * 3}, ["hx.length"]),
        ({"hx": [tensor(3, 5), tensor(3, 6)]}, ["hx.shape"]),
        ({"hx": [tensor(3, 5), tensor(3, 5, 1)]}, ["hx.rank"]),
        ({"hx": [tensor(3, 5), tensor(3, 5, dtype="FLOAT16")]}, ["second"]),
        ({"hx": [tensor(3, 5, dtype="INT8")] * 2}, ["hx.dtype"]),
        ({"weights": [tensor(5, 4)] * 2}, ["as_many"]),
        ({"weights": [tensor(4, 4)]}, ["weights.shape"]),
        ({"out": []}, ["out.length"]),
        ({"out": [tensor(2, 5)]}, ["out.shape"]),
    ],
)
def test_rules_hold_of_a_list_and_of_each_tensor(
    changes: dict[str, object], broken: list[str]
) -> None:
    judged = judge(SPEC, from_calls(SPEC.api, SPEC.kinds, [call(**changes)]))
    assert [broke.rule for broke in judged.expectation(0).breaks] == broken


def test_calls_of_lists_of_any_length_are_columns_and_back() -> None:
    lists: list[list[object] | None] = [None, [], [None], [tensor(2, 3), None], [tensor(4)] * 4]
    calls = [call(weights=weights) for weights in lists]
    table = from_calls(SPEC.api, SPEC.kinds, calls)
    assert table.calls() == calls
    assert concatenate([table.take([3]), table.take([0, 1])]).calls() == [
        calls[i] for i in (3, 0, 1)
    ]
    assert list(map(to_json, calls)) == [arguments(weights=weights) for weights in lists]
    assert len(set(table.alike()[0].tolist())) == len(lists)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hx": 3}, "args.hx: expects a list of tensors or null, not 3"),
        ({"hx": [tensor(3, 5)] * 4}, "args.hx: 4 tensors; opgen reads at most 3"),
        ({"hx": [3]}, "args.hx[0]: expects a tensor (an object with shape, dtype, format) or null"),
        ({"hx": [tensor(3), {"shape": [1]}]}, "args.hx[1].dtype is missing"),
        ({"hx[0]": tensor(3)}, "args.hx[0]: aclnnChainBackward has no such parameter"),
    ],
)
def test_what_is_wrong_is_said_of_the_tensor(changes: dict[str, object], message: str) -> None:
    with pytest.raises(CallFault) as caught:
        call(**changes)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hx[1].dtype ==", "hx[3].dtype ==", "no such name 'hx[3]' (did you mean 'hx[2]'?)"),
        ("hx[1].dtype ==", "hx.dtype ==", "hx has no such property"),
        ("most: 3", "most: 0", "how many tensors of a list are read, at most"),
        ("kind: int64", "kind: int64, most: 3", "no such key of int64"),
    ],
)
def test_what_a_spec_says_wrongly_of_a_list(old: str, new: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        specfile.loads(TEXT.replace(old, new))
    assert message in str(caught.value)
