"""An operator that no page has, with a parameter of each kind: its spec, plan and kernel, in a copy
of a checkout.
"""

from __future__ import annotations

from pathlib import Path

from tests.support import copies

API = "aclnnMadeUpBackward"
SPEC = """\
api: aclnnMadeUpBackward
page: none
products: [ascend310p, ascend910, ascend910b, ascend910_93]

parameters:
  gradOutput: {kind: tensor, dtype: [FLOAT], format: [ND], shape: {2: [N, C]}, dims: [1, null]}
  p: {kind: double, range: [0, 1]}
  eps: {kind: float}
  count: {kind: uint64, min: 1}
  reduction: {kind: string, enum: [none, mean]}
  weights: {kind: float_array, length: [0, 2], min: 0.25, null: true}
  beta: {kind: scalar, dtype: [FLOAT, DOUBLE, INT32], range: [0, 2], null: true}
  gradInput: {kind: output, dtype: [FLOAT], format: [ND], shape: {2: [N, C]}}

rules:
  eps_positive: {require: eps > 0}
  beta_of_ints: {when: "beta.dtype == 'INT32'", require: beta != 0}
  mean_of_few: {when: "reduction == 'mean'", require: count < 18446744073709551615}

returns:
  161001: [gradOutput.null, gradInput.null, reduction.null]
  161002: [gradOutput.dtype, gradInput.dtype, gradInput.shape, p.range, eps_positive, count.min,
           reduction.enum, weights.length, weights.min, mean_of_few,
           beta.dtype, beta.range, beta_of_ints]
  unstated: [gradOutput.format, gradInput.format, gradOutput.rank, gradInput.rank, gradOutput.dims]
  assumed: [product]
"""
PLAN = """\
op: aclnnMadeUpBackward
roles: {gradOutput: gradient}
factors: 1
axes:
  product: [ascend910b]
  p: [0.5, 0, 1]
  eps: [0.1, 2, inf]
  count: [1, 18446744073709551615]
  reduction: [none, mean]
  weights: {values: [[], [0.5, 0.25], [0.3, 3]]}
  weights.null: [false, true]
  beta:
    sets: [beta, beta.dtype, beta.null]
    values: [[0.1, FLOAT, false], [0.1, DOUBLE, false], [2, INT32, false], [0, FLOAT, true]]
  batch: {sets: [N, C], values: [[2, 3], [4, 1]]}
tiers:
  smoke: {strength: 1, invalid: 1, limits: 1}
  standard: {strength: 2, invalid: 2, limits: 1}
"""
KERNEL = '''\
"""gradInput = gradOutput * (p + eps + beta + weights), divided by count where they are reduced."""

import numpy as np

from opgen.golden import ProbeCall

VERSION = 1
NAMES = {"p": 0.5, "eps": 0.25, "count": 3, "reduction": "mean", "weights": (0.5,)}
PROBES = [ProbeCall(NAMES, {"gradOutput": (2, 3)}, ("gradInput",))]


def factor(names):
    total = sum(names.get("weights", ()), names["p"] + names["eps"] + names.get("beta", 0))
    return total / float(names["count"]) if names["reduction"] == "mean" else total


def golden(tensors, names, wanted):
    return {"gradInput": tensors["gradOutput"] * factor(names)}


def magnitude(tensors, names, wanted):
    return {"gradInput": np.abs(tensors["gradOutput"]) * factor(names)}


def depth(names, shapes, output):
    return 7
'''


def checkout(folder: Path) -> Path:
    """A copy of the checkout in which the operator is one of opgen's."""
    copy = copies.checkout(folder)
    for name, text in (
        ("specs/made_up_backward.yaml", SPEC),
        ("cases/made_up_backward.yaml", PLAN),
        ("opgen/golden/made_up_backward.py", KERNEL),
    ):
        (copy / name).write_text(text, encoding="utf-8")
    return copy
