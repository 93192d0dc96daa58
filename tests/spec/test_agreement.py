"""What counts as the same fact where a draft is held against a spec of the same page."""

from __future__ import annotations

import pytest

from opgen.spec import specfile
from tests.spec.agreement import facts_of, says_too

SPEC = """\
api: aclnnTentBackward
page:
  file: aclnnTentBackward.md
  sha256: "{zeros}"
  lines: "{lines}"
products: {{ascend910b: 1, ascend910: 2}}
parameters:
  dy: {{kind: tensor, at: 3, dtype: [FLOAT], format: [ND], strided: true, {dy}}}
  x: {{kind: tensor, at: 4, dtype: [FLOAT], format: [ND], strided: true, {x}}}
  y: {{kind: tensor, at: 5, dtype: [FLOAT], format: [ND], strided: true, {y}}}
  mask: {{kind: bool_array, at: 6, length: [1]}}
  dx:
    {{kind: output, at: 7, dtype: [FLOAT], format: [ND], strided: true, {dx},
     null: "not mask[0]", mask: "mask[0]"}}
rules:
  named: {{at: 8, require: dy.format == x.format}}
{rules}
returns:
  161001: [dy.null, x.null, y.null, mask.null, dx.null]
  161002: [{placed}]
  unstated: [product, named, mask.length, {rest}]
"""
PLAIN = dict.fromkeys(("dy", "x", "y", "dx"), "rank: [2]")
KEYS = [f"{name}.{key}" for name in PLAIN for key in ("dtype", "format", "rank")]


def facts(rules="", placed=(), own=(), without=(), **rows):
    """The facts of a spec with some rows and rules; all rules that are not placed are unstated."""
    told = [line.split(":")[0].strip() for line in rules.splitlines()]
    rest = [rule for rule in (*KEYS, *own, *told) if rule not in (*placed, *without)]
    names = {"placed": ", ".join(placed), "rest": ", ".join(rest), "zeros": "0" * 64}
    lines = " ".join(f"{i} {i:012}" for i in range(1, 10))
    text = SPEC.format(rules=rules, lines=lines, **names, **{**PLAIN, **rows})
    return facts_of(specfile.loads(text))


def differ(ours, theirs):
    return [name for name, fact in ours.items() if not says_too(name, fact, theirs)]


def rule(*requirements: str) -> str:
    return "\n".join(f"  r{i}: {{at: [4, 9], {told}}}" for i, told in enumerate(requirements))


ARRAY = {
    "x": "rank: [2]}\n  s: {kind: int_array, at: 6, length: [2]",
    "own": ["s.length", "s.null"],
}
SAME = {
    "an equality in either direction": (
        {"rules": rule("require: dy.shape == x.shape")},
        {"rules": rule("require: x.shape == dy.shape")},
    ),
    "a chain of equalities": (
        {"rules": rule("require: dy.dtype == x.dtype", "require: dy.dtype == y.dtype")},
        {"rules": rule("require: x.dtype == y.dtype", "require: dy.dtype == x.dtype")},
    ),
    "a shape of the same letters": (
        {"rules": rule("require: dy.shape == x.shape")},
        {"dy": "shape: {2: [N, C]}", "x": "shape: {2: [N, C]}", "own": ["x.shape"]},
    ),
    "an axis of the same letter": (
        {"rules": rule("require: 'dy.shape[-2] == x.shape[-2]'")},
        {"dy": "shape: {2: [N, C]}", "x": "shape: {2: [N, D]}", "own": ["x.shape"]},
    ),
    "two limits": (
        {"own": ["n.range"], "x": "rank: [2]}\n  n: {kind: int64, at: 6, range: [1, 9]"},
        {"own": ["n.min"], "x": "rank: [2]}\n  n: {kind: int64, at: 6, min: 1",
         "rules": rule("require: n <= 9").replace("[4, 9]", "6")},
    ),
    "an extent in a shape": (
        {"rules": rule("require: 'x.shape[1] == 2'")},
        {"x": "shape: {2: [N, 2]}", "own": ["x.shape"]},
    ),
    "an axis counted from the first": (
        {"rules": rule("require: 'dy.shape[0] == x.shape[1]'")},
        {"rules": rule("require: 'dy.shape[-2] == x.shape[-1]'")},
    ),
    "the rank of the same axes but for one": (
        {"rules": rule("require: dy.rank == x.rank"), "placed": ["r0"]},
        {"rules": rule("require: 'without(dy.shape, 1) == without(x.shape, 1)'"), "placed": ["r0"]},
    ),
    "the first dtype that has a value": (
        {"rules": rule("require: dx.dtype == y.dtype",
                       "when: y.null, require: dx.dtype == x.dtype")},
        {"rules": rule("require: 'dx.dtype == first(y.dtype, x.dtype)'")},
    ),
    "what holds of an output that is asked for": (
        {"rules": rule("require: dx.shape == x.shape")},
        {"rules": rule("when: 'mask[0]', require: dx.shape == x.shape")},
    ),
    "what holds but for one product": (
        {"rules": rule("when: product == 'ascend910b', require: dy.shape == x.shape")},
        {"rules": rule("when: product != 'ascend910', require: dy.shape == x.shape")},
    ),
    "shapes that broadcast, two by two": (
        {
            "rules": rule(
                "require: 'broadcastable(dy.shape, x.shape)'",
                "require: 'broadcastable(dy.shape, y.shape)'",
            )
        },
        {"rules": rule("require: 'broadcastable(dy.shape, broadcast(x.shape, y.shape))'")},
    ),
    "a condition in another order": (
        {"rules": rule("when: \"product != 'ascend910' and mask[0]\", require: dy.numel == 3")},
        {"rules": rule("when: \"mask[0] and product == 'ascend910b'\", require: dy.numel == 3")},
    ),
    "a condition that holds for every rank": (
        {"rules": rule("when: 'x.rank in (2, 3) and mask[0]', require: dy.numel == 3"),
         "x": "rank: [2, 3]"},
        {"rules": rule("when: 'mask[0]', require: dy.numel == 3"), "x": "rank: [2, 3]"},
    ),
    "no empty tensor for one product": (
        {"rules": rule("when: product == 'ascend910', require: x.numel > 0")},
        {"x": "rank: [2], empty: false, when: {empty: product == 'ascend910'}", "own": ["x.empty"]},
    ),
    "a limit of all items of an array": (
        {"rules": rule("require: 's[0] <= 9'"), **ARRAY},
        {"rules": rule("require: highest(s) <= 9"), **ARRAY},
    ),
}  # fmt: skip
OTHER = {
    "another code": (
        {"rules": rule("require: dy.shape == x.shape"), "placed": ["r0"]},
        {"rules": rule("require: dy.shape == x.shape")},
    ),
    "another line": (
        {"rules": rule("require: dy.numel == 3")},
        {"rules": rule("require: dy.numel == 3").replace("4, 9", "8")},
    ),
    "another attribute": (
        {"rules": rule("require: dy.shape == x.shape")},
        {"rules": rule("require: dy.dtype == x.dtype")},
    ),
    "no chain": (
        {"rules": rule("require: dy.dtype == x.dtype")},
        {"rules": rule("require: dy.dtype == y.dtype")},
    ),
    "a chain with another code": (
        {"rules": rule("require: dy.dtype == y.dtype")},
        {"rules": rule("require: x.dtype == y.dtype", "require: dy.dtype == x.dtype"),
          "placed": ["r0"]},
    ),
    "letters of other axes": (
        {"rules": rule("require: dy.shape == x.shape")},
        {"dy": "shape: {2: [N, C]}", "x": "shape: {2: [C, N]}", "own": ["x.shape"]},
    ),
    "an axis counted from the other end": (
        {"rules": rule("require: 'dy.shape[0] == x.shape[1]'")},
        {"rules": rule("require: 'dy.shape[-1] == x.shape[-2]'")},
    ),
    "the first dtype of another tensor": (
        {"rules": rule("require: dx.dtype == x.dtype")},
        {"rules": rule("require: 'dx.dtype == first(y.dtype, x.dtype)'")},
    ),
    "another product": (
        {"rules": rule("when: product == 'ascend910b', require: dy.shape == x.shape")},
        {"rules": rule("when: product != 'ascend910b', require: dy.shape == x.shape")},
    ),
    "a condition": (
        {"rules": rule("require: dy.shape == x.shape")},
        {"rules": rule("when: 'mask[0]', require: dy.shape == x.shape")},
    ),
    "another part of a condition": (
        {"rules": rule("when: \"product != 'ascend910' and mask[0]\", require: dy.numel == 3")},
        {"rules": rule("when: product == 'ascend910b', require: dy.numel == 3")},
    ),
    "a condition that holds for one rank": (
        {"rules": rule("when: 'x.rank in (2, 3) and mask[0]', require: dy.numel == 3"),
         "x": "rank: [2, 3, 4]"},
        {"rules": rule("when: 'mask[0]', require: dy.numel == 3"), "x": "rank: [2, 3, 4]"},
    ),
    "no empty tensor for another product": (
        {"rules": rule("when: product == 'ascend910', require: x.numel > 0")},
        {"x": "rank: [2], empty: false, when: {empty: product != 'ascend910'}", "own": ["x.empty"]},
    ),
    "another limit of all items of an array": (
        {"rules": rule("require: 's[0] <= 8'"), **ARRAY},
        {"rules": rule("require: highest(s) <= 9"), **ARRAY},
    ),
    "another rank": (
        {"dy": "rank: [1]"},
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_a_fact_in_another_form_is_the_same(name):
    ours, theirs = (facts(**given) for given in SAME[name])
    assert differ(ours, theirs) == []


@pytest.mark.parametrize("name", OTHER)
def test_what_says_otherwise_differs(name):
    ours, theirs = (facts(**given) for given in OTHER[name])
    assert differ(ours, theirs) != []
