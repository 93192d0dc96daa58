"""The next edition of a spec: what the draft knows, what a person decided, and what is marked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opgen.cli import main
from opgen.lint.editions import changed, newer_page
from opgen.spec import specfile
from tests.spec.test_drafting import CODES, ROWS, line_of, page_text

SECOND = {"x": "数据|支持空Tensor。|与dy一致|ND|与dy保持一致|×", "group": "组数|-|INT64|-|-|-"}
"""Rows of a newer page: x may be empty, and nothing is said of group."""
NEWER = ("dy、x和dx的数据类型不在支持的范围之内。", "mask的长度不为1。")


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)])


@pytest.fixture
def pages(tmp_path: Path) -> tuple[Path, Path]:
    """A page and its spec, as a person decided it: one rule by another name, and one more."""
    page, spec = tmp_path / "tent.md", tmp_path / "tent_backward.yaml"
    page.write_text(page_text(), encoding="utf-8")
    assert run("draft", page, "-o", spec).exit_code == 0
    text = spec.read_text(encoding="utf-8").partition("\ntodo:")[0]
    text = text.replace("dy_shape", "same")
    text = text.replace(
        "\nrules:\n", '\nrules:\n  shape_of_size: {require: "size[0] * size[1] == x.numel"}\n'
    )
    text = text.replace("  unstated: [", "  assumed: [shape_of_size]\n  unstated: [")
    spec.write_text(text, encoding="utf-8")
    specfile.load(spec)
    newer = tmp_path / "newer" / "aclnnTentBackward.md"
    newer.parent.mkdir()
    newer.write_text(page_text(rows=SECOND, codes=NEWER), encoding="utf-8")
    return spec, newer


def next_of(spec: Path, newer: Path) -> str:
    target = spec.parent / "tent_backward.2026-08.yaml"
    told = run("draft", newer, "--from", spec, "--edition", "2026-08", "-o", target)
    assert told.exit_code == 0, told.stderr
    return target.read_text(encoding="utf-8")


def test_facts_keep_their_names_and_get_the_lines_of_the_newer_page(
    pages: tuple[Path, Path],
) -> None:
    text = next_of(*pages)
    made = specfile.loads(text.partition("\ntodo:")[0])
    page = pages[1].read_text(encoding="utf-8")
    assert made.edition == "2026-08"
    assert made.rule["same"].text == "dy.shape == x.shape"
    assert made.rule["same"].at == (line_of(page, "shape需要与x一致"),)
    assert "dy_shape" not in made.rule
    assert made.rule["mask.length"].code == 161002
    assert made.page is not None and made.page.file == "aclnnTentBackward.md"


def test_what_the_draft_lacks_is_carried_over_and_marked(pages: tuple[Path, Path]) -> None:
    text = next_of(*pages)
    made = specfile.loads(text.partition("\ntodo:")[0])
    assert made.rule["shape_of_size"].bucket == "assumed" and not made.rule["shape_of_size"].at
    assert made.rule["group.min"].bucket == "unstated" and not made.rule["group.min"].at
    todo = specfile.undecided_of(text)
    page = pages[1].read_text(encoding="utf-8")
    assert "carried over: group.min" in todo[line_of(page, "<td>group</td>")]
    assert "carried over: shape_of_size" in todo[line_of(page, "<td>size</td>")]
    assert "x.empty" not in made.rule, "the newer page allows it"
    checked = run("check", pages[0].parent / "tent_backward.2026-08.yaml")
    assert checked.exit_code == 2 and "lines to decide" in checked.stderr


def test_an_edition_from_its_own_page_is_the_same_spec(pages: tuple[Path, Path]) -> None:
    spec, newer = pages
    newer.write_text(page_text(rows=ROWS, codes=CODES), encoding="utf-8")
    older = specfile.load(spec)
    found = changed(older, spec, newer)
    assert found.differences == ()


def test_a_newer_page_is_compared_in_facts(pages: tuple[Path, Path]) -> None:
    spec, newer = pages
    older = specfile.load(spec)
    assert newer_page(older, newer.parent) == newer
    assert newer_page(older, newer.parent / "none") is None
    told = {one.fact: one.kind for one in changed(older, spec, newer).differences}
    assert told["mask.length"] == "answer" and told["x.empty"] == "missing"
    assert "group.min" not in told, "no pattern reads it any more: a person has to"
    assert "shape_of_size" not in told and "same" not in told or told["same"] == "answer"


def test_bad_requests_are_one_message(pages: tuple[Path, Path], tmp_path: Path) -> None:
    spec, newer = pages
    told = run("draft", newer, "--from", spec, "-o", tmp_path / "x.yaml")
    assert told.exit_code == 2 and "--from needs --edition" in told.stderr
    other = Path(__file__).parents[2] / "specs" / "tanh_backward.yaml"
    told = run("draft", newer, "--from", other, "--edition", "1", "-o", tmp_path / "x.yaml")
    assert told.exit_code == 2
    assert "is no spec of aclnnTentBackward, which the page describes" in told.stderr
    told = run("audit", "tanh_backward", "--pages", newer.parent, "--facts")
    assert told.exit_code == 2 and "has no page of these operators" in told.stderr


TANH = re.sub(
    r"  const (aclIntArray|aclBoolArray) .*\n|  int64_t .*\n|<tr><td>(size|mask|group)<.*\n",
    "",
    page_text(),
)
NAMES = {"Tent": "Tanh", "dy": "gradOutput", "dx": "gradInput", "x": "output"}


def test_the_command_prints_both_sides(tmp_path: Path) -> None:
    page = tmp_path / "aclnnTanhBackward.md"
    text = re.sub(r"Tent|(?<![A-Za-z])(?:dy|dx|x)(?![A-Za-z])", lambda one: NAMES[one[0]], TANH)
    page.write_text(text, encoding="utf-8")
    told = run("audit", "tanh_backward", "--pages", tmp_path, "--facts")
    assert told.exit_code == 1, told.stderr
    assert "tanh_backward" in told.stdout and "differences in" in told.stdout
    told = run("audit", "tanh_backward", "--pages", tmp_path, "--facts", "--json")
    plain = json.loads(told.stdout)["tanh_backward"]
    assert "product" in {one["fact"] for one in plain["differences"]}
    assert plain["page"] == page.name and plain["undecided"]


def test_a_page_with_another_prototype_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "aclnnTanhBackward.md"
    page.write_text(page_text().replace("Tent", "Tanh"), encoding="utf-8")
    told = run("audit", "tanh_backward", "--pages", tmp_path, "--facts")
    assert told.exit_code == 2
    assert "has another prototype than the page: gradOutput, output, gradInput" in told.stderr
