"""Texts of others: they do nothing to a terminal, to a log, to Markdown."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from opgen.report.terminal import literal, markdown, table, visible

HOSTILE = {
    "\x1b[2Jcleared": r"\x1b[2Jcleared",
    "two\nlines\rback": r"two\x0alines\x0dback",
    "tab\tand \x9b31m": r"tab\x09and \x9b31m",
    "right\u202eleft\u2066": r"right\u202eleft\u2066",
    "ends\u2028of\u2029lines\x85": r"ends\u2028of\u2029lines\x85",
    "::error::forged": r"\x3a:error::forged",
    "##[error]forged": r"\x23#[error]forged",
    "half \ud800": r"half \ud800",
    "hidden \U000e0041": r"hidden \U000e0041",
    "超 é 😀 a::b": "超 é 😀 a::b",
}


@pytest.mark.parametrize(("text", "shown"), HOSTILE.items())
def test_foreign_text_is_shown_and_does_nothing(text: str, shown: str) -> None:
    assert visible(text) == shown and visible(shown) == shown
    assert Text.from_markup(literal("[red]" + text)).plain == visible("[red]" + text)


def test_the_items_of_a_cell_stand_on_lines_of_their_own() -> None:
    stream = io.StringIO()
    Console(file=stream, width=80).print(table("cases", rows=[[["first", "sec\nond"]]]))
    assert [line.strip() for line in stream.getvalue().splitlines()[2:]] == ["first", "sec\\x0aond"]


def test_cells_of_tables_are_foreign() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    rows = table("what", rows=[["[red]\x1b[2J"]])
    rows.add_row("[link=x]\u202e")
    console.print(rows)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert r"[red]\x1b[2J" in said and r"[link=x]\u202e" in said


@pytest.mark.parametrize("text", ["a`b", "``", "</details>", "a|b", "![](//x)", "two\nlines"])
def test_markdown_shows_what_it_is_given(text: str) -> None:
    shown = markdown(text)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    assert shown.endswith(fence) and fence not in shown[len(fence) : -len(fence)]
    assert shown[len(fence) : -len(fence)].strip() == visible(text)
