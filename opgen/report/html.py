"""A report as one HTML file for people: nothing is fetched from a network."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from shlex import quote
from zlib import compress

import jinja2

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import ResultsFile
from opgen.comparison.diff_report import DiffReport
from opgen.comparison.explain import compared
from opgen.comparison.standards import CRITERIA
from opgen.comparison.statuses import BAD, KNOWN, LENIENT, UNUSUAL, VERDICTS
from opgen.model import Verdict
from opgen.numerics.arrays import Array
from opgen.report import data, origin
from opgen.report.error_maps import LEVELS, distribution, error_map
from opgen.report.text import varied
from opgen.report.words import words
from opgen.report.writing import part

MAPPED = 10_000_000
"""Elements of wrong outputs that maps are made of, unless other numbers are asked for."""
ACCEPTED = {LENIENT: "Lenient", KNOWN: "Known deviations", UNUSUAL: "Unusual"}


def text(report: DiffReport, strict: bool = False, most: int = MAPPED) -> str:
    """The whole page. Behind a failing case stand its call and its maps where the bundle and the
    results are still where the report says; maps of the first cases, of ``most`` elements in all.

    The table is made by the browser, from the JSON of the report, which is packed beside the calls
    and the maps.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("opgen.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    bad, groups, meanings = varied(report.bad(strict)), report.groups, words()
    return environment.get_template("page.html.j2").render(
        report=report,
        bad=len(bad),
        green=report.green(strict),
        unproved=report.unproved,
        facts=list(origin.facts(report)),
        criteria=CRITERIA,
        shared=[*(group for group in groups if group.verdict in BAD), *report.shared],
        accepted=[
            (title, [group for group in groups if group.verdict == name])
            for name, title in ACCEPTED.items()
        ],
        places=[
            (op.removeprefix("aclnn"), dtype, counts)
            for (op, dtype), counts in report.by("op", "dtype").items()
        ],
        distribution=distribution(report.distribution),
        legend=[meanings[name] for name in (*VERDICTS, "waiver", "error / bound")],
        style=part("style.css") + part("page.css"),
        script=part("page.js"),
        data=b64encode(compress(json.dumps(_packed(report, bad, most)).encode(), 9)).decode(),
    )


def _packed(report: DiffReport, bad: list[Verdict], most: int) -> dict[str, object]:
    """What the script of the page reads: the report, and what stands behind its failing cases."""
    calls: dict[str, object] = {}
    drawn: dict[str, object] = {}
    with suppress(BundleError, OSError):  # where the files have gone, the numbers are in the report
        for case, wrong, answers in _failing(report, bad):
            calls[case.id] = case.call
            most -= sum(case.golden[name].size for name in wrong)
            if wrong and most >= 0:
                drawn[case.id] = {
                    name: error_map(compared(case, name, answers[name])) for name in wrong
                }
    quoted = {verdict.case: quote(verdict.case) for verdict in report}
    return {
        "report": data.text(report),
        "bad": [verdict.case for verdict in bad],
        "calls": calls,
        "maps": drawn,
        "levels": LEVELS,
        "command": origin.command(report),
        "quoted": {case: words for case, words in quoted.items() if case != words},
    }


def _failing(
    report: DiffReport, bad: list[Verdict]
) -> Iterator[tuple[CaseView, list[str], Mapping[str, Array]]]:
    """The failing cases, each with its wrong outputs, and what the device answered."""
    with (
        Bundle(report.origin["bundle"]) as bundle,
        ResultsFile(report.origin["results"]) as results,
    ):
        digests = {"bundle_digest": bundle.digest, "results_digest": results.digest}
        if any(report.origin.get(name) != digest for name, digest in digests.items()):
            return
        for verdict in bad:
            outputs = verdict.metrics.get("outputs", {})
            wrong = [name for name, metrics in outputs.items() if metrics["beyond"]]
            answers = results[verdict.case].outputs if wrong else {}
            yield bundle[verdict.case], wrong, answers
