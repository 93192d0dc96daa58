"""What failures share, in whole bundles."""

from __future__ import annotations

import re
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
    assert weight[0].startswith("ConvolutionBackward gradWeight: ")
    assert " (4 of 4 wrong answers, " in weight[0]
    assert re.search(
        r"(BFLOAT16 and groups >= 2|groups >= 2 and BFLOAT16) \(.*, 0 of 14 right .*\)$",
        weight[0],
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
    ] == "ReflectionPad2dBackward: DOUBLE (6 of 6 wrong answers, 0 of 12 right answers compared)"


def test_a_number_is_as_large_as_the_least_that_was_tried(tmp_path):
    """The device fails from a pad of 2 on, and no call pads by 1."""
    calls = {
        f"{bottom}-{top}-{left}": sample.pad("FLOAT", (left, 0, top, bottom))
        for top, bottom in ((1, 0), (3, 0), (1, 2), (0, 3))
        for left in (0, 1, 2)
    }
    with opgen.open(sample.write(tmp_path / "s.h5", calls)) as bundle:
        report = judged(
            bundle,
            tmp_path,
            lambda case, o: o if case.id.startswith("0") else {"gradInput": o["gradInput"] * 2},
        )
    told = "(6 of 6 wrong answers, 0 of 6 right answers compared)"
    assert [str(one) for one in report.shared][0].endswith(f"gradInput: padBottom >= 2 {told}")


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


def test_what_is_wrong_wherever_a_better_fact_is_is_not_told():
    """C = 17 has all failures and no pass; C > 4 has six passes as well, C odd one failure less."""
    failed = np.arange(110) < 11
    names = ["C = 17", "C > 4", "C odd"]
    matrix = np.array([failed, np.arange(110) < 17, np.arange(110) < 10])
    assert [text for text, _ in ranked(names, matrix, failed)] == ["C = 17"]
    only = ranked(names[1:], matrix[1:], failed)
    assert [text for text, _ in only] == ["C > 4", "C odd"], "each is right where the other is not"


def test_a_second_fact_that_leaves_out_one_pass_by_chance_gives_way():
    """One pass of 28 has dim < 0. Of 40 facts one leaves it out: FLOAT, which all failures are."""
    rows = np.arange(39)
    failed, random = rows < 11, np.random.default_rng(0)
    noise = [np.where(failed, True, random.random(39) < 0.9) for _ in range(38)]
    matrix = np.array([rows < 12, failed | (rows > 14), *noise])
    names = ["dim < 0", "FLOAT", *map(str, range(38))]
    assert (matrix[:2].all(axis=0) == failed).all(), "the pair is right of every case"
    assert ranked(names, matrix, failed)[0][0] == "dim < 0"


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
    told = "(4 of 4 wrong answers, 0 of 6 right answers compared)"
    assert found[0] == f"ReflectionPad2dBackward gradInput: DOUBLE {told}"
