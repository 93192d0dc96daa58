"""Texts of others: they do nothing to a terminal, to a log, to Markdown."""

from __future__ import annotations

import pytest
from rich.text import Text

from opgen.report.terminal import literal, markdown, visible

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


@pytest.mark.parametrize("text", ["a`b", "``", "</details>", "a|b", "![](//x)", "two\nlines"])
def test_markdown_shows_what_it_is_given(text: str) -> None:
    shown = markdown(text)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    assert shown.endswith(fence) and fence not in shown[len(fence) : -len(fence)]
    assert shown[len(fence) : -len(fence)].strip() == visible(text)
