"""Paragraphs and tables: no word is broken, no line has blanks at its end, no line is too long."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType
from rich.text import Text

from opgen.report.layout import Paragraph, TextTable, show

WORDS = st.lists(
    st.sampled_from(["a", "of", "(b)", "c-d", "x.y_z", "e" * 12, "f" * 19, "g" * 30]), max_size=9
).map(" ".join)


def printed(*parts: RenderableType, width: int, edge: bool = True, color: bool = False) -> str:
    console = Console(
        file=io.StringIO(), width=width, soft_wrap=not edge, highlight=False, force_terminal=color
    )
    show(console, *parts)
    return console.file.getvalue()  # type: ignore[attr-defined]


def words(text: str) -> list[str]:
    return [word for word in text.split() if set(word) != {"─"}]


def assert_fits(text: str, width: int) -> None:
    for line in text.splitlines():
        assert line == line.rstrip()
        assert len(line) <= width or len(line.split()) == 1


@given(st.lists(st.tuples(WORDS, WORDS, st.integers(0, 10**9)), max_size=4), st.integers(20, 130))
def test_a_table_fits_and_has_every_word(rows: list[tuple[str, str, int]], width: int) -> None:
    heads = ("what is said", "why", "how many")
    shown = printed(TextTable(*heads, rows=rows, right=heads[2:]), width=width)
    assert_fits(shown, width)
    cells = {word for row in rows for cell in row for word in str(cell).split()}
    assert cells <= set(words(shown)) <= cells | set(words(" ".join(heads)))


@given(WORDS, st.integers(0, 30), st.integers(20, 130))
def test_a_paragraph_fits_and_has_every_word(text: str, indent: int, width: int) -> None:
    for label in ("", "label"):
        shown = printed(Paragraph(text, label, max(indent, len(label) + 1)), width=width)
        assert_fits(shown, max(width, indent))
        assert words(shown) == [*label.split(), *text.split()]


def test_a_paragraph_stays_on_one_line_where_the_output_has_no_edge() -> None:
    text = "word " * 40
    assert printed(Paragraph(text, "note", 8), width=60, edge=False).splitlines() == [
        f"note    {text}"
    ]


def test_a_table_that_fits_has_a_line_per_row_and_else_an_entry_per_cell() -> None:
    table = TextTable("case", "kind", "bytes", rows=[("a" * 50, "valid", 7)], right=("bytes",))
    assert printed(table, width=80).splitlines()[2].split() == ["a" * 50, "valid", "7"]
    assert printed(table, width=40).splitlines() == [
        "case",
        f"  {'a' * 50}",
        "kind  valid",
        "bytes 7",
    ]


def test_the_items_of_a_cell_stand_on_lines_of_their_own() -> None:
    shown = printed(TextTable("cases", rows=[[["first", "sec\nond"]]]), width=80)
    assert shown.splitlines()[2:] == ["first", "sec\\x0aond"]


def test_cells_and_paragraphs_are_foreign() -> None:
    rows = [["[red]\x1b[2J"], ["[link=x]\u202e"]]
    said = printed(TextTable("what", rows=rows), Paragraph("[red]\x1b[2K"), width=100, color=True)
    assert r"[red]\x1b[2J" in said and r"[link=x]\u202e" in said and r"[red]\x1b[2K" in said


def test_styles_are_kept() -> None:
    said = printed(
        TextTable("what", rows=[[Text("failed", "bold red")]]),
        Paragraph(Text("failed", "bold red")),
        width=60,
        color=True,
    )
    assert said.count("\x1b[1;31mfailed\x1b[0m") == 2
