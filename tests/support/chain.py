"""An operator that no page has, with lists of tensors: its spec, plan and kernel, in a copy of a
checkout.
"""

from __future__ import annotations

from pathlib import Path

from tests.support import copies

API = "aclnnChainBackward"
SPEC = """\
api: aclnnChainBackward
page: none
products: [ascend910b]

parameters:
  gradOutput: {kind: tensor, dtype: [FLOAT], format: [ND], shape: {2: [N, C]}, dims: [1, null]}
  factors:
    kind: tensor_list
    most: 3
    dtype: [FLOAT, FLOAT16]
    format: [ND]
    shape: {2: [N, C]}
    strided: true
  layers: {kind: int64, enum: {1: ONE, 2: TWO}}
  gradInputs:
    kind: output_list
    most: 3
    length: {layers: {1: [1], 2: [2]}}
    dtype: [FLOAT]
    format: [ND]
    shape: {2: [N, C]}

rules:
  as_many: {require: len(factors) == layers}
  alike: {require: "factors[1].dtype == factors[0].dtype"}

returns:
  161001: [gradOutput.null, factors.null, gradInputs.null]
  161002: [gradOutput.dtype, gradOutput.format, gradOutput.rank, layers.enum, as_many, alike,
           factors.dtype, factors.format, factors.rank, factors.shape,
           gradInputs.length, gradInputs.dtype, gradInputs.format, gradInputs.rank,
           gradInputs.shape]
  unstated: [gradOutput.dims]
  assumed: [product]
"""
PLAN = """\
op: aclnnChainBackward
extends: default
factors: 2
"""
KERNEL = '''\
"""Each of gradInputs is gradOutput times the factor at its place."""

import numpy as np

from opgen.golden import ProbeCall

VERSION = 1
PROBES = [ProbeCall({}, {"gradOutput": (2, 3), "factors[0]": (2, 3)}, ("gradInputs[0]",))]


def golden(tensors, names, wanted):
    factors = {out: tensors[out.replace("gradInputs", "factors")] for out in wanted}
    return {out: tensors["gradOutput"] * factor for out, factor in factors.items()}


def magnitude(tensors, names, wanted):
    return {out: np.abs(array) for out, array in golden(tensors, names, wanted).items()}


def depth(names, shapes, output):
    return 2
'''


def checkout(folder: Path) -> Path:
    """A copy of the checkout in which the operator is one of opgen's."""
    copy = copies.checkout(folder)
    for name, text in (
        ("specs/chain_backward.yaml", SPEC),
        ("cases/chain_backward.yaml", PLAN),
        ("opgen/golden/chain_backward.py", KERNEL),
    ):
        (copy / name).write_text(text, encoding="utf-8")
    return copy
