"""Ids are chosen by one rule, wherever they are: what is named exactly, else what a pattern
matches.
"""

from __future__ import annotations

import datetime
import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import opgen
from opgen.calls.ids import match_ids, select_ids
from opgen.cli import main
from opgen.comparison import waivers
from opgen.interop.folder import file_name
from opgen.model import FileError
from opgen.suite.selection import Request
from tests.support import device_sample
from tests.support.browser import packed

ODD = ("a b'c", "[a]*", "-x", "$(touch pwned)", "ab")
"""Ids of which the second, as a pattern, would match the first and the last."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    with opgen.open(
        device_sample.write(tmp_path / "b.h5", dict.fromkeys(ODD, device_sample.pad()))
    ) as bundle:
        device_sample.answer(
            bundle,
            tmp_path / "r.h5",
            lambda case, outputs: {name: array + 1 for name, array in outputs.items()},
        )
    return tmp_path


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args, prog_name="opgen")


@pytest.mark.parametrize(
    ("patterns", "places"),
    [
        (["[a]*"], [1]),
        (["a*"], [0, 4]),
        (["[ax]*"], [0, 4]),
        (["ab", "[a]*"], [1, 4]),
        (["-x"], [2]),
        ([], [0, 1, 2, 3, 4]),
    ],
)
def test_an_id_before_a_pattern(patterns: list[str], places: list[int]) -> None:
    assert select_ids(ODD, patterns) == places


def test_what_an_id_would_do_to_a_terminal_is_shown_instead(tmp_path: Path) -> None:
    odd = "a\x1b[31m\x07\x9b1m"
    calls, bundle, results = (str(tmp_path / name) for name in ("calls.jsonl", "b.h5", "r.h5"))
    Path(calls).write_text(json.dumps({"id": odd, **device_sample.pad()}) + "\n")
    assert run("generate", "--calls", calls, "-o", bundle).exit_code == 0
    with opgen.open(bundle) as opened:
        assert opened.ids == [odd]
        device_sample.answer(
            opened,
            Path(results),
            lambda case, outputs: {name: array + 1 for name, array in outputs.items()},
        )
    commands = [
        ("judge", "--format", "text", calls),
        ("inspect", bundle),
        ("inspect", bundle, "a*"),
        ("diff", bundle, results),
    ]
    for told in (
        *(run(*command) for command in commands),
        run("diff", bundle, bundle),
        run("inspect", bundle, f"{odd}?"),
    ):
        assert "a\\x1b[31m\\x07\\x9b1m" in told.output or told.exit_code == 2
        assert not {"\x1b", "\x07", "\x9b"} & set(told.output)


def test_every_pattern_without_a_case_is_named() -> None:
    with pytest.raises(FileError) as caught:
        select_ids(ODD, ["ab", "b*", "abc"], "HERE")
    assert str(caught.value).splitlines() == [
        "HERE: b*: matches no case",
        "HERE: abc: no such case among 5 (did you mean 'ab'?)",
    ]
    assert match_ids(["a", "a"], ["a", "b"]) == {"a": [0, 1], "b": []}


def test_commands_take_an_id_for_itself(files: Path) -> None:
    bundle, results = str(files / "b.h5"), str(files / "r.h5")
    assert json.loads(run("inspect", bundle, "[a]*", "--json").output)["id"] == "[a]*"
    for case in ODD:
        report = opgen.diff(bundle, results, cases=[case])
        assert [verdict.case for verdict in report] == [case]
        told = run("diff", bundle, results, f"--case={case}", "--json")
        assert [one["case"] for one in json.loads(told.stdout)["verdicts"]] == [case]
        waiver = waivers.Waiver(case, "failed", "known", datetime.date(2099, 1, 1), "w.yaml:1")
        whole = opgen.diff(bundle, results)
        waivers.apply(whole, [waiver], datetime.date(2026, 1, 1))
        assert list(whole.waived) == [case]


def test_calls_are_chosen_alike(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps({"id": one, **device_sample.pad()}) + "\n" for one in ODD))
    assert [case.id for case in Request(calls=str(path), patterns=["[a]*"]).suite().cases] == [
        "[a]*"
    ]
    with pytest.raises(FileError, match=r"`patterns`: nothing-\*: matches no case"):
        Request(calls=str(path), patterns=["ab", "nothing-*"]).suite()


def test_a_plan_names_the_patterns_that_match_nothing() -> None:
    with pytest.raises(FileError) as caught:
        Request(
            operators=["reflection_pad2d_backward"], patterns=["*.910b.*", "nothing-*", "none"]
        ).suite()
    assert [str(problem).split(": no case")[0] for problem in caught.value.problems] == [
        "`patterns`: nothing-*",
        "`patterns`: none",
    ]


def test_a_report_quotes_ids_and_files_for_a_shell(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = pytest.importorskip("opgen.report.html")
    monkeypatch.chdir(files)
    bundle = (files / "b.h5").rename("-odd $(touch pwned) name.h5")
    page = html.text(opgen.diff(Path(bundle.name), files / "r.h5"))
    held = packed(page)
    assert len(held["bad"]) == len(ODD)
    ran = set()
    for case in held["bad"]:
        command = held["quoted"].get(case, case).join(held["command"])
        shell = f"opgen() {{ printf '%s\\0' \"$@\"; }}\n{command}"
        words = subprocess.run(
            ["bash", "-c", shell], capture_output=True, text=True, check=True
        ).stdout.split("\0")
        cases = [word.removeprefix("--case=") for word in words if word.startswith("--case=")]
        assert words[:2] == ["run", f"./{bundle.name}"] and len(cases) == 2 and len(set(cases)) == 1
        ran.add(cases[0])
    assert ran == set(ODD) and not (files / "pwned").exists()


def test_an_id_leads_to_no_other_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    device_sample.write(here / "b.h5", {"../up": device_sample.pad()})
    mutant = ["--backend", "mutant:corners_missing"]
    assert run("run", "b.h5", *mutant, "-o", "r.h5", "-q").exit_code == 0
    assert run("minimize", "b.h5", "r.h5", "../up", *mutant, "--most", "5", "-q").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
    assert [path.name for path in here.iterdir() if path.is_dir()] == [
        f"{file_name('../up')}-minimal"
    ]
