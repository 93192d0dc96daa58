"""What stands of one parameter in a spec file: the form of each key, for each kind of parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from opgen.calls.kinds import KINDS, NUMERIC, ParameterKind
from opgen.calls.vocabulary import dtype_hint, vocabulary
from opgen.files.compound_forms import either, listed, one_or_more, table
from opgen.files.forms import Form, Schema, anything, flag, number, text, whole, word
from opgen.files.records import key, keys, record
from opgen.files.yamlfile import Document, Location
from opgen.model import did_you_mean
from opgen.spec.form_values import (
    LIMIT,
    LIMITS,
    LINES,
    NAME,
    NUMBERS,
    SENTENCE,
    TERM,
    Limit,
    Limits,
    Lines,
    Numbers,
    Words,
)

Letters: TypeAlias = tuple[str | int, ...]

SLOTS = listed(one_or_more(NAME, "a slot name, or a list of several"), "a list of slot names")


def _words(what: str) -> Form[Words]:
    hint = dtype_hint if what == "dtype" else did_you_mean
    return listed(word(what, lambda: vocabulary().names[what], hint=hint), f"a list of {what}s", 1)


_PRODUCTS = word("product", lambda: ("any", *vocabulary().products))
_LETTERS = listed(
    either("a letter or an extent", NAME, whole("an extent", 0)), "a list of letters or extents"
)


def _of(*families: str) -> Callable[[ParameterKind], bool]:
    """Whether a kind of parameter is of one of these families."""
    return lambda kind: kind.family in families


def _numbers(kind: ParameterKind) -> bool:
    return kind.family not in ("tensor", "list") and kind.element.term in NUMERIC


@dataclass
class ParameterForm:
    """One parameter: what it is, what its axes and slots are called, and its keys that yield rules
    (:mod:`opgen.spec.parameter_keys`), None where they are absent.
    """

    kind: str = key(anything("a kind"), "", required=True)
    at: Lines | dict[str, Lines | dict[str, Lines]] = key(
        either(
            "lines of the page, or a mapping of a key to its lines",
            LINES,
            table(
                text("a key"),
                either(
                    "a line of the page or a list of lines, or a mapping of name to lines",
                    LINES,
                    table(anything("a name"), LINES, "a mapping of name to lines"),
                ),
                "a mapping of a key to its lines",
            ),
        ),
        (),
    )
    when: dict[str, str] = key(
        table(text("a key"), TERM, "a mapping of a key to the condition under which it holds"), {}
    )
    note: dict[str, str] = key(table(text("a key"), SENTENCE, "a mapping of a key to a remark"), {})
    items: tuple[Words, ...] | dict[int, tuple[Words, ...]] = key(
        either(
            "a list of slot names, or a mapping of length to such a list",
            SLOTS,
            table(whole("a length", 0), SLOTS, "a mapping of length to slot names"),
        ),
        {},
        only=lambda kind: kind.family == "array" and kind.element.term == "int",
    )
    otherwise: dict[int, dict[str, str]] = key(
        table(
            whole("a length", 0),
            table(NAME, NAME, "{name: the name it falls back to}"),
            "a mapping of length to {name: the name it falls back to}",
        ),
        {},
        only=lambda kind: kind.family == "array" and kind.element.term == "int",
    )
    strided: bool | None = key(
        flag("true or false: whether the page allows tensors that are not contiguous"),
        None,
        only=_of("tensor", "list"),
    )
    mask: str | None = key(TERM, None, only=lambda kind: kind.written)
    null: bool | str | None = key(
        either(
            "false (never), true (always allowed), or the condition under which null is allowed",
            flag(),
            TERM,
        ),
        None,
        only=lambda kind: kind.pointer,
    )
    dtype: Words | dict[str, Words] | None = key(
        either(
            "a list of dtypes, or a mapping of product (or any) to such a list",
            _words("dtype"),
            table(
                _PRODUCTS,
                _words("dtype"),
                "a mapping of product (or any) to dtypes",
                1,
            ),
        ),
        None,
        only=_of("tensor", "typed", "list"),
    )
    format: Words | dict[int | str, Words] | None = key(
        either(
            "a list of formats, or a mapping of rank or product (any: all others) to such a list",
            _words("format"),
            table(
                either("a rank or a product", whole("a rank", 0), _PRODUCTS),
                _words("format"),
                "a mapping of rank or product to formats",
                1,
            ),
        ),
        None,
        only=_of("tensor", "list"),
    )
    rank: Numbers | None = key(NUMBERS, None, only=_of("tensor", "list"))
    shape: dict[int, Letters | dict[str, Letters]] | None = key(
        table(
            whole("a rank", 0),
            either(
                "a list of letters, or a mapping of format to such a list",
                _LETTERS,
                table(word("format", lambda: vocabulary().names["format"]), _LETTERS, "", 1),
            ),
            "a mapping of rank to a list of letters",
        ),
        None,
        only=_of("tensor", "list"),
    )
    dims: Limits | None = key(LIMITS, None, only=_of("tensor", "list"))
    empty: bool | None = key(
        flag("false (no extent may be 0) or true (the page allows empty tensors)"),
        None,
        only=_of("tensor", "list"),
    )
    length: Numbers | dict[str, dict[int, Numbers]] | None = key(
        either(
            "lengths, or a term and for each of its values the lengths",
            NUMBERS,
            table(
                text("a term"),
                table(whole("a number"), NUMBERS, "a mapping of number to lengths"),
                "a term and for each of its values the lengths",
            ),
        ),
        None,
        only=_of("array", "list"),
    )
    most: int = key(whole("how many tensors of a list are read, at most", 1), 8, only=_of("list"))
    min: Limit | None = key(LIMIT, None, only=_numbers)
    max: Limit | None = key(LIMIT, None, only=_numbers)
    range: Limits | None = key(LIMITS, None, only=_numbers)
    enum: dict[int | float, str] | Words | None = key(
        either(
            "a mapping of number to name, of a string a list of words",
            table(number("a number"), text("a name"), "a mapping of number to name", 1),
            listed(text("a word"), "a list of words", 1),
        ),
        None,
        only=lambda kind: kind.family == "scalar" and kind.element.term != "bool",
    )


def keys_of(kind: str) -> list[str]:
    """The keys that a parameter of some kind may have."""
    return keys(ParameterForm, KINDS[kind])


PARAMETER: Mapping[str, Form[ParameterForm]] = {
    name: record(ParameterForm, f"key of {name}", kind) for name, kind in KINDS.items()
}
"""Kind -> the form of such a parameter."""


def _parameter_schema() -> Schema:
    forms = {name: form.schema() for name, form in PARAMETER.items()}
    for name, schema in forms.items():
        schema["properties"]["kind"] = {"const": name}
    return {"oneOf": list(forms.values())}


def _parameter(document: Document, where: Location, body: dict[str, object]) -> ParameterForm:
    kind = str(body.get("kind"))
    if kind not in KINDS:
        hint, known = did_you_mean(kind, KINDS), ", ".join(KINDS)
        document.problem((*where, "kind"), f"no such kind '{kind}'{hint}; known: {known}")
        kind = _likely_kind(body)
    return PARAMETER[kind].inside(document, where, {**body, "kind": kind})


def _likely_kind(body: Mapping[str, object]) -> str:
    """What is meant by a kind that is none: one that is spelled much like it, or has the most of
    its keys. What the parameter binds is known then, and of what speaks of it nothing is said that
    is not its own fault.
    """
    likely = max(KINDS, key=lambda kind: sum(key in body for key in keys_of(kind)))
    return next(iter(get_close_matches(str(body.get("kind")), KINDS, n=1)), likely)


PARAMETERS: Form[dict[str, ParameterForm]] = table(
    text("a name"),
    Form(
        "a mapping that starts with kind",
        _parameter_schema,
        lambda v: isinstance(v, dict),
        _parameter,
    ),
    "a mapping of parameters, in the order of the prototype",
)
