"""Forms made of other forms: lists, mappings, alternatives, and what is made of what is read.

>>> from opgen.files.forms import text, whole
>>> from opgen.files.yamlfile import parse
>>> document = parse("rows: 0")
>>> table(text("a name"), whole("how many", 1), "a mapping").whole(document)
{}
>>> print(*document.problems)
<text>:1: rows: expects how many, not 0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from opgen.files.forms import Form, S, Schema, T
from opgen.files.yamlfile import Document, Location


def listed(
    item: Form[T], expects: str, least: int = 0, uniform: bool = False
) -> Form[tuple[T, ...]]:
    """A list of values of one form. ``uniform``: where one has another form, none is read."""

    def fits(value: object) -> bool:
        return (
            isinstance(value, list)
            and len(value) >= least
            and (not uniform or all(map(item.fits, value)))
        )

    def inside(document: Document, where: Location, values: list[object]) -> tuple[T, ...]:
        read = [item.read(document, (*where, i), value) for i, value in enumerate(values)]
        return tuple(value for value in read if value is not None)

    def schema() -> Schema:
        return {"type": "array", "items": item.schema()} | ({"minItems": least} if least else {})

    return Form(expects, schema, fits, inside)


def one_or_more(item: Form[T], expects: str, least: int = 0) -> Form[tuple[T, ...]]:
    """A value, or a list of such values."""
    alone = then(item, lambda document, where, value: () if value is None else (value,))
    return either(expects, listed(item, expects, least, uniform=True), alone)


def table(key_: Form[S], value: Form[T], expects: str, least: int = 0) -> Form[dict[S, T]]:
    """A mapping whose keys have one form, and its values another."""

    def inside(document: Document, where: Location, body: dict[Any, object]) -> dict[S, T]:
        known = {k: key_.read(document, (*where, k), k) for k in body}
        read = {k: value.read(document, (*where, k), body[k]) for k in body if known[k] is not None}
        return {k: item for k, item in read.items() if item is not None}

    def schema() -> Schema:
        pattern, of = _pattern(key_.schema()), value.schema()
        return {
            "type": "object",
            **({"patternProperties": {pattern: of}} if pattern else {}),
            "additionalProperties": False if pattern else of,
        } | ({"minProperties": least} if least else {})

    return Form(expects, schema, lambda v: isinstance(v, dict) and len(v) >= least, inside)


def _pattern(key_: Schema) -> str:
    """What the keys of a mapping match, which are texts in JSON; empty for any."""
    if key_.get("type") == "integer":
        return "^-?[0-9]+$"
    return f"^({'|'.join(map(str, key_['enum']))})$" if "enum" in key_ else ""


def either(expects: str, first: Form[S], second: Form[T]) -> Form[S | T]:
    """The first of two forms that fits."""

    def inside(document: Document, where: Location, value: object) -> S | T:
        return (first if first.fits(value) else second).inside(document, where, value)

    return Form(
        expects,
        lambda: {"anyOf": [first.schema(), second.schema()]},
        lambda v: first.fits(v) or second.fits(v),
        inside,
    )


def then(form: Form[S], make: Callable[[Document, Location, S], T]) -> Form[T]:
    """What ``make`` makes of the value that a form reads."""

    def inside(document: Document, where: Location, value: object) -> T:
        return make(document, where, form.inside(document, where, value))

    return Form(form.expects, form.schema, form.fits, inside)


def otherwise(form: Form[T], blank: T) -> Form[T]:
    """What a form reads; ``blank``, and a problem noted, for a value of another form."""

    def inside(document: Document, where: Location, value: object) -> T:
        read = form.read(document, where, value)
        return blank if read is None else read

    return Form(form.expects, form.schema, lambda v: True, inside)


def distinct(form: Form[T]) -> Form[T]:
    """A list in which no value stands twice."""

    def inside(document: Document, where: Location, values: list[object]) -> T:
        for value, times in Counter(map(repr, values)).items():
            if times > 1:
                document.problem(where, f"{value} appears twice; keep one")
        return form.inside(document, where, values)

    return Form(form.expects, lambda: form.schema() | {"uniqueItems": True}, form.fits, inside)
