"""A report as JSON: for programs, and for comparing two of them later."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from opgen.comparison.diff_report import DiffReport, SharedTrait
from opgen.files.textfile import read_text
from opgen.model import FileError, Problem, Verdict

FORMAT, VERSION = "opgen report", 1


def plain(report: DiffReport) -> dict[str, Any]:
    """Everything that a report says, without numbers that JSON does not have: those are ``"inf"``
    and ``"nan"``.
    """
    whole: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        **report.origin,
        "totals": report.totals,
        "criteria": {
            name: {"met": met, "asked": asked} for name, (met, asked) in report.criteria.items()
        },
        "distribution": dict(report.distribution),
        "shared": [
            {
                "what": one.what,
                "text": one.text,
                "failures": [one.failures, one.of_failures],
                "passes": [one.passes, one.of_passes],
            }
            for one in report.shared
        ],
        "groups": [asdict(one) for one in report.groups],
        "notes": report.notes,
        "waived": report.waived,
        "verdicts": [
            {"case": one.case, "verdict": one.verdict, "detail": one.detail, **one.metrics}
            for one in report
        ],
    }
    return {key: _finite(value) for key, value in whole.items()}


def text(report: DiffReport) -> str:
    """The JSON, a line per verdict."""
    data = plain(report)
    verdicts = ",\n".join(json.dumps(one, ensure_ascii=False) for one in data.pop("verdicts"))
    head = json.dumps(data, ensure_ascii=False, indent=1)
    return f'{head[:-2]},\n "verdicts": [\n{verdicts}\n]}}\n'


def read(path: str | Path) -> DiffReport:
    """A report that was written as JSON; FileError for anything else."""
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FileError([Problem(str(path), None, "", f"is no JSON: {error}")]) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileError(
            [Problem(str(path), None, "", "is no report: opgen diff --json writes one")]
        )
    version = data.get("version", 0)
    if isinstance(version, int) and version > VERSION:
        raise FileError(
            [
                Problem(
                    str(path),
                    None,
                    "",
                    f"is a report of version {version}, newer than this opgen: update opgen",
                )
            ]
        )
    try:
        if version != VERSION:
            raise ValueError(f"version {version!r}")
        return _report(data)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise FileError(
            [Problem(str(path), None, "", f"is a damaged report: {type(error).__name__}: {error}")]
        ) from None


def _report(data: dict[str, Any]) -> DiffReport:
    own = {"case", "verdict", "detail"}
    verdicts = [
        Verdict(
            str(one["case"]),
            str(one["verdict"]),
            str(one["detail"]),
            {k: _number(v) for k, v in one.items() if k not in own},
        )
        for one in data.pop("verdicts")
    ]
    criteria = {
        name: (int(one["met"]), int(one["asked"])) for name, one in data.pop("criteria").items()
    }
    findings = [
        SharedTrait(one["what"], one["text"], *one["failures"], *one["passes"])
        for one in data.pop("shared")
    ]
    distribution, notes, waived = (
        dict(data.pop("distribution")),
        list(data.pop("notes")),
        dict(data.pop("waived")),
    )
    for key in ("format", "version", "totals"):
        data.pop(key)
    data.pop("groups", None)
    return DiffReport(verdicts, data, criteria, distribution, findings, notes, waived)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def _number(value: Any) -> Any:
    if value in ("inf", "-inf", "nan"):
        return float(value)
    return {key: _number(one) for key, one in value.items()} if isinstance(value, dict) else value
