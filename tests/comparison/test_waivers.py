"""Waiver files: what they accept, what is said of those that are old or idle, what is refused."""

from __future__ import annotations

from datetime import date

import pytest

from opgen.comparison import waivers
from opgen.comparison.diff_report import DiffReport
from opgen.model import FileError, Verdict

GOOD = '- {case: "pool-*", verdict: failed, reason: ticket 4711, expires: 2027-01-31}\n'
TODAY = date(2027, 1, 31)


def report() -> DiffReport:
    return DiffReport(
        [
            Verdict("pool-1", "failed"),
            Verdict("pool-2", "passed"),
            Verdict("pad-1", "failed"),
            Verdict("pool-3", "crashed"),
        ]
    )


def test_a_waiver_holds_up_to_its_day():
    found = report()
    waivers.apply(found, waivers.parse(GOOD), TODAY)
    assert found.waived == {"pool-1": "ticket 4711"}
    assert [verdict.case for verdict in found.bad()] == ["pad-1", "pool-3"]
    assert found.notes == []
    assert found["pool-1"].verdict == "failed"


def test_an_expired_waiver_waives_nothing_and_is_said():
    found = report()
    waivers.apply(found, waivers.parse(GOOD, "site.yaml"), date(2027, 2, 1))
    assert found.waived == {}
    assert found.notes == [
        "site.yaml:1: the waiver of pool-* expired on 2027-01-31; cases that need it: 1"
    ]


def test_a_waiver_for_a_case_that_was_not_asked_for_is_not_called_unused():
    for whole, notes in (
        (True, ["site.yaml:1: the waiver of other-* is not used: it matches no case"]),
        (False, []),
    ):
        found = report()
        waivers.apply(
            found,
            waivers.parse(GOOD.replace("pool-*", "other-*"), "site.yaml"),
            date(2026, 11, 1),
            whole,
        )
        assert found.notes == notes and found.waived == {}


@pytest.mark.parametrize(
    ("entry", "note"),
    [
        (
            "{case: pool-2, verdict: failed, reason: r, expires: 2027-01-31}",
            "none of its 1 cases is failed",
        ),
        ("{case: 'conv*', verdict: failed, reason: r, expires: 2027-01-31}", "it matches no case"),
    ],
)
def test_an_unused_waiver_is_said(entry, note):
    found = report()
    waivers.apply(found, waivers.parse(f"- {entry}"), TODAY)
    assert note in found.notes[0]
    assert found.waived == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("case: x", "expects a list of waivers"),
        ("- x", "0: expects a mapping with some of case, verdict, reason, expires"),
        ("- {case: x, verdict: failed, reason: r}", "0: the key 'expires' is missing"),
        (
            "- {case: x, verdict: failed, reason: '', expires: 2027-01-31}",
            "0.reason: expects why it is accepted, not ''",
        ),
        (
            "- {case: x, verdict: fialed, reason: r, expires: 2027-01-31}",
            "no such verdict to waive 'fialed' (did you mean 'failed'?); known: crashed, failed",
        ),
        (
            "- {case: x, verdict: passed, reason: r, expires: 2027-01-31}",
            "no such verdict to waive 'passed'",
        ),
        (
            "- {case: x, verdict: failed, reason: r, expires: tomorrow}",
            "expects the last day, such as 2027-01-31, not 'tomorrow'",
        ),
        (
            "- {case: x, verdict: failed, reason: r, expires: 2027-02-30}",
            "not '2027-02-30'",
        ),
        (
            "- {case: x, verdict: failed, reason: r, expire: 2027-01-31}",
            "no such key (did you mean 'expires'?)",
        ),
        ("- {case: x, case: y, verdict: failed, reason: r, expires: 2027-01-31}", "case"),
    ],
)
def test_bad_waivers_are_refused(text, message):
    with pytest.raises(FileError) as caught:
        waivers.parse(text, "site.yaml")
    assert message in str(caught.value)
    assert "site.yaml:1" in str(caught.value)


def test_all_that_is_wrong_with_a_waiver_is_said_at_once():
    with pytest.raises(FileError) as caught:
        waivers.parse("- {case: x, verdict: fialed, reason: r, expires: soon}\n")
    assert "'fialed'" in str(caught.value) and "not 'soon'" in str(caught.value)


def test_all_problems_at_once():
    with pytest.raises(FileError) as caught:
        waivers.parse("- {case: x}\n- {verdict: failed, reason: r, expires: soon, case: y}\n")
    assert len(caught.value.problems) == 4


def test_an_empty_file_has_no_waivers(tmp_path):
    (tmp_path / "w.yaml").write_text("")
    assert waivers.read(tmp_path / "w.yaml") == ()
    with pytest.raises(FileError, match="cannot be read"):
        waivers.read(tmp_path / "nosuch.yaml")
