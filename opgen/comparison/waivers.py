"""Waivers: verdicts that a site knows and accepts until a day, in a YAML file that it keeps.

.. code-block:: yaml

    - {case: "convolution_backward.910b.*", verdict: failed, reason: ticket 4711, expires:
      2027-01-31}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from opgen.calls.ids import match_ids
from opgen.comparison.diff_report import DiffReport
from opgen.comparison.statuses import STRICT
from opgen.files import yamlfile
from opgen.files.compound_forms import listed, then
from opgen.files.forms import Form, anything, text, word
from opgen.files.records import key, record
from opgen.files.yamlfile import Document


def _is_day(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(date.fromisoformat(value))
    except ValueError:
        return False


DAY = Form(
    "the last day, such as 2027-01-31",
    lambda: {"type": "string", "format": "date"},
    _is_day,
    lambda document, where, value: date.fromisoformat(value),
)


@dataclass(frozen=True)
class Waiver:
    """Cases that match ``case`` may have ``verdict`` up to and with the day ``expires``."""

    case: str = key(text("an id or a pattern of ids", r"\S"), "", required=True)
    verdict: str = key(word("verdict to waive", lambda: sorted(STRICT)), "", required=True)
    reason: str = key(text("why it is accepted", r"\S"), "", required=True)
    expires: date = key(DAY, date.max, required=True)
    where: str = key(anything("its file and line"), "", only=lambda _: False)


WAIVERS = listed(
    then(
        record(Waiver),
        lambda document, where, waiver: replace(
            waiver, where=f"{document.file}:{document.line(where)}"
        ),
    ),
    "a list of waivers, each with case, verdict, reason and expires",
)


def read(path: str | Path) -> tuple[Waiver, ...]:
    """The waivers of a file; FileError with everything wrong in it."""
    return _waivers(yamlfile.read(Path(path), days=True))


def parse(text: str, file: str = "<text>") -> tuple[Waiver, ...]:
    """The same, of text."""
    return _waivers(yamlfile.parse(text, file, days=True))


def _waivers(document: Document) -> tuple[Waiver, ...]:
    waivers = () if document.data is None else WAIVERS.whole(document)
    document.raise_problems()
    return waivers


def apply(report: DiffReport, waivers: Sequence[Waiver], today: date, whole: bool = True) -> None:
    """Mark the waived cases of a report; what has expired or is not used becomes a note.

    A report that is not ``whole`` lacks cases of its bundle, and a waiver that matches none may be
    for one of these.
    """
    verdicts = list(report)
    rows = match_ids([verdict.case for verdict in verdicts], [waiver.case for waiver in waivers])
    for waiver in waivers:
        named = [verdicts[row] for row in rows[waiver.case]]
        waived = [verdict for verdict in named if verdict.verdict == waiver.verdict]
        if today > waiver.expires:
            report.notes.append(
                f"{waiver.where}: the waiver of {waiver.case} expired on {waiver.expires}; cases"
                f" that need it: {len(waived)}"
            )
        elif not waived and (named or whole):
            why = (
                f"none of its {len(named)} cases is {waiver.verdict}"
                if named
                else "it matches no case"
            )
            report.notes.append(f"{waiver.where}: the waiver of {waiver.case} is not used: {why}")
        else:
            report.waived |= {verdict.case: waiver.reason for verdict in waived}
