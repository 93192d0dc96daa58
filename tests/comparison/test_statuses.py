"""Status codes: what a device answered against what page and library admit."""

from __future__ import annotations

import pytest

import opgen
from opgen.comparison.statuses import Admissible, of_first_phase
from opgen.model import written
from tests.support import device_sample as sample
from tests.support.device_sample import judged

FIRST = [
    # page, bucket, library, status, truth, verdict
    ((0,), "valid", (0,), 0, "both", "passed"),
    ((0,), "valid", (0,), 161002, "both", "failed"),
    ((0,), "valid", (0, 561103), 561103, "both", "known deviation"),
    ((0,), "valid", (0, 561103), 561103, "page", "failed"),
    ((0,), "valid", (0, 561103), 561103, "library", "passed"),
    ((0,), "valid", (561103,), 0, "library", "failed"),
    ((161002,), "stated", None, 161002, "both", "passed"),
    ((161002,), "stated", None, 161001, "both", "failed"),
    ((161002,), "stated", (0,), 0, "both", "known deviation"),
    ((161002,), "stated", (161001,), 0, "both", "failed"),
    ((161001, 161002), "stated", None, 161001, "both", "passed"),
    ((161002, "any_error"), "stated", None, 0, "both", "failed"),
    ((161002, "any_error"), "stated", None, 561103, "both", "passed"),
    (("any_error",), "unstated", None, 0, "both", "lenient"),
    (("any_error",), "unstated", (0,), 0, "both", "lenient"),
    (("any_error",), "unstated", (0,), 0, "library", "passed"),
    (("any_error",), "unstated", (161002,), 0, "library", "failed"),
    (("any_error",), "unstated", None, 561002, "both", "passed"),
    (("any_error",), "unsupported_product", None, 0, "page", "lenient"),
    ((0, "any_error"), "disputed", None, 0, "both", "passed"),
    ((0, "any_error"), "disputed", None, 161002, "both", "passed"),
    ((0, "any_error"), "assumed", None, 561103, "both", "passed"),
    ((0, "any_error"), "assumed", None, 507899, "both", "failed"),
    (("any_error",), "unstated", None, 507899, "both", "failed"),
    (("any_error",), "unstated", None, 361001, "both", "failed"),
    (("any_error",), "unstated", None, -1, "both", "failed"),
    (("any_error",), "unstated", (507899,), 507899, "both", "known deviation"),
    ((361001, "any_error"), "unsupported_product", None, 361001, "both", "passed"),
    ((0, "any_error"), "assumed", ("crash",), "crash", "both", "known deviation"),
    ((0, "any_error"), "assumed", ("crash",), "crash", "page", "crashed"),
    ((0, "any_error"), "assumed", ("crash",), "timeout", "both", "crashed"),
    ((0,), "valid", None, "crash", "both", "crashed"),
    ((0,), "valid", None, "timeout", "library", "crashed"),
    ((0,), "valid", None, "unusable", "both", "failed"),
    ((0,), "valid", None, "skipped", "both", "skipped"),
    ((0,), "valid", None, None, "both", "failed"),
    ((0,), "valid", None, 0, "library", "passed"),
]


@pytest.mark.parametrize(("page", "bucket", "library", "status", "truth", "verdict"), FIRST)
def test_statuses_of_the_first_phase(page, bucket, library, status, truth, verdict):
    assert of_first_phase(Admissible(page, bucket, library), status, truth)[0] == verdict


@pytest.mark.parametrize("bucket", ["valid", "disputed", "assumed"])
@pytest.mark.parametrize("status", [0, 161002])
def test_what_a_device_answers_where_anything_may_be_answered_is_said(bucket, status):
    said = of_first_phase(Admissible((0, 161002), bucket, None), status)
    assert said == ("passed", "" if bucket == "valid" else f"{bucket}: the device answers {status}")


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (None, "passed"),
        (0, "passed"),
        (361001, "failed"),
        ("crash", "crashed"),
        ("timeout", "crashed"),
        ("overrun", "failed"),
        ("skipped", "skipped"),
    ],
)
def test_statuses_of_the_run(bundle, tmp_path, status, verdict):
    path = tmp_path / "r.h5"
    with opgen.Results.create(path, bundle) as results:
        results.add(
            "pad-FLOAT", 0, sample.right(bundle["pad-FLOAT"]), run_status=status, error="so it was"
        )
    verdict_of = opgen.diff(bundle, path)["pad-FLOAT"]
    assert verdict_of.verdict == verdict
    if verdict in ("failed", "crashed"):
        assert "second phase" in verdict_of.detail


@pytest.mark.parametrize("case", ["unstated-padding", "stated-divisor"])
@pytest.mark.parametrize(
    ("status", "verdict"),
    [("crash", "crashed"), ("timeout", "crashed"), ("overrun", "failed"), (361001, "failed")],
)
def test_a_run_that_ends_badly_is_no_leniency_and_no_known_deviation(
    bundle, tmp_path, case, status, verdict
):
    with opgen.Results.create(tmp_path / "r.h5", bundle) as results:
        results.add(case, 0, {}, run_status=status)
    found = opgen.diff(bundle, tmp_path / "r.h5")[case]
    assert (found.verdict, "second phase" in found.detail) == (verdict, True)


@pytest.mark.parametrize(
    ("case", "status", "verdict"),
    [
        ("stated_divisor", 161001, "failed"),
        ("stated_divisor", 0, "known deviation"),
        ("stated_null", 0, "failed"),
        ("stated_null", 161002, "failed"),
        ("unstated_padding", 0, "lenient"),
        ("unstated_padding", 561103, "passed"),
        ("disputed_cube", 561103, "passed"),
        ("assumed_stride", "crash", "known deviation"),
        ("assumed_stride", 0, "passed"),
        ("pool_plain", 161002, "failed"),
        ("pool_plain", "crash", "crashed"),
        ("pool_plain", "skipped", "skipped"),
    ],
)
def test_statuses_in_a_bundle(bundle, tmp_path, case, status, verdict):
    report = judged(
        bundle,
        tmp_path,
        lambda c, o: {} if c.id.replace("-", "_") == case and status != 0 else o,
        **{case: status},
    )
    assert report[case.replace("_", "-")].verdict == verdict
    assert all(
        one.verdict in ("passed", "inconclusive")
        for one in report
        if one.case != case.replace("_", "-")
    )
    if verdict == "failed" and case.startswith("stated"):
        assert "expected" in report[case.replace("_", "-")].detail


def test_a_crash_is_held_against_what_was_asked():
    asked = Admissible(("any_error",), "unstated", (161002,))
    said = {truth: of_first_phase(asked, "crash", truth) for truth in ("page", "both", "library")}
    assert said == {
        "page": ("crashed", "crash in the first phase, expected any error"),
        "both": ("crashed", "crash in the first phase, expected any error"),
        "library": ("crashed", "crash in the first phase, expected 161002"),
    }


@pytest.mark.parametrize("truth", ["both", "page"])
def test_a_lenient_case_says_which_rule_it_breaks_and_what_the_library_does(
    bundle, tmp_path, truth
):
    report = judged(bundle, tmp_path, options={"truth": truth}, unstated_padding=0)
    said = "accepted, although the page forbids it without naming a code; "
    library = "; the published library answers 161002" if truth == "both" else ""
    assert (
        report["unstated-padding"].detail
        == f"{said}padding.length (line 55): len(padding)=3{library}"
    )


def test_a_forbidden_case_without_data_is_lenient_or_passed(tmp_path):
    """No output is asked for, so that no numbers prove anything; but the page forbids the call, and
    a refusal proves that it is held.
    """
    call = sample.convolution(outputMask=[False, False, False], outputPadding=[1, 1])
    with opgen.open(sample.write(tmp_path / "idle.h5", {"idle": call})) as bundle:
        assert bundle["idle"].expect.bucket == "unstated" and not bundle["idle"].golden
        report = judged(bundle, tmp_path, idle=0)
        assert report["idle"].verdict == "lenient" and [
            one.case for one in report.bad(strict=True)
        ] == ["idle"]
        assert judged(bundle, tmp_path, idle=161002)["idle"].verdict == "passed"


def test_strict_counts_lenient_and_known(bundle, tmp_path):
    report = judged(bundle, tmp_path, unstated_padding=0, stated_divisor=0)
    assert not report.bad()
    assert {verdict.case for verdict in report.bad(strict=True)} == {
        "unstated-padding",
        "stated-divisor",
    }


def test_words_of_codes():
    assert written((161001, "any_error")) == "161001 or any other error"
