"""The manual pages beside the code do what they say."""

from __future__ import annotations

import doctest
import re
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner

from opgen.cli import main
from opgen.model import TIERS, FileError
from opgen.numerics.recipes import RECIPES
from opgen.oracle import callfiles
from opgen.spec import specfile
from opgen.spec.catalog import catalog
from opgen.spec.parameter_form import ParameterForm
from opgen.spec.parameter_keys import KEYS
from opgen.spec.spec_form import WITHOUT_CODE, SpecForm
from opgen.suite.planning.overlay import SHARED
from opgen.suite.planning.plan_form import (
    GROUP_KEYS,
    HANDWRITTEN_KEYS,
    ROLES,
    TIER_KEYS,
    VACUOUS_KEYS,
)
from opgen.suite.planning.plan_form import TOP as PLAN_TOP
from opgen.suite.planning.strides import VIEWS
from opgen.suite.remarks import remarks
from opgen.suite.selection import Request
from tests.support.suites import SLOW

FOLDER = Path(__file__).parents[1] / "opgen"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MANUALS = sorted(FOLDER.rglob("*.md"))


@pytest.mark.parametrize("path", MANUALS, ids=lambda path: path.name)
def test_the_examples_of_a_manual(path: Path) -> None:
    assert (
        doctest.testfile(
            str(path), module_relative=False, optionflags=FLAGS, encoding="utf-8"
        ).failed
        == 0
    )


def test_the_rules_have_examples_and_name_every_key() -> None:
    text = (FOLDER / "spec" / "RULES.md").read_text(encoding="utf-8")
    assert text.count(">>> ") > 20
    assert all(f"`{key}`" in text for key in KEYS)
    known = {field.name for form in (SpecForm, ParameterForm) for field in fields(form)} - {*KEYS}
    assert all(f"{key}:" in text for key in (*known, *WITHOUT_CODE))


def test_the_pages_at_the_head_of_the_rules_have_no_fault_but_what_they_leave_out() -> None:
    text = (FOLDER / "spec" / "RULES.md").read_text(encoding="utf-8")
    short, page, *_ = re.findall("```yaml\n(.*?)```", text, re.DOTALL)
    assert len(short) < len(page) / 3 and len(specfile.loads(short).rules) > 6
    with pytest.raises(FileError) as refused:
        specfile.loads(page)
    told = [
        str(problem)
        for problem in refused.value.problems
        if "is missing from returns" not in str(problem)
    ]
    assert all("..." in one or "page.lines: no digest of lines" in one for one in told), told


def test_the_plans_name_every_key() -> None:
    text = (FOLDER / "suite" / "PLANS.md").read_text(encoding="utf-8")
    assert all(f"`{word}`" in text for word in (*ROLES, *TIERS, *TIER_KEYS, *VIEWS, *SHARED))
    assert all(f"\n{key}:" in text for key in PLAN_TOP)
    assert all(
        f"`{key}`" in text or f"{key}: " in text
        for key in (*HANDWRITTEN_KEYS, *VACUOUS_KEYS, *GROUP_KEYS)
    )


def test_the_plans_name_every_recipe_and_what_it_finds() -> None:
    text = (FOLDER / "suite" / "PLANS.md").read_text(encoding="utf-8")
    table = dict(
        re.findall(
            r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$",
            text[text.index("| recipe |") : text.index("## Tiers")],
            re.MULTILINE,
        )
    )
    assert table == {name: recipe.finds for name, recipe in RECIPES.items()}


@pytest.mark.parametrize("number", [0, 1])
def test_the_examples_of_plans_try_every_value_that_they_name(number: int) -> None:
    text = (FOLDER / "suite" / "PLANS.md").read_text(encoding="utf-8")
    plan = re.findall("```yaml\n(.*?)```", text, re.DOTALL)[number]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mine.yaml"
        path.write_text(plan, encoding="utf-8")
        for tier in ("", "::standard"):
            request = Request(plan=f"{path}{tier}")
            assert list(remarks(request, request.suite())) == []


def test_the_example_of_judging() -> None:
    assert doctest.testmod(callfiles).failed == 0


def test_every_page_has_its_row_in_the_list_of_operators(tmp_path: Path) -> None:
    """All rows as the command prints them where the tests take their time; else those of a few
    operators.
    """
    text = (FOLDER / "spec" / "OPERATORS.md").read_text(encoding="utf-8")
    told = [line for line in text.splitlines() if line.startswith("| `")]
    specs = catalog().specs
    assert [row.split("`")[1] for row in told] == [spec.api for spec in specs]
    some = [] if SLOW else ["hardswish_backward", "silu_backward"]
    measured = CliRunner().invoke(main, ["mutants", "--plan", "standard", "--json", "-q", *some])
    (tmp_path / "mutants.json").write_text(measured.stdout, encoding="utf-8")
    asked = ["ops", "--markdown", "--mutants", str(tmp_path / "mutants.json"), *some]
    done = CliRunner().invoke(main, asked)
    printed = [line for line in done.stdout.splitlines() if line.startswith("| `")]
    apis = {line.split("`")[1] for line in printed}
    assert len(printed) >= 2 and printed == [row for row in told if row.split("`")[1] in apis]


def test_what_the_pages_say_of_rules_adds_up_to_all_rules() -> None:
    printed = CliRunner().invoke(main, ["ops", "--markdown", "silu_backward"]).stdout
    text = (FOLDER / "spec" / "OPERATORS.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in (text + printed).splitlines() if line.startswith("| `")]
    for row in rows:
        rules, *said = map(int, row[4:9])
        assert rules == sum(said), row


def test_the_list_of_operators_is_whole_and_explains_each_mutant_that_is_not_caught() -> None:
    text = (FOLDER / "spec" / "OPERATORS.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    heads = next(line for line in text.splitlines() if line.startswith("| operator"))
    assert {len(row) for row in rows} == {len(heads.strip("| ").split(" | "))}
    assert all(cell.strip(" -") for row in rows for cell in row)
    counts = {row[0]: row[-3].split(" of ") for row in rows}
    explained = re.findall(r"^\* (`\w+`): `[\w/]+`\.", text, re.MULTILINE)
    assert explained == [api for api, (caught, of) in counts.items() if caught != of]


@pytest.mark.parametrize("text", ["[]", "{}", "no JSON", '{"operators": {"silu_backward": 3}}'])
def test_what_is_no_measure_of_mutants_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mutants.json"
    path.write_text(text, encoding="utf-8")
    command = ["ops", "silu_backward", "--markdown", "--mutants", str(path)]
    told = CliRunner().invoke(main, command)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith(f"{path}: is not what opgen mutants")


def test_the_list_of_deviations_is_what_the_command_prints() -> None:
    text = (FOLDER / "oracle" / "DEVIATIONS.md").read_text(encoding="utf-8")
    printed = CliRunner().invoke(main, ["ops", "--deviations"]).stdout
    assert text[text.index("## ") :] == printed


def test_a_newer_edition_lists_the_rules_that_no_difference_names_any_more() -> None:
    done = CliRunner().invoke(main, ["ops", "--deviations", "avg_pool2d_backward"])
    head, older, newer = done.stdout.split("\n## ")
    cells = head.splitlines()[-1].split("|")
    named = [
        set(re.findall(r"`([\w.]+)` ?\d*", part.partition("|---|")[2])) for part in (older, newer)
    ]
    assert cells[1].strip() == "`avg_pool2d_backward.2026-08`" and int(cells[3]) > int(cells[4])
    gone = set(re.findall(r"`([\w.]+)`", cells[5]))
    assert "channels" in gone and gone <= named[0] and not gone & named[1]
