"""What opgen notices, and what it cannot: ways in which a device, a runner or a setup is wrong, by
every command that gives a verdict. The manual prints the table.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.cli import main
from opgen.report import data
from tests.support import device_sample as sample

MANUAL = Path(opgen.__file__).parent / "report" / "STANDARDS.md"

Answer = dict[str, Any] | None
"""What is answered to a case: arguments of ``Results.add``, or nothing."""


class Row(NamedTuple):
    """A row of the table: what is wrong, the verdict on the cases concerned, and the exit code of
    every command.
    """

    words: str
    verdict: str
    codes: list[int]


def table() -> list[Row]:
    """The table of the manual."""
    section = MANUAL.read_text(encoding="utf-8").partition("## What opgen notices")[2]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.partition("\n## ")[0].splitlines()
        if line.endswith(" 0 |") or line.endswith(" 1 |")
    ]
    return [Row(words, verdict, list(map(int, codes))) for words, verdict, *codes in cells]


class Setup(NamedTuple):
    """The calls of a bundle, some of their data, and what is answered instead of what is right;
    ``concerned`` are the cases that have the verdict. ``again`` is what a repeated run answers,
    ``says`` what the report says then, ``device`` whose answers the results are.
    """

    calls: dict[str, Any]
    answer: Callable[[CaseView, dict[str, Any]], Answer] = lambda case, right: right
    given: dict[str, Any] = {}
    concerned: str = ""
    waivers: str = ""
    again: Callable[[CaseView, dict[str, Any]], Answer] | None = None
    says: str = ""
    device: str = "one"


def calls(*names: str) -> dict[str, Any]:
    return {name: sample.CALLS[name] for name in names}


def only(name: str, **changes: Any) -> Callable[[CaseView, dict[str, Any]], Answer]:
    return lambda case, right: right | changes if case.id == name else right


def refused(status: int) -> Callable[[CaseView, dict[str, Any]], Answer]:
    return lambda case, right: {"status": status}


def moved(steps: float) -> Callable[[CaseView, dict[str, Any]], Answer]:
    """Every element off by so many times its bound, and one step more where that is beyond it."""

    def answer(case: CaseView, right: dict[str, Any]) -> Answer:
        far = {
            name: array if steps > 1 and name != "gradInput" else array + steps * case.bound[name]
            for name, array in right.get("outputs", {}).items()
        }
        return right | {"outputs": far}

    return answer


def near(case: CaseView, right: dict[str, Any], status: Any) -> Answer:
    return right if case.nearest_valid else {"status": status}


NAMELESS = "the results name no device"
PAIR, SHARD = "pad_height", "shard"
GENERATED: dict[str, dict[str, Any]] = {
    PAIR: {"cases": [f"*.invalid.{PAIR}.*"], "products": ["ascend910b"]},
    SHARD: {"shard": "1/40", "products": ["ascend910b"]},
}
"""Bundles of the pages' own cases: invalid ones and their nearest valid calls; some of a suite."""
MASKED = {"gradWeight": np.ones((4, 4, 3, 3), np.float16)}
FAR = {"gradOutput": [*[1.0] * 66, *[0.0, *[3.4028235e38] * 5] * 13]}
WIDE = {
    name: np.random.default_rng(0).uniform(1000, 1002, size).tolist()
    for name, size in (("input", 120), ("mean", 4))
}
SETUPS = {
    "nothing: a right device": Setup(calls("pad-FLOAT", "norm-plain", "stated-divisor")),
    "nothing: a right status alone, without data": Setup(calls("stated-divisor")),
    "one element is one step beyond its bound": Setup(
        calls("norm-plain"), moved(1.0001), says="elements beyond the bound; worst at"
    ),
    "every case is inconclusive": Setup(
        calls("conv-nothing"), says="1 inconclusive: the call asks for no output"
    ),
    "every case is skipped": Setup(
        calls("pad-FLOAT"),
        only("pad-FLOAT", status="skipped"),
        says="1 of 1 cases: no reason given",
    ),
    "every case with data is skipped, and all statuses are right": Setup(
        calls("pad-FLOAT", "stated-divisor"),
        only("pad-FLOAT", status="skipped"),
        {},
        "pad-FLOAT",
        says="no case that has data was judged",
    ),
    "every case is missing, and waived": Setup(
        calls("pad-FLOAT"), lambda case, right: None, waivers="missing", says="waived pad-FLOAT: r"
    ),
    "the page leaves the answer to every case open": Setup(
        calls("disputed-cube", "assumed-stride"), refused(161002), says="nothing proved"
    ),
    "a call that the page forbids without a code is accepted": Setup(
        calls("pad-FLOAT", "unstated-pad"),
        only("unstated-pad", status=0),
        concerned="unstated-pad",
        says="accepts calls that the page forbids (left_below_width)",
    ),
    "the published library's deviation, alone": Setup(
        calls("stated-divisor"),
        lambda case, right: {"status": 0, "outputs": sample.right(case)},
        says="status 0, as the published library; the page admits 161002",
    ),
    "a code of the runtime is returned where any code of an argument check would pass": Setup(
        calls("pad-FLOAT", "unstated-pad"),
        only("unstated-pad", status=507899),
        {},
        "unstated-pad",
        says="status 507899, expected any error",
    ),
    "the device is lost: every call gets 507899": Setup(
        {PAIR: None}, refused(507899), says="status 507899, expected 0"
    ),
    "every call is refused: each invalid call and its nearest valid call": Setup(
        {PAIR: None},
        refused(161002),
        concerned=".invalid.",
        says="its nearest valid call is refused too, with 161002",
    ),
    "the nearest valid call of an invalid one was skipped": Setup(
        {PAIR: None},
        lambda case, right: near(case, right, "skipped"),
        concerned=".invalid.",
        says="though their nearest valid call was not run: 1",
    ),
    "an element with an infinite bound was never written": Setup(
        calls("pad-FLOAT"),
        only("pad-FLOAT", unwritten={"gradInput": 1}),
        says="gradInput: 1 elements were never written",
    ),
    "goldens are all zero, and nobody knows what was written": Setup(
        calls("pad-FLOAT"),
        only("pad-FLOAT", unwritten=None),
        {"pad-FLOAT": {"gradOutput": [0.0] * 336}},
        says="1 inconclusive: every golden is zero",
    ),
    "goldens are all zero, and all was written": Setup(
        calls("pad-FLOAT"), given={"pad-FLOAT": {"gradOutput": [0.0] * 336}}
    ),
    "more than half of the elements have no finite bound": Setup(
        {"far": sample.pad(padding=(1, 0, 0, 0))},
        given={"far": FAR},
        says="65 of 120 elements have no finite bound",
    ),
    "every finite bound is at least 1/16 of its golden": Setup(
        calls("norm-plain"),
        given={"norm-plain": WIDE},
        says="no bound is below 0.0625 of its golden",
    ),
    "an output is written though it is masked out": Setup(
        calls("conv-masked"),
        lambda case, right: {
            **right,
            "outputs": right["outputs"] | MASKED,
            "unwritten": right["unwritten"] | {"gradWeight": 3},
        },
        says="masked out: 1, such as conv-masked",
    ),
    "the device writes memory outside its outputs": Setup(
        calls("pad-FLOAT"),
        only("pad-FLOAT", run_status="overrun"),
        says="overrun in the second phase",
    ),
    "a case that passed is skipped now": Setup(
        calls("pad-FLOAT", "norm-plain"),
        only("pad-FLOAT", status="skipped"),
        {},
        "pad-FLOAT",
        says="1 of 2 cases: no reason given",
    ),
    "only one of several cases was answered": Setup(
        calls("pad-FLOAT", "norm-plain"),
        lambda case, right: right if case.id == "pad-FLOAT" else None,
        concerned="norm-plain",
        says="missing norm-plain no answer in the results",
    ),
    "a repeated run gives other bits": Setup(
        calls("norm-plain"),
        again=moved(0.9),
        says="cases that gave different bits in a repeated run: 1, such as norm-plain",
    ),
    "a repeated run crashed, or was not answered": Setup(
        calls("norm-plain", "pad-FLOAT"),
        again=lambda case, right: {"status": "crash"} if case.id == "pad-FLOAT" else None,
        says="again.h5 does not repeat all cases (1 without an answer, 1 with another status): 2",
    ),
    "the results name no device": Setup(calls("norm-plain"), says=NAMELESS, device=""),
    "the bundle is one shard of a suite": Setup({SHARD: None}, says="is shard 1/40 of a suite"),
    "every output is off by less than its bound": Setup(calls("norm-plain"), moved(0.9)),
}


def right(case: CaseView) -> dict[str, Any]:
    status = sample.status_of(case)
    outputs = sample.right(case) if status == 0 and case.golden else {}
    return {"status": status, "outputs": outputs, "unwritten": dict.fromkeys(outputs, 0)}


def write(setup: Setup, folder: Path) -> None:
    """A bundle, the results of a right device, and those of the setup."""
    (name, *_) = setup.calls
    if some := GENERATED.get(name):
        opgen.generate(["avg_pool2d_backward"], output=folder / "b.h5", workers=1, **some)
    else:
        sample.write(folder / "b.h5", setup.calls, setup.given)
    with opgen.open(folder / "b.h5") as bundle:
        answer(bundle, folder / "right.h5", lambda case, right: right)
        answer(bundle, folder / "r.h5", setup.answer, setup.device)
        if setup.again:
            answer(bundle, folder / "again.h5", setup.again)
    text = f'- {{case: "*", verdict: {setup.waivers}, reason: r, expires: 2999-01-31}}\n'
    (folder / "w.yaml").write_text(text if setup.waivers else "", encoding="utf-8")


def answer(
    bundle: Bundle,
    path: Path,
    answers: Callable[[CaseView, dict[str, Any]], Answer],
    device: str = "one",
) -> None:
    with opgen.Results.create(path, bundle, header={"device": device}) as results:
        for case in bundle:
            said = answers(case, right(case))
            if said is not None:
                results.add(case.id, **said)


@pytest.mark.parametrize("row", table(), ids=lambda row: row.words.replace(" ", "-"))
def test_every_command_says_what_the_manual_says(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.chdir(tmp_path)
    setup = SETUPS[row.words]
    write(setup, tmp_path)

    said = []

    def run(*args: str) -> int:
        done = CliRunner().invoke(main, list(args), prog_name="opgen")
        assert done.exit_code in (0, 1), done.output
        said.append(" ".join(done.stdout.split()))
        return done.exit_code

    diff = ["diff", "b.h5", "r.h5", "--waivers", "w.yaml"]
    diff += ["--again", "again.h5"] if setup.again else []
    codes = [run(*diff, "--junit", "j.xml", "--html", "r.html"), run(*diff, "--strict")]
    codes.append(int(bool(ElementTree.parse("j.xml").findall(".//failure"))))
    codes.append(int('<h1><span class="bad">' in Path("r.html").read_text(encoding="utf-8")))
    assert setup.says in said[0] and (setup.says or row.verdict == "passed")
    assert (NAMELESS in said[0]) == (not setup.device)
    options = "--opgen-bundle", "b.h5", "--opgen-results", "r.h5", "--opgen-waivers", "w.yaml"
    plugins = "-p", "opgen.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:unraisableexception"
    codes.append(int(pytest.main([*plugins, *options])))  # the last looks through all of memory
    for name in ("right", "r"):
        done = CliRunner().invoke(main, ["diff", "b.h5", f"{name}.h5", *diff[3:], "--json"])
        Path(f"{name}.json").write_text(done.stdout, encoding="utf-8")
    report = data.parse(Path("r.json").read_text(encoding="utf-8"), "r.json")
    assert {case.verdict for case in report if setup.concerned in case.case} == {row.verdict}
    assert [*codes, run("compare", "right.json", "r.json")] == row.codes


def test_the_table_has_a_row_for_every_setup() -> None:
    assert sorted(row.words for row in table()) == sorted(SETUPS)
