"""What failures share, in whole bundles."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import opgen
from opgen.comparison.traits import ranked, shared_traits
from opgen.model import Verdict
from tests.support import device_sample as sample
from tests.support.device_sample import judged


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
