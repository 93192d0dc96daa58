"""A report as JSON: for programs, and for comparing two of them later."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite
from typing import Any

from opgen.comparison.diff_report import DiffReport, SharedTrait
from opgen.model import FileError, Problem, Verdict

FORMAT, VERSION = "opgen report", 1
_OWN = {
    *("format", "version", "totals", "proved", "criteria", "distribution"),
    *("shared", "groups", "not_run", "notes", "waived", "verdicts"),
}
"""What a report does not say of its origin."""
_NAMES = {"case", "verdict", "detail"}
"""What a verdict does not say for programs."""


def plain(report: DiffReport) -> dict[str, object]:
    """Everything that a report says, without numbers that JSON does not have: those are ``"inf"``
    and ``"nan"``.
    """
    whole = {
        "format": FORMAT,
        "version": VERSION,
        **report.origin,
        "totals": report.totals,
        "proved": not report.unproved,
        "criteria": {
            name: {"met": met, "asked": asked} for name, (met, asked) in report.criteria.items()
        },
        "distribution": dict(report.distribution),
        "shared": [
            {
                "what": trait.what,
                "text": trait.text,
                "failures": [trait.failures, trait.of_failures],
                "passes": [trait.passes, trait.of_passes],
            }
            for trait in report.shared
        ],
        "groups": [asdict(group) for group in report.groups],
        "not_run": report.not_run,
        "notes": report.notes,
        "waived": report.waived,
        "verdicts": [
            {
                "case": verdict.case,
                "verdict": verdict.verdict,
                "detail": verdict.detail,
                **verdict.metrics,
            }
            for verdict in report
        ],
    }
    return {key: _finite(value) for key, value in whole.items()}


def text(report: DiffReport) -> str:
    """The JSON, a line per verdict."""
    data = plain(report)
    verdicts = data.pop("verdicts")
    assert isinstance(verdicts, list)
    lines = ",\n".join(json.dumps(verdict, ensure_ascii=False) for verdict in verdicts)
    head = json.dumps(data, ensure_ascii=False, indent=1)
    return f'{head[:-2]},\n "verdicts": [\n{lines}\n]}}\n'


def parse(text: str, file: str) -> DiffReport:
    """The report that a file holds as JSON; FileError for any other text."""

    def refused(why: str) -> FileError:
        return FileError([Problem(file, None, "", why)])

    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refused(f"is not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise refused("is not a report: opgen diff --json writes one")
    version = data.get("version", 0)
    if isinstance(version, int) and version > VERSION:
        raise refused(f"is a report of version {version}, newer than this opgen: update opgen")
    try:
        if version != VERSION:
            raise ValueError(f"version {version!r}")
        return _report(data)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise refused(f"is a damaged report: {type(error).__name__}: {error}") from None


def _report(data: dict[str, Any]) -> DiffReport:
    verdicts, criteria, shared, _ = (
        data[key] for key in ("verdicts", "criteria", "shared", "totals")
    )
    return DiffReport(
        [
            Verdict(
                str(verdict["case"]),
                str(verdict["verdict"]),
                str(verdict["detail"]),
                {key: _numbers(fact) for key, fact in verdict.items() if key not in _NAMES},
            )
            for verdict in verdicts
        ],
        {key: value for key, value in data.items() if key not in _OWN},
        {name: (int(met["met"]), int(met["asked"])) for name, met in criteria.items()},
        dict(data["distribution"]),
        [
            SharedTrait(trait["what"], trait["text"], *trait["failures"], *trait["passes"])
            for trait in shared
        ],
        list(data["notes"]),
        dict(data["waived"]),
    )


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _numbers(value: Any) -> Any:
    """The same with ``inf`` and ``nan`` for their texts."""
    if value in ("inf", "-inf", "nan"):
        return float(value)
    return (
        {key: _numbers(item) for key, item in value.items()} if isinstance(value, dict) else value
    )
