"""Verdicts: a right device passes, each wrong one is seen, hostile inputs are said, deviations are
told apart.
"""

from __future__ import annotations

import numpy as np
import pytest

import opgen
from opgen.generation import engine
from opgen.model import FileError
from tests.support import device_sample as sample
from tests.support import suites
from tests.support.device_sample import judged, only

FLOAT_MAX = float(np.finfo(np.float32).max)


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
    assert report.notes == ["the results name no device"]
    assert report.not_run == [f"{len(bundle)} of {len(bundle)} cases: no reason"]
    assert not report.bad() and not report.green()
    assert report["pad-FLOAT"].detail == "no reason"


def test_one_case_that_was_not_skipped_proves_something(bundle, tmp_path):
    with opgen.Results.create(tmp_path / "r.h5", bundle, header={"note": "of my own"}) as results:
        for name in bundle.ids[1:]:
            results.add(name, "skipped", error="no reason")
        outputs = sample.right(bundle[bundle.ids[0]])
        left = dict.fromkeys(outputs, 0)
        results.add(bundle.ids[0], 0, outputs, run_status=0, time=0.25, unwritten=left)
    report = opgen.diff(bundle, tmp_path / "r.h5")
    assert report.green()
    assert report.totals == {"passed": 1, "skipped": len(bundle) - 1}
    assert report.notes == ["of my own", "the results name no device"]
    assert report.not_run == [f"{len(bundle) - 1} of {len(bundle)} cases: no reason"]
    assert (
        report[bundle.ids[0]].metrics["seconds"] == 0.25
        and report[bundle.ids[1]].metrics["seconds"] is None
    )


@pytest.mark.parametrize(("rows", "judged_elements"), [(0, 0), (11, 55), (12, 60)])
def test_a_case_most_of_whose_bounds_are_infinite_proves_nothing(tmp_path, rows, judged_elements):
    """Values at the end of FLOAT, where a sum may overflow on its way, but for some rows."""
    call = sample.pad(padding=(1, 0, 0, 0))
    far = [*[1.0] * 6 * rows, *[0.0, *[FLOAT_MAX] * 5] * (24 - rows)]
    calls = {"far": call, "near": sample.pad()}
    with opgen.open(
        sample.write(tmp_path / "far.h5", calls, given={"far": {"gradOutput": far}})
    ) as bundle:
        assert np.isfinite(bundle["far"].bound["gradInput"]).sum() == judged_elements
        report = judged(bundle, tmp_path)
        unbounded = 120 - judged_elements
        said = f"gradInput: {unbounded} of 120 elements have no finite bound"
        assert (report["far"].verdict, report["far"].detail) == (
            ("passed", "") if judged_elements == 60 else ("inconclusive", said)
        )
        assert report["far"].metrics["outputs"]["gradInput"]["unbounded"] == unbounded
        assert (
            f"{unbounded} of 240 elements have no finite bound, so that any value passes"
            in report.notes
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
            and why == "no bound is below 0.0625 of its golden"
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
    assert any("gave different bits in a repeated run" in note for note in report.notes)
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
