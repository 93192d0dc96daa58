"""What a device never wrote is wrong, whatever was expected of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import opgen
from tests.support import device_sample as sample

NAN = {"gradOutput": np.full((2, 3, 7, 8), np.nan)}


@pytest.mark.parametrize(
    ("unwritten", "verdict", "told"),
    [
        ({"gradInput": 3}, "failed", "gradInput: 3 elements were never written"),
        ({"gradInput": 120}, "failed", "gradInput: nothing was written"),
        ({"gradInput": 0}, "passed", ""),
        (None, "passed", "the backend cannot tell whether a device wrote every element"),
    ],
)
def test_a_golden_of_nan_does_not_excuse_an_element_that_was_never_written(
    tmp_path: Path, unwritten: dict[str, int] | None, verdict: str, told: str
) -> None:
    """Every golden is NaN, and so is what a runner lays in an output before the run."""
    path = sample.write(tmp_path / "suite.h5", {"nan": sample.pad()}, {"nan": NAN})
    with opgen.open(path) as bundle:
        golden = bundle["nan"].golden["gradInput"]
        assert np.isnan(golden).all() and golden.size == 120
        with opgen.Results.create(tmp_path / "r.h5", bundle) as results:
            results.add("nan", 0, {"gradInput": golden.astype(np.float32)}, unwritten=unwritten)
        report = opgen.diff(bundle, tmp_path / "r.h5")
    assert "the results name no device" in report.notes
    assert report["nan"].verdict == verdict
    assert told in (report["nan"].detail if verdict == "failed" else "".join(report.notes))
    counts = report["nan"].metrics["outputs"]["gradInput"]["unwritten"]
    assert counts == (unwritten or {}).get("gradInput")
