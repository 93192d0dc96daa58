"""A report as JUnit XML, which continuous integration systems show: a suite per operator, a test
per case.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from opgen.comparison.diff_report import DiffReport
from opgen.comparison.statuses import CRASHED, PASSED

_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text(report: DiffReport, strict: bool = False) -> str:
    """The XML. Bad verdicts are failures, crashes errors; what neither passes nor fails is skipped,
    with its reason. Where nothing is proved, a test named ``evidence`` fails. The notes of the
    report are properties of the first suite.

    >>> from opgen.model import Verdict
    >>> xml = text(DiffReport([Verdict("a", "failed", "all zeros", {"op": "aclnnX"})]))
    >>> '<failure type="failed" message="all zeros">' in xml
    True
    """
    bad = {verdict.case for verdict in report.bad(strict)}
    root = ElementTree.Element("testsuites", name="opgen")
    suites: dict[str, ElementTree.Element] = {}
    for verdict in report:
        op = str(verdict.metrics.get("op", "opgen"))
        if op not in suites:
            suites[op] = ElementTree.SubElement(root, "testsuite", name=_clean(op))
        seconds = verdict.metrics.get("seconds")
        test = ElementTree.SubElement(
            suites[op],
            "testcase",
            classname=_clean(f"opgen.{op}"),
            name=_clean(verdict.case),
            time=f"{seconds or 0.0:.6f}",
        )
        message = _clean(verdict.detail)
        if verdict.case in bad:
            kind = "error" if verdict.verdict == CRASHED else "failure"
            ElementTree.SubElement(
                test, kind, type=_clean(verdict.verdict), message=message
            ).text = message
        elif verdict.verdict != PASSED:
            reason = report.waived.get(verdict.case)
            said = f"{verdict.verdict}: {message}" if message else verdict.verdict
            ElementTree.SubElement(
                test, "skipped", message=_clean(f"{said} (waived: {reason})" if reason else said)
            )
    if report.unproved:
        suites[""] = ElementTree.SubElement(root, "testsuite", name="opgen")
        test = ElementTree.SubElement(suites[""], "testcase", classname="opgen", name="evidence")
        ElementTree.SubElement(test, "failure", type="unproved", message=report.unproved)
    for first in [*suites.values()][:1]:
        properties = ElementTree.Element("properties")
        for note in report.notes:
            ElementTree.SubElement(properties, "property", name="note", value=_clean(note))
        first.insert(0, properties)
    for suite in suites.values():
        counts = {
            "tests": "testcase",
            "failures": "testcase/failure",
            "errors": "testcase/error",
            "skipped": "testcase/skipped",
        }
        for name, path in counts.items():
            suite.set(name, str(len(suite.findall(path))))
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _clean(words: str) -> str:
    """Without the characters that XML does not have."""
    return _FORBIDDEN.sub("?", words)
