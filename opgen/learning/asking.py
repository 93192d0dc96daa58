"""Which calls would decide what is open: rules of which no call speaks, or few do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from opgen.calls.table import CallTable, concatenate
from opgen.learning.lesson import Lesson, enforced, holding
from opgen.learning.splitting import LEAST
from opgen.learning.statuses import DIED
from opgen.model import Call
from opgen.oracle.judgement import Judgement, judge


class Question(NamedTuple):
    """A call worth making, the rule that it would decide, and whether one like it ended the
    host.
    """

    call: Call
    rule: str
    deadly: bool


def open_rules(lesson: Lesson) -> dict[str, int]:
    """Rule -> how many more calls it needs, the neediest first: one that is not seen, or of which
    few calls speak. Calls that contradict each other need as many on either side.
    """
    needs = {each.rule.id: LEAST for each in lesson.outcomes if each.became == "not seen"}
    for finding in lesson.findings:
        need = 2 * LEAST if finding.against else LEAST - len(finding.calls)
        for rule in finding.rules if need > 0 else ():
            needs[rule] = max(needs.get(rule, 0), need)
    return dict(sorted(needs.items(), key=lambda item: -item[1]))


def questions(lesson: Lesson, table: CallTable) -> list[Question]:
    """The calls of a table that are new and break one open rule alone, as many as it needs, of as
    many products as there are; those like calls that ended the host come last.
    """
    judgement = judge(lesson.returned.spec, table)
    broken = enforced(judgement, lesson.entries)
    alone = (broken.sum(axis=0) == 1) & _new(lesson.returned.judgement.table, table)
    deadly = _deadly(lesson, judgement)
    asked: list[Question] = []
    for rule, need in open_rules(lesson).items():
        i = [each.id for each in lesson.returned.spec.rules].index(rule)
        rows = _spread(table, np.flatnonzero(alone & broken[i]), need)
        asked += [Question(table.call(row), rule, bool(deadly[row])) for row in rows]
    return sorted(asked, key=lambda each: each.deadly)


def _new(known: CallTable, table: CallTable) -> np.ndarray:
    """(rows,) bool: calls of a table that are not among those that are known."""
    both = concatenate([known, table])
    number = both.alike()[0].astype(np.int64) * 64 + both.product
    return ~np.isin(number[len(known) :], number[: len(known)])


def _deadly(lesson: Lesson, judgement: Judgement) -> np.ndarray:
    result = np.zeros(len(judgement.table), dtype=bool)
    position = {rule.id: i for i, rule in enumerate(judgement.spec.rules)}
    for finding in lesson.findings:
        if finding.status == DIED:
            broken = judgement.broken[[position[rule] for rule in finding.rules]]
            result |= holding(judgement, finding) & (broken.any(axis=0) | (not finding.rules))
    return result


def _spread(table: CallTable, rows: np.ndarray, need: int) -> Iterator[int]:
    """Some rows, of one product after the other."""
    turn: Counter[int] = Counter()
    places = []
    for row in rows.tolist():
        product = int(table.product[row])
        places.append((turn[product], product, row))
        turn[product] += 1
    yield from (row for _, _, row in sorted(places)[:need])


def most_useful(of_pages: Iterable[list[Question]], most: int) -> list[Question]:
    """So many questions, of every page in turn; the deadly ones last."""
    turns = [(i, question) for asked in of_pages for i, question in enumerate(asked)]
    chosen = [question for _, question in sorted(turns, key=lambda pair: pair[0])][:most]
    return sorted(chosen, key=lambda each: each.deadly)
