"""Refusals: they prove something only where the device accepts the nearest valid call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import opgen
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.comparison.diff_report import DiffReport
from opgen.generation import engine
from opgen.model import Code
from tests.support import device_sample as sample
from tests.support import suites


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    path = tmp_path_factory.mktemp("pool") / "b.h5"
    engine.write(suites.suite("avg_pool2d_backward", "smoke"), path, sample.HEADER)
    with opgen.open(path) as bundle:
        yield bundle


def judged(bundle: Bundle, path: Path, status: Code | None) -> DiffReport:
    """What is to be thought of a device that answers so to every valid call, and of which invalid
    cases look right.
    """
    with opgen.Results.create(path, bundle) as results:
        for case in bundle:
            if not case.nearest_valid and status is None:
                continue
            answer = sample.status_of(case) if case.nearest_valid or status in (0, None) else status
            outputs = sample.right(case) if answer == 0 and case.golden else {}
            results.add(case.id, answer, outputs)
    return opgen.diff(bundle, path)


def invalid(bundle: Bundle) -> list[CaseView]:
    return [case for case in bundle if case.kind == "invalid" and case.nearest_valid]


def test_a_right_device_proves_its_refusals(pool, tmp_path):
    report = judged(pool, tmp_path / "r.h5", 0)
    assert {report[case.id].verdict for case in invalid(pool)} == {"passed"}
    assert not [note for note in report.notes if "nearest valid" in note]


@pytest.mark.parametrize("status", [507899, -1, 361001])
def test_a_lost_device_proves_nothing_by_refusing(pool, tmp_path, status):
    report = judged(pool, tmp_path / "r.h5", status)
    for case in invalid(pool):
        assert report[case.id].verdict == "inconclusive"
        assert report[case.id].detail == (
            f"its nearest valid call is refused too, with {status}: {case.nearest_valid}"
        )
        assert not report[case.id].metrics.get("evidence")


def test_a_device_that_refuses_everything_alike_proves_nothing(pool, tmp_path):
    """The other invalid cases are refused with another code than their nearest valid calls."""
    report = judged(pool, tmp_path / "r.h5", 161002)
    verdicts = {(sample.status_of(case), report[case.id].verdict) for case in invalid(pool)}
    assert verdicts == {(161001, "passed"), (161002, "inconclusive")}


def test_refusals_whose_nearest_valid_call_was_not_run_are_counted(pool, tmp_path):
    report = judged(pool, tmp_path / "r.h5", None)
    cases = invalid(pool)
    assert {report[case.id].verdict for case in cases} == {"passed"}
    assert (
        "invalid cases that passed though their nearest valid call was not run:"
        f" {len(cases)}, such as {cases[0].id}" in report.notes
    )
