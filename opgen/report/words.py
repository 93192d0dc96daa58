"""The words of opgen, as ``WORDS.md`` explains them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from opgen.numerics.recipes import RECIPES
from opgen.quality import mutants

MANUAL = Path(__file__).with_name("WORDS.md")
PLANS = Path(__file__).parents[1] / "suite" / "PLANS.md"


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
                text = re.sub(r"\[(.+?)\]\(.+?\)|\*\*", r"\1", meaning)
                entries[word] = Word(word, re.sub(r"\s+", " ", text), title)
    return entries


def explained() -> list[Word]:
    """Every word of the manual, every recipe, every mutant, and the keys of tiers."""
    recipes = ((name, f"a recipe; it finds {recipe.finds}.") for name, recipe in RECIPES.items())
    wrong = ((mutant.name, f"a device on which {mutant.wrong}.") for mutant in mutants.ALL)
    return [
        *words().values(),
        *(Word(*meant, "Recipes") for meant in recipes),
        *(Word(*meant, "Mutants") for meant in wrong),
        *_keys_of_tiers(),
    ]


def _keys_of_tiers() -> Iterator[Word]:
    """The keys of a tier of a plan, as the manual of plans has them, each with its default."""
    _, _, section = PLANS.read_text(encoding="utf-8").partition("\n## Tiers\n")
    table = section.partition("\n## ")[0]
    for names_, default, meaning in re.findall(r"^\| (`.+?`) \| (.+?) \| (.+) \|$", table, re.M):
        for name in re.findall("`(.+?)`", names_):
            yield Word(name, f"{meaning.replace('`', '')}. By default {default}.", "Keys of tiers")


def meanings(name: str) -> list[Word]:
    """What a name means: a word of the manual, a recipe, a mutant, several of them, or a section
    with all its words.

    >>> [word.word for word in meanings("recipes")][:2]
    ['grid', 'integers']
    """
    word = name if name in words() else name.replace("_", " ")
    by_itself = [entry for entry in explained() if entry.word in {name, word}]
    return by_itself or [entry for entry in explained() if entry.section.lower() == name.lower()]


def names() -> list[str]:
    """Every name that :func:`meanings` knows."""
    return [word.word for word in explained()]
