"""What a pass proves, and why it may prove nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen
from opgen.bundle.read.reader import Bundle
from opgen.comparison.diff_report import DiffReport
from opgen.generation import engine
from tests.support import device_sample as sample
from tests.support import suites

ZERO = "every golden is zero, so a device that writes nothing would pass"


def judged(
    bundle: Bundle, folder: Path, outputs: dict[str, Any] | None = None, known: bool = True
) -> DiffReport:
    """What is to be thought of a right device, or of one that returns other ``outputs`` of its
    cases; ``known``: whether its runner knows that all was written.
    """
    with opgen.Results.create(folder / "r.h5", bundle, force=True) as results:
        for case in bundle:
            status = sample.status_of(case)
            right = sample.right(case) if status == 0 and case.golden else {}
            right |= (outputs or {}).get(case.id, {})
            results.add(case.id, status, right, unwritten=dict.fromkeys(right, 0) if known else {})
    return opgen.diff(bundle, folder / "r.h5")


@pytest.mark.parametrize(
    ("values", "known", "verdict"),
    [
        ([0.0] * 336, False, "inconclusive"),
        ([0.0] * 336, True, "passed"),
        ([0.0] * 335 + [1.0], False, "passed"),
    ],
)
def test_zeros_prove_something_only_where_they_were_written(tmp_path, values, known, verdict):
    calls, given = {"zero": sample.pad()}, {"zero": {"gradOutput": values}}
    with opgen.open(sample.write(tmp_path / "b.h5", calls, given)) as bundle:
        case = judged(bundle, tmp_path, known=known)["zero"]
    assert (case.verdict, case.detail) == (verdict, ZERO if verdict == "inconclusive" else "")


def test_one_output_of_zeros_beside_others_proves_something(tmp_path):
    given = {"norm": {"gradOut": [1.0] * 120, "input": [0.0] * 120, "mean": [0.0] * 4}}
    with opgen.open(sample.write(tmp_path / "b.h5", {"norm": sample.norm()}, given)) as bundle:
        case = bundle["norm"]
        assert not case.golden["gradGammaOut"].any() and case.golden["gradBetaOut"].any()
        assert judged(bundle, tmp_path, known=False)["norm"].verdict == "passed"


def test_data_far_from_their_mean_prove_nothing(tmp_path):
    """Some goldens are larger than their bounds, which are no small share of any."""
    draw = np.random.default_rng(0)
    far = {name: draw.uniform(1000, 1002, size) for name, size in (("input", 120), ("mean", 4))}
    given = {"norm": {name: values.tolist() for name, values in far.items()}}
    with opgen.open(sample.write(tmp_path / "b.h5", {"norm": sample.norm()}, given)) as bundle:
        case = judged(bundle, tmp_path)["norm"]
    assert case.verdict == "inconclusive"
    assert case.detail.endswith(": no bound is below 0.0625 of its golden")


def test_a_nan_for_an_inf_is_said(tmp_path):
    """Where sums overflow on their way, a device may return Inf as well as NaN."""
    given = {"far": {"gradOut": [1e10, -1e10] * 60, "rstd": [1e30] * 4}}
    calls = {"far": sample.norm("BFLOAT16")}
    with opgen.open(sample.write(tmp_path / "b.h5", calls, given)) as bundle:
        golden, bound = (kind["gradInput"] for kind in (bundle["far"].golden, bundle["far"].bound))
        here = np.isinf(golden) & np.isinf(bound)
        assert here.any()
        nan = {"gradInput": np.where(here, np.nan, golden)}
        said = f"{here.sum()} elements pass although they are NaN and their goldens are Inf"
        assert said in judged(bundle, tmp_path, {"far": nan}).notes
        assert said not in judged(bundle, tmp_path).notes


def test_writes_to_masked_outputs_are_shown_counted_and_strictly_wrong(tmp_path):
    calls = {name: sample.CALLS[name] for name in ("conv-masked", "conv-half")}
    more = {"gradWeight": np.ones((4, 4, 3, 3), np.float16)}
    with opgen.open(sample.write(tmp_path / "b.h5", calls)) as bundle:
        report = judged(bundle, tmp_path, {"conv-masked": more})
        said = "gradWeight: 144 of 144 elements were written though it is masked out"
        assert (report["conv-masked"].verdict, report["conv-masked"].detail) == ("passed", said)
        assert "cases that wrote to an output that is masked out: 1, such as conv-masked" in (
            report.notes
        )
        assert report.green() and [case.case for case in report.bad(strict=True)] == ["conv-masked"]
        untold = judged(bundle, tmp_path, {"conv-masked": more}, known=False)
        assert untold.green(strict=True) and untold["conv-masked"].detail == ""


@pytest.mark.parametrize("page", suites.PAGES)
def test_a_suite_counts_as_inconclusive_what_a_right_device_leaves_so(tmp_path, page):
    engine.write(suites.suite(page, "smoke"), tmp_path / "b.h5", sample.HEADER)
    with opgen.open(tmp_path / "b.h5") as bundle:
        report = judged(bundle, tmp_path)
        found = [case for case in report if case.verdict == "inconclusive"]
        assert [case.case for case in found] == [case.id for case in bundle if case.inconclusive]
        assert not report.bad(strict=True)
