"""Rules about shapes: a plan makes legal calls of them, and each is broken alone, beside its
nearest valid call.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from opgen.model import Call
from opgen.spec import specfile
from opgen.suite.enumeration.enumerator import Enumeration, enumerate_calls
from opgen.suite.planning.plan import read_plan

SPEC = """
api: aclnnShapesBackward
page: none
products: [ascend910, ascend910b]
parameters:
  a:
    kind: tensor
    dtype: [FLOAT]
    format: {ascend910: [ND], any: [ND, NCL]}
    rank: &ranks [0, 1, 2, 3, 4, 5, 6, 7, 8]
  b: {kind: tensor, dtype: [FLOAT], format: [ND], rank: *ranks}
  n: {kind: int_array}
  dim: {kind: int64}
  mean: {kind: tensor, dtype: [FLOAT], format: [ND]}
  image:
    kind: tensor
    dtype: [FLOAT]
    format: {4: [NCHW, NHWC], 3: [NCL]}
    shape: {4: {NCHW: [N, C, H, W], NHWC: [N, H, W, C]}, 3: [C, H, W]}
  scale: {kind: tensor, dtype: [FLOAT], format: [ND], shape: {1: [C]}}
  left: {kind: output, dtype: [FLOAT], format: [ND]}
  y: {kind: output, dtype: [FLOAT], format: [ND]}
rules:
  fits: {require: "broadcastable(a.shape, b.shape)"}
  result: {require: "y.shape == broadcast(a.shape, b.shape)"}
  some: {require: len(n) >= 1}
  few: {require: len(n) <= a.rank}
  suffix: {require: "n == a.shape[-len(n):]"}
  rows: {require: "mean.shape == a.shape[:-len(n)] + (1,) * len(n)"}
  elements: {require: "left.numel == prod(without(a.shape, dim))"}
  dim_low: {require: "dim >= -a.rank"}
  dim_high: {require: dim < a.rank}
  even: {require: "a.shape[dim] % 2 == 0"}
  last: {require: "a.shape[-1] <= 8"}
  half: {require: C * 0.5 <= 8}
returns:
  161002: [fits, result, some, few, suffix, rows, elements, dim_low, dim_high, even, last, half,
           scale.shape, a.format]
  unstated: [image.format, a.rank, b.rank]
  assumed: [product, a.null, b.null, n.null, mean.null, image.null, scale.null, left.null, y.null,
            image.rank, scale.rank, a.dtype, b.dtype, mean.dtype, image.dtype, scale.dtype,
            left.dtype, y.dtype, b.format, mean.format, scale.format, left.format, y.format]
"""
PLAN = """
op: aclnnShapesBackward
axes:
  product: {values: [ascend910, ascend910b], why: both}
  a.shape:
    values: ["(2, 4)", "(6,)", "(2, 1, 4, 2)", "(2, 2, 2, 2, 2, 2, 2, 4)"]
    why: ranks
  b.shape:
    values: [a.shape, "a.shape[1:]", "a.shape[:-1] + (1,)", "(3, 1) + a.shape[1:]"]
    why: equal, fewer axes, an axis of 1, more axes
  axes: {values: [1, 2, 3], why: how many}
  dim: {values: [-1, 0], why: both ends}
  image.format: {values: [NCHW, NHWC, NCL], why: orders}
let:
  len(n): min(axes, a.rank)
  left.shape: without(a.shape, dim)
  image.rank: [{when: "image.format == 'NCL'", is: 3}, {is: 4}]
  C: 3
  H: 5
  W: 6
tiers:
  smoke: {strength: 1, invalid: 1, limits: 1}
  standard: {strength: 2, invalid: 2, limits: 1}
  full: {strength: 2, invalid: 3, limits: 1}
"""


@cache
def suite(tier: str) -> Enumeration:
    spec = specfile.loads(SPEC)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.yaml"
        path.write_text(PLAN, encoding="utf-8")
        return enumerate_calls(spec, read_plan(path), tier)


def alone(tier: str) -> dict[str, list[tuple[Call, Call]]]:
    """Rule -> the calls that break it and no other rule, and the nearest valid call of each."""
    found, judged = suite(tier), suite(tier).judged
    pairs: dict[str, list[tuple[Call, Call]]] = {}
    for row in np.flatnonzero(judged.broken.sum(axis=0) == 1).tolist():
        near = int(found.nearest_valid[row])
        if found.kind[row] == "invalid":
            assert judged.valid[near]
            rule = judged.spec.rules[int(judged.broken[:, row].argmax())].id
            pairs.setdefault(rule, []).append((judged.table.call(row), judged.table.call(near)))
    return pairs


@pytest.mark.parametrize("tier", ["smoke", "standard"])
def test_every_rule_is_broken_alone(tier: str) -> None:
    rules = {rule.id for rule in suite(tier).judged.spec.rules if rule.forbids}
    assert set(alone(tier)) == rules and not suite(tier).report.unreached


def extents(call: Call, name: str) -> tuple[int, ...]:
    value = call.args[name]
    return value if isinstance(value, tuple) else value.shape


def test_a_dim_is_one_beyond_either_end() -> None:
    for rule, beyond in (("dim_low", lambda rank: -rank - 1), ("dim_high", lambda rank: rank)):
        for call, near in alone("smoke")[rule]:
            rank = len(extents(call, "a"))
            assert call.args["dim"] == beyond(rank) and extents(near, "a") == extents(call, "a")
            assert -rank <= near.args["dim"] < rank


def test_one_axis_does_not_broadcast() -> None:
    for call, _ in alone("smoke")["fits"]:
        a, b = extents(call, "a"), extents(call, "b")
        with pytest.raises(ValueError, match="shape mismatch"):
            np.broadcast_shapes(a, b)
        wrong = [x != y and 1 not in (x, y) for x, y in zip(a[::-1], b[::-1], strict=False)]
        assert sum(wrong) == 1


def test_one_extent_of_a_suffix_is_wrong() -> None:
    for call, _ in alone("smoke")["suffix"]:
        n, a = extents(call, "n"), extents(call, "a")
        assert sum(x != y for x, y in zip(n, a[-len(n) :], strict=True)) == 1


def test_a_letter_is_read_and_placed_by_format() -> None:
    seen = set()
    for row in np.flatnonzero(suite("smoke").judged.valid).tolist():
        call = suite("smoke").judged.table.call(row)
        image, scale = call.args["image"], extents(call, "scale")
        assert scale == (image.shape[{"NCHW": 1, "NHWC": 3, "NCL": 0}[image.format]],)
        seen.add(image.format)
    assert seen == {"NCHW", "NHWC", "NCL"}
    for call, _ in alone("standard")["half"]:
        image = call.args["image"]
        assert image.shape[{"NCHW": 1, "NHWC": 3, "NCL": 0}[image.format]] > 16


def test_a_format_depends_on_the_product() -> None:
    assert {(call.product, call.args["a"].format) for call, _ in alone("standard")["a.format"]} >= {
        ("ascend910", "NCL")
    }
