"""Nothing is green that was not proven: every way to prove nothing, by every command that shows a
verdict.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import opgen
from opgen.bundle.read.reader import Bundle
from opgen.cli.diff import command
from opgen.model import Code
from tests.support import device_sample as sample

NOTHING = "nothing proved"
NEEDS_NOTHING = sample.convolution(outputMask=[False, False, False])
STATUS_ONLY = {"refused": sample.pool(divisorOverride=300)}
OPEN = {"assumed": sample.CALLS["assumed-stride"], "disputed": sample.CALLS["disputed-cube"]}


class Run(NamedTuple):
    """A suite, what a device answers to its cases, the options of diff, and whether that is green
    and why.
    """

    calls: dict[str, Any]
    statuses: dict[str, Code | None]
    options: tuple[str, ...]
    exit_code: int


WAIVERS = '- {case: "*", verdict: missing, reason: ticket 1, expires: 2999-01-31}'
RUNS = {
    "no case at all": Run({}, {}, (), 1),
    "no case, and that is allowed": Run({}, {}, ("--allow-empty",), 0),
    "cases, none of which was answered, all waived": Run(
        STATUS_ONLY, {"refused": None}, ("--waivers", "waivers.yaml"), 1
    ),
    "an inconclusive case alone": Run({"nothing": NEEDS_NOTHING}, {}, (), 1),
    "no case but a skipped one": Run(STATUS_ONLY, {"refused": "skipped"}, (), 1),
    "an inconclusive case, and allowed to be empty": Run(
        {"nothing": NEEDS_NOTHING}, {}, ("--allow-empty",), 1
    ),
    "refusals where anything is right": Run(OPEN, {"assumed": 161002, "disputed": 161002}, (), 1),
    "a judged element where anything is right": Run(OPEN, {"assumed": 161002}, (), 0),
    "a right status alone": Run(STATUS_ONLY, {}, (), 0),
    "a right status, and a case with data that was skipped": Run(
        {**STATUS_ONLY, "pad": sample.pad()}, {"pad": "skipped"}, (), 1
    ),
    "a right status, and a case with data that is missing and waived": Run(
        {**STATUS_ONLY, "pad": sample.pad()}, {"pad": None}, ("--waivers", "waivers.yaml"), 1
    ),
    "a right status, and cases with data of which one was judged": Run(
        {**STATUS_ONLY, "pad": sample.pad(), "norm": sample.norm()}, {"pad": "skipped"}, (), 0
    ),
    "a lenient case alone": Run({"pad": sample.pad(padding=(5, 1, 1, 1))}, {"pad": 0}, (), 1),
    "a known deviation alone": Run(STATUS_ONLY, {"refused": 0}, (), 0),
    "a known deviation alone, strictly": Run(STATUS_ONLY, {"refused": 0}, ("--strict",), 1),
}
"""In words -> the run, and the exit code of ``opgen diff``."""


def results(bundle: Bundle, path: Path, statuses: dict[str, Code | None]) -> Path:
    with opgen.Results.create(path, bundle) as answers:
        for case in bundle:
            status = statuses.get(case.id, sample.status_of(case))
            if status is not None:
                outputs = sample.right(case) if status == 0 and case.golden else {}
                answers.add(case.id, status, outputs)
    return path


@pytest.mark.parametrize("name", RUNS)
def test_green_in_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    run = RUNS[name]
    monkeypatch.chdir(tmp_path)
    Path("waivers.yaml").write_text(WAIVERS, encoding="utf-8")
    with opgen.open(sample.write(tmp_path / "b.h5", run.calls)) as bundle:
        results(bundle, tmp_path / "r.h5", run.statuses)
    asked = ["b.h5", "r.h5", *run.options]
    done = CliRunner().invoke(command, [*asked, "--junit", "j.xml", "--html", "r.html"])
    proved = run.exit_code == 0 or "--strict" in run.options
    assert done.exit_code == run.exit_code, done.output
    last = done.stdout.rstrip().splitlines()[-1]
    failing = [failure.get("message") for failure in ElementTree.parse("j.xml").iter("failure")]
    page = Path("r.html").read_text(encoding="utf-8")
    plain = CliRunner().invoke(command, [*asked, "--json"]).stdout
    green = last.startswith("OK"), not failing, '<h1><span class="good">OK' in page
    assert green == (run.exit_code == 0,) * 3
    said = [NOTHING not in text for text in (last, str(failing), page)]
    assert [*said, '"proved": true' in plain] == [proved] * 4
