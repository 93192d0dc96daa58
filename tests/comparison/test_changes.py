"""Two reports against each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.cli.compare import command
from opgen.comparison.changes import compare_reports
from opgen.comparison.diff_report import DiffReport
from opgen.model import FileError, Verdict
from opgen.report import data


def report(digest: str = "d", waived: dict[str, str] | None = None, **verdicts: str) -> DiffReport:
    found = [
        Verdict(name, verdict.replace("_", " "), "why", {"ratio": 0.1})
        for name, verdict in verdicts.items()
    ]
    return DiffReport(found, {"bundle_digest": digest}, waived=waived or {})


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("passed", "failed", "newly failing"),
        ("passed", "crashed", "newly failing"),
        ("passed", "missing", "newly failing"),
        ("failed", "passed", "fixed"),
        ("crashed", "lenient", "fixed"),
        ("failed", "crashed", "other verdict"),
        ("passed", "lenient", "other verdict"),
        ("passed", "skipped", "no longer judged"),
        ("passed", "inconclusive", "no longer judged"),
        ("known_deviation", "skipped", "no longer judged"),
        ("lenient", "skipped", "other verdict"),
        ("skipped", "inconclusive", "other verdict"),
        ("inconclusive", "passed", "other verdict"),
        ("known_deviation", "failed", "newly failing"),
    ],
)
def test_changes_by_kind(before, after, kind):
    found = compare_reports(report(a=before, same="passed"), report(a=after, same="passed"))
    lists = {name: [one.case for one in changes] for name, changes in found.kinds.items()}
    assert found.worse() == (kind in ("newly failing", "no longer judged"))
    assert {name: cases for name, cases in lists.items() if cases} == {kind: ["a"]}
    assert found.unchanged == 1


def test_strict_and_waived():
    assert [
        one.case
        for one in compare_reports(report(a="passed"), report(a="lenient"), strict=True).kinds[
            "newly failing"
        ]
    ] == ["a"]
    assert not compare_reports(
        report(a="passed"), report(waived={"a": "known"}, a="failed")
    ).worse()


def test_what_a_waiver_changes_is_said(tmp_path):
    """A failure that is waived now, and one whose waiver is gone, have the same verdict before and
    after.
    """
    reports = report(a="failed"), report(waived={"a": "known"}, a="failed")
    waived, again = compare_reports(*reports), compare_reports(*reversed(reports))
    assert waived.kinds["fixed"] == []
    assert list(map(str, waived.kinds["newly waived"])) == ["a: failed -> failed, waived: why"]
    assert list(map(str, again.kinds["newly failing"])) == ["a: failed, waived -> failed: why"]
    names = [tmp_path / "before.json", tmp_path / "after.json"]
    for name, one in zip(names, reports, strict=True):
        name.write_text(data.text(one))
    plain = json.loads(CliRunner().invoke(command, [*map(str, names), "--json"]).stdout)
    assert (
        plain["newly waived"] == [{"case": "a", "before": "failed", "after": "failed, waived"}]
        and plain["fixed"] == []
    )


def test_cases_that_came_and_went():
    found = compare_reports(report(a="passed", b="failed"), report("e", c="passed", d="failed"))
    assert [one.case for one in found.kinds["no longer there"]] == ["a", "b"]
    assert [one.case for one in found.kinds["new case"]] == ["c"]
    assert [one.case for one in found.kinds["newly failing"]] == ["d"]
    assert not found.same_bundle
    assert str(found.kinds["newly failing"][0]) == "d: not there -> failed: why"


@pytest.mark.parametrize(
    ("before", "options", "code"),
    [
        ("passed", (), 1),
        ("known_deviation", (), 1),
        ("passed", ("--allow-removed",), 0),
        ("failed", (), 0),
        ("skipped", (), 0),
    ],
)
def test_a_case_that_passed_and_vanished_is_worse(tmp_path, before, options, code):
    names = [str(tmp_path / name) for name in ("before.json", "after.json")]
    reports = report(a=before, b="passed"), report(b="passed")
    for name, one in zip(names, reports, strict=True):
        Path(name).write_text(data.text(one))
    done = CliRunner().invoke(command, [*names, *options])
    assert (done.exit_code, "no longer there   a: " in done.stdout) == (code, True), done.output


def test_an_error_that_grew_is_mentioned():
    after = DiffReport([Verdict("a", "passed", "", {"ratio": 0.9})])
    assert list(map(str, compare_reports(report(a="passed"), after).kinds["error grew"])) == [
        "a: passed, error/bound 0.1 -> 0.9"
    ]


@pytest.mark.parametrize(("ratio", "told"), [(0.05, False), (0.39, False), (0.41, True)])
def test_an_error_is_mentioned_from_four_times_the_old_one_on(ratio, told):
    found = compare_reports(
        report(a="passed"), DiffReport([Verdict("a", "passed", "", {"ratio": ratio})])
    )
    assert [one.case for one in found.kinds["error grew"]] == (
        ["a"] if told else []
    ) and found.unchanged == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "is not JSON"),
        (
            '{"format": "opgen report", "version": "2"}',
            "is a damaged report: ValueError: version '2'",
        ),
        (
            '{"format": "opgen report", "version": null}',
            "is a damaged report: ValueError: version None",
        ),
        (
            '{"format": "opgen report", "version": 2}',
            "is a report of version 2, newer than this opgen: update opgen",
        ),
        ('{"format": "opgen report", "version": 1}', "is a damaged report: KeyError: 'verdicts'"),
        (
            json.dumps({**data.plain(DiffReport([])), "waived": None}),
            "is a damaged report: TypeError: ",
        ),
        (
            json.dumps({**data.plain(DiffReport([])), "notes": None}),
            "is a damaged report: TypeError: ",
        ),
    ],
)
def test_what_is_no_report(text, message):
    with pytest.raises(FileError) as caught:
        data.parse(text, "r.json")
    assert str(caught.value).startswith(f"r.json: {message}")


def test_command(tmp_path):
    names = [str(tmp_path / name) for name in ("before.json", "after.json")]
    for name, one in zip(
        names, (report(a="passed", b="failed"), report(a="failed", b="passed")), strict=True
    ):
        (tmp_path / name).write_text(data.text(one))
    result = CliRunner().invoke(command, names)
    assert result.exit_code == 1
    assert "newly failing     a: passed -> failed: why" in result.stdout
    assert "1 newly failing, 1 fixed, 0 unchanged" in result.stdout
    plain = json.loads(CliRunner().invoke(command, [*names, "--json"]).stdout)
    assert plain["fixed"] == [{"case": "b", "before": "failed", "after": "passed"}]
    assert CliRunner().invoke(command, [names[0], names[0]]).exit_code == 0


def test_many_changes_are_counted_unless_all_are_asked_for(tmp_path):
    names, cases = (
        [str(tmp_path / name) for name in ("before.json", "after.json")],
        [f"case{i}" + "x" * 150 for i in range(25)],
    )
    for name, verdict in zip(names, ("passed", "failed"), strict=True):
        Path(name).write_text(data.text(report(**dict.fromkeys(cases, verdict))))
    few, every = (
        CliRunner().invoke(command, [*names, *more]).stdout.splitlines()
        for more in ((), ("--all",))
    )
    assert len(few) == 22 and few[20].endswith("... and 5 more: --all lists them")
    assert (
        every[:25] == [f"newly failing     {one}: passed -> failed: why" for one in cases]
        and len(every) == 26
    )
