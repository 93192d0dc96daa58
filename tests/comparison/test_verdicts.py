"""Verdicts: a right device passes, each wrong one is seen, hostile inputs are said, deviations are
told apart.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.bundle.format.dtypes import ROLES
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.answers import write as write_answers
from opgen.bundle.results.joining import _answers as answers_of
from opgen.bundle.results.reader import ResultsFile
from opgen.comparison import measuring, metrics
from opgen.comparison.alignment import align, goldens_of
from opgen.comparison.diff_report import DiffReport, Group, SharedTrait
from opgen.comparison.explain import call_line
from opgen.comparison.pattern import describe
from opgen.comparison.statuses import Admissible, of_first_phase
from opgen.comparison.traits import ranked, shared_traits
from opgen.files.resources import specs_folder
from opgen.generation import engine
from opgen.model import FileError, Verdict, written
from opgen.numerics import canary
from opgen.numerics.formats import DTYPES
from opgen.numerics.rounding import stored
from opgen.oracle import erratafile
from opgen.spec.catalog import catalog
from tests.support import device_sample as sample
from tests.support import suites

FLOAT_MAX = float(np.finfo(np.float32).max)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return sample.write(tmp_path_factory.mktemp("diff") / "suite.h5")


@pytest.fixture(scope="module")
def bundle(path):
    with opgen.open(path) as opened:
        yield opened


def judged(bundle, tmp_path, spoil=None, options=None, **codes) -> DiffReport:
    return opgen.diff(
        bundle, sample.answer(bundle, tmp_path / "r.h5", spoil, **codes), **(options or {})
    )


def only(name: str, change):
    """Spoil the outputs of one case."""
    return lambda case, outputs: change(outputs) if case.id == name else outputs


def test_a_right_device_passes(bundle, tmp_path):
    report = judged(bundle, tmp_path)
    assert report.totals == {"inconclusive": 1, "passed": len(bundle) - 1}
    assert report["conv-nothing"].verdict == "inconclusive"
    assert not report.bad(strict=True)
    assert all(
        met == asked
        for name, (met, asked) in report.criteria.items()
        if name in ("bound", "mixed", "mere_mare")
    )
    assert [verdict.case for verdict in report] == bundle.ids


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in sample.CALLS
        if name.split("-")[0] in ("pad", "pool", "norm", "conv") and name != "conv-nothing"
    ],
)
def test_one_wrong_element_fails_its_case_alone(bundle, tmp_path, name):
    def spoil(outputs):
        last = list(outputs)[-1]
        flat = outputs[last].reshape(-1)
        flat[-1] = flat[-1] * 2 + 1
        return outputs

    report = judged(bundle, tmp_path, only(name, spoil))
    assert [verdict.case for verdict in report.bad()] == [name]
    *others, (last, golden) = bundle[name].golden.items()
    beyond = {output: one["beyond"] for output, one in report[name].metrics["outputs"].items()}
    assert beyond == {
        **{output: 0 for output, _ in others},
        last: 2 if np.iscomplexobj(golden) else 1,
    }  # parts
    assert f"{last}: 1 of {golden.size} elements beyond the bound, " in report[name].detail


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda o: {}, "gradInput: not returned"),
        (lambda o: {n: a for n, a in o.items() if n != "gradWeight"}, "gradWeight: not returned"),
        (
            lambda o: {**o, "gradInput": o["gradInput"][..., :-1]},
            "gradInput: has shape [2, 4, 5, 5], not [2, 4, 5, 6]",
        ),
        (
            lambda o: {**o, "gradInput": o["gradInput"].reshape(-1)},
            "gradInput: has shape [240], not",
        ),
        (
            lambda o: {**o, "gradInput": o["gradInput"].astype(np.float16)},
            "gradInput: has dtype FLOAT16, not FLOAT",
        ),
        (
            lambda o: {**o, "gradInput": o["gradInput"].astype(np.complex64)},
            "gradInput: has dtype COMPLEX64, not FLOAT",
        ),
        (lambda o: {**o, "gradInput": o["gradInput"] * np.nan}, "all NaN"),
        (lambda o: {**o, "gradInput": o["gradInput"] * 0}, "all zeros"),
        (lambda o: {**o, "gradInput": -o["gradInput"]}, "the sign is reversed"),
        (lambda o: {**o, "gradInput": o["gradInput"] * 3}, "3 times what is expected"),
        (lambda o: {**o, "gradWeight": np.flip(o["gradWeight"], 3)}, "reversed along axis 3"),
        (
            lambda o: {
                **o,
                "gradInput": o["gradInput"].swapaxes(2, 3).reshape(o["gradInput"].shape),
            },
            "the last two axes are exchanged",
        ),
        (
            lambda o: {
                **o,
                "gradInput": np.where(np.arange(6) == 5, np.float32(99), o["gradInput"]),
            },
            "all of the last column",
        ),
        (
            lambda o: {
                **o,
                "gradInput": np.where(np.arange(5)[:, None] % 2, np.float32(99), o["gradInput"]),
            },
            "every second row",
        ),
        (
            lambda o: {
                **o,
                "gradWeight": np.where(
                    np.arange(4)[:, None, None, None] < 2, np.float32(99), o["gradWeight"]
                ),
            },
            "the first group",
        ),
        (
            lambda o: {**o, "gradBias": o["gradBias"] + np.float32([0, 0, 9, 0])},
            "1 of 4 elements beyond the bound, the first channel in",
        ),
    ],
)
def test_wrong_outputs_are_told_in_words(bundle, tmp_path, spoil, message):
    detail = judged(bundle, tmp_path, only("conv-groups", spoil))["conv-groups"]
    assert (detail.verdict, message in detail.detail) == ("failed", True), detail.detail


def test_untouched_outputs_are_seen(bundle, tmp_path):
    def untouched(outputs):
        values = outputs["gradInput"]
        values[...] = canary.pattern("FLOAT", 4).view(np.float32)[0]
        return outputs

    assert (
        "nothing was written"
        in judged(bundle, tmp_path, only("pool-plain", untouched))["pool-plain"].detail
    )
    half = only(
        "pool-plain",
        lambda o: {
            "gradInput": np.where(
                np.arange(6) > 2, canary.pattern("FLOAT", 4).view(np.float32)[0], o["gradInput"]
            )
        },
    )
    assert "108 elements were never written" in judged(bundle, tmp_path, half)["pool-plain"].detail


def test_numbers_that_differ_are_shown_to_differ(bundle, tmp_path):
    def next_one(outputs):
        return {"gradInput": np.nextafter(outputs["gradInput"], np.inf)}

    detail = judged(bundle, tmp_path, only("pad-DOUBLE", next_one))["pad-DOUBLE"].detail
    got, expected = re.search(r": (\S+), expected (\S+) ± 0", detail).groups()
    assert float(got) == np.nextafter(float(expected), np.inf)


def test_a_vector_goes_by_channels(bundle, tmp_path):
    spoil = only("conv-half", lambda o: {**o, "gradBias": o["gradBias"] + np.float16([0, 9, 0, 0])})
    assert "channel 1 of 0 to 3;" in judged(bundle, tmp_path, spoil)["conv-half"].detail


def test_a_device_that_saturates_is_told(tmp_path):
    half = {
        name: sample.pad("FLOAT16", padding)
        for name, padding in (("a", (0, 0, 0, 0)), ("b", (1, 1, 1, 1)))
    }
    given = {
        name: {"gradOutput": [np.inf] * int(np.prod(call["args"]["gradOutput"]["shape"]))}
        for name, call in half.items()
    }

    def saturate(case, outputs):
        return {"gradInput": np.clip(outputs["gradInput"], np.float16(-65504), np.float16(65504))}

    with opgen.open(sample.write(tmp_path / "s.h5", half, given=given)) as bundle:
        report = judged(bundle, tmp_path, saturate)
    assert report["a"].detail.endswith(
        "; 65504 where Inf is expected: the device saturates FLOAT16"
    )
    assert list(map(str, report.groups)) == [
        "65504 where Inf is expected: the device saturates FLOAT16: 2 cases, such as a"
    ]


def test_masked_outputs_may_hold_anything(bundle, tmp_path):
    more = only("conv-masked", lambda o: {**o, "gradWeight": np.zeros((4, 4, 3, 3), np.float16)})
    assert judged(bundle, tmp_path, more)["conv-masked"].verdict == "passed"


def test_complex_by_parts(bundle, tmp_path):
    """An error that the modulus would hide behind a large other part."""

    def imaginary(outputs):
        outputs["gradInput"].imag[0, 0, 0, 0] += 0.5
        return outputs

    report = judged(bundle, tmp_path, only("pad-COMPLEX64", imaginary))
    assert report["pad-COMPLEX64"].verdict == "failed"
    assert "1 of 120 elements" in report["pad-COMPLEX64"].detail


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
    call = sample.convolution(outputMask=[False, False, False], biasSizes=[5])
    with opgen.open(sample.write(tmp_path / "bias.h5", {"bias": call})) as bundle:
        assert bundle["bias"].expect.bucket == "unstated" and not bundle["bias"].golden
        report = judged(bundle, tmp_path, bias=0)
        assert report["bias"].verdict == "lenient" and [
            one.case for one in report.bad(strict=True)
        ] == ["bias"]
        assert judged(bundle, tmp_path, bias=161002)["bias"].verdict == "passed"


def test_strict_counts_lenient_and_known(bundle, tmp_path):
    report = judged(bundle, tmp_path, unstated_padding=0, stated_divisor=0)
    assert not report.bad()
    assert {verdict.case for verdict in report.bad(strict=True)} == {
        "unstated-padding",
        "stated-divisor",
    }


# numeric errata -----------------------------------------------------------------------------------
def test_a_pooling_in_half_precision_is_a_known_deviation(tmp_path):
    """Gradient, 1 / divisor and result each rounded to FLOAT16, where the page allows HFLOAT32."""
    image, small = (
        sample.tensor([2, 3, 9, 9], "FLOAT", "NCHW"),
        sample.tensor([2, 3, 3, 3], "FLOAT", "NCHW"),
    )
    call = sample.pool(
        cubeMathType=1,
        kernelSize=[3, 3],
        stride=[3, 3],
        self=image,
        gradInput=image,
        gradOutput=small,
    )
    with opgen.open(sample.write(tmp_path / "half.h5", {"half": call})) as bundle:
        narrow = bundle["half"].inputs["gradOutput"].astype(np.float16).astype(
            np.float32
        ) * np.float32(np.float16(1 / 9))
        whole = (
            np.repeat(np.repeat(narrow, 3, axis=2), 3, axis=3).astype(np.float16).astype(np.float32)
        )
        report = judged(bundle, tmp_path, lambda case, outputs: {"gradInput": whole})
        assert report["half"].verdict == "known deviation"
        assert report["half"].detail.startswith("mode_1_is_half: ")
        worse = judged(
            bundle, tmp_path, lambda case, outputs: {"gradInput": whole * np.float32(1.003)}
        )
        assert worse["half"].verdict == "failed"


@pytest.mark.parametrize(
    ("value", "excused"),
    [(np.inf, True), (np.nan, True), (65504.0, True), (7.0, False), (11000.0, False)],
)
def test_a_factor_beyond_a_dtype_excuses_what_overflow_leaves_and_no_other_number(
    tmp_path, value, excused
):
    """Of 100000 FLOAT16 makes Inf, and 11111 in FLOAT is a ninth of it."""
    image, small = (
        sample.tensor([1, 1, 9, 9], "FLOAT", "NCHW"),
        sample.tensor([1, 1, 3, 3], "FLOAT", "NCHW"),
    )
    call = sample.pool(
        cubeMathType=1,
        kernelSize=[3, 3],
        stride=[3, 3],
        self=image,
        gradInput=image,
        gradOutput=small,
    )
    given = {"gradOutput": [1e5, *[9.0] * 8]}
    with opgen.open(
        sample.write(tmp_path / "half.h5", {"half": call}, given={"half": given})
    ) as bundle:

        def spoil(case, outputs):
            outputs["gradInput"][..., :3, :3] = value
            return outputs

        assert judged(bundle, tmp_path)["half"].verdict == "passed"
        assert judged(bundle, tmp_path, spoil)["half"].verdict == (
            "known deviation" if excused else "failed"
        )


@pytest.mark.parametrize("mode", [0, 3])
def test_a_shortcut_that_leaves_out_what_is_optional(tmp_path, mode):
    """A kernel as large as the image, padding ignored, in FLOAT: known where HFLOAT32 is allowed as
    well as where it is not.
    """
    image, one = (
        sample.tensor([2, 3, 12, 12], "FLOAT", "NCHW"),
        sample.tensor([2, 3, 1, 1], "FLOAT", "NCHW"),
    )
    call = sample.pool(
        cubeMathType=mode,
        kernelSize=[12, 12],
        stride=[9, 9],
        padding=[1, 1],
        self=image,
        gradInput=image,
        gradOutput=one,
    )
    given = {
        "whole": {
            "gradOutput": np.random.default_rng(1).standard_normal(6).astype(np.float32).tolist()
        }
    }
    with opgen.open(sample.write(tmp_path / "whole.h5", {"whole": call}, given=given)) as bundle:
        flat = np.broadcast_to(
            bundle["whole"].inputs["gradOutput"] / np.float32(144), (2, 3, 12, 12)
        )
        report = judged(bundle, tmp_path, lambda case, outputs: {"gradInput": flat})
        assert report["whole"].verdict == "known deviation" and report["whole"].detail.startswith(
            "whole_image: "
        )
        worse = judged(
            bundle, tmp_path, lambda case, outputs: {"gradInput": flat * np.float32(1.001)}
        )
        assert worse["whole"].verdict == "failed"


@pytest.mark.parametrize(
    ("mode", "verdict"), [(1, "passed"), (2, "known deviation"), (3, "passed")]
)
def test_a_mode_that_is_ignored(tmp_path, mode, verdict):
    """Without padding counted the library's vector path computes in FLOAT; modes 1 and 3 allow
    HFLOAT32, mode 2 promises FLOAT16.
    """
    image, small = (
        sample.tensor([2, 3, 8, 8], "FLOAT", "NCHW"),
        sample.tensor([2, 3, 7, 7], "FLOAT", "NCHW"),
    )
    call = sample.pool(
        cubeMathType=mode,
        countIncludePad=False,
        kernelSize=[2, 2],
        stride=[1, 1],
        padding=[0, 0],
        self=image,
        gradInput=image,
        gradOutput=small,
    )
    given = {
        "gradOutput": np.random.default_rng(0).standard_normal(294).astype(np.float32).tolist()
    }
    with opgen.open(
        sample.write(tmp_path / "mode.h5", {"mode": call}, given={"mode": given})
    ) as bundle:
        parts = np.pad(
            bundle["mode"].inputs["gradOutput"].astype(np.float64) / 4,
            ((0, 0), (0, 0), (1, 1), (1, 1)),
        )
        plain = (parts[..., 1:, :] + parts[..., :-1, :])[..., 1:] + (
            parts[..., 1:, :] + parts[..., :-1, :]
        )[..., :-1]
        report = judged(
            bundle, tmp_path, lambda case, outputs: {"gradInput": plain.astype(np.float32)}
        )
        assert report["mode"].verdict == verdict
        assert report["mode"].detail.startswith("vector_in_float: " if mode == 2 else "")
        coarse = ((plain * 1024).round() / 1024).astype(np.float32)
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {"gradInput": coarse})["mode"].verdict
            == "failed"
        )


def test_small_operators_round_each_term(tmp_path):
    """The gradient of gamma on ascend910: differences, products and products again in FLOAT16, then
    a sum.
    """
    call, rng = sample.norm("FLOAT16", product="ascend910", group=2), np.random.default_rng(0)
    sizes = {"gradOut": 120, "input": 120, "mean": 4, "rstd": 4}
    given = {
        name: stored(rng.standard_normal(size), "FLOAT16").astype(float).tolist()
        for name, size in sizes.items()
    }
    with opgen.open(
        sample.write(tmp_path / "gamma.h5", {"gamma": call}, given={"gamma": given})
    ) as bundle:
        inputs = bundle["gamma"].inputs
        x, dy = (inputs[name].reshape(2, 2, 3, 10) for name in ("input", "gradOut"))
        mean, rstd = (inputs[name].reshape(2, 2, 1, 1) for name in ("mean", "rstd"))
        terms = dy * ((x - mean) * rstd)
        assert terms.dtype == np.float16
        small = terms.astype(np.float32).sum((0, 3)).reshape(6).astype(np.float16)
        assert (
            np.abs(small - bundle["gamma"].golden["gradGammaOut"])
            > bundle["gamma"].bound["gradGammaOut"]
        ).any()
        report = judged(bundle, tmp_path, lambda case, outputs: {**outputs, "gradGammaOut": small})
        assert report["gamma"].verdict == "known deviation"
        assert report["gamma"].detail.startswith("gamma_by_small_operators: ")
        for name, factor in (("gradGammaOut", 1.05), ("gradBetaOut", 1.002)):
            far = {name: (bundle["gamma"].golden[name] * factor).astype(np.float16)}
            assert (
                judged(bundle, tmp_path, lambda case, outputs, far=far: {**outputs, **far})[
                    "gamma"
                ].verdict
                == "failed"
            )


@pytest.mark.parametrize(
    ("part", "verdict"),
    [(0.9, "known deviation"), (-0.9, "known deviation"), (1.15, "failed"), (-1.15, "failed")],
)
def test_terms_are_excused_as_many_roundings_as_the_erratum_says(tmp_path, part, verdict):
    """Two terms of 1 cancel, so that all that is left is what three roundings of each to FLOAT16
    may cost.
    """
    call = sample.norm("FLOAT16", product="ascend910", group=2)
    given = {
        "gradOut": [1.0, -1.0, *[0.0] * 118],
        "input": [1.0, 1.0, *[0.0] * 118],
        "mean": [0.0] * 4,
        "rstd": [1.0] * 4,
    }
    with opgen.open(
        sample.write(tmp_path / "terms.h5", {"terms": call}, given={"terms": given})
    ) as bundle:
        off = np.array([part * 2 * 3 * 2.0**-11, 0, 0, 0, 0, 0], np.float16)
        report = judged(bundle, tmp_path, lambda case, outputs: {**outputs, "gradGammaOut": off})
        assert report["terms"].verdict == verdict


@pytest.mark.parametrize(("part", "verdict"), [(0.9, "known deviation"), (1.15, "failed")])
def test_a_weight_is_excused_one_rounding(tmp_path, part, verdict):
    """A quarter, from windows of 1 and of -1 that overlap: 1 / divisor is rounded to FLOAT16 in
    each.
    """
    image, small = (
        sample.tensor([1, 1, 3, 3], "FLOAT", "NCHW"),
        sample.tensor([1, 1, 2, 2], "FLOAT", "NCHW"),
    )
    call = sample.pool(
        cubeMathType=2,
        kernelSize=[2, 2],
        stride=[1, 1],
        padding=[0, 0],
        countIncludePad=True,
        self=image,
        gradInput=image,
        gradOutput=small,
    )
    given = {"weight": {"gradOutput": [1.0, -1.0, 0.0, 0.0]}}
    with opgen.open(sample.write(tmp_path / "weight.h5", {"weight": call}, given=given)) as bundle:
        assert bundle["weight"].golden["gradInput"].reshape(3, 3)[:, 1].tolist() == [0, 0, 0]

        def spoil(case, outputs):
            outputs["gradInput"][0, 0, 0, 1] = part * 0.5 * 2.0**-11
            return outputs

        assert judged(bundle, tmp_path, spoil)["weight"].verdict == verdict


@pytest.mark.parametrize(("large", "excused"), [(320.0, True), (100.0, False)])
def test_a_rounded_term_may_overflow_where_the_sum_does_not(tmp_path, large, excused):
    call = sample.norm("FLOAT16", product="ascend910", group=2)
    given = {
        "gradOut": [large, -large, *[0.0] * 118],
        "input": [large, large, *[0.0] * 118],
        "mean": [0.0] * 4,
        "rstd": [1.0] * 4,
    }
    with opgen.open(
        sample.write(tmp_path / "term.h5", {"term": call}, given={"term": given})
    ) as bundle:
        assert not bundle["term"].golden["gradGammaOut"].any()
        infinite = np.array([np.inf, 0, 0, 0, 0, 0], np.float16)
        report = judged(
            bundle, tmp_path, lambda case, outputs: {**outputs, "gradGammaOut": infinite}
        )
        assert report["term"].verdict == ("known deviation" if excused else "failed")
        moved = {"gradGammaOut": np.roll(infinite, 1)}
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {**outputs, **moved})["term"].verdict
            == "failed"
        )


@pytest.mark.parametrize(
    ("dtype", "mode"), [("FLOAT16", 0), ("BFLOAT16", 1), ("FLOAT", 2), ("FLOAT", 1)]
)
def test_an_area_that_half_precision_does_not_hold(tmp_path, dtype, mode):
    """A kernel as large as an image of 256 by 256: gradOutput / Inf."""
    image, one = (
        sample.tensor([1, 1, 256, 256], dtype, "NCHW"),
        sample.tensor([1, 1, 1, 1], dtype, "NCHW"),
    )
    call = sample.pool(
        cubeMathType=mode,
        kernelSize=[256, 256],
        stride=[1, 1],
        self=image,
        gradInput=image,
        gradOutput=one,
    )
    given = {"area": {"gradOutput": [40960.0]}}
    with opgen.open(sample.write(tmp_path / "area.h5", {"area": call}, given=given)) as bundle:
        nothing = np.zeros_like(sample.right(bundle["area"])["gradInput"])
        report = judged(bundle, tmp_path, lambda case, outputs: {"gradInput": nothing})
        assert report["area"].verdict == "known deviation"
        assert "whole_image_beyond_half: " in report["area"].detail
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {"gradInput": outputs["gradInput"] * 2})[
                "area"
            ].verdict
            == "failed"
        )


def test_an_output_that_the_page_rounds_to_a_dtype_is_rounded_to_it_once(tmp_path):
    """USE_FP16 computes in FLOAT16: that results pass through it is the page's, and no second
    rounding is excused.
    """
    with opgen.open(
        sample.write(tmp_path / "once.h5", {"once": sample.convolution("FLOAT", groups=2, mode=2)})
    ) as bundle:
        golden = bundle["once"].golden["gradWeight"]
        near = golden.astype(np.float16)
        off = np.where(
            golden > near,
            np.nextafter(near, np.float16(np.inf)),
            np.nextafter(near, np.float16(-np.inf)),
        )
        report = judged(
            bundle,
            tmp_path,
            lambda case, outputs: {**outputs, "gradWeight": near.astype(np.float32)},
        )
        assert report["once"].verdict == "passed"
        report = judged(
            bundle,
            tmp_path,
            lambda case, outputs: {**outputs, "gradWeight": off.astype(np.float32)},
        )
        assert report["once"].verdict == "failed"


def test_a_numeric_erratum_is_a_known_deviation(bundle, tmp_path):
    spoil = only(
        "conv-groups",
        lambda o: {**o, "gradWeight": o["gradWeight"].astype(np.float16).astype(np.float32)},
    )
    report = judged(bundle, tmp_path, spoil)
    assert report["conv-groups"].verdict == "known deviation"
    assert report["conv-groups"].detail.startswith("grouped_through_half: ")
    assert judged(bundle, tmp_path, spoil, {"truth": "page"})["conv-groups"].verdict == "failed"


@pytest.mark.parametrize("factor", [1.01, 0.0, -1.0, np.nan, np.inf])
def test_an_erratum_does_not_excuse_what_it_does_not_explain(bundle, tmp_path, factor):
    def spoil(outputs):
        with np.errstate(all="ignore"):
            return {**outputs, "gradWeight": outputs["gradWeight"] * np.float32(factor)}

    assert judged(bundle, tmp_path, only("conv-groups", spoil))["conv-groups"].verdict == "failed"


@pytest.mark.parametrize(
    ("value", "excused"),
    [(np.inf, True), (65504.0, True), (-np.inf, False), (np.nan, False), (0.0, False)],
)
def test_what_overflows_on_the_way_is_excused_on_its_own_side_alone(tmp_path, value, excused):
    """Rounded through FLOAT16, a large gradient is Inf of its sign, or the largest value."""
    call = sample.CALLS["conv-groups"]
    given = {
        name: [value] * int(np.prod(call["args"][name]["shape"]))
        for name, value in (("gradOutput", 1000.0), ("input", 100.0))
    }
    with opgen.open(
        sample.write(tmp_path / "wide.h5", {"wide": call}, given={"wide": given})
    ) as bundle:
        golden = bundle["wide"].golden["gradWeight"]
        assert (golden > 66000).all()
        report = judged(
            bundle,
            tmp_path,
            lambda case, outputs: {
                **outputs,
                "gradWeight": np.full_like(outputs["gradWeight"], value),
            },
        )
        assert report["wide"].verdict == ("known deviation" if excused else "failed")


@pytest.mark.parametrize(
    ("name", "dtype", "output"),
    [
        ("grouped_through_half", "FLOAT", "gradWeight"),
        ("bias_through_half", "FLOAT16", "gradBias"),
        ("bias_through_bfloat16", "BFLOAT16", "gradBias"),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_results_that_pass_through_a_dtype_are_values_of_it_all_of_them(
    tmp_path, name, dtype, output, seed
):
    """One element that is none, though near enough, is no rounding of the whole."""
    plain = sample.convolution(dtype, groups=2 if dtype == "FLOAT" else 1)
    whole = {
        **plain,
        "args": {**plain["args"], output: {**plain["args"][output], "dtype": "FLOAT"}},
    }
    gradient, rng = plain["args"]["gradOutput"], np.random.default_rng(seed)
    given = {
        "gradOutput": (
            stored(rng.standard_normal(int(np.prod(gradient["shape"]))), dtype)
            .astype(float)
            .tolist()
        )
    }
    with opgen.open(
        sample.write(tmp_path / "through.h5", {"whole": whole}, given={"whole": given})
    ) as bundle:
        golden = bundle["whole"].golden[output]
        narrow = stored(golden, "FLOAT16" if dtype == "FLOAT" else dtype).astype(np.float32)
        report = judged(
            bundle, tmp_path, lambda case, outputs: {**outputs, output: narrow}, whole=0
        )
        assert report["whole"].verdict == "known deviation" and report["whole"].detail.startswith(
            f"{name}: "
        )
        one = golden.astype(np.float32)
        at = np.unravel_index(
            np.argmax(np.abs(narrow - golden) / bundle["whole"].bound[output]), golden.shape
        )
        one[at] = narrow[at]
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {**outputs, output: one}, whole=0)[
                "whole"
            ].verdict
            == "failed"
        )
        two = np.nextafter(
            narrow,
            np.float32(np.inf),
            where=np.arange(narrow.size).reshape(narrow.shape) == 0,
            out=narrow.copy(),
        )
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {**outputs, output: two}, whole=0)[
                "whole"
            ].verdict
            == "failed"
        )


def test_a_result_that_passes_through_a_dtype_is_rounded_to_it_once(tmp_path):
    call = sample.CALLS["conv-groups"]
    given = {
        "gradOutput": (
            np.random.default_rng(0)
            .standard_normal(int(np.prod(call["args"]["gradOutput"]["shape"])))
            .tolist()
        )
    }
    with opgen.open(
        sample.write(tmp_path / "once.h5", {"once": call}, given={"once": given})
    ) as bundle:
        golden = bundle["once"].golden["gradWeight"]
        near = golden.astype(np.float16)
        off = np.where(
            golden > near,
            np.nextafter(near, np.float16(np.inf)),
            np.nextafter(near, np.float16(-np.inf)),
        )
        for values, verdict in ((near, "known deviation"), (off, "failed")):
            found = {"gradWeight": values.astype(np.float32)}
            assert (
                judged(bundle, tmp_path, lambda case, outputs, found=found: {**outputs, **found})[
                    "once"
                ].verdict
                == verdict
            )


@pytest.mark.parametrize(("part", "excused"), [(0, True), (3, False), (2, False)])
def test_what_is_subnormal_on_the_way_may_become_zero_and_no_other_number(tmp_path, part, excused):
    call = sample.CALLS["conv-groups"]
    given = {
        name: [value, *[0.0] * 239] for name, value in (("gradOutput", 2.0**-16), ("input", 1.0))
    }
    with opgen.open(
        sample.write(tmp_path / "tiny.h5", {"tiny": call}, given={"tiny": given})
    ) as bundle:
        golden = bundle["tiny"].golden["gradWeight"]
        assert golden.max() == golden.sum() == 2.0**-16
        found = (golden * part).astype(np.float32)
        report = judged(bundle, tmp_path, lambda case, outputs: {**outputs, "gradWeight": found})
        assert report["tiny"].verdict == ("known deviation" if excused else "failed")


@pytest.mark.parametrize(
    ("dtype", "near", "off"),
    [("FLOAT", "known deviation", "failed"), ("FLOAT16", "passed", "failed")],
)
def test_a_coarser_dtype_that_inputs_and_output_have_already_excuses_no_rounding(
    tmp_path, dtype, near, off
):
    shipped = (specs_folder() / "errata" / "convolution_backward.yaml").read_text(encoding="utf-8")
    entry = "when: gradOutput.dtype == 'FLOAT16'\n    outputs: gradBias\n    through: FLOAT16"
    assert entry in shipped
    wider = "when: promoted != 'BFLOAT16'\n    outputs: gradWeight\n    bound: FLOAT16"
    own = erratafile.loads(shipped.replace(entry, wider), catalog(), "own.yaml")
    draw = np.random.default_rng(1)
    given = {
        name: stored(draw.standard_normal(240), "FLOAT16").astype(float).tolist()
        for name in ("gradOutput", "input")
    }
    with opgen.open(
        sample.write(tmp_path / "own.h5", {"own": sample.convolution(dtype)}, given={"own": given})
    ) as bundle:
        golden = bundle["own"].golden["gradWeight"]
        best = golden.astype(np.float16)
        other = np.where(
            golden > best,
            np.nextafter(best, np.float16(np.inf)),
            np.nextafter(best, np.float16(-np.inf)),
        )
        for values, verdict in ((best, near), (other, off)):
            found = {"gradWeight": values.astype(DTYPES[dtype].numpy)}
            report = judged(
                bundle,
                tmp_path,
                lambda case, outputs, found=found: {**outputs, **found},
                {"errata": {own.api: own}},
            )
            assert report["own"].verdict == verdict


@pytest.mark.parametrize(
    ("value", "excused"), [(np.inf, True), (65504.0, True), (203821.0, False), (-65504.0, False)]
)
def test_one_element_beyond_a_dtype_is_no_value_of_it(tmp_path, value, excused):
    call = sample.CALLS["conv-groups"]
    rng = np.random.default_rng(1)
    given = {
        name: rng.integers(-3, 4, int(np.prod(call["args"][name]["shape"])))
        for name in ("gradOutput", "input")
    }
    given["gradOutput"][0] = given["input"][0] = 2000
    lists = {name: values.tolist() for name, values in given.items()}
    with opgen.open(
        sample.write(tmp_path / "wide.h5", {"wide": call}, given={"wide": lists})
    ) as bundle:
        golden = bundle["wide"].golden["gradWeight"]
        assert (golden > 65520).any() and not (np.abs(golden) > 65504).all()
        found = np.where(
            golden > 65520,
            value,
            stored(np.clip(golden, -60000, 60000), "FLOAT16").astype(np.float32),
        ).astype(np.float32)
        report = judged(bundle, tmp_path, lambda case, outputs: {**outputs, "gradWeight": found})
        assert report["wide"].verdict == ("known deviation" if excused else "failed")


@pytest.mark.parametrize("factor", [-1.0, np.nan, 0.0])
def test_no_erratum_excuses_another_infinity(bundle, tmp_path, factor):
    """An Inf that belongs there is the same Inf in every dtype."""
    plain = sample.CALLS["conv-groups"]
    size = int(np.prod(plain["args"]["gradOutput"]["shape"]))
    given = {
        "gradOutput": [np.inf] + [1.0] * (size - 1),
        "input": [1.0] * int(np.prod(plain["args"]["input"]["shape"])),
    }
    with opgen.open(
        sample.write(tmp_path / "inf.h5", {"inf": plain}, given={"inf": given})
    ) as some:
        place = np.isinf(some["inf"].golden["gradWeight"])
        assert place.any() and not place.all()

        def spoil(case, outputs):
            with np.errstate(all="ignore"):
                return {
                    **outputs,
                    "gradWeight": np.where(
                        place, outputs["gradWeight"] * np.float32(factor), outputs["gradWeight"]
                    ),
                }

        assert not judged(some, tmp_path, lambda case, outputs: outputs).bad(strict=True)
        assert judged(some, tmp_path, spoil)["inf"].verdict == "failed"


def test_a_result_in_its_own_dtype_is_rounded_once(tmp_path):
    """What an erratum says of outputs that are cast once more excuses no FLOAT16 of a FLOAT16
    computation.
    """
    with opgen.open(
        sample.write(tmp_path / "half.h5", {"half": sample.convolution("FLOAT16")})
    ) as bundle:
        golden, limit = bundle["half"].golden["gradWeight"], bundle["half"].bound["gradWeight"]
        near = golden.astype(np.float16)
        off = np.where(
            golden > near,
            np.nextafter(near, np.float16(np.inf)),
            np.nextafter(near, np.float16(-np.inf)),
        )
        assert (
            np.abs(off - golden) > limit
        ).any()  # the next best FLOAT16, between half an ulp and one
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {**outputs, "gradWeight": off})[
                "half"
            ].verdict
            == "failed"
        )


def test_an_erratum_of_one_output_does_not_excuse_another(bundle, tmp_path):
    spoil = only(
        "conv-groups",
        lambda o: {
            **o,
            "gradBias": o["gradBias"].astype(np.float16).astype(np.float32) * np.float32(1.001),
        },
    )
    assert judged(bundle, tmp_path, spoil)["conv-groups"].verdict == "failed"


@pytest.mark.parametrize(("written", "excused"), [("untouched", "canary"), ("zeros", "zeros")])
def test_an_output_that_a_library_does_not_compute_is_a_known_deviation_and_another_value_is_not(
    bundle, tmp_path, written, excused
):
    shipped = (specs_folder() / "errata" / "reflection_pad2d_backward.yaml").read_text(
        encoding="utf-8"
    )
    entry = "when: self.numel == 0 or gradOutput.numel == 0, written: untouched"
    assert entry in shipped
    own = erratafile.loads(
        shipped.replace(entry, f"when: self.dtype == 'FLOAT', written: {written}"),
        catalog(),
        "own.yaml",
    )
    shape = bundle["pad-FLOAT"].golden["gradInput"].shape
    outputs = {
        "canary": np.full(shape, canary.pattern("FLOAT", 4).view(np.float32)[0]),
        "zeros": np.zeros(shape, np.float32),
        "nan": np.full(shape, np.float32("nan")),
        "ones": np.ones(shape, np.float32),
    }
    found = {
        name: judged(
            bundle,
            tmp_path,
            only("pad-FLOAT", lambda o, v=value: {"gradInput": v}),
            {"errata": {own.api: own}},
        )["pad-FLOAT"]
        for name, value in outputs.items()
    }
    assert {name: one.verdict for name, one in found.items()} == {
        name: "known deviation" if name == excused else "failed" for name in outputs
    }
    assert found[excused].detail.startswith("nothing_written (")


def test_every_erratum_behind_a_known_deviation_is_a_cause(bundle, tmp_path):
    """Also of one whose words have colons or parentheses of their own."""
    shipped = (specs_folder() / "errata" / "convolution_backward.yaml").read_text(encoding="utf-8")
    entry = "input_untouched: {where: "
    assert entry in shipped
    changed = shipped.replace(entry, f"{entry[: -len('where: ')]}note: 'so: (said)', where: ")
    own = erratafile.loads(
        changed.replace("when: nothing, outputs", "when: groups > 1, outputs"),
        catalog(),
        "own.yaml",
    )

    def spoil(outputs):
        unwritten = np.full_like(
            outputs["gradInput"], canary.pattern("FLOAT", 4).view(np.float32)[0]
        )
        return {
            "gradInput": unwritten,
            **{name: values * 0 for name, values in outputs.items() if name != "gradInput"},
        }

    options = {"errata": {own.api: own}}
    report = judged(bundle, tmp_path, only("conv-groups", spoil), options)
    assert report["conv-groups"].verdict == "known deviation", report["conv-groups"].detail
    assert report["conv-groups"].metrics["causes"] == ["input_untouched", "others_zero"]
    assert report["conv-groups"].detail.startswith("input_untouched: so: (said); others_zero (")
    assert [(one.cause, one.cases) for one in report.groups] == [
        ("input_untouched", 1),
        ("others_zero", 1),
    ]


def test_another_reference_is_a_known_deviation(tmp_path):
    """A kernel as large as the image: the library ignores the padding."""
    image, whole = (
        [1, 2, 12, 12],
        sample.pool(kernelSize=[12, 12], stride=[12, 12], padding=[1, 1], countIncludePad=False),
    )
    args = {
        **whole["args"],
        "gradOutput": sample.tensor([1, 2, 1, 1], "FLOAT", "NCHW"),
        "self": sample.tensor(image, "FLOAT", "NCHW"),
    }
    calls = {
        "whole": {**whole, "args": {**args, "gradInput": sample.tensor(image, "FLOAT", "NCHW")}}
    }
    with opgen.open(sample.write(tmp_path / "whole.h5", calls)) as bundle:
        case = bundle["whole"]
        assert case.expect.bucket == "valid"
        assert not np.array_equal(
            case.golden["gradInput"][0, 0, 11], case.golden["gradInput"][0, 0, 0]
        )
        spread = np.broadcast_to(case.inputs["gradOutput"].astype(np.float64) / 144, image).astype(
            np.float32
        )
        report = judged(bundle, tmp_path, lambda c, o: {"gradInput": spread})
        assert report["whole"].verdict == "known deviation"
        assert report["whole"].detail.startswith("whole_image: ")
        assert (
            judged(bundle, tmp_path, lambda c, o: {"gradInput": spread * np.float32(2)})[
                "whole"
            ].verdict
            == "failed"
        )


# files --------------------------------------------------------------------------------------------
def test_the_note_on_outputs_beyond_their_bound_counts_no_missing_ones(bundle, tmp_path):
    lost = {"pad-FLOAT": {}, "pad-DOUBLE": {}}
    report = judged(
        bundle,
        tmp_path,
        lambda case, o: lost.get(case.id, {name: values * 3 for name, values in o.items()}),
        {"most_explained": 1},
    )
    beyond = sum(
        one["beyond"] > 0
        for verdict in report
        for one in verdict.metrics.get("outputs", {}).values()
    )
    assert (
        f"{beyond} outputs are beyond their bound; 1 of them were looked at element by element"
        in report.notes
    )


def test_missing_cases(bundle, tmp_path):
    with opgen.Results.create(tmp_path / "r.h5", bundle) as results:
        results.add("pad-FLOAT", 0, sample.right(bundle["pad-FLOAT"]))
    report = opgen.diff(bundle, tmp_path / "r.h5")
    assert report.totals == {"missing": len(bundle) - 1, "passed": 1}
    assert [group.cause for group in report.groups] == [
        "no answer in the results"
    ] and not report.shared  # nothing that they share
    assert len(report.bad()) == len(bundle) - 1
    assert opgen.diff(bundle, tmp_path / "r.h5", cases=["pad-FLOAT"]).totals == {"passed": 1}


def test_an_empty_results_file_passes_nothing(bundle, tmp_path):
    with opgen.Results.create(tmp_path / "r.h5", bundle):
        pass
    assert opgen.diff(bundle, tmp_path / "r.h5").totals == {"missing": len(bundle)}


def test_results_of_another_bundle(bundle, tmp_path):
    other = sample.write(tmp_path / "other.h5", {"pad-FLOAT": sample.pad()})
    with opgen.open(other) as one:
        results = sample.answer(one, tmp_path / "r.h5")
    with pytest.raises(opgen.BundleError, match="results of another bundle"):
        opgen.diff(bundle, results)


def test_a_torn_results_file(bundle, tmp_path):
    results = sample.answer(bundle, tmp_path / "r.h5")
    results.write_bytes(results.read_bytes()[:-100])
    with pytest.raises(opgen.BundleError, match=r"r\.h5: .*truncated"):
        opgen.diff(bundle, results)


def test_a_flipped_bit_in_an_output_is_no_fault_of_the_device(bundle, tmp_path):
    results = sample.answer(bundle, tmp_path / "r.h5")
    raw = bytearray(results.read_bytes())
    with opgen.Results.open(results) as file:
        dtype, _, _ = file.blobs[0]
        start = file.blobs[0][1]
    raw[start + 1] ^= 1
    results.write_bytes(bytes(raw))
    assert dtype == DTYPES["FLOAT"].numpy
    with pytest.raises(
        opgen.BundleError, match=r"r\.h5: damaged: \S+: \w+ does not match its digest$"
    ):
        opgen.diff(bundle, results)


def rewritten(path: Path, change) -> Path:
    """A results file whose answers are no longer those that a harness may give."""
    with ResultsFile(path) as file:
        answers = change({answer.id: answer for answer in answers_of(file)})
        write_answers(path.with_name("odd.h5"), file.header, file.names, answers)
    return path.with_name("odd.h5")


def test_an_answer_given_twice(bundle, tmp_path):
    def twice(answers):
        first, second, *others = answers.values()
        return [first, second._replace(row=first.row, id=first.id), *others]

    report = opgen.diff(bundle, rewritten(sample.answer(bundle, tmp_path / "r.h5"), twice))
    assert [(one.case, one.verdict) for one in report.bad()] == [
        (bundle.ids[0], "failed"),
        (bundle.ids[1], "missing"),
    ]
    assert "more than once" in report[bundle.ids[0]].detail


def test_an_output_given_twice(bundle, tmp_path):
    """The first of the two is right, and the case has all of its outputs."""

    def twice(answers):
        answer = answers["conv-masked"]
        *outputs, last = answer.outputs
        again = last._replace(name=outputs[0].name)
        return (answers | {answer.id: answer._replace(outputs=(*outputs, again))}).values()

    more = only("conv-masked", lambda o: {**o, "gradWeight": np.zeros((4, 4, 3, 3), np.float16)})
    results = rewritten(sample.answer(bundle, tmp_path / "r.h5", more), twice)
    (bad,) = opgen.diff(bundle, results).bad()
    assert (bad.case, bad.verdict, bad.detail) == (
        "conv-masked",
        "failed",
        "gradInput: returned more than once",
    )


def test_a_case_that_the_bundle_does_not_have(bundle, tmp_path):
    def strange(answers):
        first, second, *others = answers.values()
        return [first, second._replace(id="nobody"), *others]

    results = rewritten(sample.answer(bundle, tmp_path / "r.h5"), strange)
    with pytest.raises(opgen.BundleError, match="'nobody'"):
        opgen.diff(bundle, results)


def test_unknown_cases_are_refused(bundle, tmp_path):
    results = sample.answer(bundle, tmp_path / "r.h5")
    with pytest.raises(FileError, match=r"nosuch\*: matches no case"):
        opgen.diff(bundle, results, cases=["pad-*", "nosuch*"])


def test_a_signalling_nan_is_a_nan(bundle, tmp_path, recwarn):
    signalling = np.frombuffer(b"\1\0\x80\x7f", dtype=np.float32)[0]

    def answers(case, outputs):
        return {
            name: np.full_like(array, signalling) if array.dtype == np.float32 else array
            for name, array in outputs.items()
        }

    assert any(
        "NaN" in one.detail for one in judged(bundle, tmp_path, answers) if one.verdict == "failed"
    )
    assert not [str(one) for one in recwarn.list]


def test_one_pattern_and_one_repeated_run_may_stand_alone(bundle, tmp_path):
    results = sample.answer(bundle, tmp_path / "r.h5")
    some = opgen.diff(
        bundle, results, cases="pad-*", again=str(sample.answer(bundle, tmp_path / "again.h5"))
    )
    assert {one.case for one in some} == {
        name for name in bundle.ids if name.startswith("pad-")
    } and len(list(some)) < len(bundle)
    with pytest.raises(ValueError, match="truth: 'pages' is none of page, library, both"):
        opgen.diff(bundle, results, truth="pages")


def test_a_device_that_accepts_everything_is_told_by_what_it_should_refuse(tmp_path):
    page = suites.suite("avg_pool2d_backward", "smoke")
    engine.write(page, tmp_path / "b.h5", {})
    with opgen.open(tmp_path / "b.h5") as accepted:
        with opgen.Results.create(tmp_path / "r.h5", accepted) as results:
            for case in accepted:
                results.add(case.id, 0, dict(case.golden))
        report = opgen.diff(accepted, tmp_path / "r.h5")
    (found,) = [one for one in report.shared if one.what == "AvgPool2dBackward"]
    assert (
        "to be refused as the page states" in found.text
        and found.failures == found.of_failures
        and found.passes < 3
    ), found


def test_everything_skipped_is_said(bundle, tmp_path):
    with opgen.Results.create(tmp_path / "r.h5", bundle) as results:
        for name in bundle.ids:
            results.add(name, "skipped", error="no reason")
    report = opgen.diff(bundle, tmp_path / "r.h5")
    assert report.totals == {"skipped": len(bundle)}
    assert report.notes == [
        f"{len(bundle)} skipped: no reason",
        "every case was skipped: nothing is proved",
    ]
    assert report["pad-FLOAT"].detail == "no reason"


def test_one_case_that_was_not_skipped_proves_something(bundle, tmp_path):
    with opgen.Results.create(tmp_path / "r.h5", bundle, header={"note": "of my own"}) as results:
        for name in bundle.ids[1:]:
            results.add(name, "skipped", error="no reason")
        results.add(bundle.ids[0], 0, sample.right(bundle[bundle.ids[0]]), run_status=0, time=0.25)
    report = opgen.diff(bundle, tmp_path / "r.h5")
    assert report.totals == {"passed": 1, "skipped": len(bundle) - 1}
    assert report.notes == ["of my own", f"{len(bundle) - 1} skipped: no reason"]
    assert (
        report[bundle.ids[0]].metrics["seconds"] == 0.25
        and report[bundle.ids[1]].metrics["seconds"] is None
    )


@pytest.mark.parametrize(("least", "verdict"), [(FLOAT_MAX, "inconclusive"), (1.0, "passed")])
def test_a_case_whose_bounds_are_all_infinite_proves_nothing(tmp_path, least, verdict):
    """Values at the end of FLOAT, where a sum may overflow on its way; unless one of them is far
    from it.
    """
    call = sample.pad(padding=(1, 0, 0, 0))
    given = {"gradOutput": [0.0, least, *[FLOAT_MAX] * 4, *[0.0, *[FLOAT_MAX] * 5] * 23]}
    with opgen.open(
        sample.write(tmp_path / "far.h5", {"far": call, "near": sample.pad()}, given={"far": given})
    ) as bundle:
        assert np.isinf(bundle["far"].bound["gradInput"].reshape(-1)[1:]).all()
        report = judged(bundle, tmp_path)
        assert [one.verdict for one in report] == [verdict, "passed"]
        assert report["far"].detail == (
            "every bound is infinite" if verdict == "inconclusive" else ""
        )
        wrong = judged(
            bundle,
            tmp_path,
            lambda case, outputs: {"gradInput": np.zeros(outputs["gradInput"].shape, np.float16)},
        )
        assert wrong["far"].verdict == "failed"


@pytest.mark.parametrize(
    ("mean", "verdict", "of_zeros"),
    [(1e6, "inconclusive", "inconclusive"), (0.0, "passed", "failed")],
)
def test_a_case_that_zeros_would_pass_proves_nothing(tmp_path, mean, verdict, of_zeros):
    """Far from 0 beside its spread, what group norm subtracts may be wrong by more than is left."""
    draw = np.random.default_rng(0)
    normal = draw.standard_normal((2, 2, 30)).astype(np.float32)
    given = {
        "gradOut": normal[:, ::-1].reshape(-1).tolist(),
        "input": (normal.reshape(-1) + mean).tolist(),
    }
    given |= {"mean": [mean] * 4, "rstd": [1.0] * 4}
    with opgen.open(
        sample.write(tmp_path / "far.h5", {"far": sample.norm()}, given={"far": given})
    ) as bundle:
        case = bundle["far"]
        assert (np.abs(case.golden["gradInput"]) > case.bound["gradInput"]).any() == (
            verdict == "passed"
        )
        assert (np.abs(case.golden["gradBetaOut"]) > case.bound["gradBetaOut"]).all()
        right = judged(bundle, tmp_path)["far"]
        zeros = judged(
            bundle,
            tmp_path,
            lambda case, outputs: {**outputs, "gradInput": np.zeros_like(outputs["gradInput"])},
        )["far"]
    assert (right.verdict, zeros.verdict) == (verdict, of_zeros)
    if verdict == "inconclusive":
        outputs, why = right.detail.split(": ")
        assert (
            outputs in ("gradInput", "gradInput, gradGammaOut")
            and why == "no golden is larger than its bound, so that zeros would pass"
        )


def test_a_repeated_run_is_compared_from_its_first_output_on(bundle, tmp_path):
    first = bundle.ids[0]
    moved = only(
        first,
        lambda outputs: {
            name: np.nextafter(array, array.dtype.type(9)) for name, array in outputs.items()
        },
    )
    other = sample.answer(bundle, tmp_path / "other.h5", moved)
    report = judged(bundle, tmp_path, options={"again": [other]})
    assert {
        one.case
        for one in report
        if any(output["differs"] for output in one.metrics.get("outputs", {}).values())
    } == {first}


# second files, shared facts -----------------------------------------------------------------------
def test_double_benchmark_and_repetition(bundle, tmp_path):
    def jitter(case, outputs):
        return {
            name: (
                np.nextafter(array, np.inf).astype(array.dtype)
                if array.dtype == np.float32
                else array
            )
            for name, array in outputs.items()
        }

    other = sample.answer(bundle, tmp_path / "other.h5", jitter)
    report = judged(bundle, tmp_path, options={"against": other, "again": [other]})
    assert report.criteria["double_L2"][0] == report.criteria["double_L2"][1]
    assert any("gave other bits when they were repeated" in note for note in report.notes)
    assert report["pad-FLOAT"].metrics["outputs"]["gradInput"]["differs"] == 1
    assert report["pad-FLOAT16"].metrics["outputs"]["gradInput"]["differs"] == 0
    swapped = opgen.diff(bundle, other, against=sample.answer(bundle, tmp_path / "r.h5"))
    assert swapped.criteria["double_L0"][0] < swapped.criteria["double_L0"][1]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda case, outputs: {},
        lambda case, outputs: {name: x[..., :1] for name, x in outputs.items()},
    ],
)
def test_outputs_that_the_other_device_has_not_are_no_benchmark(bundle, tmp_path, spoil):
    """Not even for outputs without any error."""
    mine, other = (sample.answer(bundle, tmp_path / name) for name in ("r.h5", "other.h5"))
    whole = opgen.diff(bundle, mine, against=other).criteria
    report = opgen.diff(bundle, mine, against=sample.answer(bundle, other, spoil))
    for name, (met, asked) in report.criteria.items():
        assert (met, asked) == ((0, asked) if name.startswith("double_") else whole[name]), name
    assert not report.bad()


@pytest.mark.parametrize("use", ["against", "again"])
def test_a_damaged_file_of_another_run(bundle, tmp_path, use):
    mine, other = (sample.answer(bundle, tmp_path / name) for name in ("r.h5", "other.h5"))
    raw = bytearray(other.read_bytes())
    with opgen.Results.open(other) as file:
        row = file.tables["tensors"][-1]
        dtype, start, _ = file.blobs[int(row["dtype"])]
        raw[start + int(row["position"]) * dtype.itemsize] ^= 1
    other.write_bytes(bytes(raw))
    with pytest.raises(
        opgen.BundleError, match=r"other\.h5: damaged: \S+: \w+ does not match its digest$"
    ):
        opgen.diff(bundle, mine, **{use: other})


def test_what_failures_share(tmp_path):
    calls = {
        f"{dtype}-{groups}-{mode}": sample.convolution(dtype, groups=groups, mode=mode)
        for dtype in ("FLOAT16", "FLOAT", "BFLOAT16")
        for groups in (1, 2, 4)
        for mode in (0, 1)
    }
    with opgen.open(sample.write(tmp_path / "s.h5", calls)) as bundle:

        def spoil(case, outputs):
            return (
                {name: array * 2 for name, array in outputs.items()}
                if case.id.startswith("BFLOAT16") and "-1-" not in case.id
                else outputs
            )

        report = judged(bundle, tmp_path, spoil)
    assert len(report.bad()) == 4
    weight = [str(one) for one in report.shared if "gradWeight" in one.what]
    assert weight[0].startswith("ConvolutionBackward gradWeight: 4 of 4 failures have ")
    assert weight[0].endswith("BFLOAT16 and groups > 1 (0 of 14 passes)") or weight[0].endswith(
        "groups > 1 and BFLOAT16 (0 of 14 passes)"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": 507015}, "status 507015, expected 0"),
        (
            {"run_status": 507035, "error": "a message of its own"},
            "the second phase answers 507035",
        ),
        ({"outputs": {}}, "no output is returned"),
    ],
)
def test_failures_are_grouped_by_what_the_device_answers(bundle, tmp_path, change, said):
    wrong = [
        name for name in bundle.ids if bundle[name].golden and bundle[name].expect.bucket == "valid"
    ]
    with opgen.Results.create(tmp_path / "r.h5", bundle) as results:
        for case in bundle:
            right = {
                "status": sample.status_of(case),
                "outputs": sample.right(case) if case.golden else {},
            }
            results.add(case.id, **(right | change if case.id in wrong else right))
    report = opgen.diff(bundle, tmp_path / "r.h5")
    assert [one.case for one in report.bad()] == wrong
    assert str(report.groups[0]) == f"{said}: {len(wrong)} cases, such as {wrong[0]}"


def test_wrong_statuses_are_held_against_every_right_answer(tmp_path):
    """Those of cases with outputs too: the device refuses one dtype, and nothing else tells its
    cases from the others.
    """
    calls = {
        f"{dtype}-{n}": sample.pad(dtype, (n % 2, n % 3, 1, 1))
        for dtype in ("FLOAT16", "FLOAT", "DOUBLE")
        for n in range(6)
    }
    with opgen.open(sample.write(tmp_path / "s.h5", calls)) as bundle:
        report = judged(bundle, tmp_path, **{f"DOUBLE_{n}": 161002 for n in range(6)})
    assert [str(one) for one in report.shared][
        0
    ] == "ReflectionPad2dBackward: 6 of 6 failures have DOUBLE (0 of 12 passes)"


@pytest.mark.parametrize("failures", [1, 2])
def test_few_failures_share_nothing(bundle, tmp_path, failures):
    names = ["pad-DOUBLE", "pad-COMPLEX128"][:failures]
    report = judged(
        bundle,
        tmp_path,
        lambda case, o: {"gradInput": o["gradInput"] * 3} if case.id in names else o,
    )
    assert (len(report.bad()), list(report.shared)) == (failures, [])


def test_what_fits_by_chance_is_not_said():
    """Of all sets of six cases one is just the three that failed; of two sets it would be no
    chance.
    """
    failed = np.arange(6) < 3
    matrix = np.array(list(product([False, True], repeat=6)))
    assert ranked([str(row) for row in matrix], matrix, failed) == []
    assert [
        text
        for text, _ in ranked(["these", "another"], np.array([failed, np.arange(6) < 5]), failed)
    ] == ["these"]


def test_what_would_fit_better_by_chance_counts_as_chance_too():
    """Nine or ten of ten failures have a fact that ten of fifteen cases have: 50 and 1 of 3003
    ways; of 59 facts one would fit.
    """
    failed = np.arange(15) < 10
    fact = (np.arange(15) > 0) & (np.arange(15) < 11)
    others = np.array(list(product([False, True], repeat=6)))
    for count, found in ((58, ["0"]), (59, [])):
        matrix = np.array(
            [fact, *(np.append(row, np.zeros(9, dtype=bool)) for row in others[: count - 1])]
        )
        assert [text for text, _ in ranked([str(i) for i in range(count)], matrix, failed)] == found


def test_a_pass_that_proves_nothing_is_no_pass_to_share(tmp_path):
    calls = {
        f"{dtype}-{n}": sample.pad(dtype, (n % 2, n % 3, 1, 1))
        for dtype in ("FLOAT", "DOUBLE")
        for n in range(6)
    }
    with opgen.open(sample.write(tmp_path / "s.h5", calls)) as bundle:
        report = judged(
            bundle,
            tmp_path,
            lambda case, o: (
                {"gradInput": o["gradInput"] * 2} if case.id in list(calls)[6:10] else o
            ),
        )
        verdicts = dict(enumerate(report)) | {
            row: Verdict(
                report.verdicts[row].case, "inconclusive", "", report.verdicts[row].metrics
            )
            for row in (10, 11)
        }
        found = [str(one) for one in shared_traits(bundle, verdicts)]
    assert (
        found[0] == "ReflectionPad2dBackward gradInput: 4 of 4 failures have DOUBLE (0 of 6 passes)"
    )


def test_describe_places():
    mask = np.zeros((2, 4, 6, 6), dtype=bool)
    mask[:, :, ::2] = True
    assert describe(mask, ("sample", "channel", "row", "column")) == "all of every second row"
    mask[...] = False
    mask[1, 2, 3, 4] = True
    assert (
        describe(mask, ("sample", "channel", "row", "column"))
        == "column 4 of 0 to 5 in row 3 of 0 to 5 in channel 2 of 0 to 3 in the last sample"
    )
    assert describe(np.ones((2, 2), dtype=bool)) == "every element"
    assert describe(np.zeros((2, 2), dtype=bool)) == ""


def test_call_line(bundle):
    assert call_line(bundle["pad-FLOAT"].call).startswith(
        "gradOutput=FLOAT[2, 3, 7, 8], self=FLOAT[2, 3, 4, 5], padding=[2, 1, 1, 2]"
    )


def test_words_of_codes():
    assert written((161001, "any_error")) == "161001 or any other error"


def test_a_report_is_what_its_verdicts_are():
    """Asked for by case, counted by facts, waived or strict, and held against loops over the
    verdicts.
    """
    kinds = (
        "failed",
        "lenient",
        "passed",
        "failed",
        "known deviation",
        "crashed",
        "passed",
        "inconclusive",
        "missing",
        "failed",
    )
    verdicts = [
        Verdict(f"c{i}", kind, "", {"op": "AB"[i % 2], "dtype": "xyz"[i % 3]})
        for i, kind in enumerate(kinds)
    ]
    report = DiffReport(verdicts, waived={"c3": "a ticket", "c4": "another"})
    assert [one.case for one in report] == [f"c{i}" for i in range(10)] and len(report) == 10
    assert (
        "c7" in report
        and "c10" not in report
        and report.get("c10") is None
        and report.get("c7") is report["c7"] is verdicts[7]
    )
    assert (
        [one.case for one in report.bad()]
        == [one.case for one in verdicts if report.fails(one)]
        == ["c0", "c5", "c8", "c9"]
    )
    assert [one.case for one in report.bad(strict=True)] == ["c0", "c1", "c5", "c8", "c9"]
    assert not report.fails(verdicts[1]) and report.fails(verdicts[1], strict=True)
    assert list(report.totals.items()) == [
        ("failed", 3),
        ("crashed", 1),
        ("missing", 1),
        ("lenient", 1),
        ("known deviation", 1),
        ("inconclusive", 1),
        ("passed", 2),
    ]
    for facts in ((), ("op",), ("op", "dtype"), ("nothing",)):
        keys = {one.case: tuple(one.metrics.get(fact, "") for fact in facts) for one in report}
        assert report.by(*facts) == {
            key: {
                kind: [keys[one.case] for one in report if one.verdict == kind].count(key)
                for kind in kinds
                if key in [keys[one.case] for one in report if one.verdict == kind]
            }
            for key in sorted(set(keys.values()))
        }


@pytest.mark.parametrize(
    ("ratios", "example", "ratio"),
    [
        ((0.5, 1.0), 0, None),
        ((1.0, 1.0), 0, None),
        ((0.5, 1.5), 1, 1.5),
        ((3.0, 1.5), 0, 3.0),
        ((1.5, np.inf), 1, np.inf),
        ((None, None), 0, None),
    ],
)
def test_the_example_of_a_group_is_the_case_furthest_beyond_its_bound(ratios, example, ratio):
    verdicts = [
        Verdict(
            f"c{i}",
            "failed",
            "",
            {
                "causes": ["zeros"],
                "outputs": {} if one is None else {"x": {"ratio": 0.1}, "y": {"ratio": one}},
            },
        )
        for i, one in enumerate(ratios)
    ]
    alone = Verdict("other", "failed", "", {"causes": ["NaN"]})  # a cause of one case is no group
    (group,) = DiffReport([alone, *verdicts]).groups
    assert group == Group("failed", "zeros", 2, f"c{example}", ratio)
    far = "" if ratio is None or ratio == np.inf else f", error/bound up to {ratio:g}"
    assert str(group) == f"zeros: 2 cases{far}, such as c{example}"


def test_lenient_cases_are_grouped_by_operator_and_name_the_three_most_frequent_rules():
    broken = [
        ("a",),
        ("b", "a"),
        ("c", "a"),
        ("d", "b", "a"),
        ("c", "b"),
        ("c", "b"),
    ]  # a and b 4 times, c 3, d once
    verdicts = [
        Verdict(f"c{i}", "lenient", "", {"op": "aclnnX", "rules": rules})
        for i, rules in enumerate(broken)
    ]
    more = Verdict("more", "lenient", "", {"op": "aclnnY", "rules": ("a", "b", "c")})
    bare = Verdict("bare", "lenient", "", {"op": "aclnnZ"})
    passed = Verdict("fine", "passed", "", {"op": "aclnnX", "causes": ["zeros"]})
    first, *others = map(str, DiffReport([bare, passed, *verdicts, more]).groups)
    assert first == "X accepts calls that the page forbids (a, b, c, ...): 6 cases, such as c0"
    assert others == [
        "Z accepts calls that the page forbids: 1 case, such as bare",
        "Y accepts calls that the page forbids (a, b, c): 1 case, such as more",
    ]


def test_a_finding_says_how_many_failures_and_passes_have_it():
    assert (
        str(SharedTrait("bits", "C = 17", 3, 4, 1, 6))
        == "bits: 3 of 4 failures have C = 17 (1 of 6 passes)"
    )
    assert (
        str(SharedTrait("bits", "C = 17", 1, 1, 0, 2))
        == "bits: 1 of 1 failures has C = 17 (0 of 2 passes)"
    )
    assert str(SharedTrait("bits", "", 0, 9, 0, 1)) == "bits: 9 of 10 fail"


@pytest.mark.parametrize("block", [1, 7, 100, measuring.BLOCK])
def test_outputs_measured_together_are_what_each_is_alone(bundle, tmp_path, block):
    """In blocks that an output fills, overflows or shares: against numpy on each output, a complex
    one by its parts.
    """
    draw = np.random.default_rng(4)
    devices = {}

    def off(case, outputs):
        for name, array in outputs.items():
            off = 1 + np.asarray(draw.choice([0, 0.01, -0.03], array.shape), array.real.dtype)
            devices[case.id, name] = np.multiply(array, off, out=array)
        return outputs

    results, goldens = sample.answer(bundle, tmp_path / "r.h5", off), goldens_of(bundle)
    with ResultsFile(results) as file:
        answers, which = align(bundle, goldens, file), measuring.precisions(bundle, goldens)
        every = np.arange(len(goldens))
        table = measuring.measured(bundle, goldens, answers, which, every, block)
    row = {
        (bundle.ids[case], bundle.names[name]): i
        for i, (case, name) in enumerate(zip(goldens.case, goldens.name, strict=True))
    }
    for (one, name), answer in devices.items():
        device, golden, bound = (
            part.reshape(-1).view(part.real.dtype).astype(np.float64)
            for part in (answer, bundle[one].golden[name], bundle[one].bound[name])
        )
        error = np.abs(device - golden)
        found = metrics.plain(table, {}, 0 * every, row[one, name])
        assert (found["elements"], found["beyond"], found["error"]) == (
            golden.size,
            (error > bound).sum(),
            error.max(),
        ), (one, name)
        ratios = [e and (e / b if b else np.inf) for e, b in zip(error, bound, strict=True)]
        assert found["ratio"] == max(ratios) and (
            ratios[found["worst"]] == max(ratios) if any(ratios) else found["worst"] == -1
        )
        assert (
            found["mare"] == pytest.approx((error / (np.abs(golden) + 1e-7)).max())
            and found["nonfinite"] == 0
        )
        assert (found["rmse"], found["mere"]) == pytest.approx(
            (np.sqrt((error**2).mean()), (error / (np.abs(golden) + 1e-7)).mean())
        )
    assert len(devices) > 40


def test_a_golden_whose_bound_has_another_length_is_damage(bundle, tmp_path):
    class Shortened(Bundle):
        def tensor(self, row):
            return super().tensor(row)[: -1 if row.role == ROLES["bound"] else None]

    results = sample.answer(bundle, tmp_path / "r.h5")
    with (
        Shortened(bundle.path) as shortened,
        pytest.raises(opgen.BundleError, match="golden and bound differ in length"),
    ):
        opgen.diff(shortened, results)


def test_outputs_are_held_to_the_precision_that_they_are_computed_in(bundle):
    """The coarser of dtype and compute mode; a sum that no mode rounds, to its dtype."""
    outputs = goldens_of(bundle)
    found = measuring.precisions(bundle, outputs)
    names = zip(
        [bundle.ids[n] for n in outputs.case], [bundle.names[n] for n in outputs.name], strict=True
    )
    pairs = {
        key: (dtype, name) for key, dtype, name in zip(names, found.dtype, found.name, strict=True)
    }
    modes = {"pool-old": "FLOAT16", "pool-mode1": "HFLOAT32", "conv-hf32": "HFLOAT32"}
    parts = {"COMPLEX64": "FLOAT", "COMPLEX128": "DOUBLE"}
    for (one, name), pair in pairs.items():
        dtype = bundle[one].call["args"][name]["dtype"]
        assert pair == (
            dtype,
            modes[one] if one in modes and name != "gradBias" else parts.get(dtype, dtype),
        ), (one, name)
    assert set(modes) <= {one for one, _ in pairs} and ("conv-hf32", "gradBias") in pairs
