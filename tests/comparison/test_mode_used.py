"""Where a mode allows a rounding, the report says whether a device makes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.calls.call_json import make_call
from opgen.calls.jsonl import NamedCall
from opgen.generation import engine
from opgen.spec.catalog import catalog
from tests.support import device_sample as sample
from tests.support.suites import of_calls

ROUNDED = "aclnnAvgPool2dBackward: the device rounded inputs to FLOAT16, as the page allows"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Pooling in FLOAT: two calls may be computed in FLOAT16, one may not."""
    calls = [
        NamedCall(name, make_call(call["op"], call["product"], call["args"], catalog().kinds), {})
        for name, call in (
            ("first", sample.pool(product="ascend910", cubeMathType=1)),
            ("second", sample.pool(product="ascend910", cubeMathType=1, ceilMode=True)),
            ("never", sample.pool()),
        )
    ]
    path = tmp_path_factory.mktemp("modes") / "b.h5"
    engine.write(of_calls(calls, recipe="normal"), path, {})
    return Bundle(path)


def in_half(case: CaseView, outputs: sample.Arrays) -> sample.Arrays:
    """What a device returns that rounds the gradient first: windows of 2 x 2 share it evenly."""
    rounded = case.inputs["gradOutput"].astype(np.float16).astype(np.float32)
    return {"gradInput": rounded.repeat(2, axis=2).repeat(2, axis=3) / 4}


def modes(bundle: Bundle, folder: Path, spoil: sample.Spoil | None = None) -> list[str]:
    notes = sample.judged(bundle, folder, spoil).notes
    return [note for note in notes if "as the page allows" in note]


def test_a_device_that_keeps_its_inputs_did_not_round(bundle, tmp_path):
    assert modes(bundle, tmp_path) == [f"{ROUNDED}, in 0 of 2 calls"]


def test_a_device_that_rounds_them_did(bundle, tmp_path):
    assert modes(bundle, tmp_path, in_half) == [f"{ROUNDED}, in 2 of 2 calls"]


def test_wrong_answers_do_not_show_how_inputs_were_rounded(bundle, tmp_path):
    def overflowed(case: CaseView, outputs: sample.Arrays) -> sample.Arrays:
        answer = in_half(case, outputs)["gradInput"]
        answer[0, 0, 0, 0] = np.inf
        return {"gradInput": answer}

    assert modes(bundle, tmp_path, overflowed) == []


def test_each_call_is_told_by_itself(bundle, tmp_path):
    def one(case: CaseView, outputs: sample.Arrays) -> sample.Arrays:
        return in_half(case, outputs) if case.id == "second" else outputs

    assert modes(bundle, tmp_path, one) == [f"{ROUNDED}, in 1 of 2 calls"]


def test_an_output_that_is_missing_or_of_another_shape_says_nothing(bundle, tmp_path):
    def partly(case: CaseView, outputs: sample.Arrays) -> sample.Arrays:
        return {} if case.id == "first" else {name: array[0] for name, array in outputs.items()}

    assert modes(bundle, tmp_path, partly) == []


def test_what_is_as_near_to_either_says_nothing(bundle, tmp_path):
    def between(case: CaseView, outputs: sample.Arrays) -> sample.Arrays:
        half = in_half(case, outputs)["gradInput"]
        return {"gradInput": (half + outputs["gradInput"]) / 2}

    assert modes(bundle, tmp_path, between) == []
