"""Options from a pyproject.toml and from the environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opgen.cli import main

CASES = ("cases", "reflection_pad2d_backward", "--json")


def opgen(*args: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(main, args, prog_name="opgen")


def cases(*args: str, **environment: str) -> int:
    shown = opgen(*CASES, *args, **environment)
    assert shown.exit_code == 0, shown.output
    return int(json.loads(shown.stdout)["cases"])


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pyproject.toml above the folder in which the tests run."""
    folder = tmp_path / "inner"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return tmp_path / "pyproject.toml"


def test_a_command_line_wins_over_the_environment_and_that_over_the_file(settings: Path) -> None:
    settings.write_text('[tool.opgen.cases]\nproduct = ["ascend310p"]\n', encoding="utf-8")
    of_310p = cases()
    settings.unlink()
    everything = cases()
    assert of_310p < everything
    settings.write_text('[tool.opgen.cases]\nproduct = ["ascend310p"]\n', encoding="utf-8")
    assert cases(OPGEN_CASES_PRODUCT="ascend910b") == cases("--product", "ascend910b")
    assert cases("--product", "ascend910b", OPGEN_CASES_PRODUCT="ascend910") == cases(
        "--product", "ascend910b"
    )


def test_a_key_of_the_table_itself_holds_for_every_command_that_has_it(settings: Path) -> None:
    settings.write_text('[tool.opgen]\nproduct = ["ascend310p"]\n', encoding="utf-8")
    listed = json.loads(opgen(*CASES).stdout)
    assert {entry["product"] for entry in listed["counts"]} == {"ascend310p"}
    assert opgen("ops").exit_code == 0, "a command without the option does not mind"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tool.opgen]\nsed = 1\n", "tool.opgen.sed: no command has such an option"),
        ("[tool.opgen.generat]\nseed = 1\n", "tool.opgen.generat: no such command"),
        (
            "[tool.opgen.generate]\nsed = 1\n",
            "tool.opgen.generate.sed: no such option (did you mean 'seed'?)",
        ),
        ("[tool.opgen\n", "cannot be read"),
        ("[tool]\nopgen = 3\n#tool.opgen", "expects a table of options"),
        ("[tool.opgen]\nproduct = ['ascend9']\n", "ascend9: no such product"),
    ],
)
def test_what_is_refused(settings: Path, text: str, told: str) -> None:
    settings.write_text(text, encoding="utf-8")
    shown = opgen(*CASES)
    assert shown.exit_code == 2 and told in shown.stderr and "Traceback" not in shown.stderr


def test_several_problems_are_told_at_once(settings: Path) -> None:
    settings.write_text("[tool.opgen]\nsed = 1\nworkrs = 2\n", encoding="utf-8")
    assert len(opgen(*CASES).stderr.splitlines()) == 2


def test_a_pyproject_of_other_tools_says_nothing(settings: Path) -> None:
    settings.write_text("[tool.other]\nsed = 1\n", encoding="utf-8")
    assert opgen("ops").exit_code == 0
