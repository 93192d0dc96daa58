"""A report as one HTML file for people: nothing is fetched from a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from math import isinf
from shlex import quote

import jinja2

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import ResultsFile
from opgen.comparison.diff_report import DiffReport, largest_ratio
from opgen.comparison.explain import call_line, compared
from opgen.comparison.standards import CRITERIA
from opgen.comparison.statuses import BAD, KNOWN, LENIENT, UNUSUAL, VERDICTS
from opgen.model import Verdict
from opgen.report import maps
from opgen.report.text import varied

MAPS = 24
"""Failing cases that get a picture."""
ACCEPTED = {LENIENT: "Lenient", KNOWN: "Known deviations", UNUSUAL: "Unusual"}


def text(report: DiffReport, strict: bool = False) -> str:
    """The whole page. Pictures of failing cases are drawn where the bundle and the results are
    still where the report says.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("opgen.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    bad = varied(report.bad(strict))
    pictures: dict[str, dict[str, object]] = {}
    with suppress(BundleError, OSError):  # where the files have gone, the numbers are in the report
        pictures = dict(_pictures(report, bad))
    verdicts, groups = [name for name in VERDICTS if name in report.totals], report.groups
    return environment.get_template("page.html.j2").render(
        report=report,
        bad=bad,
        verdicts=verdicts,
        pictures=pictures,
        criteria=CRITERIA,
        notes=report.notes,
        shared=[*(group for group in groups if group.verdict in BAD), *report.shared],
        accepted=[
            (title, [group for group in groups if group.verdict == name])
            for name, title in ACCEPTED.items()
        ],
        places=[
            (op.removeprefix("aclnn"), dtype, counts)
            for (op, dtype), counts in report.by("op", "dtype").items()
        ],
        distribution=maps.distribution(report.distribution) if report.distribution else "",
        repro=_repro(report),
        quote=quote,
        rows=_script(list(_rows(report))),
        failed=len(report.bad(strict)),
        green=report.green(strict),
        unproved=report.unproved,
    )


def _pictures(report: DiffReport, bad: list[Verdict]) -> Iterator[tuple[str, dict[str, object]]]:
    """Case -> its call, and an error map per wrong output."""
    with (
        Bundle(report.origin["bundle"]) as bundle,
        ResultsFile(report.origin["results"]) as results,
    ):
        digests = {"bundle_digest": bundle.digest, "results_digest": results.digest}
        if any(report.origin.get(name) != digest for name, digest in digests.items()):
            return
        for verdict in bad[:MAPS]:
            case = bundle[verdict.case]
            outputs = verdict.metrics.get("outputs", {})
            wrong = [name for name, metrics in outputs.items() if metrics["beyond"]]
            answers = results[case.id].outputs if wrong else {}
            yield (
                verdict.case,
                {
                    "call": call_line(case.call),
                    "json": json.dumps(case.call),
                    "maps": [
                        (name, maps.error_map(compared(case, name, answers[name])))
                        for name in wrong
                    ],
                },
            )


def _repro(report: DiffReport) -> list[str]:
    """The command that runs a case again, in the pieces that the case's id, in the words of a
    shell, stands between; none where no backend of opgen's ran it.
    """
    device = report.origin.get("device", {})
    if not device.get("backend"):
        return []
    bundle = str(report.origin.get("bundle", "suite.h5"))
    file = quote(f"./{bundle}" if bundle.startswith("-") else bundle)
    where = f" --device={quote(str(device['device']))}" if device.get("device") else ""
    before = f"opgen run {file} --backend={quote(str(device['backend']))}{where} --case="
    return [before, f" -o one.h5 --force && opgen diff {file} one.h5 --case=", ""]


def _rows(report: DiffReport) -> Iterator[list[object]]:
    """What the table of verdicts shows, a short list per case."""
    for verdict in report:
        ratio = largest_ratio(verdict)
        shown = None if ratio is None else "Inf" if isinf(ratio) else float(f"{ratio:.4g}")
        facts = [verdict.metrics.get(name, "") for name in ("op", "product", "dtype", "kind")]
        yield [
            verdict.case,
            verdict.verdict,
            *(str(fact).removeprefix("aclnn") for fact in facts),
            shown,
            verdict.detail,
            report.waived.get(verdict.case, ""),
            quote(verdict.case),
        ]


def _script(value: object) -> str:
    """JSON that may stand inside a script element."""
    return (
        json.dumps(value, ensure_ascii=False)
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
