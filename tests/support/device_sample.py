"""A small bundle with calls of every bucket, and devices that are made up: right ones and wrong
ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import opgen
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.calls.call_json import make_call
from opgen.calls.jsonl import NamedCall
from opgen.comparison.diff_report import DiffReport
from opgen.generation import engine
from opgen.model import Code
from opgen.numerics.rounding import stored
from opgen.spec.catalog import catalog
from tests.support.suites import of_calls

Arrays = dict[str, np.ndarray]
Spoil = Callable[[CaseView, Arrays], Arrays]
CANARY = np.array(0x7FE5A5A5, np.uint32).view(np.float32)[()]
"""What outputs of FLOAT hold before the device writes them."""
HEADER = {"operators": [], "products": [], "seed": 0, "plan": "calls", "specs": {}, "plans": {}}


def tensor(
    shape: list[int], dtype: str = "FLOAT", layout: str = "ND", **more: Any
) -> dict[str, Any]:
    return {"shape": shape, "dtype": dtype, "format": layout, **more}


def pad(
    dtype: str = "FLOAT",
    padding: tuple[int, ...] = (2, 1, 1, 2),
    product: str = "ascend910b",
    **changes: Any,
) -> dict[str, Any]:
    left, right, top, bottom = padding
    small, large = [2, 3, 4, 5], [2, 3, 4 + top + bottom, 5 + left + right]
    args = {
        "gradOutput": tensor(large, dtype),
        "self": tensor(small, dtype),
        "padding": list(padding),
        "gradInput": tensor(small, dtype),
    }
    return {"op": "aclnnReflectionPad2dBackward", "product": product, "args": {**args, **changes}}


def pool(dtype: str = "FLOAT", product: str = "ascend910b", **changes: Any) -> dict[str, Any]:
    args = {
        "gradOutput": tensor([2, 3, 3, 3], dtype, "NCHW"),
        "self": tensor([2, 3, 6, 6], dtype, "NCHW"),
        "kernelSize": [2, 2],
        "stride": [2, 2],
        "padding": [0, 0],
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "cubeMathType": 0,
        "gradInput": tensor([2, 3, 6, 6], dtype, "NCHW"),
    }
    return {"op": "aclnnAvgPool2dBackward", "product": product, "args": {**args, **changes}}


def norm(
    dtype: str = "FLOAT", product: str = "ascend910b", group: int = 2, **changes: Any
) -> dict[str, Any]:
    whole, stats, gamma = tensor([2, 6, 10], dtype), tensor([2, group], dtype), tensor([6], dtype)
    args = {
        "gradOut": whole,
        "input": whole,
        "mean": stats,
        "rstd": stats,
        "gamma": gamma,
        "N": 2,
        "C": 6,
        "HxW": 10,
        "group": group,
        "outputMask": [True, True, True],
        "gradInput": whole,
        "gradGammaOut": gamma,
        "gradBetaOut": gamma,
    }
    return {"op": "aclnnGroupNormBackward", "product": product, "args": {**args, **changes}}


def convolution(
    dtype: str = "FLOAT16",
    product: str = "ascend910b",
    groups: int = 1,
    mode: int = 0,
    **changes: Any,
) -> dict[str, Any]:
    def make(shape: list[int]) -> dict[str, Any]:
        return tensor(shape, dtype, "NCHW")

    args = {
        "gradOutput": make([2, 4, 5, 6]),
        "input": make([2, 4, 5, 6]),
        "weight": make([4, 4 // groups, 3, 3]),
        "biasSizes": [4],
        "stride": [1, 1],
        "padding": [1, 1],
        "dilation": [1, 1],
        "transposed": False,
        "outputPadding": [0, 0],
        "groups": groups,
        "outputMask": [True, True, True],
        "cubeMathType": mode,
        "gradInput": make([2, 4, 5, 6]),
        "gradWeight": make([4, 4 // groups, 3, 3]),
        "gradBias": tensor([4], dtype),
    }
    return {"op": "aclnnConvolutionBackward", "product": product, "args": {**args, **changes}}


CALLS: dict[str, dict[str, Any]] = {
    **{
        f"pad-{dtype}": pad(dtype)
        for dtype in ("FLOAT16", "FLOAT", "DOUBLE", "COMPLEX64", "COMPLEX128")
    },
    "pool-plain": pool(),
    "pool-half": pool("FLOAT16"),
    "pool-bf16": pool("BFLOAT16"),
    "pool-old": pool(product="ascend910", cubeMathType=1),
    "pool-mode1": pool(cubeMathType=1),
    "pool-ceil": pool(ceilMode=True),
    "norm-plain": norm(),
    "norm-bf16": norm("BFLOAT16", group=3),
    "norm-one": norm(group=1),
    "conv-half": convolution(),
    "conv-bf16": convolution("BFLOAT16"),
    "conv-plain": convolution("FLOAT"),
    "conv-groups": convolution("FLOAT", groups=2),
    "conv-groups-half": convolution(groups=2),
    "conv-hf32": convolution("FLOAT", mode=3),
    "conv-masked": convolution(outputMask=[True, False, True]),
    "conv-uneven": convolution("FLOAT", padding=[0, 2, 2, 0]),
    "conv-nothing": convolution(outputMask=[False, False, False]),
    "stated-divisor": pool(divisorOverride=300),
    "stated-null": pool(kernelSize=None),
    "unstated-padding": pool(padding=[0, 0, 0]),
    "unstated-pad": pad(padding=(5, 1, 1, 1)),
    "disputed-cube": pool("FLOAT16", "ascend910", cubeMathType=0),
    "assumed-stride": pool(stride=None, ceilMode=True),
}
"""Calls by id; the first part of an id says the bucket where a call is not valid."""


def write(
    path: Path,
    calls: Mapping[str, Mapping[str, Any]] = CALLS,
    given: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """A bundle of some calls; ``given``: id -> values of its tensors."""
    kinds = catalog().kinds
    named = [
        NamedCall(name, make_call(one["op"], one["product"], one["args"], kinds), {})
        for name, one in calls.items()
    ]
    made = of_calls(named, given=given or {})
    engine.write(made, path, HEADER)
    return path


def right(case: CaseView) -> Arrays:
    """What a device returns that rounds the golden once."""
    args = case.call["args"]
    return {
        name: stored(
            golden.astype(np.complex128 if np.iscomplexobj(golden) else np.float64),
            args[name]["dtype"],
        )
        for name, golden in case.golden.items()
    }


def status_of(case: CaseView) -> Code:
    """A status that the page admits."""
    numbers = [code for code in case.expect.codes if isinstance(code, int)]
    return numbers[0] if numbers else 161002


def answer(bundle: Bundle, path: Path, spoil: Spoil | None = None, **statuses: Code) -> Path:
    """Results of a device that is right but for what ``spoil`` does to its outputs, and for some
    ``statuses`` (- is _ in an id).
    """
    with opgen.Results.create(
        path, bundle, force=True, header={"backend": "made up", "device": "none"}
    ) as results:
        for case in bundle:
            status = statuses.get(case.id.replace("-", "_"), status_of(case))
            outputs = right(case) if status == 0 and case.golden else {}
            if spoil is not None:
                outputs = spoil(case, {name: array.copy() for name, array in outputs.items()})
            left = {
                name: int((array.view(np.uint32) == CANARY.view(np.uint32)).sum())
                for name, array in outputs.items()
                if array.dtype == np.float32
            }
            results.add(case.id, status, outputs, run_status=0 if outputs else None, unwritten=left)
    return path


def judged(
    bundle: Bundle,
    folder: Path,
    spoil: Spoil | None = None,
    options: Mapping[str, Any] | None = None,
    **statuses: Code,
) -> DiffReport:
    """What is to be thought of such a device."""
    results = answer(bundle, folder / "r.h5", spoil, **statuses)
    return opgen.diff(bundle, results, **(options or {}))


def only(name: str, change: Callable[[Arrays], Arrays]) -> Spoil:
    """Spoil the outputs of one case."""
    return lambda case, outputs: change(outputs) if case.id == name else outputs
