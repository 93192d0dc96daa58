"""Wrong outputs in words: what they are instead, and where they are wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest

import opgen
from opgen.comparison.explain import ComparedOutput, sentence
from opgen.comparison.pattern import describe
from tests.support import device_sample as sample
from tests.support.device_sample import judged, only


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
        values[...] = sample.CANARY
        return outputs

    assert (
        "nothing was written"
        in judged(bundle, tmp_path, only("pool-plain", untouched))["pool-plain"].detail
    )
    half = only(
        "pool-plain",
        lambda o: {"gradInput": np.where(np.arange(6) > 2, sample.CANARY, o["gradInput"])},
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
    assert "channel index 1;" in judged(bundle, tmp_path, spoil)["conv-half"].detail


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


def test_describe_places():
    mask = np.zeros((2, 4, 6, 6), dtype=bool)
    mask[:, :, ::2] = True
    assert describe(mask, ("sample", "channel", "row", "column")) == "all of every second row"
    mask[...] = False
    mask[1, 2, 3, 4] = True
    assert (
        describe(mask, ("sample", "channel", "row", "column"))
        == "column index 4 in row index 3 in channel index 2 in the last sample"
    )
    assert describe(np.ones((2, 2), dtype=bool)) == "every element"
    assert describe(np.zeros((2, 2), dtype=bool)) == ""


@pytest.mark.parametrize(
    ("changed", "first", "said"),
    [
        (lambda row: row * 0, 0, "beyond the bound, the first row;"),
        (lambda row: row * 0, 3, "beyond the bound, all of the first row;"),
        (lambda row: row + [0, 5, 5], 0, "beyond the bound, the first row;"),
        (lambda row: row + [0, 5, 5], 3, "all of the last 2 columns in the first row;"),
        (lambda row: np.float64([5, 0, 0]), 0, "beyond the bound, all of the first row;"),
        (lambda row: row + [5, 0, 0], 0, "the first column in the first row;"),
    ],
)
def test_a_zero_that_stays_zero_does_not_say_where_a_fault_ends(changed, first, said):
    """The device spoils the first of two rows; ``first`` is what belongs at its beginning."""
    golden = np.array([[first, 1, 2], [3, 4, 5]], dtype=np.float64)
    device = np.array([changed(golden[0]), golden[1]])
    axes = ("row", "column")
    output = ComparedOutput("x", device, golden, golden * 0, golden.shape, axes, "DOUBLE")
    assert said in sentence(output, "")


def test_what_a_case_is_for_is_no_reason_why_it_fails(tmp_path):
    asked = {"products": ["ascend910b"], "where": "kind == 'handwritten'", "workers": 1}
    made = opgen.generate(["avg_pool2d_backward"], output=tmp_path / "s.h5", **asked)
    with opgen.open(made.path) as bundle:
        report = judged(bundle, tmp_path, lambda case, o: {n: a * 3 for n, a in o.items()})
        notes = [(v.detail, bundle[v.case].intent) for v in report.bad() if bundle[v.case].intent]
    assert notes and all(said.endswith(f"; note on the case: {of}") for said, of in notes)
