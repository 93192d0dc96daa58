"""Pages of the older edition: Markdown flattened to text, in which titles are bare lines."""

from __future__ import annotations

from collections.abc import Container

from opgen.spec.pages.markdown import Section
from opgen.spec.pages.page import Sentence

BULLETS = "•- \t"
LOST = "[object Object]"
"""What the flattening left of a part that it could not show."""


def sections(text: str, titles: Container[str]) -> list[Section]:
    """The sections of a page, which begin at lines that are nothing but a title; cells of a row are
    sentences of one line.
    """
    result: list[Section] = []
    for number, row in enumerate(text.split("\n"), 1):
        words = row.replace(LOST, "").strip(BULLETS)
        if words in titles:
            result.append(Section(words, number, []))
        elif words and result:
            cells = (cell.strip() for cell in words.split("|"))
            result[-1].parts.extend(Sentence(cell, number) for cell in cells if cell)
    return result
