"""Unusual: within the bound, and further off than rounding is likely to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from opgen.bundle.read.reader import Bundle
from opgen.calls.call_json import make_call
from opgen.calls.categorical import Categorical
from opgen.calls.jsonl import NamedCall
from opgen.comparison.diff_report import DiffReport
from opgen.generation import engine
from opgen.numerics.arrays import Array
from opgen.spec.catalog import catalog
from tests.support import device_sample as sample
from tests.support.suites import of_calls

Wrong = Callable[[str, Array, Array], Array]
"""(output, golden, bound) -> what a device returns."""


def long_convolution(dtype: str, mode: int = 0) -> NamedCall:
    """4,096 positions, so that gradWeight and gradBias are long sums."""
    whole = sample.tensor([4, 2, 32, 32], dtype, "NCHW")
    weight, bias = sample.tensor([2, 2, 3, 3], dtype, "NCHW"), sample.tensor([2], dtype)
    call = sample.convolution(
        dtype,
        mode=mode,
        biasSizes=[2],
        **dict.fromkeys(("gradOutput", "input", "gradInput"), whole),
        **dict.fromkeys(("weight", "gradWeight"), weight),
        gradBias=bias,
    )
    return NamedCall(
        f"long-{dtype}-{mode}",
        make_call(call["op"], call["product"], call["args"], catalog().kinds),
        {},
    )


def report(path: Path, wrong: Wrong, recipe: str = "normal", kind: str = "valid") -> DiffReport:
    """What is said of a device; the calls are cases of such a kind."""
    calls = [long_convolution("FLOAT"), long_convolution("FLOAT16"), long_convolution("FLOAT", 2)]
    suite = of_calls(calls, recipe=recipe)
    cases = replace(suite.cases, kind=Categorical.constant(kind, len(calls)))
    engine.write(replace(suite, cases=cases), path / "b.h5", {})
    with Bundle(path / "b.h5") as bundle:
        return sample.judged(
            bundle,
            path,
            lambda case, outputs: {
                name: wrong(name, case.golden[name].astype(np.float64), case.bound[name]).astype(
                    array.dtype
                )
                for name, array in outputs.items()
            },
        )


def rounded(name: str, golden: Array, limit: Array) -> Array:
    return golden


def off_by(share: float) -> Wrong:
    """One element of gradWeight is off by a share of its bound."""

    def wrong(name: str, golden: Array, limit: Array) -> Array:
        result = golden.copy()
        if name == "gradWeight":
            place = np.abs(golden).argmin()
            result.reshape(-1)[place] += share * limit.reshape(-1)[place]
        return result

    return wrong


@pytest.mark.parametrize("recipe", ["normal", "grid"])
def test_a_right_device_is_not_unusual(recipe: str, tmp_path: Path) -> None:
    assert set(report(tmp_path, rounded, recipe).totals) == {"passed"}


def test_an_error_far_beyond_rounding_is_unusual_and_fails_strictly(tmp_path: Path) -> None:
    found = report(tmp_path, off_by(0.5))
    verdict = found["long-FLOAT-0"]
    assert verdict.verdict == "unusual" and verdict.metrics["ratio"] < 1
    assert verdict.detail.startswith("gradWeight: ")
    assert verdict.detail.endswith(" × what rounding is likely to give")
    assert not found.bad() and verdict in found.bad(strict=True) and found.green()
    assert "errors are larger than rounding" in str(found.groups[0])


def test_a_coefficient_that_is_a_little_wrong_is_unusual(tmp_path: Path) -> None:
    def wrong(name: str, golden: Array, limit: Array) -> Array:
        return golden * (1.001 if name == "gradWeight" else 1.0)

    found = report(tmp_path, wrong)
    assert found["long-FLOAT-0"].verdict == "unusual" and not found.bad()


def test_a_likely_error_passes(tmp_path: Path) -> None:
    assert set(report(tmp_path, off_by(0.03)).totals) == {"passed"}


@pytest.mark.parametrize(("recipe", "kind"), [("wide_exponent", "valid"), ("normal", "given")])
def test_nothing_is_claimed_of_other_data(recipe: str, kind: str, tmp_path: Path) -> None:
    found = report(tmp_path, off_by(0.5), recipe, kind)
    assert found["long-FLOAT-0"].verdict == "passed"
