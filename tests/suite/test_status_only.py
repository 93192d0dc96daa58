"""Operators whose page does not say what the outputs hold: cases have statuses, and no data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import opgen
from opgen.cli import main
from opgen.lint.checking import check
from opgen.lock.refresh import sources
from opgen.model import FileError
from opgen.quality.mutants import ALL
from opgen.quality.mutants.mutant import Mutant
from opgen.spec import specfile
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan import plan_for
from tests.suite.test_default_plan import SPEC

OP, WHY = "max_pool2d_with_mask_backward", "the page does not say what the bits of the mask"


def page(extra: str = "") -> Spec:
    return specfile.loads(f"{SPEC}{extra}", "crop_backward")


@pytest.mark.parametrize("tier", ["smoke", "standard"])
def test_no_case_has_data_and_each_says_what_is_returned(tier: str) -> None:
    spec = page("status_only: the crop is drawn at random\n")
    plan = plan_for(spec.op, Path("nowhere"), [spec])
    suite = plan_suite([(spec, plan)], tier)
    assert "recipe" not in [axis.name for axis in plan.axes]
    assert not suite.batches and set(suite.cases.phase.tolist()) == {1}
    valid = [case for case in suite.cases if case.kind == "valid"]
    assert len(valid) > 10 and all(case.page.codes == (0,) for case in valid)
    assert {suite.without_data[case.id] for case in valid} == {
        "only statuses are checked: the crop is drawn at random"
    }


@pytest.mark.parametrize("op", sorted({s.op for s in catalog().specs if s.status_only}))
def test_every_shipped_operator_has_legal_calls_on_each_product_and_no_data(op: str) -> None:
    for spec in catalog().of(catalog().operators[op]):
        suite = plan_suite([(spec, plan_for(op))], "smoke")
        legal = {case.call.product for case in suite.cases if case.page.codes == (0,)}
        assert legal == {*spec.products} & {*spec.judges}
        assert set(suite.cases.phase.tolist()) == {1}


def test_no_mutant_computes_it_wrongly() -> None:
    kernels = [mutant for mutant in ALL if isinstance(mutant, Mutant)]
    without = page("status_only: the crop is drawn at random\n")
    assert kernels and not any(mutant.applies(without) for mutant in kernels)


def test_a_lock_names_no_version_of_a_kernel() -> None:
    spec = page("status_only: the crop is drawn at random\n")
    plan = plan_for(spec.op, Path("nowhere"), [spec])
    assert sources((spec, plan), "smoke", 0)["kernel"] == "none"
    with pytest.raises(FileError, match="is missing: an operator needs a kernel"):
        sources((page(), plan), "smoke", 0)


def test_a_bundle_of_statuses_is_judged(tmp_path: Path) -> None:
    suite = opgen.generate([OP], output=tmp_path / "suite.h5", workers=1)
    right, wrong = tmp_path / "right.h5", tmp_path / "wrong.h5"
    with (
        opgen.open(tmp_path / "suite.h5") as bundle,
        opgen.Results.create(right, bundle) as good,
        opgen.Results.create(wrong, bundle) as bad,
    ):
        assert all(case.phase == 1 for case in bundle)
        for case in bundle:
            codes = case.expect.codes
            good.add(case.id, next((code for code in codes if isinstance(code, int)), 161002))
            bad.add(case.id, 161002 if 0 in codes else 0)
    assert suite.cases == len(bundle.ids)
    assert {v.verdict for v in opgen.diff(tmp_path / "suite.h5", right)} == {"passed"}
    assert len(opgen.diff(tmp_path / "suite.h5", wrong).bad()) > 50


@pytest.mark.parametrize(
    "asked",
    [
        ("check", OP),
        ("ops", OP),
        ("cases", OP),
        ("generate", OP, "-o", "suite.h5"),
        ("mutants", OP),
    ],
    ids=lambda asked: asked[0],
)
def test_commands_say_why_only_statuses_are_checked(
    asked: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(main, asked)
    assert told.exit_code == 0, told.output
    assert WHY in " ".join(told.output.split())


def test_lists_for_programs_and_manuals_say_it_too() -> None:
    data = json.loads(CliRunner().invoke(main, ["ops", OP, "silu_backward", "--json"]).output)
    assert [bool(entry["status_only"]) for entry in data] == [True, False]
    table = CliRunner().invoke(main, ["ops", OP, "--markdown"]).output
    assert "| status only |" in table


def test_the_shipped_operators_without_a_kernel_are_no_problem() -> None:
    assert check().problems == []
