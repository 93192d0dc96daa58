"""Nothing is forgotten: every module has its test, every spec all that belongs to it, and nothing
else lies at the top.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from opgen.golden import kernel
from opgen.model import TIERS
from opgen.spec.catalog import catalog
from opgen.suite.planning.plan import plan_for
from tests.support.suites import computed

ROOT = Path(__file__).resolve().parents[1]
OPERATORS = sorted(catalog().operators)

COVERED_BY = {
    "test_bundle.py": (
        "bundle.write.arguments bundle.read.batches bundle.read.case_arguments"
        " bundle.write.blocks bundle.read.call_columns"
        " bundle.format.digest bundle.read.finished bundle.write.pools"
        " bundle.write.tables bundle.write.tensors bundle.read.contents"
    ),
    "test_hostile.py": "bundle.read.opening",
    "test_soundness.py": "bundle.read.sound_tensors bundle.read.table_checks",
    "test_merging.py": "bundle.read.readback",
    "test_ids.py": "report.terminal",
    "test_report.py": "report.origin",
    "test_cli.py": "bundle.results.summary lint.checking model.version",
    "test_covering.py": (
        "suite.covering.greedy suite.covering.model suite.covering.propagate suite.covering.solver"
        " suite.covering.tuples"
    ),
    "test_aclnn.py": "devices.messages devices.worker_process devices.worker",
    "test_command.py": "devices.lost_device devices.runner_process",
    "test_runner_cpp.py": "devices.numeric_calls",
    "test_statuses.py": "comparison.status_verdicts",
    "test_results.py": ("bundle.results.answers bundle.results.checks bundle.results.writer"),
    "test_resume.py": "bundle.format.closing bundle.write.journal bundle.write.resuming",
    "test_errata.py": "oracle.errata_checks oracle.errata_form",
    "test_calls.py": (
        "files.gc_pause calls.kinds calls.arguments calls.argument_json calls.building model.call"
    ),
    "test_specfile.py": "spec.form_values spec.parameter_reader spec.rule_reader spec.parameter",
    "test_fill.py": "numerics.draw numerics.distributions numerics.whole_numbers",
    "test_import_ttk.py": "interop.completion interop.ttk_kernels interop.ttk_kernel_row",
    "test_export.py": "interop.exporting",
    "test_repro.py": (
        "devices.torch_dtypes devices.torch_pads devices.torch_upsampling"
        " minimization.cpp_head minimization.cpp_program minimization.program_text"
        " minimization.python_head minimization.python_program minimization.torch_program"
        " minimization.trials minimization.torch_function_calls minimization.torch_normalizations"
        " minimization.torch_losses minimization.torch_pools"
    ),
    "test_run_torch.py": (
        "devices.torch_adapter devices.torch_functions devices.torch_normalizations"
        " devices.torch_losses devices.torch_pools"
    ),
    "test_probes.py": "generation.probe_calls",
    "test_seeds.py": "generation.seeding bundle.read.omitted_inputs",
    "test_observed.py": "oracle.as_page",
    "test_learner.py": "report.learning",
    "test_second_source.py": "learning.release_folder",
    "test_pages.py": (
        "spec.pages.markdown spec.pages.page spec.pages.plain spec.pages.reading"
        " spec.pages.tables spec.pages.first_phase spec.pages.products"
        " spec.pages.row_sentences"
    ),
    "test_drafting.py": (
        "spec.drafting.breaches spec.drafting.cells spec.drafting.dtype_lists"
        " spec.drafting.pending spec.drafting.joined spec.drafting.placed_claim"
        " spec.drafting.statements spec.drafting.values spec.drafting.ranks"
        " spec.drafting.axes spec.drafting.breached_limits spec.drafting.dtype_pairs"
        " spec.drafting.spelling spec.drafting.chosen spec.drafting.masks"
        " spec.drafting.breached_lists spec.drafting.broadcasts spec.drafting.columns"
        " spec.drafting.grammar spec.drafting.relations spec.drafting.rule_ids"
    ),
    "test_language.py": (
        "spec.language.compiler spec.language.constants spec.language.parse"
        " spec.language.term spec.language.arithmetic spec.language.names"
        " spec.language.value"
    ),
    "test_computing.py": "generation.bounding",
    "test_engine.py": "generation.storage",
    "test_suite.py": (
        "suite.naming suite.labelling calls.layout suite.budget suite.stored suite.inconclusive"
    ),
    "test_enumerator.py": (
        "suite.planning.constraints suite.planning.derive suite.enumeration.edit_search"
        " suite.enumeration.error_precedence suite.enumeration.edited_calls"
        " suite.enumeration.violations suite.enumeration.bounded_cover"
        " suite.enumeration.valid_calls suite.enumeration.covering_calls"
        " suite.enumeration.enumeration_report suite.planning.call_columns"
    ),
    "test_compiled_plan.py": "suite.planning.plan_scope",
    "test_plan.py": (
        "suite.planning.plan_form suite.enumeration.handwritten suite.planning.tier_form"
    ),
    "test_mutants.py": (
        "devices.mutant quality.mutants.modes quality.mutants.arithmetic quality.mutants.geometry"
        " quality.mutants.convolution quality.mutants.pooling"
        " quality.mutants.equivalent quality.mutants.indices"
        " quality.mutants.interpolation"
    ),
    "test_verdicts.py": "comparison.comparing model.case model.status",
    "test_default_plan.py": "suite.planning.name_rules suite.planning.usual_values",
    "test_functions.py": "numerics.function_tables",
    "test_yamlfile.py": "model.problem",
    "test_given_data.py": "model.text",
    "test_deviations.py": "comparison.wider_bounds",
    "test_refresh.py": "generation.versions lock.computed",
    "test_coverage.py": "quality.coverage_request",
    "test_cases_by_condition.py": "spec.conditions",
    "test_explore.py": "minimization.cause suite.random_extents",
    "test_explain.py": "quality.rule_examples report.cases report.explained",
    "test_pytest_plugin.py": "pytest_plugin.cases",
    "test_python_api.py": "generation.bundle_file minimization.failing_case",
}
"""Test file -> modules that it covers without importing them by name."""
COVERED = {name: test for test, names in COVERED_BY.items() for name in names.split()}

TOP = {
    "opgen",
    "specs",
    "cases",
    "tests",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE",
}


def modules() -> list[str]:
    """Every module, ``bundle/reader.py`` as ``bundle.reader``; the commands and the kernels are
    counted below.
    """
    found = [
        path.relative_to(ROOT / "opgen").with_suffix("").parts
        for path in sorted((ROOT / "opgen").rglob("*.py"))
    ]
    return [
        ".".join(parts)
        for parts in found
        if parts[-1] not in ("__init__", "__main__") and parts[0] not in ("cli", "golden")
    ]


@cache
def sources() -> dict[str, str]:
    """Test file -> its text."""
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
    }


def has_test(name: str) -> bool:
    """Whether a module has a test of its own name, or one that imports it."""
    package, _, last = f"opgen.{name}".rpartition(".")
    here, whole = re.escape(package), re.escape(f"opgen.{name}")
    imported = re.compile(
        rf"^\s*(from {whole} import|import {whole}\b|from {here} import (.*|\([^)]*)\b{last}\b)",
        re.MULTILINE,
    )
    return f"test_{last}.py" in sources() or any(
        imported.search(text) for text in sources().values()
    )


def test_every_module_has_a_test() -> None:
    missing = [name for name in modules() if not has_test(name) and name not in COVERED]
    assert missing == [], "write tests/test_<module>.py, or name in COVERED what covers it"


def test_what_covers_a_module_exists() -> None:
    assert set(COVERED) <= set(modules())
    assert set(COVERED.values()) <= set(sources())


@pytest.mark.parametrize("op", OPERATORS)
def test_every_spec_has_a_plan_a_kernel_and_the_test_of_it(op: str) -> None:
    plan = plan_for(op)
    assert {"smoke", "standard", "full"} <= set(plan.tiers) <= set(TIERS)
    if op in computed():
        assert all(callable(getattr(kernel(op), part)) for part in ("golden", "magnitude", "depth"))
        assert (ROOT / "tests" / "golden" / f"test_{op}.py").is_file()


def test_every_plan_and_kernel_has_a_spec() -> None:
    plans = {path.stem for path in (ROOT / "cases").glob("*.yaml")}
    kernels = {
        path.stem
        for path in (ROOT / "opgen" / "golden").glob("*.py")
        if not path.stem.startswith("_")
    }
    errata = {path.stem for path in (ROOT / "specs" / "errata").glob("*.yaml")}
    assert kernels == set(computed()) and plans | errata <= set(OPERATORS)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="asks git what belongs to the project")
def test_nothing_else_lies_at_the_top() -> None:
    shown = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    top = {name.split("/")[0] for name in shown}
    assert {name for name in top if not name.startswith(".")} <= TOP
    assert top >= TOP
