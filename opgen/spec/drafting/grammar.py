"""The patterns of ``patterns.yaml``: their form, and words for attributes, numbers and products."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from opgen.files import yamlfile
from opgen.files.compound_forms import listed, table
from opgen.files.forms import text, whole
from opgen.files.records import key, record

FILE = "patterns.yaml"


@dataclass(frozen=True)
class Pattern:
    """One line of the file; ``says`` is empty for what constrains no call, and of a condition the
    term that it is. ``rules``: those that
    the family ``rules`` writes, in which ``{subject}``, ``{name}``, ``{other}`` (the other input),
    ``{array}`` (of numbers), ``{output}`` and ``{first}`` (the first input) are parameters,
    ``{name.H}`` an axis, or the item of an array that is one, and ``{number}`` is a number.
    """

    says: str = key(text("a family"), "")
    pattern: str = key(text("a regular expression"), "", required=True)
    example: str = key(text("a sentence"), "", required=True)
    rules: tuple[str, ...] = key(listed(text("a rule"), "a list of rules"), ())


PATTERNS = listed(record(Pattern, "key of a pattern"), "a list of patterns, each with an example")


@dataclass(frozen=True)
class Grammar:
    """The file: words for attributes, for numbers and for products, and the patterns."""

    words: dict[str, tuple[str, ...]] = key(
        table(text("an attribute"), listed(text("a word"), "a list of words"), "attributes"), {}
    )
    numbers: dict[str, int] = key(table(text("a numeral"), whole("a number"), "numerals"), {})
    markers: dict[str, str] = key(table(text("a marker"), text("a product"), "markers"), {})
    statements: tuple[Pattern, ...] = key(PATTERNS, ())
    breaches: tuple[Pattern, ...] = key(PATTERNS, ())
    nothing: tuple[Pattern, ...] = key(PATTERNS, ())
    conditions: tuple[Pattern, ...] = key(PATTERNS, ())


@cache
def grammar() -> Grammar:
    """The patterns as ``patterns.yaml`` has them."""
    document = yamlfile.read(Path(__file__).with_name(FILE), FILE)
    read = record(Grammar).whole(document)
    document.raise_problems()
    return read
