"""Back-test on statuses that the published checks really returned."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.calls.jsonl import NamedCall
from opgen.cli import main
from opgen.oracle import backtest
from opgen.oracle.backtest import BacktestReport
from opgen.oracle.errata import Errata
from opgen.oracle.errata_folder import errata
from opgen.spec.catalog import catalog

SAMPLE = Path(__file__).parents[1] / "data" / "library_sample.jsonl.gz"


@pytest.fixture(scope="module")
def named() -> list[NamedCall]:
    return backtest.load(SAMPLE, catalog())


@pytest.fixture(scope="module")
def report(named: list[NamedCall]) -> BacktestReport:
    return backtest.backtest(named, catalog(), errata())


def without(api: str, stage: str) -> dict[str, Errata]:
    """The errata with one stage left out."""
    known = errata()[api]
    pages = {
        name: replace(page, stages=tuple(s for s in page.stages if s.id != stage))
        for name, page in known.pages.items()
    }
    return {**errata(), api: replace(known, pages=pages)}


def test_the_library_side_agrees_with_the_run(report: BacktestReport) -> None:
    firm = report.operators(True)
    assert set(firm) <= set(errata())
    assert sum(count.rows for count in firm.values()) > 3000
    assert report.below(99.0) == []


def test_rows_that_are_not_firm_agree_too(report: BacktestReport) -> None:
    assert all(count.percent >= 95 for count in report.operators(False).values())


def test_one_code_is_the_rule(report: BacktestReport) -> None:
    assert all(count.two <= count.rows / 100 for count in report.operators(True).values())


def test_every_difference_from_the_page_has_an_entry(report: BacktestReport) -> None:
    assert report.unexplained == []
    assert report.explained["aclnnAvgPool2dBackward", "null_stride"] >= 5


def test_crashes_are_matched_by_the_crash_entry(
    named: list[NamedCall], report: BacktestReport
) -> None:
    crashed = [one for one in named if one.extra["status"] is None]
    assert crashed
    assert report.counts[True, "stage", "aclnnAvgPool2dBackward", "null_stride"].library == len(
        crashed
    )


def test_counts_add_up(named: list[NamedCall], report: BacktestReport) -> None:
    for kind in ("operator", "product", "stage"):
        assert sum(count.rows for key, count in report.counts.items() if key[1] == kind) == len(
            named
        )


@pytest.mark.parametrize(
    ("api", "stage"),
    [
        ("aclnnAvgPool2dBackward", "dtypes"),
        ("aclnnGroupNormBackward", "masked_outputs"),
        ("aclnnConvolutionBackward", "masked_weight"),
    ],
)
def test_a_wrong_erratum_shows(
    named: list[NamedCall], report: BacktestReport, api: str, stage: str
) -> None:
    wrong = backtest.backtest(named, catalog(), without(api, stage))
    assert wrong.operators(True)[api].percent < report.operators(True)[api].percent
    assert api in wrong.below(99.0)
    assert any(one.api == api and one.stage != stage for one in wrong.wrong)


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["backtest", *args])
    return result.exit_code, result.stdout, result.stderr


def test_command_prints_a_table_and_exits_0() -> None:
    code, out, err = run(str(SAMPLE), "--fail-under", "99")
    assert (code, err) == (0, "")
    assert "aclnnGroupNormBackward" not in out and "disagreements: 0" in out
    assert "aclnnGroupNormBackward" in run("--all", str(SAMPLE))[1]


def test_command_exits_1_where_nothing_is_firm(tmp_path: Path) -> None:
    with gzip.open(SAMPLE, "rt", encoding="utf-8") as file:
        some = [next(file) for _ in range(3)]
    for text in (
        "",
        "".join(json.dumps({**json.loads(line), "firm": False}) + "\n" for line in some),
    ):
        (tmp_path / "calls.jsonl").write_text(text, encoding="utf-8")
        code, _, err = run(str(tmp_path / "calls.jsonl"), "--fail-under", "1")
        assert (code, err) == (1, "no status is firm, so there is nothing to compare\n")
    assert run(str(tmp_path / "calls.jsonl"))[0] == 0


def test_command_exits_1_below_the_mark(tmp_path: Path) -> None:
    with gzip.open(SAMPLE, "rt", encoding="utf-8") as file:
        returned = [json.loads(line) for line in file]
    refused = [
        call
        for call in returned
        if call["op"] == "aclnnGroupNormBackward" and call["firm"] and call["status"] == 161002
    ]
    for call in refused[:20]:
        call["status"] = 0
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps(call) + "\n" for call in returned), encoding="utf-8")
    code, out, err = run(str(path), "--fail-under", "99")
    assert code == 1
    assert err.startswith("aclnnGroupNormBackward: 9") and "is below 99%" in err
    spelled = next(line for line in out.splitlines() if ": was 0; library" in line)
    assert "library 161002" in spelled and "breaks" in spelled
    assert run(str(path))[0] == 0  # nothing asked, nothing failed


def test_command_prints_json() -> None:
    code, out, _ = run(str(SAMPLE), "--json")
    data = json.loads(out)
    assert code == 0
    firm = data["operators"]["aclnnConvolutionBackward"]["firm"]
    assert firm["percent"] >= 99 and set(firm["products"]) == {
        "ascend310p",
        "ascend910",
        "ascend910b",
        "ascend910_93",
    }
    assert firm["stages"]["null_pointers"]["rows"] > 0 and firm["rules"]["stride.min"]["rows"] > 0
    assert data["differences"]["unexplained"] == [] and data["releases"] == ["2026-08"]


def test_a_status_that_no_source_gives_is_listed_by_itself(tmp_path: Path) -> None:
    with gzip.open(SAMPLE, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for _, line in zip(range(40), stream, strict=False)]
    odd = next(row for row in rows if row["status"] == 161002)
    odd["status"] = 561103
    file = tmp_path / "calls.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (one,) = json.loads(run(str(file), "--json")[1])["disagreements"]
    assert (one["id"], one["op"], one["product"], one["status"]) == (
        odd["id"],
        odd["op"],
        odd["product"],
        561103,
    )
    assert 561103 not in one["library"] and one["breaks"]
    text = run(str(file))[1]
    assert "disagreements: 1" in text and re.search(
        rf"^ *{odd['id']}.*was 561103; library", text, re.MULTILINE
    )


def test_a_summary_ends_in_totals_and_all_shows_every_disagreement(tmp_path: Path) -> None:
    with gzip.open(SAMPLE, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for _, line in zip(range(200), stream, strict=False)]
    firm = [row for row in rows if row["firm"]]
    wrong = [row for row in firm if row["status"] == 161002][:9]
    for row in wrong:
        row["status"] = 561103
    file = tmp_path / "calls.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    text, whole = run(str(file))[1], run("--all", str(file))[1]
    agreed = len(firm) - len(wrong)
    assert text.splitlines()[-1].startswith(
        f"of {len(firm)} firm rows, the library agrees with {agreed}, and the page with "
    )
    assert "disagreements: 9" in text and "... and 4 more: --all lists them" in text
    assert whole.count("was 561103; library") == 9 > text.count("was 561103; library")
    wrong_ops = {row["op"] for row in wrong}
    assert {op for op in {row["op"] for row in rows} if f"{op} " in text.split("disagr")[0]} == (
        wrong_ops
    )
    assert "broken rules of the page" in whole and "broken rules of the page" not in text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("status", 7),
        ("status", "0"),
        ("status", True),
        ("status", ...),
        ("status", []),
        ("status", {}),
        ("status", 0.0),
        ("firm", "yes"),
        ("firm", 1),
        ("firm", None),
    ],
)
def test_a_row_without_a_status_is_refused(tmp_path: Path, key: str, value: object) -> None:
    with gzip.open(SAMPLE, "rt", encoding="utf-8") as stream:
        row = json.loads(stream.readline())
    row.pop(key, None)
    if value is not ...:
        row[key] = value
    file = tmp_path / "calls.jsonl"
    file.write_text("\n" + json.dumps(row) + "\n", encoding="utf-8")
    code, out, err = run(str(file))
    assert (code, out) == (2, "")
    assert f"{file}:2: {row['id']}: the key '{key}' must be " in err and err.count("\n") == 1
