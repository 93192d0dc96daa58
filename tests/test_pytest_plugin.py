"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import opgen
from tests.support import device_sample as sample

ROOT = Path(opgen.__file__).parents[1]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    bundle = sample.write(folder / "suite.h5")
    with opgen.open(bundle) as opened:

        def spoil(case, outputs):
            return (
                {name: array * 2 for name, array in outputs.items()}
                if case.id == "pad-FLOAT"
                else outputs
            )

        sample.answer(opened, folder / "results.h5", spoil, unstated_pad=0, stated_null="crash")
    return folder


def run(folder: Path, *options: str) -> tuple[int, str]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-p",
            "opgen.pytest_plugin",
            "-rA",
            "--rootdir",
            str(folder),
            *options,
        ],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**outside, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_test_per_case_with_its_verdict(files):
    code, said = run(files, "--opgen-bundle", "suite.h5", "--opgen-results", "results.h5")
    assert code == 1, said
    assert "2 failed, 25 passed, 1 skipped, 1 xfailed" in said
    assert "gradInput: 120 of 120 elements beyond the bound" in said
    assert "FAILED suite.h5::[pad-FLOAT]" in said
    assert "Traceback" not in said


def test_k_chooses_cases(files):
    code, said = run(
        files, "--opgen-bundle", "suite.h5", "--opgen-results", "results.h5", "-k", "norm"
    )
    assert (code, "3 passed, 26 deselected" in said) == (0, True), said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--opgen-bundle", "suite.h5"],
            "needs either --opgen-results FILE or --opgen-backend NAME",
        ),
        (["--opgen-results", "results.h5"], "need --opgen-bundle FILE"),
        (["--opgen-waivers", "waivers.yaml"], "need --opgen-bundle FILE"),
        (
            ["--opgen-bundle", "nosuch.h5", "--opgen-results", "results.h5"],
            "nosuch.h5: cannot read",
        ),
        (
            ["--opgen-bundle", "suite.h5", "--opgen-results", "suite.h5"],
            "is an opgen bundle file, not a results file",
        ),
        (["--opgen-bundle", "suite.h5", "--opgen-backend", "touch"], "no such backend 'touch'"),
        (
            [
                "--opgen-bundle",
                "suite.h5",
                "--opgen-results",
                "results.h5",
                "--opgen-waivers",
                "nosuch.yaml",
            ],
            "nosuch.yaml: cannot be read",
        ),
    ],
)
def test_bad_usage(files, options, message):
    code, said = run(files, *options)
    assert (code, message in said) == (4, True), said


def test_a_strict_run_fails_what_is_lenient(files):
    _, said = run(
        files,
        "--opgen-bundle",
        "suite.h5",
        "--opgen-results",
        "results.h5",
        "--opgen-strict",
        "-k",
        "unstated-pad",
    )
    assert "FAILED suite.h5::[unstated-pad]" in said


@pytest.mark.parametrize("day", ["2999-01-31", "2020-01-31"])
@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "2"]])
def test_waived_cases_are_expected_failures_until_a_day(files, day, workers):
    """The one that nobody waives fails on; a waiver that has expired waives nothing, and is
    named.
    """
    text = '- {case: "pad-*", verdict: failed, reason: ticket 4711, expires: ' + day + "}\n"
    (files / "waivers.yaml").write_text(text, encoding="utf-8")
    code, said = run(
        files,
        *workers,
        "--opgen-bundle",
        "suite.h5",
        "--opgen-results",
        "results.h5",
        "--opgen-waivers",
        "waivers.yaml",
    )
    holds = day == "2999-01-31"
    assert (
        code == 1
        and f"{1 if holds else 2} failed, 25 passed, 1 skipped, {2 if holds else 1} xfailed" in said
    ), said
    assert (
        "XFAIL suite.h5::[pad-FLOAT] - waived, ticket 4711: failed: gradInput" in said
    ) == holds, said
    assert said.count(f"waivers.yaml:1: the waiver of pad-* expired on {day}") == (not holds), said


def test_without_options_nothing_happens(files):
    code, said = run(files)
    assert (code, "no tests ran" in said) == (5, True)


def test_a_backend_runs_the_cases(files):
    pytest.importorskip("torch")
    code, said = run(files, "--opgen-bundle", "suite.h5", "--opgen-backend", "torch", "-k", "pad")
    assert code == 0, said
