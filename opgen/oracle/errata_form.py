"""What stands in an errata file: the form of each section and entry, from which follows how it is
read.
"""

from __future__ import annotations

from dataclasses import dataclass

from opgen.calls.vocabulary import vocabulary
from opgen.files.compound_forms import one_or_more, table
from opgen.files.forms import Form, text, whole, word
from opgen.files.records import key, record
from opgen.model import CRASH, Code
from opgen.oracle.errata import WRITTEN, Basis
from opgen.spec.form_values import NUMBER, ROUNDING, SENTENCE, TERM, Words

BASES: tuple[Basis, ...] = ("read", "inferred", "observed")
UNTIL = ("graph", "tiling", "kernel")
"""The last thing of the first phase that what is known of a library reaches."""
OTHERWISE = ("page",)
"""What a library does where no entry says anything."""
CHANGES = ("bound", "through", "compute", "reference", "written")
"""How numbers differ: a numeric entry has one of these."""


def _several(what: str, least: int = 0) -> Form[Words]:
    return one_or_more(text(what, "."), f"{what} or a list of them", least)


CODES: Form[tuple[Code, ...]] = one_or_more(
    word("status code", lambda: (*vocabulary().status, CRASH)), "a status code"
)


@dataclass
class EvidenceForm:
    """The calls behind an observed entry."""

    file: str = key(text("a file of calls with statuses"), "", required=True)
    digest: str = key(text("the digest of the file"), "", required=True)
    n: int = key(whole("how many calls show it", 1), 0, required=True)
    m: int = key(whole("how many calls it is about", 1), 0, required=True)


@dataclass
class EntryForm:
    """What all entries have."""

    where: Words = key(_several("a place, NAME:LINES", 1), ())
    basis: Basis = key(word("basis", lambda: BASES), "read")
    note: str = key(SENTENCE, "")
    when: str | None = key(TERM, None)
    evidence: EvidenceForm | None = key(record(EvidenceForm), None)
    accepted: str = key(text("who accepted the entry, and when"), "")


@dataclass
class StageForm(EntryForm):
    """A check of the library."""

    rules: Words = key(_several("a rule of the page"), ())
    require: Words = key(_several("a comparison"), ())
    code: tuple[Code, ...] = key(CODES, ())
    instead_of: Words = key(_several("a rule of the page"), ())
    beside: Words = key(_several("a rule of the page"), ())


@dataclass
class FaultForm(StageForm):
    """Where published code is wrong, and why."""

    note: str = key(SENTENCE, "", required=True)
    code: tuple[Code, ...] = key(CODES, (0,))


@dataclass
class ToleranceForm(EntryForm):
    """What the library lets pass."""

    rules: Words = key(_several("a rule of the page"), ())


@dataclass
class NumericForm(EntryForm):
    """How the library's numbers differ."""

    outputs: Words | None = key(_several("an output"), None)
    bound: str = key(ROUNDING, "")
    through: str = key(ROUNDING, "")
    compute: str = key(ROUNDING, "")
    reference: dict[str, str | int] = key(
        table(text("a name"), NUMBER, "a mapping of name to term"), {}
    )
    written: str = key(word("content", lambda: WRITTEN), "")
    roundings: int = key(whole("how often terms are rounded to the dtype of bound", 1), 0)


@dataclass
class ErrataForm:
    """An errata file: what one release of the library does in one operator."""

    api: str = key(text("the vendor's name of the operator"), "", required=True)
    release: str = key(text("the release in quotes"), "", required=True)
    until: str = key(word("part of the first phase", lambda: UNTIL), UNTIL[0])
    otherwise: str = key(word("answer", lambda: OTHERWISE), "")
    early: Words = key(_several("a rule of the page"), ())
    late: Words = key(_several("a rule of the page"), ())
    sources: dict[str, str] = key(
        table(
            text("a name"),
            text("a place among the published sources"),
            "a mapping of name to place",
        ),
        {},
    )
    names: dict[str, str] = key(table(text("a name"), TERM, "a mapping of id to entry"), {})
    stages: dict[str, StageForm] = key(
        table(text("an id"), record(StageForm), "a mapping of id to entry"), {}
    )
    faults: dict[str, FaultForm] = key(
        table(text("an id"), record(FaultForm), "a mapping of id to entry"), {}
    )
    tolerates: dict[str, ToleranceForm] = key(
        table(text("an id"), record(ToleranceForm), "a mapping of id to entry"), {}
    )
    numeric: dict[str, NumericForm] = key(
        table(text("an id"), record(NumericForm), "a mapping of id to entry"), {}
    )


ERRATA = record(ErrataForm)
