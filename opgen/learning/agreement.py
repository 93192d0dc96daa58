"""How well learnt errata answer for calls, those that they were learnt from or others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from opgen.calls.factorize import by_key
from opgen.learning.errata_text import text
from opgen.learning.learner import learn
from opgen.learning.lesson import Lesson
from opgen.learning.statuses import Returned, Statuses, code
from opgen.model import ANY_ERROR, of_a_check
from opgen.oracle import erratafile, library
from opgen.oracle.errata import Errata
from opgen.spec.catalog import Catalog


@dataclass(frozen=True)
class Agreement:
    """Firm calls, and on how many the library side, the page, and the library side where the page
    is wrong agree with the status.
    """

    calls: int = 0
    library: int = 0
    page: int = 0
    mended: int = 0

    def __add__(self, other: Agreement) -> Agreement:
        parts = zip(vars(self).values(), vars(other).values(), strict=True)
        return Agreement(*(a + b for a, b in parts))

    @property
    def percent(self) -> float:
        """Of the calls on which the library side is right."""
        return 100.0 * self.library / self.calls if self.calls else 100.0

    @property
    def page_percent(self) -> float:
        """Of the calls on which the page alone is right."""
        return 100.0 * self.page / self.calls if self.calls else 100.0

    @property
    def gone(self) -> float:
        """Per cent of the page's disagreements that are no more."""
        wrong = self.calls - self.page
        return 100.0 * self.mended / wrong if wrong else 100.0


def lessons_of(pages: Iterable[Returned]) -> dict[str, list[Lesson]]:
    """Operator -> what the calls of each of its pages taught."""
    return by_key((page.spec.api, learn(page)) for page in pages)


def answered(page: Returned, known: Errata) -> tuple[np.ndarray, np.ndarray]:
    """(the library side admits the status, it says something), (rows,) bool each."""
    answers = library.answers_to(page.judgement, {page.spec.api: known})
    right = np.zeros(len(page), dtype=bool)
    if answers is None:
        return right, right
    for status in np.unique(page.status).tolist():
        may = answers.may_answer(code(status))
        if of_a_check(status):
            may = may | answers.may_answer(ANY_ERROR)
        right |= (page.status == status) & may
    return right, np.asarray(answers.stage != library.UNKNOWN)


def agreement(page: Returned, known: Errata) -> Agreement:
    """Of the firm calls of a page with errata."""
    right, wrong = answered(page, known)[0] & page.firm, ~page.admitted & page.firm
    firm = int(page.firm.sum())
    return Agreement(firm, int(right.sum()), firm - int(wrong.sum()), int((right & wrong).sum()))


def agreements(pages: Iterable[Returned], known: Mapping[str, Errata]) -> dict[str, Agreement]:
    """Operator -> agreement, of those that have errata."""
    result: dict[str, Agreement] = {}
    for page in pages:
        if page.spec.api in known:
            own = agreement(page, known[page.spec.api])
            result[page.spec.api] = result.get(page.spec.api, Agreement()) + own
    return result


def learnt(
    lessons: Mapping[str, Sequence[Lesson]], statuses: Statuses, release: str, pages: Catalog
) -> dict[str, Errata]:
    """Operator -> its errata, as they would be read from the files that are written."""
    return {
        api: erratafile.loads(text(own, statuses, release), pages) for api, own in lessons.items()
    }


@dataclass(frozen=True)
class Halves:
    """One experiment: operator -> agreement on the half that was learnt, and on the other."""

    seen: dict[str, Agreement]
    unseen: dict[str, Agreement]


def halves(statuses: Statuses, pages: Catalog, seed: int) -> Halves:
    """Learn on a random half of the calls, and try what was learnt on the other."""
    chosen = [
        np.random.default_rng([seed, len(page)]).random(len(page)) < 0.5 for page in statuses.pages
    ]
    pairs = list(zip(statuses.pages, chosen, strict=True))
    each = [page.take(np.flatnonzero(mine)) for page, mine in pairs]
    other = [page.take(np.flatnonzero(~mine)) for page, mine in pairs]
    known = learnt(lessons_of(each), statuses, statuses.release or "half", pages)
    return Halves(agreements(each, known), agreements(other, known))
