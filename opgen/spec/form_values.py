"""What keys of specs, plans and errata hold alike: lines of a page, terms, numbers, names, and
ranges.
"""

from __future__ import annotations

from typing import TypeAlias

from opgen.calls.vocabulary import vocabulary
from opgen.files.compound_forms import either, one_or_more
from opgen.files.forms import Form, number, text, whole, word
from opgen.files.yamlfile import Document, Location

Lines: TypeAlias = tuple[int, ...]
Words: TypeAlias = tuple[str, ...]
Numbers: TypeAlias = tuple[int | str, ...]
Limit: TypeAlias = int | float | str
Limits: TypeAlias = tuple[Limit | None, Limit | None]

ROUNDINGS = ("FLOAT16", "BFLOAT16", "HFLOAT32", "FLOAT")
"""What inputs can be rounded to before the sum."""
LINES = one_or_more(whole("a line of the page", 1), "a line of the page or a list of lines")
TERM = text("an expression")
SENTENCE = text("a sentence")
NUMBER = either("a number or a term", whole("a number"), TERM)
LIMIT = either("a number or a term", number("a number"), TERM)
NUMBERS = one_or_more(NUMBER, "a number, a term, or a list of them", 1)
NAME = text("a name", r"^[^\W\d]\w*$")
PRODUCT = word("product", lambda: vocabulary().products)
ROUNDING = word("compute dtype", lambda: ROUNDINGS)


def _limits(document: Document, where: Location, limits: list[Limit | None]) -> Limits:
    low, high = limits
    if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
        document.problem(where, f"lets nothing pass: {low} is more than {high}")
    return low, high


LIMITS: Form[Limits] = Form(
    "[lowest, highest]; null stands for no limit",
    lambda: {"type": "array", "minItems": 2, "maxItems": 2},
    lambda v: isinstance(v, list) and len(v) == 2 and v != [None, None],
    _limits,
)
