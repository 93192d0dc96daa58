"""What a report says of the whole: what was not repeated, and of which part of a suite it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import opgen
from opgen.bundle.read.reader import Bundle
from tests.support import device_sample as sample

CALLS = {name: sample.CALLS[name] for name in ("pad-FLOAT", "pool-plain", "stated-divisor")}


def answered(bundle: Bundle, path: Path, **answers: dict[str, Any] | None) -> Path:
    """Results of a right device, but for some ``answers``: None for no answer."""
    with opgen.Results.create(path, bundle, force=True) as results:
        for case in bundle:
            status = sample.status_of(case)
            right = {"status": status, "outputs": sample.right(case) if status == 0 else {}}
            answer = answers.get(case.id.replace("-", "_"), {})
            if answer is not None:
                results.add(case.id, **(right | answer))
    return path


@pytest.mark.parametrize(
    ("answers", "reasons"),
    [
        ({"pad_FLOAT": None}, "1 without an answer"),
        ({"pad_FLOAT": {"status": "crash", "outputs": {}}}, "1 with another status"),
        ({"pad_FLOAT": {"run_status": "timeout", "outputs": {}}}, "1 with another status"),
        ({"pad_FLOAT": {"outputs": {}}}, "1 without an output"),
        (
            {"pad_FLOAT": {"status": 561002, "outputs": {}}, "stated_divisor": {"status": 0}},
            "2 with another status",
        ),
        (
            {"pad_FLOAT": None, "pool_plain": {"outputs": {}}},
            "1 without an answer, 1 without an output",
        ),
        ({}, ""),
    ],
)
def test_what_a_repeated_run_does_not_repeat_is_counted_and_named(tmp_path, answers, reasons):
    with opgen.open(sample.write(tmp_path / "b.h5", CALLS)) as bundle:
        first = answered(bundle, tmp_path / "r.h5")
        again = answered(bundle, tmp_path / "again.h5", **answers)
        notes = [
            note
            for note in opgen.diff(bundle, first, again=again).notes
            if note.startswith(str(again))
        ]
    count = len(answers)
    told = f"{again} does not repeat all cases ({reasons}): {count}, such as pad-FLOAT"
    assert notes == ([told] if answers else [])


def test_a_report_of_a_shard_says_so(tmp_path):
    with opgen.open(sample.write(tmp_path / "whole.h5", CALLS)) as whole:
        notes = opgen.diff(whole, answered(whole, tmp_path / "r.h5")).notes
        assert not [note for note in notes if "shard" in note]
    opgen.generate(["reflection_pad1d_backward"], shard="1/3", output=tmp_path / "b.h5")
    with opgen.open(tmp_path / "b.h5") as part:
        answers = sample.answer(part, tmp_path / "part.h5")
        assert "the bundle is shard 1/3 of a suite" in opgen.diff(part, answers).notes
