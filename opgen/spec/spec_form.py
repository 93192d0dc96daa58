"""What stands in a spec file: the form of each section, from which follow how it is read and its
JSON Schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from opgen.calls.vocabulary import vocabulary
from opgen.files.compound_forms import either, listed, table
from opgen.files.forms import Form, anything, constant, flag, text, whole, word
from opgen.files.records import key, record
from opgen.model import Bucket
from opgen.spec.form_values import LINES, PRODUCT, ROUNDING, SENTENCE, TERM, Lines, Words
from opgen.spec.parameter_form import PARAMETERS, ParameterForm

Places: TypeAlias = dict[int | str, Words | dict[int | str, Words]]

WITHOUT_CODE: tuple[Bucket, ...] = ("unstated", "disputed", "assumed")
"""The buckets of ``returns:``: rules for which the page names no code, or contradicts itself, or is
silent."""

RULES = listed(text("rule ids"), "a list of rule ids")


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


@dataclass
class PageForm:
    """The vendor's document, and the digests of the lines that facts cite."""

    file: str = key(text("a text", r"\S"), "", required=True)
    sha256: str = key(text("64 digits 0-9 and a-f", "^[0-9a-f]{64}$"), "", required=True)
    lines: str = key(text("a text"), "", required=True)


@dataclass
class RuleForm:
    """A fact about several parameters, or about each tensor of a list: terms call its place so."""

    at: Lines = key(LINES, ())
    each: str | None = key(text("a list of tensors"), None)
    when: str | None = key(TERM, None)
    require: str = key(TERM, "", required=True)
    note: str = key(SENTENCE, "")


@dataclass
class ModeForm:
    """What inputs are rounded to, and when."""

    at: Lines = key(LINES, ())
    when: str = key(TERM, "", required=True)
    dtype: str = key(ROUNDING, "", required=True)
    optional: bool = key(flag(), False)


@dataclass
class ComputeForm:
    """What inputs are rounded to, and outputs of which that is not true."""

    exact: Words = key(listed(text("an output"), "a list of outputs"), ())
    modes: tuple[ModeForm, ...] = key(
        listed(record(ModeForm, "key of a mode"), "a list of modes"), ()
    )


@dataclass
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
        PARAMETERS,
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
    status_only: str = key(SENTENCE, "")
    remarks: dict[int, str] = key(
        table(whole("a line of the page", 1), SENTENCE, "a mapping of line to remark"), {}
    )
    todo: dict[int, str] = key(
        table(whole("a line of the page", 1), SENTENCE, "a mapping of line to what is undecided"),
        {},
    )


SPEC = record(SpecForm)
