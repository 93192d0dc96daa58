"""Faults of tiling: right within a block, wrong at its seams, and seen by standard suites."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen.cli import main
from opgen.generation import engine
from opgen.generation.header import header
from opgen.quality.mutants import find
from opgen.quality.mutants.tiling import LARGEST, SEAMS, drawn, tiled
from opgen.quality.tiling_score import tiling_score
from opgen.suite.selection import Request

RIGHT = np.arange(1.0, 9.0)
WRONG = {
    "part_lost": [1, 2, 3, 4, 5, 6, 0, 0],
    "part_stale": [1, 2, 3, 4, 5, 6, 4, 5],
    "second_early": [1, 2, 3, 3, 4, 5, 7, 8],
    "buffer_reused": [1, 2, 3, 1, 5, 6, 4, 8],
    "one_buffer_late": [1, 2, 3, 4, 5, 6, 1, 2],
}
"""Eight elements in blocks of three."""
SEEN = ["avg_pool2d_backward", "reflection_pad2d_backward", "sigmoid_backward"] + (
    ["convolution_backward", "group_norm_backward", "softmax_backward"]
    if os.environ.get("OPGEN_SLOW") == "1"
    else []
)


def output(fault: str, block: int, axis: str, array: np.ndarray) -> np.ndarray:
    return tiled(fault, block, axis).output(None, "gradInput", array[None])[0]


@pytest.mark.parametrize("fault", WRONG)
def test_a_fault_is_one_of_the_seam(fault: str) -> None:
    for axis in ("all", "first", "last"):
        assert output(fault, 3, axis, RIGHT).tolist() == WRONG[fault]
        assert output(fault, 8, axis, RIGHT).tolist() == RIGHT.tolist()
    rows = np.stack([RIGHT, 10 * RIGHT])
    assert output(fault, 3, "last", rows).tolist() == [WRONG[fault], [10 * x for x in WRONG[fault]]]
    assert (
        output(fault, 3, "first", rows.T).tolist()
        == np.transpose([WRONG[fault], [10 * x for x in WRONG[fault]]]).tolist()
    )
    assert output(fault, 3, "first", rows).tolist() == rows.tolist()
    assert output(fault, 3, "all", np.zeros((0, 2))).shape == (0, 2)


def test_devices_are_drawn_evenly_and_have_names() -> None:
    mutants = drawn(200, 0)
    parts = [mutant.name.split(".") for mutant in mutants]
    assert len({mutant.name for mutant in mutants}) == 200
    assert [sum(fault == part[0] for part in parts) for fault in SEAMS] == [34, 34, 33, 33, 33, 33]
    blocks = np.array([int(part[2]) for part in parts])
    assert blocks.min() >= 2 and blocks.max() <= LARGEST
    assert [int((blocks < limit).mean() * 8 + 0.5) for limit in (16, 128, 1024)] == [2, 4, 6]
    assert [mutant.name for mutant in drawn(5, 1)] != [mutant.name for mutant in mutants[:5]]
    assert (
        find("part_lost.last.48").wrong
        == "elements after the last whole block stay zero: blocks of 48 along last"
    )
    with pytest.raises(opgen.FileError, match="no such mutant"):
        find("part_lost.last.1")


def bundle(folder: Path, op: str, plan: str) -> Path:
    request, path = Request([op], plan=plan), folder / f"{op}.{plan}.h5"
    suite = request.suite()
    engine.write(suite, path, header(request, suite, 0))
    return path


@pytest.mark.parametrize("op", SEEN)
def test_standard_sees_nineteen_of_twenty(op: str, tmp_path: Path) -> None:
    """Of 200; none counts as one that no legal call of at most 2^16 elements reveals."""
    with opgen.open(bundle(tmp_path, op, "standard")) as held:
        scored = tiling_score(held, drawn(200, 0))
    caught, of = scored.counts()
    assert (of, scored.control) == (200, []) and caught >= 190


def test_small_suites_miss_many_and_a_wrong_control_is_told(tmp_path: Path) -> None:
    with opgen.open(bundle(tmp_path, "sigmoid_backward", "smoke")) as held:
        scored = tiling_score(held, drawn(60, 0))
        assert 10 < scored.counts()[0] < 50
        assert tiling_score(held, drawn(1, 0), correct=find("one_wrong_element")).control


def test_the_command_scores_them_apart() -> None:
    asked = ["mutants", "sigmoid_backward", "--plan", "smoke", "--quiet", "--tiling", "12"]
    told = json.loads(CliRunner().invoke(main, [*asked, "--json"]).stdout)
    assert told["of"] == 12 and {each["mutant"].split(".")[0] for each in told["mutants"]} == {
        *SEAMS
    }
    both = CliRunner().invoke(main, [*asked, "--mutant", "not_cleared"])
    assert both.exit_code == 2 and "give only one of them" in both.output
