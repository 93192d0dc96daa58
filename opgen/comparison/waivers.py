"""Waivers: verdicts that a site knows and accepts until a day, in a YAML file that it keeps.

.. code-block:: yaml

    - {case: "convolution_backward.910b.*", verdict: failed, reason: ticket 4711, expires:
      2027-01-31}
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from opgen.calls.ids import match_ids
from opgen.comparison.diff_report import DiffReport
from opgen.comparison.statuses import STRICT
from opgen.files import yamlfile
from opgen.files.yamlfile import Document, did_you_mean

_KEYS = ("case", "verdict", "reason", "expires")


@dataclass(frozen=True)
class Waiver:
    """Cases that match ``case`` may have ``verdict`` up to and with the day ``expires``."""

    case: str
    verdict: str
    reason: str
    expires: date
    where: str


def read(path: str | Path) -> list[Waiver]:
    """The waivers of a file; FileError with everything wrong in it."""
    return _waivers(yamlfile.read(Path(path), days=True))


def parse(text: str, file: str = "<text>") -> list[Waiver]:
    """The same, of text."""
    return _waivers(yamlfile.parse(text, file, days=True))


def _waivers(document: Document) -> list[Waiver]:
    entries = [] if document.data is None else document.data
    waivers: list[Waiver | None] = []
    if isinstance(entries, list):
        waivers = [_waiver(document, i, entry) for i, entry in enumerate(entries)]
    else:
        text = "expects a list of waivers, each with case, verdict, reason and expires"
        document.problem((), text)
    document.raise_problems()
    return [waiver for waiver in waivers if waiver is not None]


def _waiver(document: Document, i: int, entry: object) -> Waiver | None:
    """One entry; None, and problems noted, where it is none."""
    if not isinstance(entry, dict):
        document.problem((i,), "expects case, verdict, reason and expires")
        return None
    before = len(document.problems)
    document.known((i,), entry, _KEYS, "key")
    for key in _KEYS:
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            text = "is missing" if key not in entry else "must be a text that is not empty"
            text += ": a waiver says for which cases, which verdict, why and until when"
            document.problem((i, key), text)
    if len(document.problems) > before:
        return None
    case, verdict, reason, day = (entry[key] for key in _KEYS)
    if verdict not in STRICT:
        known = ", ".join(sorted(STRICT))
        hint = did_you_mean(verdict, STRICT)
        document.problem((i, "verdict"), f"{verdict!r} cannot be waived{hint}; {known} can")
    try:
        expires = date.fromisoformat(day)
    except ValueError:
        document.problem((i, "expires"), f"{day!r} is not a date; write 2027-01-31")
    if len(document.problems) > before:
        return None
    return Waiver(case, verdict, reason, expires, f"{document.file}:{document.line((i,))}")


def apply(report: DiffReport, waivers: list[Waiver], today: date, whole: bool = True) -> None:
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
