"""Reports: what they say, that JSON comes back, that XML and HTML are well formed, that a person
sees the fault in a browser.
"""

from __future__ import annotations

import io
import json
import math
import platform
import re
import shlex
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

import opgen
from opgen.cli.diff import command
from opgen.comparison.diff_report import DiffReport, SharedTrait
from opgen.comparison.explain import ComparedOutput
from opgen.model import FileError, Verdict
from opgen.report import data, junit, text
from tests.support import device_sample as sample
from tests.support.browser import packed


def last_column(case, outputs):
    """A device that forgets the last column wherever there is padding on the left."""
    if case.id.startswith("pad-") and case.call["args"]["padding"][0]:
        outputs["gradInput"][..., -1] = 0
    return outputs


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    bundle = sample.write(folder / "suite.h5")
    with opgen.open(bundle) as opened:
        good = sample.answer(opened, folder / "good.h5")
        bad = sample.answer(
            opened, folder / "bad.h5", last_column, stated_null="crash", unstated_pad=0
        )
    return bundle, good, bad


@pytest.fixture(scope="module")
def broken(files) -> DiffReport:
    return opgen.diff(files[0], files[2])


def shown(report: DiffReport, terminal: bool = False, **options) -> str:
    console = Console(
        file=io.StringIO(),
        width=100,
        color_system=None,
        force_terminal=terminal,
        soft_wrap=not terminal,
    )
    text.render(report, console, **options)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_text_fits_a_screen_and_says_what_is_wrong(broken):
    said = shown(broken, terminal=True)
    assert len(said.splitlines()) <= 60
    assert "all of the last column" in said
    assert "crash in the first phase, expected 161001" in said
    assert (
        said.rstrip()
        .splitlines()[-1]
        .startswith("FAILED  29 cases: 5 failed, 1 crashed, 1 lenient")
    )
    assert all(len(line.rstrip()) <= 100 for line in said.splitlines())


def test_a_sentence_is_a_line_where_no_terminal_has_an_edge(broken):
    lines, bad = shown(broken, shown=None).splitlines(), broken.bad()
    for one in bad:
        at = lines.index(f"{one.verdict}  {one.case}")
        assert lines[at + 1] == f"        {one.detail}"
    assert any(len(line) > 100 for line in lines) and all(
        f"shared  {one}" in lines for one in broken.shared[:3]
    )


def endless() -> DiffReport:
    """Errors where the bound is 0, and where a number is missing."""
    outputs = {"bound 0": 0.5, "not finite": math.inf}
    return DiffReport(
        [
            Verdict(
                word,
                "failed",
                "",
                {
                    "op": f"aclnn{word[:3].title()}Backward",
                    "dtype": "FLOAT",
                    "outputs": {"gradInput": {"ratio": math.inf, "error": error}},
                },
            )
            for word, error in outputs.items()
        ],
        {"bundle": "gone.h5", "results": "gone.h5"},
    )


def test_text_says_why_an_error_is_any_number_of_bounds():
    said = [line.split() for line in shown(endless()).splitlines()]
    rows = {line[0]: line[-2:] for line in said if "FLOAT" in line}
    assert rows == {"BouBackward": ["bound", "0"], "NotBackward": ["not", "finite"]}


def test_text_of_a_right_device(files):
    said = shown(opgen.diff(files[0], files[1]))
    assert said.rstrip().splitlines()[-1].startswith("OK  29 cases: 1 inconclusive, 28 passed")
    assert "shared" not in said


def test_text_lists_every_failing_case_where_it_is_asked_to(files):
    few, every = (
        CliRunner().invoke(command, [*map(str, files[::2]), *more]).stdout
        for more in ((), ("--all",))
    )
    names = [verdict.case for verdict in opgen.diff(files[0], files[2]).bad()]
    assert len(names) == text.SHOWN + 1
    assert (
        "... and 1 more: --all lists them" in few,
        sum(f"  {name}\n" in few for name in names),
    ) == (True, text.SHOWN)
    assert ("more" in every, all(f"  {name}\n" in every for name in names)) == (False, True)


def test_text_says_what_is_waived_and_why(files):
    report = opgen.diff(files[0], files[2])
    report.waived = {f"case {i}": f"ticket {i}" for i in range(text.SHOWN + 1)}
    few, every = shown(report), shown(report, shown=None)
    assert (
        f"waived  case {text.SHOWN - 1}: ticket {text.SHOWN - 1}" in few
        and f"case {text.SHOWN}:" not in few
    )
    assert f"waived  case {text.SHOWN}: ticket {text.SHOWN}" in every
    assert few.count("... and 1 more: --all lists them") == 2 and "more: --all" not in every


def test_outputs_that_were_not_compared_are_counted(files, tmp_path):
    """They leave the number of outputs that meet a criterion, which would look like all of them."""
    with opgen.open(files[0]) as bundle:
        lost = sample.answer(
            bundle,
            tmp_path / "lost.h5",
            lambda case, outputs: {} if case.id.startswith("conv-") else outputs,
        )
        some = sum(len(case.golden) for case in bundle if case.id.startswith("conv-"))
        every = sum(
            len(case.golden) for case in bundle if case.expect.bucket != "stated"
        )  # which a device rightly refuses
    (note,) = [note for note in opgen.diff(files[0], lost).notes if "not compared" in note]
    assert some and note.startswith(f"{some} of {every} outputs were not compared")
    assert not [note for note in opgen.diff(*files[:2]).notes if "not compared" in note]


def test_text_has_no_error_where_no_output_was_returned(files, tmp_path):
    with opgen.open(files[0]) as bundle:
        lost = sample.answer(
            bundle,
            tmp_path / "lost.h5",
            lambda case, outputs: {} if case.id.startswith("conv-") else outputs,
        )
    rows = [line.split() for line in shown(opgen.diff(files[0], lost)).splitlines()]
    assert [row[2:] for row in rows if row[:2] == ["ConvolutionBackward", "FLOAT"]] == [
        ["4", "·", "·"]
    ]


def test_groups_are_in_every_form(files, tmp_path):
    """The example of a known deviation is the case that is furthest beyond its bound."""
    html = pytest.importorskip("opgen.report.html")

    def half(case, outputs):
        if case.id == "conv-groups":
            outputs["gradWeight"] = outputs["gradWeight"].astype(np.float16).astype(np.float32)
        return outputs

    with opgen.open(files[0]) as bundle:
        wrong = sample.answer(
            bundle, tmp_path / "r.h5", half, pool_plain=161002, pool_half=161002, unstated_padding=0
        )
    report = opgen.diff(files[0], wrong)
    ratio = report["conv-groups"].metrics["outputs"]["gradWeight"]["ratio"]
    lines = {
        "shared": "status 161002, expected 0: 2 cases, such as pool-plain",
        "lenient": (
            "AvgPool2dBackward accepts calls that the page forbids (padding.length): 1 case, such"
            " as unstated-padding"
        ),
        "known": (
            f"grouped_through_half: 1 case, error/bound up to {ratio:.3g}, such as conv-groups"
        ),
    }
    said = " ".join(shown(report).split())
    assert all(f"{name} {line}" in said for name, line in lines.items()), said
    page = html.text(report)
    assert all(f"<li>{line}</li>" in page for line in lines.values())
    plain = json.loads(data.text(report))["groups"]
    assert [one["verdict"] for one in plain] == ["failed", "lenient", "known deviation"]
    assert plain[2] == {
        "verdict": "known deviation",
        "cause": "grouped_through_half",
        "cases": 1,
        "example": "conv-groups",
        "ratio": ratio,
    }


def test_a_group_shows_the_case_that_is_furthest_beyond_its_bound():
    ratios = {"a": 2.0, "b": 9.0, "c": 0.5}
    facts = {
        name: {"causes": ["x"], "outputs": {"y": {"ratio": ratio}}}
        for name, ratio in ratios.items()
    }
    verdicts = [Verdict(name, "known deviation", "", mine) for name, mine in facts.items()]
    assert list(map(str, DiffReport(verdicts).groups)) == [
        "x: 3 cases, error/bound up to 9, such as b"
    ]
    assert list(map(str, DiffReport(verdicts[2:]).groups)) == ["x: 1 case, such as c"]


def test_the_first_few_cases_are_different_ones(broken):
    first = text.varied(broken.bad())[:2]
    assert {verdict.verdict for verdict in first} == {"crashed", "failed"}


def test_json_comes_back(broken):
    plain = json.loads(data.text(broken))
    assert plain["totals"] == broken.totals
    assert len(plain["verdicts"]) == len(broken)
    assert "Infinity" not in data.text(broken)
    assert "NaN" not in re.sub(r'"[^"]*"', "", data.text(broken))


def test_json_read_again_is_the_report(broken):
    again = data.parse(data.text(broken), "r.json")
    assert [(one.case, one.verdict, one.detail) for one in again] == [
        (one.case, one.verdict, one.detail) for one in broken
    ]
    assert again.totals == broken.totals
    assert again.origin["bundle_digest"] == broken.origin["bundle_digest"]
    assert list(map(str, again.shared)) == list(map(str, broken.shared))
    assert data.text(again) == data.text(broken)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a report"),
        ('{"format": "opgen report", "version": 99}', "newer than this opgen"),
        ('{"format": "opgen report"}', "damaged"),
    ],
)
def test_bad_json_is_refused(written, message):
    with pytest.raises(FileError, match=message):
        data.parse(written, "r.json")


def test_junit(broken):
    root = ElementTree.fromstring(junit.text(broken))
    assert root.tag == "testsuites"
    assert len(root.findall("testsuite/testcase")) == len(broken)
    assert len(root.findall("testsuite/testcase/failure")) == broken.totals["failed"]
    assert len(root.findall("testsuite/testcase/error")) == broken.totals["crashed"]
    for suite in root.findall("testsuite"):
        assert int(suite.get("tests", "0")) == len(suite.findall("testcase"))
    told = [(fact.get("name"), fact.get("value")) for fact in root.iter("property")]
    assert [value for name, value in told if name == "note"] == broken.notes != []
    strict = ElementTree.fromstring(junit.text(broken, strict=True))
    assert (
        len(strict.findall("testsuite/testcase/failure"))
        == broken.totals["failed"] + broken.totals["lenient"]
    )


def test_junit_says_what_ran_where_and_how_a_case_runs_again(files, broken):
    """The sample says no backend: it is given one, whose words a shell would split."""
    told = replace(broken, origin={**broken.origin, "device": {"backend": "cmd:ssh board ./run"}})
    root = ElementTree.fromstring(junit.text(told))
    facts = {fact.get("name"): fact.get("value") for fact in root.iter("property")}
    assert str(files[0]) in str(facts["bundle"]) and str(files[2]) in str(facts["results"])
    assert facts["device"] == "backend cmd:ssh board ./run"
    for suite in root:
        seconds = [float(test.get("time", "")) for test in suite.iter("testcase")]
        assert float(suite.get("time", "")) == pytest.approx(sum(seconds), abs=1e-5)
        assert suite.get("hostname") == platform.node()
        since = datetime.fromisoformat(suite.get("timestamp", "")).replace(tzinfo=UTC)
        assert abs(datetime.now(UTC) - since) < timedelta(minutes=5)
    failing = [test for test in root.iter("testcase") if test.find("failure") is not None]
    for test in failing:
        message, command = str(test.findtext("failure")).split("\n")
        assert message == test.find("failure").get("message")  # type: ignore[union-attr]
        words = shlex.split(command)
        assert words[:4] == ["opgen", "run", str(files[0]), "--backend=cmd:ssh board ./run"]
        assert words.count(f"--case={test.get('name')}") == 2
    assert failing


def test_every_form_says_how_much_was_not_run_and_why():
    left = [("skipped", "no driver")] * 3 + [("missing", "no answer")] + [("passed", "")] * 2
    left += [("skipped", f"needs {i} GB") for i in range(6)]
    verdicts = [Verdict(f"c{i}", *told) for i, told in enumerate(left)]
    report = DiffReport(verdicts, {"bundle": "gone.h5", "results": "gone.h5"})
    told = ["3 of 12 cases: no driver", "1 of 12 cases: no answer"]
    told += [f"1 of 12 cases: needs {i} GB" for i in range(3)] + ["3 of 12 cases: other reasons"]
    assert [line[9:] for line in shown(report).splitlines() if line.startswith("not run")] == told
    assert shown(report).startswith("not run  3 of 12"), "above the table"
    assert json.loads(data.text(report))["not_run"] == told
    properties = ElementTree.fromstring(junit.text(report)).iter("property")
    assert [one.get("value") for one in properties if one.get("name") == "not run"] == told
    html = pytest.importorskip("opgen.report.html").text(report)
    assert re.findall("Not run: ([^<]+)<", html.partition("<h2>")[0]) == told
    assert not DiffReport([Verdict("a", "passed"), Verdict("b", "failed")]).not_run


@pytest.mark.parametrize("verdict", ["inconclusive", "lenient", "known deviation", "skipped"])
def test_junit_skips_what_neither_passes_nor_fails_and_says_why(verdict):
    root = ElementTree.fromstring(
        junit.text(
            DiffReport(
                [
                    Verdict("a", verdict, "so it is"),
                    Verdict("b", verdict),
                    Verdict("c", "passed", "", {"evidence": True}),
                ]
            )
        )
    )
    found = {
        test.get("name"): [(child.tag, child.get("message")) for child in test]
        for test in root.iter("testcase")
    }
    assert found == {
        "a": [("skipped", f"{verdict}: so it is")],
        "b": [("skipped", verdict)],
        "c": [],
    }
    assert [
        (suite.get("skipped"), suite.get("failures"), suite.get("errors")) for suite in root
    ] == [("2", "0", "0")]


@pytest.mark.parametrize("verdict", ["failed", "crashed", "missing"])
def test_junit_skips_what_is_waived_and_says_why(verdict):
    report = DiffReport(
        [
            Verdict("a", verdict, "so it is"),
            Verdict("b", verdict),
            Verdict("c", "passed", "", {"evidence": True}),
        ],
        waived={"a": "ticket 4711"},
    )
    waived, failing, _ = ElementTree.fromstring(junit.text(report)).iter("testcase")
    assert [(child.tag, child.get("message")) for child in waived] == [
        ("skipped", f"{verdict}: so it is (waived: ticket 4711)")
    ]
    assert [child.tag for child in failing] == ["error" if verdict == "crashed" else "failure"]


def test_junit_survives_any_text():
    report = DiffReport([Verdict("a<b>&\x00", "failed", "\x1b[31m \ud800 ]]> <x>", {"op": "é"})])
    assert ElementTree.fromstring(junit.text(report)).find("testsuite/testcase/failure") is not None


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (
            SharedTrait("Pool gradInput", "groups > 1", 37, 37, 2, 400),
            "Pool gradInput: groups > 1 (37 of 37 wrong answers, 2 of 400 right answers compared)",
        ),
        (SharedTrait("Pool", "", 9, 9, 1, 1), "Pool: 9 of 10 answers are wrong"),
    ],
)
def test_findings_in_words(finding, said):
    assert str(finding) == said


def test_diff_command_writes_every_form(files, tmp_path):
    bundle, good, bad = map(str, files)
    names = {kind: str(tmp_path / f"r.{kind}") for kind in ("html", "junit")}
    result = CliRunner().invoke(
        command,
        [bundle, bad, *(word for kind, name in names.items() for word in (f"--{kind}", name))],
    )
    assert result.exit_code == 1, result.output
    assert all((tmp_path / f"r.{kind}").stat().st_size > 1000 for kind in names)
    assert CliRunner().invoke(command, [bundle, good]).exit_code == 0
    assert (
        json.loads(CliRunner().invoke(command, [bundle, good, "--json"]).stdout)["totals"]["passed"]
        == 28
    )
    assert CliRunner().invoke(command, [bundle, bad, "--case", "pool-*", "-q"]).exit_code == 0


@pytest.mark.parametrize("strict", [False, True])
def test_every_form_says_what_the_exit_code_says(files, tmp_path, strict):
    with opgen.open(files[0]) as bundle:
        results = sample.answer(bundle, tmp_path / "lenient.h5", unstated_pad=0)
    page, xml = tmp_path / "r.html", tmp_path / "r.xml"
    result = CliRunner().invoke(
        command,
        [
            str(files[0]),
            str(results),
            "--html",
            str(page),
            "--junit",
            str(xml),
            *(["--strict"] if strict else []),
        ],
    )
    assert result.exit_code == strict, result.output
    assert ("FAILED  29 cases" if strict else "OK  29 cases") in result.stdout
    assert ("; 1 failure with --strict" in result.stdout) == strict
    assert len(ElementTree.parse(xml).findall("testsuite/testcase/failure")) == strict
    said = page.read_text(encoding="utf-8")
    assert (
        "<title>opgen: failed, 1 of 29 cases" in said,
        packed(said)["bad"] == ["unstated-pad"],
    ) == (
        strict,
        strict,
    )
    assert ("<title>opgen: ok, 29 cases" in said) != strict


def test_without_the_packages_of_a_page_the_command_says_what_to_install(
    files, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "opgen.report.html", raising=False)
    monkeypatch.delattr("opgen.report.html", raising=False)
    result = CliRunner().invoke(command, [*map(str, files[:2]), "--html", str(tmp_path / "r.html")])
    assert result.exit_code == 2
    assert (
        result.stderr.splitlines()[-1]
        == "--html: needs jinja2, which is not installed: pip install jinja2"
    )


def test_maps_show_the_last_column():
    from opgen.report.error_maps import levels, panels

    device = np.zeros((2, 4, 3, 5))
    device[..., -1] = 1
    axes = ("sample", "group", "channel", "row", "column")
    found = ComparedOutput(
        "x",
        device,
        np.zeros_like(device),
        np.full(device.shape, 0.1),
        (2, 2, 2, 3, 5),
        axes,
        "DOUBLE",
    )
    drawn = {(rows, columns): (values, lines) for values, rows, columns, lines in panels(found)}
    assert set(drawn) == {("sample", "channel"), ("row", "column")}
    values, lines = drawn["row", "column"]
    assert (values[:, -1] > 1).all() and not values[:, :-1].any() and lines == []
    assert drawn["sample", "channel"][1] == [2]
    assert levels(np.array([0.0, 0.05, 1.0, 1.5, np.inf, np.nan])).tolist() == [0, 1, 3, 4, 9, 9]


@pytest.mark.parametrize(
    ("form", "axes", "pairs"),
    [
        ((), (), {("", ""): (1, 1)}),
        ((6,), ("channel",), {("", "channel"): (1, 6)}),
        ((2, 3, 2), ("sample", "group", "channel"), {("sample", "channel"): (2, 6)}),
        (
            (2, 3, 2, 5),
            ("sample", "group", "channel", "column"),
            {("sample", "channel"): (2, 6), ("column", "channel"): (5, 6)},
        ),
        (
            (2, 3, 4, 5, 7),
            ("sample", "channel", "plane", "row", "column"),
            {("sample", "channel"): (2, 3), ("plane", "row"): (4, 5), ("row", "column"): (5, 7)},
        ),
    ],
)
def test_maps_of_every_rank_keep_an_element_in_its_place_and_part_channels_by_group(
    form, axes, pairs
):
    from opgen.report.error_maps import panels

    device = np.zeros(form)
    device[(-1,) * len(form)] = 1
    drawn = {
        (rows, columns): (values, lines)
        for values, rows, columns, lines in panels(
            ComparedOutput("x", device, np.zeros(form), np.full(form, 0.1), form, axes, "DOUBLE")
        )
    }
    assert {names: values.shape for names, (values, _) in drawn.items()} == pairs
    for (_, columns), (values, lines) in drawn.items():
        assert np.flatnonzero(values.reshape(-1) > 1).tolist() == [values.size - 1]
        assert lines == ([2, 4] if "group" in axes and columns == "channel" else [])


def test_a_map_of_one_number_is_drawn():
    from opgen.report.error_maps import error_map

    found = ComparedOutput("x", np.ones(()), np.zeros(()), np.full((), 0.1), (), (), "DOUBLE")
    (drawn,) = error_map(found)
    assert (drawn["cells"], drawn["size"]) == (["6"], (1, 1))


def test_a_large_map_shows_the_largest_element_of_each_cell():
    from opgen.report.error_maps import CELLS, error_map

    form = (2 * CELLS + 3, 5)
    device = np.zeros(form)
    device[CELLS, 3] = 1
    found = ComparedOutput(
        "x", device, np.zeros(form), np.full(form, 0.1), form, ("row", "column"), "DOUBLE"
    )
    (drawn,) = error_map(found)
    assert drawn["size"] == form and {len(row) for row in drawn["cells"]} == {5}
    assert len(drawn["cells"]) == CELLS
    wrong = [(place, row) for place, row in enumerate(drawn["cells"]) if row != "00000"]
    assert wrong == [(CELLS * CELLS // form[0], "00060")]
