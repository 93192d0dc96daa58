"""The README's commands run one after the other in one folder, each with the files that the ones
before it made.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import opgen
from opgen.lock.lockfile import NOTHING, read_lock
from opgen.spec.catalog import catalog
from tests.support import device_sample, unmeasured

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_WORDS = 700
"""Words before the reference."""


def commands() -> list[tuple[str, int]]:
    """Every command line that the README shows, in its order, and how it ends."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    lines = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    ends = [re.search(r"  # exit (\d+)", line) for line in lines]
    return [
        (line.partition("  # ")[0], int(end[1]) if end else 0)
        for line, end in zip(lines, ends, strict=True)
    ]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with the project's test data, and an environment whose ``opgen`` is this one, and
    whose ``pytest`` has its plugin.
    """
    folder, programs = tmp_path_factory.mktemp("readme"), tmp_path_factory.mktemp("bin")
    (folder / "tests").symlink_to(ROOT / "tests")
    for name, words in (("opgen", "opgen"), ("pytest", "pytest -p opgen.pytest_plugin")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {words} "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
    paths = [str(programs), os.environ["PATH"]]
    environment = {
        **unmeasured.ENVIRONMENT,
        "PATH": os.pathsep.join(paths),
        "PYTHONPATH": str(ROOT),
    }
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # an opgen that is installed has another
    return folder, environment


def test_the_commands_run_in_the_order_in_which_they_stand(
    shell: tuple[Path, dict[str, str]],
) -> None:
    folder, environment = shell
    assert len(commands()) > 20
    for line, code in commands():
        ran = subprocess.run(
            line,
            shell=True,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert ran.returncode == code, f"$ {line}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}"


def test_the_pytest_line_collects_the_cases_alone_in_a_clone(
    shell: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    """And not the thousands of tests that pyproject.toml names."""
    (line,) = [line for line, _ in commands() if line.startswith("pytest ")]
    results = tmp_path / "results.h5"
    with opgen.open(device_sample.write(tmp_path / "suite.h5")) as suite:
        device_sample.answer(suite, results)
        expected = [f"suite.h5::[{case}]" for case in suite.ids]
    line = re.sub(r"\w+\.h5", lambda name: str(tmp_path / name[0]), line)
    ran = subprocess.run(
        f"{line} --collect-only -q -p no:cacheprovider",
        shell=True,
        cwd=ROOT,
        env=shell[1],
        capture_output=True,
        text=True,
        timeout=300,
    )
    listed = [f"suite.h5::{x.split('suite.h5::')[1]}" for x in ran.stdout.splitlines() if "::" in x]
    assert (ran.returncode, listed) == (0, expected), ran.stdout[-2000:] + ran.stderr[-2000:]


def test_the_first_screen_is_what_the_commands_print(
    shell: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    def opgen(*words: str) -> str:
        ran = subprocess.run(
            ["opgen", *words],
            cwd=tmp_path,
            env=shell[1],
            capture_output=True,
            text=True,
            timeout=300,
        )
        return ran.stdout

    opgen("generate", "avg_pool2d_backward", "-o", "pool.h5")
    opgen("run", "pool.h5", "--backend", "mutant:not_enforced/pad_height", "-o", "results.h5")
    case = "avg_pool2d_backward.910b.invalid.pad_height.*"
    printed = opgen("inspect", "pool.h5", case) + opgen("diff", "pool.h5", "results.h5")
    blocks = re.findall(r"^```text\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    shown = [line for block in blocks for line in block.splitlines()]
    assert len(shown) == 8 and shown.count("...") == 2, "what is left out is marked"
    for line in shown:
        assert re.search(re.escape(line).replace(r"\.\.\.", r"\S+"), printed), line


def test_the_rule_on_the_first_screen_is_that_of_the_spec() -> None:
    (text, *_) = re.findall(r"^```yaml\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    shown = yaml.safe_load(text)
    spec = yaml.safe_load((ROOT / "specs" / "avg_pool2d_backward.yaml").read_text("utf-8"))
    assert {name: spec["rules"][name] for name in shown["rules"]} == shown["rules"]
    ((code, clauses),) = shown["returns"].items()
    assert [spec["returns"][code][clause] for clause in clauses] == [*clauses.values()]
    newer = next(one for one in catalog().specs if one.name == "avg_pool2d_backward.2026-08")
    (line,) = next(rule.at for rule in newer.rules if rule.id == "pad_height")
    assert f"({line} in a newer edition)" in README


def test_how_many_cases_expect_only_a_status() -> None:
    """Counted in the lock of the smoke suite, where they have no digest of inputs."""
    lock = read_lock(ROOT / "cases" / "smoke")
    cases = [entry for page in lock.entries.values() for entry in page.values()]
    share = sum(entry.inputs == NOTHING for entry in cases) / len(cases)
    (some, of) = re.findall(r"(\d) of (\d) cases expect only a status", README)[0]
    assert abs(share - int(some) / int(of)) < 0.02


def test_the_share_of_simulated_faults_that_are_caught() -> None:
    """As the list of operators has it, whose pages of one operator all have the count of all."""
    text = (ROOT / "opgen" / "spec" / "OPERATORS.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+`) .* (\d+) of (\d+) \| [\w ]+ \| \w+ \|$", text, re.MULTILINE)
    of_operator = {api: (int(caught), int(of)) for api, caught, of in rows}
    assert len(of_operator) == len(catalog().kinds)
    caught, of = map(sum, zip(*of_operator.values(), strict=True))
    (said,) = re.findall(r"`--plan standard` catches (\d+) % of the simulated faults", README)
    assert int(said) == 100 * caught // of


def test_the_part_that_everybody_reads_is_short() -> None:
    head, _, _ = README.partition("\n# Reference\n")
    assert len(head) < len(README) and len(head.split()) <= MOST_WORDS


def test_the_test_command_takes_the_cpu_build_of_torch() -> None:
    """What pip takes by itself may hold gigabytes for GPUs. ``.ci/run`` finds the command so."""
    (command,) = re.findall(r"^pip install .* && python -m pytest.*$", README, re.MULTILINE)
    first, *others, tests = command.split(" && ")
    assert re.search(r"--extra-index-url https://download\.pytorch\.org/whl/cpu torch==\S+$", first)
    assert all(part.startswith("pip install ") for part in others)
    assert tests.startswith("python -m pytest")


def test_the_systems_are_named_where_people_and_pip_look() -> None:
    """Files are locked with fcntl, which other systems lack."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "Operating System :: POSIX" in project["classifiers"] and "POSIX system" in README
