"""What is learnt, as errata: they read well, answer as the library did, and excuse nobody."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from opgen.cli import main
from opgen.learning import agreement, errata_text, statuses
from opgen.learning.agreement import Agreement
from opgen.model import CRASH, Call, Code, FileError
from opgen.oracle import erratafile, library
from opgen.oracle.errata import Errata
from opgen.spec.catalog import catalog
from tests.learning import planted

POOL = "aclnnAvgPool2dBackward"


def graph(call: Call, broken: set[str]) -> Code | None:
    return 561103 if broken == {"divisorOverride.range"} else None


def dies(call: Call, broken: set[str]) -> Code | None:
    return CRASH if broken == {"padding.null"} else None


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> statuses.Statuses:
    lines = planted.returned(planted.calls(POOL), [graph, dies], ["same_rank", "gradOutput.format"])
    path = planted.write(tmp_path_factory.mktemp("learnt") / "calls.jsonl", lines)
    return statuses.read([path], catalog())


@pytest.fixture(scope="module")
def text(known: statuses.Statuses) -> str:
    lessons = agreement.lessons_of(known.pages)
    return errata_text.text(lessons[POOL], known, "9.9")


def errata(text: str) -> Errata:
    return erratafile.loads(text, catalog())


def test_entries_say_what_was_planted(text: str) -> None:
    page = errata(text).pages["avg_pool2d_backward"]
    stages = {stage.id: stage for stage in page.stages}
    assert stages["divisorOverride_range_returns_561103"].codes == (561103,)
    assert stages["padding_null_crashes"].codes == (CRASH,)
    tolerated = {rule for entry in page.tolerated for rule in entry.rules}
    assert {"same_rank", "gradOutput.format"} <= tolerated
    evidence = stages["divisorOverride_range_returns_561103"].evidence
    assert evidence is not None
    assert evidence.n == evidence.m >= 3
    assert evidence.file == "calls.jsonl"


def test_the_library_side_answers_as_the_library_did(known: statuses.Statuses, text: str) -> None:
    total = agreement.agreements(known.pages, {POOL: errata(text)})[POOL]
    assert total.percent > 99
    assert total.gone > 95
    assert total.page_percent < 98


def test_a_wrong_entry_loses_agreement(known: statuses.Statuses, text: str) -> None:
    wrong = text.replace("code: 561103", "code: 561002")
    assert wrong != text
    right, worse = (
        agreement.agreements(known.pages, {POOL: errata(one)})[POOL] for one in (text, wrong)
    )
    page = known.pages[0]
    assert worse.library == right.library - int((page.status == 561103).sum())


def test_nobody_accepted_what_was_learnt(known: statuses.Statuses, text: str) -> None:
    page = known.pages[0]
    right, _ = agreement.answered(page, errata(text))
    deviates = np.flatnonzero(~page.admitted & right)
    assert len(deviates) > 20
    for own, accepted in ((text, False), (accept(text), True)):
        answers = library.answers_to(page.judgement, {POOL: errata(own)})
        assert answers is not None
        told = [answers.answer(row) for row in deviates.tolist()]
        assert {one.basis for one in told if one} == {"observed"}
        assert {one.accepted for one in told if one} == {accepted}


def accept(text: str) -> str:
    basis = "    basis: observed\n"
    return text.replace(basis, basis + '    accepted: "somebody, 2026-11-25"\n')


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("otherwise: page", "otherwise: library", "otherwise: no such answer 'library'"),
        (
            "otherwise: page",
            "otherwise: page\nearly: [same_dtyp]",
            "early: no such rule 'same_dtyp'",
        ),
        ("otherwise: page", "otherwise: page\nlate: [all]", "late: no such rule 'all'"),
        (
            "    code: 561103",
            "    beside: [same_dtyp]\n    code: 561103",
            "no such rule 'same_dtyp'",
        ),
        ("basis: observed", "basis: read", "the key 'where' is missing"),
        ("    evidence: {", "    note: {", "note: expects a sentence"),
        ('", n: ', '", n: -', "expects how many calls show it"),
    ],
)
def test_bad_errata(text: str, old: str, new: str, message: str) -> None:
    assert old in text
    with pytest.raises(FileError) as caught:
        errata(text.replace(old, new, 1))
    assert message in str(caught.value)


def test_an_observed_entry_needs_evidence(text: str) -> None:
    start = text.index("    evidence:")
    end = text.index("\n", start) + 1
    with pytest.raises(FileError, match="is observed; say the evidence"):
        errata(text[:start] + text[end:])


def test_agreements_add_up() -> None:
    total = Agreement(10, 9, 8, 1) + Agreement(10, 10, 6, 4)
    assert total == Agreement(20, 19, 14, 5)
    assert (total.percent, total.page_percent, total.gone) == (95.0, 70.0, 100 * 5 / 6)


def test_the_command_writes_errata_that_backtest_takes(
    tmp_path: Path, known: statuses.Statuses
) -> None:
    calls, folder = known.files[0], tmp_path / "learnt"
    args = ["learn", calls, "--release", "9.9", "-o", str(folder)]
    made = CliRunner().invoke(main, args)
    assert made.exit_code == 0, made.output
    assert [path.name for path in folder.iterdir()] == ["avg_pool2d_backward.yaml"]
    assert CliRunner().invoke(main, args).exit_code == 2
    assert CliRunner().invoke(main, [*args, "--force"]).exit_code == 0
    args = ["backtest", calls, "--library", str(folder), "--fail-under", "99"]
    tried = CliRunner().invoke(main, args)
    assert tried.exit_code == 0, tried.output
    assert "release 9.9" in tried.output
    assert CliRunner().invoke(main, ["learn", calls, "-o", str(folder)]).exit_code == 2


def test_what_people_wrote_stays_with_entries_that_say_the_same(
    tmp_path: Path, known: statuses.Statuses
) -> None:
    args = ["learn", known.files[0], "--release", "9.9", "-o", str(tmp_path), "--force"]
    assert CliRunner().invoke(main, args).exit_code == 0
    (path,) = tmp_path.iterdir()
    before = path.read_text(encoding="utf-8")
    ends = before.replace("otherwise: page", "until: tiling\notherwise: page")
    mine = '    note: "seen twice"\n    accepted: "A. Person, 2026-11-27"\n'
    named = re.sub(r"(    evidence: .*\n)", r"\1" + mine, ends)
    path.write_text(named.replace("code: 561103", "code: 561002"), encoding="utf-8")
    assert CliRunner().invoke(main, args).exit_code == 0
    other = "divisorOverride_range_returns_561103"
    entry = named[named.index(f"  {other}:") :].partition(mine)[0]
    assert path.read_text(encoding="utf-8") == named.replace(entry + mine, entry)
    path.write_text("api: 7\n", encoding="utf-8")
    refused = CliRunner().invoke(main, args)
    assert (refused.exit_code, path.read_text(encoding="utf-8")) == (2, "api: 7\n")


def test_errata_that_were_read_win(tmp_path: Path, known: statuses.Statuses) -> None:
    args = ["learn", known.files[0], "--release", "2026-08", "-o", str(tmp_path / "own")]
    made = CliRunner().invoke(main, args)
    assert made.exit_code == 0
    assert f"{POOL}: a person's errata stay; " in made.output
    assert "wrote 0 files" in made.output


def test_halves(known: statuses.Statuses) -> None:
    tried = agreement.halves(known, catalog(), 1)
    seen, unseen = tried.seen[POOL], tried.unseen[POOL]
    assert seen.calls + unseen.calls == int(known.pages[0].firm.sum())
    assert seen.percent > 97
    assert unseen.percent > unseen.page_percent
    shown = CliRunner().invoke(main, ["learn", known.files[0], "--halves", "2"])
    assert shown.exit_code == 0
    assert shown.output.count("other") == 2
