"""A second source of one's own: asked by name or folder, everywhere where the library answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import opgen
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result as Answer
from opgen.cli import main
from opgen.comparison.calls_by_page import deadly
from opgen.comparison.statuses import CRASHED, FAILED, KNOWN, SKIPPED
from opgen.devices.running import run
from opgen.model import CRASH, NOT_RUN, FileError
from opgen.oracle.errata_folder import errata_of
from opgen.oracle.release_changes import changes
from tests.support.backends import Scripted

PAD = "aclnnReflectionPad1dBackward"
HEAD = f'api: {PAD}\nrelease: "{{}}"\notherwise: page\n'
KNOWN_TO = 'basis: observed, evidence: {file: a.jsonl, digest: "0", n: 3, m: 3}, accepted: "A, 1"'
SHORT = f"tolerates:\n  short: {{rules: [padding.length], {KNOWN_TO}}}\n"
NULLS = f"stages:\n  nulls: {{rules: [padding.null], code: crash, {KNOWN_TO}}}\n"
CODES = f"stages:\n  nulls: {{rules: [padding.null], code: 161002, {KNOWN_TO}}}\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _folder(tmp_path_factory.mktemp("own"), "9.9", SHORT + NULLS)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shipped") / "pad.h5"
    opgen.generate([PAD], products=["ascend910b"], output=path, workers=1)
    return path


def _folder(folder: Path, release: str, entries: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "pad.yaml").write_text(HEAD.format(release) + entries)
    return folder


def _invoke(*arguments: object, given: str = "") -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), input=given)


def _alone(bundle: Bundle, rule: str) -> str:
    """A case that breaks this rule and no other."""
    broken = {case.id: {each.rule for each in case.expect.breaks} for case in bundle}
    return next(name for name, rules in broken.items() if rules == {rule})


def test_judge_asks_the_library_that_is_named(bundle: Path, folder: Path) -> None:
    with opgen.open(bundle) as file:
        call = file[_alone(file, "padding.length")].call
    answers = {
        name: json.loads(_invoke("judge", "--library", name, given=json.dumps(call)).stdout)
        for name in ("2026-08", folder)
    }
    assert answers["2026-08"]["library"]["codes"] == [161002]
    assert (
        answers[folder]["library"] | {"codes": [0], "release": "9.9"}
        == (answers[folder]["library"])
    )
    [answer] = opgen.judge([call], library=folder)
    assert answer.library is not None
    assert answer.library.release == "9.9"


@pytest.mark.parametrize("command", ["judge", "generate", "diff", "run", "backtest"])
def test_a_library_that_nobody_knows(command: str, bundle: Path, tmp_path: Path) -> None:
    files = {"judge": [], "backtest": [bundle], "diff": [bundle, bundle]}
    where = {
        "generate": [PAD, "-o", tmp_path / "a.h5"],
        "run": [bundle, "--backend", "torch", "-o", tmp_path / "r.h5"],
    }
    given = files.get(command, []) or where.get(command, [])
    answer = _invoke(command, *given, "--library", "2026-80")
    assert answer.exit_code == 2
    if command != "diff":  # whose second file is no results file, which is said first
        assert "no such folder or release (did you mean '2026-08'?)" in answer.output


def test_a_folder_without_errata(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no errata"):
        errata_of(tmp_path)


def test_a_bundle_says_which_library_is_behind_it(
    bundle: Path, folder: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.h5"
    opgen.generate([PAD], products=["ascend910b"], output=own, workers=1, library=folder)
    with opgen.open(bundle) as shipped, opgen.open(own) as file:
        assert file.header["library"] == ["9.9"]
        assert "library" not in shipped.header
        assert file.header["errata"].keys() == {"reflection_pad1d_backward"}
        assert file.header["errata"] != shipped.header["errata"]
        case = file[_alone(file, "padding.length")]
        assert case.library is not None
        assert (case.library.codes, case.library.release) == ((0,), "9.9")
        crash = {each.rule for name in shipped.ids for each in shipped[name].expect.breaks}
        left = {each.rule for name in file.ids for each in file[name].expect.breaks}
        assert crash - left == {"padding.null"}, "what ends the host is for another plan"


def test_what_nobody_accepted_leaves_no_case_out(bundle: Path, tmp_path: Path) -> None:
    observed = NULLS.replace(', accepted: "A, 1"', "")
    seen = _folder(tmp_path / "seen", "9.9", observed)
    own = tmp_path / "own.h5"
    opgen.generate([PAD], products=["ascend910b"], output=own, workers=1, library=seen)
    with opgen.open(bundle) as shipped, opgen.open(own) as file:
        assert set(file.ids) == set(shipped.ids)
        null = _alone(file, "padding.null")
        answer = file[null].library
        assert answer is not None
        assert (answer.codes, answer.accepted) == ((CRASH,), False)
        assert null in deadly(file), "it runs last all the same"


def test_diff_judges_the_stored_calls_anew(bundle: Path, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.h5"
    with opgen.open(bundle) as file:
        short, null = (_alone(file, f"padding.{key}") for key in ("length", "null"))
        with opgen.Results.create(path, file) as results:
            results.add(short, status=0)
            results.add(null, status=CRASH)
    verdicts = {}
    for library in ("", folder):
        report = opgen.diff(bundle, path, cases=[short, null], library=library)
        verdicts[library] = {verdict.case: verdict.verdict for verdict in report}
    assert verdicts[""] == {short: FAILED, null: CRASHED}
    assert verdicts[folder] == {short: KNOWN, null: KNOWN}
    told = _invoke("diff", bundle, path, "--library", folder, "--json", "--case", short)
    assert json.loads(told.stdout)["library"] == ["9.9"]


def test_what_ends_the_host_is_run_last(bundle: Path, folder: Path, tmp_path: Path) -> None:
    with opgen.open(bundle) as file:
        null = _alone(file, "padding.null")
        fatal = deadly(file, errata_of(folder))
        assert null in fatal
        assert deadly(file) == []
        asked: list[str] = []

        def accepting(bundle: Bundle, cases: Sequence[str]) -> Iterator[Answer]:
            asked.extend(cases)
            return (Answer(case, 0, 0, outputs=dict(bundle[case].golden)) for case in cases)

        backend = Scripted(accepting)
        tally = run(file, backend, tmp_path / "r.h5", last=fatal, status_only=True)
        assert asked[-len(fatal) :] == fatal
        assert backend.status_only
        assert tally.total() == len(file)
    with opgen.Results.open(tmp_path / "r.h5") as results:
        assert {answer.run_status for answer in results} == {NOT_RUN}
        assert not any(answer.outputs for answer in results)
    with opgen.open(bundle) as file:
        computed = [case.id for case in file if case.golden]
    report = opgen.diff(bundle, tmp_path / "r.h5", cases=computed)
    assert {verdict.verdict for verdict in report} == {SKIPPED}


def test_two_releases_differ(folder: Path, tmp_path: Path) -> None:
    later = _folder(tmp_path / "later", "10.0", f"early: [self.dtype, gradOutput.dtype]\n{CODES}")
    found = {each.id: each for each in changes(errata_of(folder), errata_of(later))}
    assert {name: each.kind for name, each in found.items()} == {
        "nulls": "changed",
        "short": "gone",
        "early": "new",
    }
    assert found["early"].after == "gradOutput.dtype, self.dtype"
    assert found["nulls"].before == "padding.null, returns crash"
    assert found["nulls"].after == "padding.null, returns 161002"
    told = _invoke("compare", folder, later)
    assert told.exit_code == 1
    assert "short: padding.length, not enforced" in told.output
    same = _invoke("compare", folder, folder)
    assert (same.exit_code, same.output) == (0, "0 entries differ\n")
    assert _invoke("compare", folder, folder / "pad.yaml").exit_code == 2
