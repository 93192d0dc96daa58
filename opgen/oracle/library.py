"""The second source: what the published library answers to a table of calls.

The first stage of :mod:`opgen.oracle.errata` that fires gives the answer; a call that passes all of
them is accepted. On products that the page lists and of which the errata do not speak, the library
is taken to do as the page says. One pass per stage over whole columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgen.calls.categorical import Categorical
from opgen.calls.layout import self_overlapping, within_storage
from opgen.calls.vocabulary import vocabulary
from opgen.model import CRASH, Code, LibraryAnswer
from opgen.oracle import as_page
from opgen.oracle.errata import Basis, Errata, Fault, Numeric, PageErrata
from opgen.oracle.errata_folder import errata
from opgen.oracle.judgement import Judgement
from opgen.spec.table_view import TableView

ACCEPTED, UNKNOWN = -1, -2
"""The stages of a call that passes every stage, and of one on a product of which neither the
release's errata nor the page speak.
"""


@dataclass(frozen=True)
class LibraryAnswers:
    """What the library answers to every row. ``stage`` is (rows,) int: position in ``page.stages``,
    or :data:`ACCEPTED`. ``until`` is that of the errata.
    """

    release: str
    page: PageErrata
    judgement: Judgement
    view: TableView
    stage: np.ndarray
    until: str = "graph"

    @cached_property
    def outcomes(self) -> list[tuple[str, tuple[Code, ...]]]:
        """(id, codes) of every stage and, where :data:`UNKNOWN` and :data:`ACCEPTED` find them, of
        these.
        """
        return [
            *((stage.id, stage.codes) for stage in self.page.stages),
            ("unknown", ()),
            ("accepted", (0,)),
        ]

    def codes(self, row: int) -> tuple[Code, ...]:
        """One code, or two where the first phase cannot tell; numbers ascending, then
        ``"crash"``.
        """
        return self.outcomes[int(self.stage[row])][1]

    def name(self, row: int) -> str:
        """The id of the stage that answers, or ``accepted``."""
        return self.outcomes[int(self.stage[row])][0]

    def may_answer(self, code: Code) -> np.ndarray:
        """(rows,) bool: this is the answer, or one of two."""
        return np.asarray(np.array([code in codes for _, codes in self.outcomes])[self.stage])

    def answer(self, row: int) -> LibraryAnswer | None:
        """One row whole, None where nothing is known. An acceptance is as firm as what lets it
        pass: inferred where one entry is (:attr:`guessed`).
        """
        stage = self.stage[row]
        if stage == UNKNOWN:
            return None
        known: Basis = "observed" if self.page.as_page else "read"
        accepted: Basis = "inferred" if self.guessed[row] else known
        basis = accepted if stage == ACCEPTED else self.page.stages[stage].basis
        return LibraryAnswer(
            self.release, self.codes(row), basis, bool(self.excuses[row]), self.until
        )

    def answers(self) -> Categorical[LibraryAnswer | None]:
        """Every row whole."""
        _, first, kind = np.unique(
            4 * self.stage.astype(np.int64) + 2 * self.guessed + self.excuses,
            return_index=True,
            return_inverse=True,
        )
        return Categorical.coded([self.answer(row) for row in first.tolist()], kind)

    @property
    def may_succeed(self) -> np.ndarray:
        """(rows,) bool: the answer is success, or success is one of two."""
        return self.may_answer(0)

    @property
    def crashing(self) -> np.ndarray:
        """(rows,) bool: a check is known to end the host process, and a person stands behind it. A
        call that was only observed to end one is still worth making.
        """
        fatal = [CRASH in stage.codes and stage.excuses for stage in self.page.stages]
        return np.asarray(np.array([*fatal, False, False])[self.stage] & ~self.faulty)

    @property
    def faulty(self) -> np.ndarray:
        """(rows,) bool: the call is accepted, and the device or the host may fault."""
        faults = [isinstance(stage, Fault) for stage in self.page.stages]
        return np.asarray(np.array([*faults, False, False])[self.stage])

    @cached_property
    def guessed(self) -> np.ndarray:
        """(rows,) bool: breaks a rule that an inferred entry lets pass, a tolerance or a check in
        the rule's place; is of a product of which the errata do not speak; or has a tensor that
        lies as none should: nothing looks at that.
        """
        result: np.ndarray = _stray(self.judgement) | ~_spoken_of(self.page, self.judgement)[0]
        lets = [(entry.basis, entry.reached, entry.rules) for entry in self.page.tolerated]
        lets += [(stage.basis, stage.reached, stage.instead_of) for stage in self.page.stages]
        for basis, reached, rules in lets:
            if basis == "inferred" and rules:
                result |= reached(self.view, len(result)) & self.breaks(rules)
        return result

    @cached_property
    def excuses(self) -> np.ndarray:
        """(rows,) bool: a person stands behind all that was observed and makes the answer."""
        result = np.array([*(stage.excuses for stage in self.page.stages), True, True])[self.stage]
        for entry in self.page.tolerated:
            if not entry.excuses:
                result &= ~(entry.reached(self.view, len(result)) & self.breaks(entry.rules))
        return np.asarray(result)

    def made_by(self, name: str) -> np.ndarray:
        """(rows,) bool: an entry makes the answer: it refuses the call, or lets pass what an
        accepted call breaks.
        """
        ids = [stage.id for stage in self.page.stages]
        if name in ids:
            return np.asarray(self.stage == ids.index(name))
        entry = self.page.entry[name]
        reached = entry.reached(self.view, len(self.stage)) & (self.stage == ACCEPTED)
        return np.asarray(reached & self.breaks(getattr(entry, "rules", ())))

    def breaks(self, rules: Collection[str]) -> np.ndarray:
        """(rows,) bool: breaks one of some rules of the page."""
        ids = [i for i, rule in enumerate(self.judgement.spec.rules) if rule.id in rules]
        return np.asarray(self.judgement.broken[ids].any(axis=0))


def _stray(judgement: Judgement) -> np.ndarray:
    """(rows,) bool: a tensor leaves its storage or runs backwards in it, or elements of an output
    share a place.
    """
    outputs, result = (
        {p.name for p in judgement.spec.outputs},
        np.zeros(len(judgement.table), dtype=bool),
    )
    for name, column in judgement.table.tensors.items():
        if not column.plain().all():
            backwards = (column.offset < 0) | (column.strides < 0).any(axis=1)
            result |= ~column.null & (~within_storage(column) | backwards)
            if name in outputs:
                result |= self_overlapping(column)
    return result


def answers_to(
    judgement: Judgement, source: Mapping[str, Errata] | None = None
) -> LibraryAnswers | None:
    """What the library answers to every row of a judged table; ``None`` where nothing is known of
    the operator. ``source`` is api -> errata, by default those that opgen ships.
    """
    known = (errata() if source is None else source).get(judgement.spec.api)
    if known is None or judgement.spec.name not in known.pages:
        return None
    page = known.pages[judgement.spec.name]
    rows = len(judgement.table)
    view = judgement.view.naming(page.names)
    broken = {rule.id: column for rule, column in judgement.breaking}
    by_errata, by_page = _spoken_of(page, judgement)
    if (by_page & ~by_errata).any():
        page = as_page.completed(page)
    open_rows = by_errata | by_page
    stage = np.where(open_rows, ACCEPTED, UNKNOWN).astype(np.int16)
    asked = as_page.asked(page, view, broken) if page.as_page else [broken] * len(page.stages)
    for i, here in as_page.turns(page, asked):
        of_page = page.stages[i].id.startswith(as_page.PREFIX)
        mine = by_errata == (page.as_page or not of_page)
        fires = open_rows & mine & page.stages[i].fires(view, rows, here)
        if np.count_nonzero(fires):
            stage[fires] = i
            open_rows &= ~fires
    return LibraryAnswers(known.release, page, judgement, view, stage, known.until)


def _spoken_of(page: PageErrata, judgement: Judgement) -> list[np.ndarray]:
    """[the errata speak of the product, the page lists it], (rows,) bool each."""
    index, product = vocabulary().index["product"], judgement.table.product
    known = index if page.as_page else vocabulary().known_to_every_page
    return [
        np.isin(product, [index[each] for each in some]) for some in (known, page.spec.products)
    ]


def applies(answers: LibraryAnswers) -> np.ndarray:
    """(numeric entries, rows) bool, in the order of ``page.numeric``: where the library's numbers
    differ.
    """
    rows = len(answers.stage)
    return np.array(
        [entry.reached(answers.view, rows) for entry in answers.page.numeric], dtype=bool
    ).reshape(-1, rows)


def reference(answers: LibraryAnswers, entry: Numeric) -> dict[str, np.ndarray]:
    """Name -> (rows,): the values that a ``reference`` entry puts in place of the call's own, where
    it applies.
    """
    return {
        name: np.broadcast_to(term.read(answers.view).data, len(answers.stage))
        for name, term in entry.reference.items()
    }


def releases(known: Mapping[str, Errata] | None = None) -> tuple[str, ...]:
    """The releases that the errata speak of, ascending."""
    return tuple(sorted({of.release for of in (errata() if known is None else known).values()}))
