"""Forms of what people write: declared once, a form reads a value, says with its line what is
wrong with it, and is its JSON Schema.

>>> from opgen.files.yamlfile import parse
>>> document = parse("0")
>>> whole("how many", 1).read(document, (), document.data)
>>> print(*document.problems)
<text>:1: expects how many, not 0
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Generic, TypeAlias, TypeVar, cast

from opgen.files.yamlfile import Document, Location
from opgen.model import did_you_mean

Schema: TypeAlias = dict[str, Any]
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
S = TypeVar("S")


@dataclass(frozen=True)
class Form(Generic[T_co]):
    """One form of values. ``expects`` says in messages what should stand there, ``schema`` makes
    its JSON Schema; ``fits`` tells by the top of a value whether it is meant, ``inside`` reads it.
    """

    expects: str
    schema: Callable[[], Schema]
    fits: Callable[[Any], bool]
    inside: Callable[[Document, Location, Any], T_co]

    def read(self, document: Document, where: Location, value: object) -> T_co | None:
        """``value`` as it is meant; None, and a problem noted, where it has another form. What is
        wrong inside is noted and left out.
        """
        if self.fits(value):
            return self.inside(document, where, value)
        document.problem(where, f"expects {self.expects}, not {value!r}")
        return None

    def whole(self, document: Document) -> T_co:
        """What a document says, whose problems stand in it; raises :class:`opgen.model.FileError`
        where all of it has another form.
        """
        read = self.read(document, (), document.data)
        if read is None:
            document.raise_problems()
        assert read is not None
        return read


def _leaf(expects: str, schema: Schema, fits: Callable[[Any], bool]) -> Form[Any]:
    return Form(expects, lambda: schema, fits, lambda document, where, value: value)


def text(expects: str, pattern: str = "") -> Form[str]:
    """A text in which ``pattern`` occurs."""
    schema = {"type": "string", "pattern": pattern} if pattern else {"type": "string"}
    matches = re.compile(pattern).search
    return _leaf(
        expects, schema, lambda v: isinstance(v, str) and (not pattern or matches(v) is not None)
    )


def whole(expects: str, lowest: int | None = None, highest: int | None = None) -> Form[int]:
    """A whole number."""
    limits = {"minimum": lowest, "maximum": highest}
    schema = {name: limit for name, limit in limits.items() if limit is not None}
    return _leaf(
        expects,
        {"type": "integer", **schema},
        lambda v: (
            type(v) is int and (lowest is None or v >= lowest) and (highest is None or v <= highest)
        ),
    )


def power(form: Form[int]) -> Form[int]:
    """A whole number, or one as a power: ``2**28``."""
    return _spelt(form, r"(\d{1,6})\*\*(\d{1,2})", lambda base, to: int(base) ** int(to))


def measured(form: Form[int], units: Mapping[str, int]) -> Form[int]:
    """A whole number, or so many of a unit: ``10 GiB``."""
    pattern = rf"(\d{{1,15}}) ?({'|'.join(units)})"
    return _spelt(form, pattern, lambda number, unit: int(number) * units[unit])


def _spelt(form: Form[int], pattern: str, meant: Callable[[str, str], int]) -> Form[int]:
    """A whole number, or a text that spells one in two parts."""

    def spelt(value: object) -> int | None:
        parts = re.fullmatch(pattern, value, re.ASCII) if isinstance(value, str) else None
        number = parts and meant(*parts.groups())
        return number if number is not None and form.fits(number) else None

    return Form(
        form.expects,
        lambda: {"anyOf": [form.schema(), {"type": "string", "pattern": f"^{pattern}$"}]},
        lambda value: form.fits(value) or spelt(value) is not None,
        lambda document, where, value: (
            form.inside(document, where, value) if form.fits(value) else cast("int", spelt(value))
        ),
    )


def number(expects: str) -> Form[int | float]:
    """A finite number."""
    return _leaf(
        expects,
        {"type": "number"},
        lambda v: type(v) is int or (type(v) is float and isfinite(v)),
    )


def flag(expects: str = "true or false") -> Form[bool]:
    """A truth."""
    return _leaf(expects, {"type": "boolean"}, lambda v: isinstance(v, bool))


def anything(expects: str) -> Form[Any]:
    """A value whose form only its reader knows."""
    return _leaf(expects, {}, lambda v: True)


def plain_list(expects: str, least: int = 0) -> Form[list[object]]:
    """A list that is kept as it is."""
    schema = {"type": "array", "minItems": least}
    return _leaf(expects, schema, lambda v: isinstance(v, list) and len(v) >= least)


def plain_mapping(expects: str) -> Form[dict[str, object]]:
    """A mapping that is kept as it is."""
    return _leaf(expects, {"type": "object"}, lambda v: isinstance(v, dict))


def constant(value: str | None) -> Form[None]:
    """One word, or null, that stands for nothing."""
    return Form(str(value), lambda: {"const": value}, lambda v: v == value, lambda *_: None)


def word(
    what: str,
    known: Callable[[], Iterable[str | int]],
    keep: bool = False,
    hint: Callable[[object, Iterable[str | int]], str] = did_you_mean,
) -> Form[Any]:
    """One of the words that ``known`` gives, which messages call ``what``. ``keep``: another one is
    a problem, and read all the same, for the sake of what hangs on it. ``hint``: what is said of
    another one.
    """

    def inside(document: Document, where: Location, value: object) -> object:
        words = list(known())
        if value in words and not isinstance(value, bool):
            return value
        listed = ", ".join(map(str, words))
        document.problem(where, f"no such {what} {value!r}{hint(value, words)}; known: {listed}")
        return value if keep else None

    return Form(what, lambda: {"enum": list(known())}, lambda v: True, inside)
