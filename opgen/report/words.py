"""The words of opgen, as ``WORDS.md`` explains them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from opgen.numerics.recipes import RECIPES
from opgen.quality import mutants

MANUAL = Path(__file__).with_name("WORDS.md")


class Word(NamedTuple):
    """A word, what it means, and the section of the manual in which it stands."""

    word: str
    meaning: str
    section: str


@cache
def words() -> dict[str, Word]:
    """Every word of the manual, in its order.

    >>> words()["lenient"].meaning
    'the device accepted a call that the page forbids without naming a code.'
    """
    entries = {}
    for section in MANUAL.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        for line, meaning in re.findall(r"^\* (\*\*.+?\*\*): (.+(?:\n  .+)*)", body, re.MULTILINE):
            for word in re.findall(r"\*\*(.+?)\*\*", line):
                entries[word] = Word(word, re.sub(r"\s+", " ", meaning), title)
    return entries


def meanings(name: str) -> list[Word]:
    """What a name means: as a word of the manual, a recipe, a mutant, or several of them."""
    known = words().get(name) or words().get(name.replace("_", " "))
    entries = [known] if known else []
    if name in RECIPES:
        entries.append(Word(name, f"a recipe; it finds {RECIPES[name].finds}.", "Recipes"))
    if name in mutants.names():
        entries.append(Word(name, f"a device on which {mutants.find(name).wrong}.", "Mutants"))
    return entries


def names() -> list[str]:
    """Every name that :func:`meanings` knows."""
    return [*words(), *RECIPES, *mutants.names()]
