"""Routes: calls that are known to take each stand in suites, the smallest legal one of each is
found, and coverage counts those that a suite has.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import opgen
from opgen.cli import main
from opgen.files.resources import cases_folder
from opgen.spec.catalog import catalog
from opgen.suite.enumeration.routes import SMALL, known_routes, read_routes
from opgen.suite.planned_suite import plan_suite
from tests.support.suites import page, plan

PAD = "reflection_pad2d_backward"
ROUTES = cases_folder() / "routes"


def line(name: str, extent: int, kernels: list[str], pad: int = 1) -> dict[str, object]:
    """A call of an image as high as wide, padded on the left; a pad of its extent is illegal."""
    shapes = [1, 1, extent, extent + pad], [1, 1, extent, extent]
    grown, image = ({"shape": s, "dtype": "FLOAT", "format": "ND"} for s in shapes)
    args = {"gradOutput": grown, "self": image, "padding": [pad, 0, 0, 0], "gradInput": image}
    call = {"id": name, "op": "aclnnReflectionPad2dBackward", "product": "ascend910b", "args": args}
    return {**call, "kernels": kernels}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    lines = [
        line("large", 9, ["Cast", "PadV3Grad", "Slice:AICPU"]),
        line("small", 3, ["Transpose", "Cast", "PadV3Grad"]),
        line("illegal", 2, ["Cast", "PadV3Grad"], pad=2),
        line("other", 5, ["PadV3Grad", "Cast"]),
    ]
    path = tmp_path / "routes.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def test_the_smallest_legal_call_of_each_route_is_its_witness(file: Path) -> None:
    known = read_routes(file, [page(PAD)])[PAD]
    assert [(each["id"], each["kernels"]) for each in known.witnesses()] == [
        ("small", ["Cast", "PadV3Grad"]),
        ("other", ["PadV3Grad", "Cast"]),
    ]


def test_witnesses_are_written_and_coverage_counts_equal_calls(file: Path, tmp_path: Path) -> None:
    written, other = tmp_path / "witnesses.jsonl", tmp_path / "other.jsonl"
    other.write_text(json.dumps(line("mine", 3, [])) + "\n")

    def counted(calls: Path, *more: str) -> dict:
        asked = ["coverage", PAD, "--calls", str(calls), "--routes", str(file), "--json", *more]
        result = CliRunner().invoke(main, asked, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)["pages"][0]["routes"]

    some = counted(other, "--witnesses", str(written))
    assert (some["reached"], some["all"]) == (1, 2)
    assert some["missing"] == ["ascend910b: PadV3Grad, Cast (other)"]
    every = counted(written)
    assert (every["reached"], every["missing"]) == (2, [])


def test_a_report_names_the_route_of_a_failing_call_whose_kernels_are_known(tmp_path: Path) -> None:
    file, suite, results = (tmp_path / name for name in ("calls.jsonl", "s.h5", "r.h5"))
    known, unknown = line("known", 5, ["Cast", "PadV3Grad", "ViewCopy"]), line("unknown", 5, [])
    del unknown["kernels"]
    file.write_text("".join(json.dumps(each) + "\n" for each in (known, unknown)))
    opgen.generate(calls=file, output=suite)
    opgen.run(suite, "mutant:one_wrong_element", results)
    details = {verdict.case: verdict.detail for verdict in opgen.diff(suite, results)}
    assert details["known"].endswith("; note on the case: computed by Cast, PadV3Grad")
    assert details["unknown"] and "computed by" not in details["unknown"]


def test_a_file_without_kernels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    call = line("mine", 3, [])
    del call["kernels"]
    path.write_text(json.dumps(call) + "\n")
    asked = ["coverage", PAD, "--plan", "smoke", "--routes", str(path)]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 2 and "'kernels' lists what ran" in result.output
    asked = ["coverage", PAD, "--plan", "smoke", "--witnesses", str(tmp_path / "out.jsonl")]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 2 and "needs --routes" in result.output


def test_shipped_plans_have_small_witnesses_from_standard_on() -> None:
    spec = page(PAD)
    known = {tier: known_routes(plan(PAD), spec, tier) for tier in ("smoke", "standard", "full")}
    small = read_routes(ROUTES / f"{PAD}.jsonl", [spec])[PAD].input_bytes <= SMALL
    assert [len(calls) for calls in known.values()] == [0, small.sum(), len(small)]
    assert 0 < small.sum() < len(small)
    suite = plan_suite([(spec, plan(PAD))], "standard")
    intents = [case.intent for case in suite.cases if ".handwritten.route." in case.id]
    assert len(intents) == small.sum()
    assert "route: computed by Cast, PadV3Grad, Cast" in intents


@pytest.mark.parametrize("path", sorted(ROUTES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_shipped_witnesses_are_admitted_and_of_different_routes(path: Path) -> None:
    pages = [spec for spec in catalog().specs if spec.op == path.stem]
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    found = [each for known in read_routes(path, pages).values() for each in known.witnesses()]
    assert sorted(each["id"] for each in found) == sorted(each["id"] for each in lines)
    small = sum(
        int((known.input_bytes <= SMALL).sum()) for known in read_routes(path, pages).values()
    )
    assert 2 * small >= len(lines)
