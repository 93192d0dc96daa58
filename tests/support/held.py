"""An operator that no page has, with a tensor that is an input and an output: its spec, plan and
kernel, in a copy of a checkout.
"""

from __future__ import annotations

from pathlib import Path

from tests.support import copies

API = "aclnnHeldBackward"
SPEC = """\
api: aclnnHeldBackward
page: none
products: [ascend910b]

parameters:
  gradOutput: {kind: tensor, dtype: [FLOAT], format: [ND], shape: {2: [N, C]}, dims: [1, null]}
  gradInputRef:
    kind: inout
    dtype: [FLOAT, FLOAT16]
    format: [ND]
    shape: {2: [N, C]}
    strided: true
  factor: {kind: double, min: 0.5, max: 4}

returns:
  161001: [gradOutput.null, gradInputRef.null]
  161002: [gradOutput.dtype, gradOutput.format, gradOutput.rank, gradInputRef.dtype,
           gradInputRef.format, gradInputRef.rank, gradInputRef.shape, factor.min, factor.max]
  unstated: [gradOutput.dims]
  assumed: [product]
"""
PLAN = """\
op: aclnnHeldBackward
extends: default
factors: 1
axes:
  factor: [2.0, 0.5]
"""
KERNEL = '''\
"""gradOutput times factor is added to what gradInputRef holds."""

import numpy as np

from opgen.golden import ProbeCall

VERSION = 1
SHAPES = {"gradOutput": (2, 3), "gradInputRef": (2, 3)}
PROBES = [ProbeCall({"factor": 2.0}, SHAPES, ("gradInputRef",), gradients=2)]


def golden(tensors, names, wanted):
    added = tensors["gradOutput"] * names["factor"]
    return {"gradInputRef": tensors["gradInputRef"] + added} if wanted else {}


def magnitude(tensors, names, wanted):
    return golden({name: np.abs(array) for name, array in tensors.items()}, names, wanted)


def depth(names, shapes, output):
    return 2
'''


def checkout(folder: Path) -> Path:
    """A copy of the checkout in which the operator is one of opgen's."""
    copy = copies.checkout(folder)
    for name, text in (
        ("specs/held_backward.yaml", SPEC),
        ("cases/held_backward.yaml", PLAN),
        ("opgen/golden/held_backward.py", KERNEL),
    ):
        (copy / name).write_text(text, encoding="utf-8")
    return copy
