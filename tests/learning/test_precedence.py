"""Which of several broken rules answers: planted orders are learnt, and answered with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from opgen.calls.jsonl import NamedCall
from opgen.calls.vocabulary import vocabulary
from opgen.learning import agreement, errata_text, statuses
from opgen.learning.learner import learn
from opgen.learning.lesson import Finding
from opgen.learning.precedence import OPEN, kind, returns
from opgen.learning.statuses import Returned
from opgen.model import Call, Code
from opgen.oracle import erratafile
from opgen.spec.catalog import catalog
from opgen.suite.selection import Request
from tests.learning import planted

POOL = "aclnnAvgPool2dBackward"
SPEC = next(spec for spec in catalog().specs if spec.name == "avg_pool2d_backward")
SIZES = {"out_height", "out_width"}
PAIR = {"self.shape", "channels"}


def sizes_first(call: Call, broken: set[str]) -> Code | None:
    """The page names no code of sizes; the library checks them before all that has one."""
    return 561103 if broken & SIZES else None


def sizes_last(call: Call, broken: set[str]) -> Code | None:
    return 561103 if broken <= SIZES and broken else None


def both(call: Call, broken: set[str]) -> Code | None:
    """A code that the page admits of neither rule, where both are broken."""
    return 561103 if broken >= PAIR else None


@cache
def suite() -> list[NamedCall]:
    """The calls of a suite, some of which break both of :data:`PAIR`, and some one of these."""
    cases = Request(operators=["reflection_pad1d_backward"], plan="standard").suite().cases
    (table,) = cases.calls
    calls = table.take(cases.row).calls()
    return [NamedCall(name, call, {}) for name, call in zip(cases.id, calls, strict=True)]


def read(
    folder: Path, *deviations: planted.Deviation, named: Sequence[NamedCall] = ()
) -> statuses.Statuses:
    lines = planted.returned(named or planted.calls(POOL), deviations)
    return statuses.read([planted.write(folder / "calls.jsonl", lines)], catalog())


def broken_of(page: Returned) -> list[set[str]]:
    ids = np.array([rule.id for rule in page.spec.rules])
    return [set(ids[page.judgement.broken[:, row]].tolist()) for row in range(len(page))]


def test_a_library_in_the_usual_order_moves_no_rule(tmp_path: Path) -> None:
    lesson = learn(read(tmp_path, sizes_last).pages[0])
    assert not SIZES & {*lesson.early, *lesson.late}
    assert not [each for each in lesson.findings if each.beside]
    assert SIZES & {*(first := learn(read(tmp_path, sizes_first).pages[0])).early, *first.late}


def test_rules_that_are_checked_first_answer_first(tmp_path: Path) -> None:
    known = read(tmp_path, sizes_first)
    (page,) = known.pages
    lesson = learn(page)
    assert lesson.early or lesson.late
    text = errata_text.text([lesson], known, "9.9")
    head = [line for line in text.splitlines() if line.startswith(("early:", "late:"))]
    pairs = [bool(broken & SIZES) and not broken <= SIZES for broken in broken_of(page)]
    pairs &= page.admitted & (page.status == 561103)
    assert pairs.sum() >= 12
    for own, share in ((text, 0.9), (text.replace("\n".join(head) + "\n", ""), 0.3)):
        right, _ = agreement.answered(page, erratafile.loads(own, catalog()))
        assert (right[pairs].mean() >= share) == (own is text), "the order makes the answer"


def test_a_precedence_that_the_page_does_not_admit_is_an_entry(tmp_path: Path) -> None:
    known = read(tmp_path, both, named=suite())
    (page,) = known.pages
    lesson = learn(page)
    (each,) = [each for each in lesson.entries if each.beside]
    assert {*each.rules, *each.beside} == PAIR
    assert (each.status, each.differs) == (561103, True)
    shown = [row for row, broken in enumerate(broken_of(page)) if broken >= PAIR]
    assert sorted(each.calls) == shown
    right, _ = agreement.answered(
        page, erratafile.loads(errata_text.text([lesson], known, "9"), catalog())
    )
    assert right[shown].all()


def test_a_call_against_it_leaves_no_entry(tmp_path: Path) -> None:
    times = [0]

    def mostly(call: Call, broken: set[str]) -> Code | None:
        times[0] += broken == PAIR
        return None if times[0] == 1 else both(call, broken)

    assert not [
        each
        for each in learn(read(tmp_path, mostly, named=suite()).pages[0]).findings
        if each.beside
    ]


def test_two_calls_are_no_precedence(tmp_path: Path) -> None:
    times = [0]

    def seldom(call: Call, broken: set[str]) -> Code | None:
        times[0] += broken >= PAIR
        return both(call, broken) if times[0] <= 2 else None

    assert not [
        each
        for each in learn(read(tmp_path, seldom, named=suite()).pages[0]).findings
        if each.beside
    ]


def test_what_each_rule_returns_for_all_that_is_known(tmp_path: Path) -> None:
    judgement = read(tmp_path).pages[0].judgement
    ids = [rule.id for rule in SPEC.rules]
    everywhere = Finding(("out_width",), "", 561103, (1, 2, 3), 3, False)
    wide = Finding(("out_width",), "product == 'ascend910'", 0, (1, 2, 3), 3, True)
    said = returns(judgement, [wide, everywhere])
    old = judgement.table.product == vocabulary().index["product"]["ascend910"]
    assert old.any() and not old.all()
    assert set(said[ids.index("out_width")][old]) == {0}
    assert set(said[ids.index("out_width")][~old]) == {561103}
    assert set(said[ids.index("out_height")]) == {OPEN}
    assert set(said[ids.index("pad_width")]) == {161002}


def test_rules_of_one_kind_compare_one_thing() -> None:
    kinds = {rule.id: kind(rule) for rule in SPEC.rules}
    assert kinds["gradInput.format"] == kinds["self.format"] == "format"
    assert kinds["same_dtype"] == "= dtype"
    assert kinds["out_width"] == "out_width"
