"""What stands in a spec file: the form of each section, from which follow how it is read and its
JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from opgen.calls.kinds import KINDS, NUMERIC, ParameterKind
from opgen.calls.vocabulary import vocabulary
from opgen.files.forms import (
    Form,
    Schema,
    anything,
    constant,
    either,
    flag,
    listed,
    number,
    one_or_more,
    table,
    text,
    whole,
    word,
)
from opgen.files.records import key, keys, record
from opgen.files.yamlfile import Document, Location, did_you_mean
from opgen.model import Bucket

Lines: TypeAlias = tuple[int, ...]
Words: TypeAlias = tuple[str, ...]
Letters: TypeAlias = tuple[str | int, ...]
Numbers: TypeAlias = tuple[int | str, ...]
Limit: TypeAlias = int | float | str
Limits: TypeAlias = tuple[Limit | None, Limit | None]
Places: TypeAlias = dict[int | str, Words | dict[int | str, Words]]

ROUNDINGS = ("FLOAT16", "BFLOAT16", "HFLOAT32", "FLOAT")
"""What inputs can be rounded to before the sum."""
WITHOUT_CODE: tuple[Bucket, ...] = ("unstated", "disputed", "assumed")
"""The buckets of ``returns:``: rules for which the page names no code, or contradicts itself, or is
silent."""

LINES = one_or_more(whole("a line of the page", 1), "a line of the page or a list of lines")
TERM = text("an expression")
SENTENCE = text("a sentence")
NUMBER = either("a number or a term", whole("a number"), TERM)
LIMIT = either("a number or a term", number("a number"), TERM)
NUMBERS = one_or_more(NUMBER, "a number, a term, or a list of them", 1)
NAME = text("a name", r"^[^\W\d]\w*$")
RULES = listed(text("rule ids"), "a list of rule ids")
SLOTS = listed(one_or_more(NAME, "a slot name, or a list of several"), "a list of slot names")
PRODUCT = word("product", lambda: vocabulary().products)
ROUNDING = word("compute dtype", lambda: ROUNDINGS)


def _places(*codes: str) -> Form[Places]:
    """Rule ids by status codes, or by one of these words."""
    what = "status code or bucket" if codes else "status code"
    return table(
        word(what, lambda: (*vocabulary().status, *codes), keep=True),
        either(
            "a list of rule ids",
            RULES,
            table(anything("a clause's number"), RULES, "a mapping of number to rule ids"),
        ),
        "a mapping of status codes" + (" and buckets" if codes else ""),
    )


def _words(what: str) -> Form[Words]:
    return listed(word(what, lambda: vocabulary().names[what]), f"a list of {what}s", 1)


_PRODUCTS = word("product", lambda: ("any", *vocabulary().products))
_LETTERS = listed(
    either("a letter or an extent", NAME, whole("an extent", 0)), "a list of letters or extents"
)


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


@dataclass(frozen=True)
class PageForm:
    """The vendor's document, and the digests of the lines that facts cite."""

    file: str = key(text("a text", r"\S"), "", required=True)
    sha256: str = key(text("64 digits 0-9 and a-f", "^[0-9a-f]{64}$"), "", required=True)
    lines: str = key(text("a text"), "", required=True)


@dataclass(frozen=True)
class RuleForm:
    """A fact about several parameters."""

    at: Lines = key(LINES, ())
    when: str | None = key(TERM, None)
    require: str = key(TERM, "", required=True)
    note: str = key(SENTENCE, "")


@dataclass(frozen=True)
class ModeForm:
    """What inputs are rounded to, and when."""

    at: Lines = key(LINES, ())
    when: str = key(TERM, "", required=True)
    dtype: str = key(ROUNDING, "", required=True)
    optional: bool = key(flag(), False)


@dataclass(frozen=True)
class ComputeForm:
    """What inputs are rounded to, and outputs of which that is not true."""

    exact: Words = key(listed(text("an output"), "a list of outputs"), ())
    modes: tuple[ModeForm, ...] = key(
        listed(record(ModeForm, "key of a mode"), "a list of modes"), ()
    )


def _pointers(kind: ParameterKind) -> bool:
    return kind.pointer


def _tensors(kind: ParameterKind) -> bool:
    return kind.family in ("tensor", "list")


def _lists(kind: ParameterKind) -> bool:
    return kind.family == "list"


def _with_length(kind: ParameterKind) -> bool:
    return kind.family in ("array", "list")


def _with_dtype(kind: ParameterKind) -> bool:
    return kind.family in ("tensor", "typed", "list")


def _arrays(kind: ParameterKind) -> bool:
    return kind.family == "array"


def _numbers(kind: ParameterKind) -> bool:
    return kind.family not in ("tensor", "list") and kind.element.term in NUMERIC


@dataclass(frozen=True)
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
        only=lambda kind: _arrays(kind) and kind.element.term == "int",
    )
    otherwise: dict[int, dict[str, str]] = key(
        table(
            whole("a length", 0),
            table(NAME, NAME, "{name: the name it falls back to}"),
            "a mapping of length to {name: the name it falls back to}",
        ),
        {},
        only=lambda kind: _arrays(kind) and kind.element.term == "int",
    )
    strided: bool | None = key(
        flag("true or false: whether the page allows tensors that are not contiguous"),
        None,
        only=_tensors,
    )
    mask: str | None = key(TERM, None, only=lambda kind: kind.written)
    null: bool | str | None = key(
        either(
            "false (never), true (always allowed), or the condition under which null is allowed",
            flag(),
            TERM,
        ),
        None,
        only=_pointers,
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
        only=_with_dtype,
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
        only=_tensors,
    )
    rank: Numbers | None = key(NUMBERS, None, only=_tensors)
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
        only=_tensors,
    )
    dims: Limits | None = key(LIMITS, None, only=_tensors)
    empty: bool | None = key(
        flag("false (no extent may be 0) or true (the page allows empty tensors)"),
        None,
        only=_tensors,
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
        only=_with_length,
    )
    most: int = key(whole("how many tensors of a list are read, at most", 1), 8, only=_lists)
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


@dataclass(frozen=True)
class SpecForm:
    """A spec file: one page, transcribed."""

    api: str = key(text("the vendor's name of the operator"), "", required=True)
    page: PageForm | None = key(
        either(
            "file, sha256 and lines, or none",
            either("none", constant("none"), constant(None)),
            record(PageForm),
        ),
        None,
        required=True,
    )
    edition: str = key(text("the edition of the page in quotes, such as '2026-08'"), "")
    products: Words | dict[str, Lines] = key(
        either(
            "a list of products or a mapping of product to line",
            listed(PRODUCT, "a list of products"),
            table(PRODUCT, LINES, "a mapping of product to line"),
        ),
        (),
        required=True,
    )
    judges: Words | None = key(listed(PRODUCT, "a list of products"), None)
    parameters: dict[str, ParameterForm] = key(
        table(
            text("a name"),
            Form(
                "a mapping that starts with kind",
                _parameter_schema,
                lambda v: isinstance(v, dict),
                _parameter,
            ),
            "a mapping of parameters, in the order of the prototype",
        ),
        {},
        required=True,
    )
    rules: dict[str, RuleForm] = key(
        table(text("a rule id"), record(RuleForm, "key of a rule"), "a mapping of rule ids"), {}
    )
    compute: ComputeForm = key(record(ComputeForm), ComputeForm())
    clauses: dict[int | str, dict[int | str, int]] = key(
        table(
            anything("a status code"),
            table(
                anything("a clause's number"),
                whole("the clause's line on the page", 1),
                "a mapping of a clause's number to its line",
            ),
            "a mapping of status codes",
        ),
        {},
    )
    returns: Places = key(_places(*WITHOUT_CODE), {}, required=True)
    likely: Places = key(_places(), {})
    remarks: dict[int, str] = key(
        table(whole("a line of the page", 1), SENTENCE, "a mapping of line to remark"), {}
    )
    todo: dict[int, str] = key(
        table(whole("a line of the page", 1), SENTENCE, "a mapping of line to what is undecided"),
        {},
    )


SPEC = record(SpecForm)
