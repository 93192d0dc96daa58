"""Between which numbers the elements of a tensor lie: of rules, of a call, and what is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from opgen.calls.call_json import make_call
from opgen.calls.jsonl import NamedCall
from opgen.calls.table import CallTable, from_calls
from opgen.generation.engine import compute as compute_batch
from opgen.model import Call, TensorDesc
from opgen.numerics.fill import draw, keys
from opgen.numerics.formats import DTYPES
from opgen.numerics.input_tensor import InputTensor
from opgen.oracle.judgement import judge
from opgen.spec import specfile
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.computable import shapes_the_answer
from opgen.suite.values import drawable, limits
from tests.support.suites import of_calls

SPEC = specfile.loads("""
api: aclnnPickBackward
page: none
products: [ascend910, ascend910b]
parameters:
  grad: {kind: tensor, dtype: [FLOAT], shape: {1: [N]}}
  index: {kind: tensor, dtype: [INT32, INT64], shape: {1: [N]}}
  size: {kind: int64}
  out: {kind: output, dtype: [FLOAT], shape: {1: [M]}}
rules:
  first: {require: values(index) >= 0}
  last: {require: values(index) < size}
  few: {when: product == 'ascend910', require: values(index) <= 7}
returns:
  unstated: [product, first, last, few]
  assumed: [grad.dtype, grad.null, grad.rank, index.dtype, index.null, index.rank, index.shape,
            out.dtype, out.null, out.rank]
""")


def table(*rows: Mapping[str, Any], spec: Spec = SPEC) -> CallTable:
    """Calls of an index of four elements, with what each row says otherwise."""
    calls = []
    for row in rows:
        index = TensorDesc(row.get("shape", (4,)), "INT32", range=row.get("range"))
        grad, out = TensorDesc((4,), "FLOAT"), TensorDesc((9,), "FLOAT")
        args = {"grad": grad, "index": index, "size": row.get("size", 9), "out": out}
        calls.append(Call(spec.api, row.get("product", "ascend910b"), args))
    return from_calls(spec.api, spec.kinds, calls)


def test_rules_give_the_limits_that_a_call_does_not() -> None:
    some = table({}, {"size": 5}, {"product": "ascend910"}, {"range": (2, 3)}, {"size": 0})
    judged = judge(SPEC, some)
    assert {*limits(judged)} == {"index"}
    assert limits(judged)["index"].tolist() == [[0, 8], [0, 4], [0, 7], [2, 3], [0, -1]]
    assert drawable(judged).tolist() == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("row", "broken"),
    [
        ({}, []),
        ({"range": (0, 8)}, []),
        ({"range": (-1, 8)}, ["first"]),
        ({"range": (0, 9)}, ["last"]),
        ({"range": (0.5, 9)}, ["last"]),
        ({"range": (-1e300, 1e300)}, ["first", "last"]),
        ({"range": (0, 8), "product": "ascend910"}, ["few"]),
        ({"range": (9, 9), "size": 10}, []),
        ({"range": (-1, 9), "shape": (0,)}, ["index.shape"]),
    ],
)
def test_a_call_that_says_its_values_is_held_against_the_rules(
    row: Mapping[str, Any], broken: list[str]
) -> None:
    judged = judge(SPEC, table(row))
    assert [each.rule for each in judged.expectations()[0].breaks] == broken
    guilty = [guard for rule, _ in judged.breaking for guard in rule.guards]
    assert all(shapes_the_answer(judged.spec.rule["last"], guard, judged) for guard in guilty)


IGNORING = specfile.loads("""
api: aclnnIgnoreBackward
page: none
products: [ascend910b]
parameters:
  grad: {kind: tensor, dtype: [FLOAT], shape: {1: [N]}}
  index: {kind: tensor, dtype: [INT32], shape: {1: [N]}}
  size: {kind: int64}
  out: {kind: output, dtype: [FLOAT], shape: {1: [M]}}
rules:
  first: {require: "values(index, size) >= 0"}
  last: {require: "values(index, size) < M"}
returns:
  unstated: [product, first, last]
  assumed: [grad.dtype, grad.null, grad.rank, index.dtype, index.null, index.rank, index.shape,
            out.dtype, out.null, out.rank]
""")
"""An index below the nine elements of out; ``size`` is the index that is left out of a sum."""


def test_rules_on_values_leave_out_one_that_a_call_names() -> None:
    """A range is legal if each of its numbers is below nine and not negative, or left out."""
    every = [
        (ignored, least, greatest)
        for ignored in range(-3, 13)
        for least in range(-3, 13)
        for greatest in range(least, 13)
    ]
    rows = [{"size": i, "range": (low, high)} for i, low, high in every]
    judged = judge(IGNORING, table(*rows, spec=IGNORING))
    found = [
        [name in {each.rule for each in answer.breaks} for name in ("first", "last")]
        for answer in judged.expectations()
    ]
    assert found == [
        [
            any(n != ignored and n < 0 for n in range(low, high + 1)),
            any(n != ignored and n >= 9 for n in range(low, high + 1)),
        ]
        for ignored, low, high in every
    ]
    assert limits(judge(IGNORING, table({"size": -100}, spec=IGNORING)))["index"].tolist() == [
        [0, 8]
    ]


@pytest.mark.parametrize("dtype", ["INT8", "INT16", "INT32", "INT64", "UINT8", "UINT32", "BOOL"])
def test_whole_numbers_reach_both_ends_and_repeat(dtype: str) -> None:
    high = 1 if dtype == "BOOL" else 40
    slot = InputTensor("index", (200,), dtype, "FLOAT", role="index", range=(0, high))
    drawn = draw("grid", keys(0, ["a", "b"]), slot)
    assert np.array_equal(drawn, np.floor(drawn))
    assert drawn.min() == 0 and drawn.max() == high
    counts = np.bincount(drawn[0].astype(np.int64), minlength=high + 1)
    assert counts[0] > 10 < counts[high] and (dtype == "BOOL" or 0 < counts[1:high].max() < 20)
    assert not np.array_equal(drawn[0], drawn[1])


def test_whole_numbers_of_no_limits_stay_within_their_dtype() -> None:
    drawn = draw("grid", keys(0, ["a"]), InputTensor("x", (500,), "INT8", "FLOAT", role="index"))
    assert drawn.min() == -128 and drawn.max() == 127 and 0 < np.abs(drawn).min() + 1 < 20


@pytest.mark.parametrize(
    ("dtype", "compute", "weights"),
    [("BOOL", "FLOAT", 5), ("INT8", "FLOAT16", 1000), ("FLOAT16", "BFLOAT16", 5000)],
)
def test_an_index_is_a_number_that_its_dtype_holds(dtype: str, compute: str, weights: int) -> None:
    """Whatever the page's limit is, and unrounded where the gradient has fewer digits."""
    grad = {"shape": [400, 2], "dtype": compute, "format": "ND"}
    args = {
        "grad": grad,
        "indices": {"shape": [400], "dtype": dtype, "format": "ND"},
        "numWeights": weights,
        "paddingIdx": 2**64 - 1,
        "scaleGradByFreq": False,
        "out": {**grad, "shape": [weights, 2]},
    }
    call = make_call("aclnnEmbeddingDenseBackward", "ascend910b", args, catalog().kinds)
    (batch,) = of_calls([NamedCall("one", call, {})]).batches
    arrays = compute_batch(batch, 0)
    stored = arrays["indices", "input"].astype(np.float64).reshape(-1).astype(np.int64)
    held = DTYPES[dtype].limits[1]
    assert stored.min() == 0 and stored.max() == min(weights - 1, held)
    sums = np.zeros((weights, 2))
    np.add.at(sums, stored, arrays["grad", "input"].reshape(-1, 2).astype(np.float64))
    assert np.array_equal(arrays["out", "golden"].reshape(-1, 2), sums)
