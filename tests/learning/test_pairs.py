"""Of a hint two calls are named that are almost the same, and unlike statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from opgen.cli import main
from opgen.learning import statuses
from opgen.learning.lesson import Finding
from opgen.learning.pairs import pair
from opgen.learning.statuses import Returned
from opgen.spec.catalog import catalog
from tests.learning import planted

PAD = "aclnnReflectionPad2dBackward"


def tensor(*shape: int, dtype: str = "FLOAT") -> dict[str, Any]:
    return {"shape": shape, "dtype": dtype, "format": "ND"}


def call(name: str, status: int, product: str = "ascend910b", **args: Any) -> dict[str, Any]:
    given = {
        "gradOutput": tensor(3, 6, 8),
        "self": tensor(3, 4, 4),
        "padding": [2, 2, 1, 1],
        "gradInput": tensor(3, 4, 4),
    }
    line = {"op": PAD, "product": product, "args": {**given, **args}, "status": status}
    return {"id": name, **line}


SHORT = {"padding": [2, 2, 1]}
LINES = [
    call("elsewhere", 0, "ascend910"),
    call("far", 0, gradOutput=tensor(3, 6, 8, dtype="FLOAT16"), self=tensor(4, 4)),
    call("near", 0, self=tensor(4, 4)),
    call("refused", 561002, **SHORT, self=tensor(4, 4)),
    call("refused too", 561002, **SHORT, self=tensor(4, 4, dtype="FLOAT16")),
]


def returned(folder: Path, lines: list[dict[str, Any]]) -> Returned:
    return statuses.read([planted.write(folder / "calls.jsonl", lines)], catalog()).pages[0]


def named(page: Returned, calls: list[int], against: list[int], status: int = 561002) -> list[str]:
    finding = Finding((), "", status, tuple(calls), len(calls), True, tuple(against))
    both = pair(page, finding)
    return [] if both is None else [page.ids[row] for row in both]


def test_the_pair_differs_in_as_few_arguments_as_possible(tmp_path: Path) -> None:
    page = returned(tmp_path, LINES)
    assert named(page, [3, 4], [0, 1, 2]) == ["refused", "near"]
    assert named(page, [4], [0, 1]) == ["refused too", "elsewhere"], "a product counts as one more"


def test_where_no_call_is_against_it_an_accepted_one_of_the_product_is_named(
    tmp_path: Path,
) -> None:
    page = returned(tmp_path, LINES)
    assert named(page, [3, 4], []) == ["refused", "near"]
    assert named(page, [0], [], status=0) == []
    assert named(page.take(np.array([0, 3, 4])), [1, 2], []) == []


@pytest.mark.parametrize("way", ["forth", "back"])
def test_a_call_is_paired_with_the_one_that_it_was_made_from(tmp_path: Path, way: str) -> None:
    made, origin = ("refused too", "far") if way == "forth" else ("far", "refused too")
    lines = [{**line, "from": origin} if line["id"] == made else line for line in LINES]
    page = returned(tmp_path, lines)
    assert named(page, [3, 4], [0, 1, 2]) == ["refused too", "far"]
    assert page.line(page.ids.index(made), True)["from"] == origin
    assert "from" not in page.line(0, True)


def test_learn_names_the_pair_of_a_hint(tmp_path: Path) -> None:
    half = tensor(3, 4, 4, dtype="FLOAT16")
    wide = {"gradOutput": tensor(3, 6, 8, dtype="FLOAT16"), "self": half, "gradInput": half}
    lines = [call("other", 0, padding=[2, 2, 0, 2]), call("origin", 0)]
    lines.append({**call("refused", 561002, **wide), "from": "origin"})
    file = str(planted.write(tmp_path / "calls.jsonl", lines))
    shown = CliRunner().invoke(main, ["learn", file])
    assert "refused, against it origin" in " ".join(shown.output.split()), shown.output
    data = json.loads(CliRunner().invoke(main, ["learn", file, "--json"]).output)
    pairs = [finding["pair"] for finding in data["operators"][0]["findings"] if finding["hint"]]
    assert pairs == [["refused", "origin"]]
