"""The report as a page: what it holds, and what a person sees and does with it in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import opgen
from opgen.cli.coverage import command as coverage
from opgen.comparison.diff_report import DiffReport
from opgen.model import Verdict
from opgen.report import data
from opgen.report.writing import part
from tests.report.test_report import endless, last_column
from tests.support import device_sample as sample
from tests.support.browser import answered, needs_browser, packed

pytest.importorskip("jinja2")

from opgen.report import html


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("page")
    bundle = sample.write(folder / "suite.h5")
    with opgen.open(bundle) as opened:
        bad = sample.answer(
            opened, folder / "bad.h5", last_column, stated_null="crash", unstated_pad=0
        )
    return bundle, bad


@pytest.fixture(scope="module")
def report(files) -> DiffReport:
    return opgen.diff(*files)


@pytest.fixture(scope="module")
def page(report) -> str:
    return html.text(report)


def test_it_is_one_file_without_a_network(page):
    assert not re.findall(r"(?:src|href)=[\"'](?!data:|#)", page)
    assert not re.search(r"@import|url\(", page)
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(", page)


def test_it_holds_the_report_as_json_says_it(page, report):
    assert packed(page)["report"] == data.text(report)


def test_the_failing_cases_have_their_calls_and_maps(page, files, report):
    held, bad = packed(page), {verdict.case for verdict in report.bad()}
    assert len(bad) == 6 and set(held["bad"]) == set(held["calls"]) == bad
    with opgen.open(files[0]) as bundle:
        assert all(bundle[case].call == call for case, call in held["calls"].items())
    crashed = {verdict.case for verdict in report if verdict.verdict == "crashed"}
    assert set(held["maps"]) == bad - crashed
    (samples, planes) = held["maps"]["pad-FLOAT"]["gradInput"]
    assert (planes["rows"], planes["columns"], planes["size"]) == ("row", "column", [4, 5])
    assert all(re.fullmatch("[0-3]{4}[4-9]", row) for row in planes["cells"])
    assert samples["size"] == [2, 3]


def test_maps_end_where_too_much_would_be_read(report):
    held = packed(html.text(report, most=250))
    assert 0 < len(held["maps"]) < 5 and len(held["calls"]) == 6


def test_where_the_files_have_gone_the_numbers_are_there(report):
    lost = DiffReport(report.verdicts, {**report.origin, "results": "gone.h5"})
    held = packed(html.text(lost))
    assert (held["calls"], held["maps"], len(held["bad"])) == ({}, {}, 6)


def test_its_head_says_what_was_judged(page):
    facts = dict(re.findall("<dt>([a-z ]+)</dt><dd>(.*?)</dd>", page))
    assert {"bundle", "results", "device", "plan", "seed", "status codes"} < set(facts)
    assert facts["status codes"].startswith("those of the page; ")
    assert facts["seed"] == "0"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", facts["judged"])


def test_it_escapes_what_it_shows():
    nasty = "</script><script>alert(1)</script><b>"
    found = html.text(
        DiffReport(
            [Verdict(nasty, "failed", nasty, {"op": nasty})],
            {"bundle": nasty, "results": nasty},
            notes=[nasty],
        )
    )
    assert "<script>alert" not in found
    assert "<b></td>" not in found
    assert packed(found)["bad"] == [nasty]


def test_every_verdict_has_its_meaning(page):
    legend = page[page.index('<dl class="legend">') :]
    assert len(re.findall("<dt>.*?</dt><dd>.{20,}</dd>", legend)) == 11
    assert "accepted a call that the page forbids" in legend


@needs_browser
def test_the_table_shows_sorts_and_filters(page, tmp_path):
    found = answered(
        page,
        """
        const all = query => [...document.querySelectorAll(query)];
        const shown = () => all("#rows > tr").map(row => row.dataset.case);
        const first = shown(), change = new Event("change");
        document.querySelector("[data-by=ratio] button").click();
        const up = all("#rows td.n").map(cell => cell.textContent);
        document.querySelector("[data-by=ratio] button").click();
        const down = all("#rows td.n").map(cell => cell.textContent);
        byId("reset").click();
        const every = shown();
        byId("dtype").value = "=FLOAT16";
        byId("dtype").dispatchEvent(change);
        const half = shown();
        byId("reset").click();
        document.querySelector("[data-verdict=crashed]").click();
        const count = byId("count").textContent;
        return {first, up, down, every: every.length, half, crashed: shown(), count};
        """,
        tmp_path,
    )
    held = packed(page)
    verdicts = {verdict["case"]: verdict for verdict in json.loads(held["report"])["verdicts"]}
    assert found["first"] == held["bad"]
    assert found["down"] == found["up"][::-1] and len(set(found["up"])) > 1
    assert found["every"] == len(verdicts) == 29
    assert {verdicts[case]["dtype"] for case in found["half"]} == {"FLOAT16"}
    assert len(found["half"]) == sum(v["dtype"] == "FLOAT16" for v in verdicts.values())
    assert [verdicts[case]["verdict"] for case in found["crashed"]] == ["crashed"]
    assert found["count"] == "1 of 29 cases"


@needs_browser
def test_a_row_says_why_an_error_is_any_number_of_bounds(tmp_path):
    told = answered(
        html.text(endless()),
        'return [...document.querySelectorAll("#rows > tr")].map('
        "row => [row.dataset.case, row.cells[3].textContent])",
        tmp_path,
    )
    assert sorted(told) == [["bound 0", "bound 0"], ["not finite", "not finite"]]


@needs_browser
def test_a_row_opens_its_maps_and_its_buttons_copy_and_answer(page, tmp_path):
    found = answered(
        page,
        """
        const copied = [], labels = [];
        const clipboard = { writeText: async text => { copied.push(text); } };
        Object.defineProperty(navigator, "clipboard", { value: clipboard });
        const row = document.querySelector('[data-case="pad-FLOAT"]');
        row.querySelector(".case").click();
        const more = row.nextElementSibling;
        for (const button of more.querySelectorAll(".actions button")) {
          button.click();
          await null; await null; await null;
          labels.push(button.textContent);
        }
        const levels = map => [...map.querySelectorAll("[class^=level]")];
        const maps = [...more.querySelectorAll("svg")].map(
          map => levels(map).map(path => path.className.baseVal));
        row.querySelector(".case").click();
        return {copied, labels, maps, closed: !document.querySelector("tr.more")};
        """,
        tmp_path,
    )
    held = packed(page)
    assert set(found["labels"]) == {"Copied"}
    case, *command, call, link = found["copied"]
    assert case == "pad-FLOAT" and json.loads(call) == held["calls"]["pad-FLOAT"]
    assert not command or command[0].startswith("opgen run ")
    assert link.endswith("page.html#pad-FLOAT")
    drawn = [
        {digit for row in panel["cells"] for digit in row}
        for panel in held["maps"][case]["gradInput"]
    ]
    assert [{name.removeprefix("level") for name in levels} for levels in found["maps"]] == drawn
    assert found["closed"]


@needs_browser
def test_an_address_opens_its_case_though_it_passed(page, tmp_path):
    found = answered(
        page,
        """
        location.hash = rows.find(row => row.verdict === "passed").id;
        await new Promise(done => addEventListener("hashchange", () => setTimeout(done, 10)));
        const open = document.querySelector("tr.more").previousElementSibling;
        return [open.dataset.case, open.querySelector(".badge").textContent, location.hash];
        """,
        tmp_path,
    )
    assert found[1:] == ["passed", f"#{found[0]}"]


@needs_browser
def test_downloads_are_the_report_and_calls_that_opgen_reads(page, report, files, tmp_path):
    found = answered(
        page,
        """
        const texts = [];
        URL.createObjectURL = blob => { texts.push(blob.text()); return "#"; };
        byId("json").click();
        byId("calls").click();
        return await Promise.all(texts);
        """,
        tmp_path,
    )
    assert found[0] == data.text(report)
    (tmp_path / "failing.jsonl").write_text(found[1], encoding="utf-8")
    answers = opgen.judge(tmp_path / "failing.jsonl")
    assert [answer.call.id for answer in answers] == packed(page)["bad"]


@pytest.fixture(scope="module")
def coverage_page(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("coverage") / "coverage.html"
    arguments = ["reflection_pad2d_backward", "--plan", "smoke", "--html", str(path)]
    assert CliRunner().invoke(coverage, arguments).exit_code == 0
    return path.read_text(encoding="utf-8")


@needs_browser
@pytest.mark.parametrize("width", [390, 760, 1200])
@pytest.mark.parametrize("name", ["page", "coverage_page"])
def test_no_page_is_wider_than_its_window(name, width, tmp_path, request):
    script = """
        document.querySelectorAll(".case, summary").forEach(fold => fold.click());
        return document.documentElement.scrollWidth;
        """
    assert answered(request.getfixturevalue(name), script, tmp_path, width) == width


def test_all_pages_are_of_one_style(page, coverage_page):
    assert all(part("style.css") in each for each in (page, coverage_page))
    assert "prefers-color-scheme: dark" in part("style.css")
