"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from xml.etree import ElementTree

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


OWN = "-p", "xdist", "--lf", "."
"""What a run may have in a process of its own alone: workers, a cache, other tests."""


def run(folder: Path, *options: str, cached: bool = False) -> tuple[int, str]:
    """How a run of pytest in a folder ends, and what it says."""
    if cached or set(OWN) & set(options):
        return run_alone(folder, *options, cached=cached)
    words = ["-p", "opgen.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:unraisableexception"]
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.chdir(folder)
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.delenv("PYTEST_XDIST_WORKER", raising=False)
        code = pytest.main([*words, "-rA", "--rootdir", str(folder), *options])
    return int(code), said.getvalue()


def run_alone(folder: Path, *options: str, cached: bool = False) -> tuple[int, str]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *(() if cached else ("-p", "no:cacheprovider")),
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
    code, said = run_alone(files, "--opgen-bundle", "suite.h5", "--opgen-results", "results.h5")
    assert code == 1, said
    assert "2 failed, 25 passed, 1 skipped, 1 xfailed" in said
    assert "gradInput: 120 of 120 elements beyond the bound" in said
    assert "FAILED suite.h5::[pad-FLOAT]" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")])
def test_other_tests_run_beside_a_bundle_only_if_they_are_named(files, workers):
    """A clone of opgen has thousands."""
    (files / "test_own.py").write_text("def test_own(): pass\n", encoding="utf-8")
    options = ("--opgen-bundle", "suite.h5", "--opgen-results", "results.h5", "-k", "norm or own")
    code, said = run(files, *options, *workers)
    assert (code, "3 passed" in said, "test_own" in said) == (0, True, False), said
    code, said = run(files, *options, *workers, ".")
    assert (code, "4 passed" in said, "test_own" in said) == (0, True, True), said
    (files / "test_own.py").unlink()


def test_k_chooses_cases(files):
    code, said = run(
        files, "--opgen-bundle", "suite.h5", "--opgen-results", "results.h5", "-k", "norm"
    )
    assert (code, "3 passed, 26 deselected" in said) == (0, True), said


BOTH = ("--opgen-bundle", "suite.h5", "--opgen-results", "results.h5")


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")])
def test_an_id_that_was_printed_runs_its_case_alone(files, workers):
    """Also from another folder than that of the bundle, and beside tests of one's own."""
    _, said = run(files, *BOTH)
    (printed,) = re.findall(r"^FAILED (\S+pad-FLOAT\]) - ", said, re.MULTILINE)
    code, said = run(files, *BOTH, printed, *workers)
    assert (code, "1 failed in" in said) == (1, True), said
    inner = files / "inner"
    inner.mkdir(exist_ok=True)
    up = [option.replace("s", "../s", 1) if option[0] == "s" else option for option in BOTH]
    up[3] = "../results.h5"
    code, said = run(inner, *up, f"../{printed}")
    assert (code, "1 failed in" in said) == (1, True), said


def test_what_failed_last_runs_again(files):
    code, said = run(files, *BOTH, cached=True)
    assert (code, "2 failed, 25 passed" in said) == (1, True), said
    code, said = run(files, *BOTH, "--lf", cached=True)
    assert code == 1 and re.search("= 2 failed(, 27 deselected)? in", said), said


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")])
def test_a_junit_file_says_when_where_what_and_how_to_run_it_again(files, workers):
    run(files, *BOTH, "--junit-xml", "junit.xml", *workers)
    (suite,) = ElementTree.parse(files / "junit.xml").getroot()
    assert suite.get("timestamp", "")[:2] == "20" and suite.get("hostname")
    (case,) = [case for case in suite if case.get("name") == "[pad-FLOAT]"]
    facts = {fact.get("name"): fact.get("value", "") for fact in case.iter("property")}
    assert facts["verdict"] == "failed" and facts["op"] == "aclnnReflectionPad2dBackward"
    assert (facts["product"], facts["dtype"]) == ("ascend910b", "FLOAT")
    assert facts["reason"].startswith("failed: gradInput: 120 of 120 elements beyond the bound")
    pytest_word, *again = shlex.split(facts["rerun"])
    assert pytest_word == "pytest"
    code, said = run(files, *again)
    assert (code, "1 failed in" in said) == (1, True), said


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")])
def test_the_summary_gives_the_reasons_whatever_the_width(files, workers):
    _, said = run(files, *BOTH, *workers)
    summary = said[said.index("== opgen ==") :]
    assert "1 failed: failed: gradInput: 120 of 120 elements beyond the bound" in summary
    assert "1 failed: crashed: crash in the first phase, expected 161001" in summary
    assert ": suite.h5::[pad-FLOAT]\n" in summary


def test_a_backend_runs_only_the_cases_that_are_asked_for(files):
    (files / "mine.py").write_text(BACKEND, encoding="utf-8")
    options = ("--opgen-bundle", "suite.h5", "--opgen-backend", "./mine.py:Device")
    run(files, *options, "suite.h5::[pad-FLOAT]")
    assert (files / "asked.txt").read_text(encoding="utf-8") == "pad-FLOAT\n"


BACKEND = """
import opgen

class Device(opgen.Backend):
    name = "mine"

    def open(self, bundle, cases):
        return {}

    def answers(self, cases):
        for case in cases:
            with open("asked.txt", "a") as file:
                print(case, file=file)
            yield opgen.Result(case, 0)
"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*BOTH, *BOTH], "give each bundle once to --opgen-bundle"),
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
    waived = r"XFAIL suite\.h5::\[pad-FLOAT\] - (reason: )?waived, ticket 4711: failed: gradInput"
    assert bool(re.search(waived, said)) == holds, said
    assert said.count(f"waivers.yaml:1: the waiver of pad-* expired on {day}") == (not holds), said


def test_without_options_nothing_happens(files):
    code, said = run(files)
    assert (code, "no tests ran" in said) == (5, True)


def test_a_backend_runs_the_cases(files):
    pytest.importorskip("torch")
    code, said = run(files, "--opgen-bundle", "suite.h5", "--opgen-backend", "torch", "-k", "pad")
    assert code == 0, said


def test_several_bundles_are_all_judged(files):
    """The second one alone would be green."""
    calls = {"norm": sample.norm()}
    with opgen.open(sample.write(files / "other.h5", calls)) as bundle:
        sample.answer(bundle, files / "others.h5")
    other = "--opgen-bundle", "other.h5", "--opgen-results", "others.h5"
    code, said = run(files, "--opgen-bundle", "suite.h5", "--opgen-results", "results.h5", *other)
    assert (code, "2 failed, 26 passed" in said, "PASSED other.h5::[norm]" in said) == (
        1,
        True,
        True,
    )
    code, said = run(files, *other, "--opgen-bundle", "suite.h5")
    assert (code, "--opgen-results FILE once for each" in said) == (4, True)
    code, said = run(files, *other[:2], "--opgen-results", "results.h5")
    assert (code, "results of another bundle" in said) == (4, True)


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "2"]])
def test_cases_that_prove_nothing_are_no_success(tmp_path, workers):
    """Answers that are right whatever they are; an empty bundle; beside a test that passes."""
    calls = {name: sample.CALLS[name] for name in ("assumed-stride", "conv-nothing")}
    statuses = {name: sample.CALLS[name] for name in ("stated-divisor", "pad-FLOAT")}
    answers = {"assumed_stride": 161002, "pad_FLOAT": "skipped"}
    (tmp_path / "test_own.py").write_text("def test_own(): pass", encoding="utf-8")
    for name, some in (("open", calls), ("statuses", statuses), ("empty", {})):
        with opgen.open(sample.write(tmp_path / f"{name}.h5", some)) as bundle:
            sample.answer(bundle, tmp_path / f"{name}_results.h5", **answers)
        options = "--opgen-bundle", f"{name}.h5", "--opgen-results", f"{name}_results.h5"
        code, said = run(tmp_path, *workers, *options, ".")
        assert (code, "nothing proved" in said) == (1, True), said
        assert "PASSED test_own.py::test_own" in said or workers
    if not workers:
        code, said = run(tmp_path, *options, "--collect-only", ".")
        assert (code, "nothing proved" in said) == (0, False), said


def test_a_worker_is_told_what_is_wrong_with_the_files(files):
    options = "--opgen-bundle", "suite.h5", "--opgen-results", "suite.h5"
    code, said = run(files, "-p", "xdist", "-n", "2", *options)
    assert (code, "is an opgen bundle file, not a results file" in said) == (4, True), said


def test_an_id_forges_nothing(files):
    """Of a bundle by somebody who knows how terminals and logs of CI read their lines."""
    forged = "pad\x1b[31m\n::error::\u202e"
    with opgen.open(sample.write(files / "forged.h5", {forged: sample.pad()})) as bundle:
        sample.answer(bundle, files / "forged_results.h5", lambda case, outputs: {})
    code, said = run(files, "--opgen-bundle", "forged.h5", "--opgen-results", "forged_results.h5")
    assert code == 1 and "\x1b[31m" not in said and "\u202e" not in said
    assert not [line for line in said.splitlines() if line.startswith("::error::")]
    assert r"FAILED forged.h5::[pad\x1b[31m\x0a::error::\u202e]" in said
