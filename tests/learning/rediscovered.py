"""Which entries that people wrote are found again from statuses alone:
``python -m tests.learning.rediscovered FILE...``.

The errata of the files' operators are set aside, and others are learnt. A written entry of at most
two conditions that changes the answer to three calls or more is found again if the learnt errata
give its answer to 95 % of these calls.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen.learning import agreement, statuses
from opgen.learning.statuses import Returned
from opgen.model import ANY_ERROR, Code, Problem, of_a_check
from opgen.oracle.errata import Errata, PageErrata
from opgen.oracle.errata_folder import errata
from opgen.oracle.library import LibraryAnswers, answers_to
from opgen.spec.catalog import catalog

Codes: TypeAlias = tuple[Code, ...]
CONDITIONS, CALLS, ALIKE = 2, 3, 0.95


class Match(NamedTuple):
    """A written entry, the calls whose answer it changes, how many of these are answered alike by
    what was learnt, and for how many the learnt answer at least admits the written one: a page that
    names no code leaves it open.
    """

    entry: str
    calls: int
    alike: int
    admitted: int

    @property
    def found(self) -> bool:
        return self.alike >= ALIKE * self.calls


def matches(page: Returned, written: Errata, learnt: Errata) -> Iterator[Match]:
    """One for each entry of an errata file that counts."""
    own = written.pages[page.spec.name]
    answers, others = _codes(page, written, own), _codes(page, learnt, learnt.pages[page.spec.name])
    for name, entry in own.entry.items():
        if entry.when is not None and entry.when.text.count(" and ") >= CONDITIONS:
            continue
        stages = tuple(each for each in own.stages if each.id != name)
        tolerated = tuple(each for each in own.tolerated if each.id != name)
        without = _codes(page, written, replace(own, stages=stages, tolerated=tolerated))
        rows = [i for i in range(len(page)) if answers[i] != without[i] and page.firm[i]]
        if len(rows) >= CALLS:
            alike = sum(answers[i] == others[i] for i in rows)
            yield Match(name, len(rows), alike, sum(_admits(others[i], answers[i]) for i in rows))


def _admits(wide: Codes, narrow: Codes) -> bool:
    checked = ANY_ERROR in wide
    return all(code in wide or (checked and _is_checked(code)) for code in narrow)


def _is_checked(code: Code) -> bool:
    return isinstance(code, int) and of_a_check(code)


def _codes(page: Returned, of: Errata, own: PageErrata) -> list[Codes]:
    """What errata answer to each call."""
    known = replace(of, pages={**of.pages, page.spec.name: own})
    answers = answers_to(page.judgement, {of.api: known})
    assert isinstance(answers, LibraryAnswers)
    told = map(answers.answer, np.arange(len(page)).tolist())
    return [() if each is None else each.codes for each in told]


def main(files: list[str]) -> None:
    """Print a line for each entry, and how many are found again."""
    skipped: list[Problem] = []
    known = statuses.read(files, catalog(), skipped=skipped)
    shipped = errata()
    learnt = agreement.learnt(agreement.lessons_of(known.pages), known, "again", catalog())
    all_matches = []
    for page in known.pages:
        written = shipped.get(page.spec.api)
        if written is None or written.pages[page.spec.name].as_page:
            continue
        for match in matches(page, written, learnt[page.spec.api]):
            all_matches.append(match)
            told = "found" if match.found else "not found"
            print(f"{page.spec.name} {match.entry}: {match.alike} of {match.calls}, {told}")
    found = sum(match.found for match in all_matches)
    admitted = sum(match.admitted >= ALIKE * match.calls for match in all_matches)
    print(f"{found} of {len(all_matches)} entries are found again; {admitted} are admitted")


if __name__ == "__main__":
    main(sys.argv[1:])
