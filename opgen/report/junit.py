"""A report as JUnit XML, which continuous integration systems show: a suite per operator, a test
per case.
"""

from __future__ import annotations

import platform
import re
from datetime import UTC, datetime
from shlex import quote
from xml.etree import ElementTree

from opgen.comparison.diff_report import DiffReport
from opgen.comparison.statuses import CRASHED, PASSED
from opgen.report import origin

_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_COUNTED = {
    "tests": "testcase",
    "failures": "testcase/failure",
    "errors": "testcase/error",
    "skipped": "testcase/skipped",
}
"""Attributes of a suite, and the elements that they count."""


def text(report: DiffReport, strict: bool = False) -> str:
    """The XML. Bad verdicts are failures, crashes errors; what neither passes nor fails is skipped,
    with its reason. Where nothing is proved, a test named ``evidence`` fails. What the report is
    about and its notes are properties of the first suite. A failure has the command that runs it
    again.

    >>> from opgen.model import Verdict
    >>> xml = text(DiffReport([Verdict("a", "failed", "all zeros", {"op": "aclnnX"})]))
    >>> '<failure type="failed" message="all zeros">' in xml
    True
    """
    bad, command = {verdict.case for verdict in report.bad(strict)}, origin.command(report)
    head = {"hostname": platform.node(), "timestamp": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"}
    root = ElementTree.Element("testsuites", name="opgen")
    suites: dict[str, ElementTree.Element] = {}
    for verdict in report:
        op = str(verdict.metrics.get("op", "opgen"))
        if op not in suites:
            suites[op] = ElementTree.SubElement(root, "testsuite", head, name=_clean(op))
        test = ElementTree.SubElement(
            suites[op],
            "testcase",
            classname=_clean(f"opgen.{op}"),
            name=_clean(verdict.case),
            time=f"{verdict.metrics.get('seconds') or 0.0:.6f}",
        )
        message = _clean(verdict.detail)
        if verdict.case in bad:
            kind = "error" if verdict.verdict == CRASHED else "failure"
            again = _clean(quote(verdict.case).join(command))
            ElementTree.SubElement(
                test, kind, type=_clean(verdict.verdict), message=message
            ).text = "\n".join(filter(None, [message, again]))
        elif verdict.verdict != PASSED:
            reason = report.waived.get(verdict.case)
            said = f"{verdict.verdict}: {message}" if message else verdict.verdict
            ElementTree.SubElement(
                test, "skipped", message=_clean(f"{said} (waived: {reason})" if reason else said)
            )
    if report.unproved:
        suites[""] = ElementTree.SubElement(root, "testsuite", head, name="opgen")
        test = ElementTree.SubElement(suites[""], "testcase", classname="opgen", name="evidence")
        ElementTree.SubElement(test, "failure", type="unproved", message=report.unproved)
    for first in [*suites.values()][:1]:
        properties = ElementTree.Element("properties")
        notes = [
            *(("not run", reason) for reason in report.not_run),
            *(("note", note) for note in report.notes),
        ]
        for name, value in (*origin.facts(report), *notes):
            ElementTree.SubElement(properties, "property", name=name, value=_clean(str(value)))
        first.insert(0, properties)
    for suite in suites.values():
        seconds = sum(float(test.get("time", 0)) for test in suite)
        counts = {name: str(len(suite.findall(path))) for name, path in _COUNTED.items()}
        suite.attrib.update(counts, time=f"{seconds:.6f}")
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _clean(words: str) -> str:
    """Without the characters that XML does not have."""
    return _FORBIDDEN.sub("?", words)
