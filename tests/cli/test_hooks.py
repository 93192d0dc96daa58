"""What other repositories take from this one: hooks of pre-commit, and an action of GitHub."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import opgen
from opgen.cli import main
from tests.support import device_sample as sample

ROOT = Path(opgen.__file__).parents[1]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
ACTION = yaml.safe_load((ROOT / ".github/actions/diff/action.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("change", "code"), [("", 0), ("\nno_such_key: 1\n", 2)])
def test_the_hook_checks_the_files_that_it_is_given(tmp_path, change, code):
    hook = next(hook for hook in HOOKS if hook["id"] == "opgen-check")
    path = tmp_path / "specs" / "reflection_pad2d_backward.yaml"
    assert re.search(hook["files"], "specs/reflection_pad2d_backward.yaml")
    path.parent.mkdir()
    text = (ROOT / "specs" / path.name).read_text(encoding="utf-8")
    path.write_text(text + change, encoding="utf-8")
    _, *words = shlex.split(hook["entry"])
    assert CliRunner().invoke(main, [*words, str(path)]).exit_code == code


def test_each_hook_is_a_command_with_options_that_it_has():
    for hook in HOOKS:
        program, name, *options = shlex.split(hook["entry"])
        said = CliRunner().invoke(main, [name, "--help"]).stdout
        assert program == "opgen" and all(option in said for option in options)


@pytest.mark.parametrize(("unstated", "code"), [(161002, 0), ("crash", 1)])
def test_the_action_judges_and_writes_both_reports(tmp_path, unstated, code):
    pytest.importorskip("jinja2")
    with opgen.open(sample.write(tmp_path / "b.h5")) as bundle:
        sample.answer(bundle, tmp_path / "r.h5", unstated_pad=unstated)
    step = ACTION["runs"]["steps"][-1]
    names = {name: re.findall(r"inputs\.(\w+)", value)[0] for name, value in step["env"].items()}
    assert set(names.values()) == set(ACTION["inputs"])
    given = {"bundle": "b.h5", "results": "r.h5", "waivers": "", "report": "report"}
    done = subprocess.run(
        ["bash", "-c", f'opgen() {{ "{sys.executable}" -m opgen "$@"; }}\n{step["run"]}'],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)} | {key: given[names[key]] for key in names},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert (tmp_path / "report.xml").is_file() and (tmp_path / "report.html").is_file()
