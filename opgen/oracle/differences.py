"""Where the page and the library do not agree, and which entries of the errata explain it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from opgen.oracle.errata import PageErrata
from opgen.oracle.library import ACCEPTED, LibraryAnswers


@dataclass(frozen=True)
class Differences:
    """Where page and library do not agree. ``explains`` is (entries, rows) bool in the order of
    ``page.entry``.

    A row differs where the library may answer what the page does not admit. It is explained where
    an entry stands behind the answer: the stage that refuses it, or for every broken rule of an
    accepted call what lets it pass.
    """

    page: PageErrata
    differs: np.ndarray
    explained: np.ndarray
    explains: np.ndarray

    def entries(self, row: int) -> tuple[str, ...]:
        """The ids of the entries that explain one row."""
        ids = tuple(self.page.entry)
        return tuple(ids[i] for i in np.flatnonzero(self.explains[:, row]))


def differences(answers: LibraryAnswers) -> Differences:
    """Per row, whether the library differs from the page, and the entries behind it."""
    page, judgement, rows = answers.page, answers.judgement, len(answers.stage)
    position = {name: i for i, name in enumerate(page.entry)}
    differs = np.zeros(rows, dtype=bool)
    for code in {code for _, codes in answers.outcomes for code in codes}:
        differs |= answers.may_answer(code) & ~judgement.admits(code)
    explains = np.zeros((len(position), rows), dtype=bool)
    for i, stage in enumerate(page.stages):
        explains[position[stage.id]] = differs & (answers.stage == i)
    accepts = differs & np.array([codes == (0,) for _, codes in answers.outcomes])[answers.stage]
    explained = np.ones(rows, dtype=bool)
    for rule, broken in judgement.breaking:
        asked = accepts & broken
        if not rule.forbids or not asked.any():
            continue
        reason = np.zeros(rows, dtype=bool)
        for name, passes in _what_lets_pass(answers).get(rule.id, {}).items():
            explains[position[name]] |= asked & passes
            reason |= passes
        explained &= ~asked | reason
    return Differences(page, differs, explained, explains)


def _what_lets_pass(answers: LibraryAnswers) -> dict[str, dict[str, np.ndarray]]:
    """Rule id -> entry id -> (rows,) bool: where the entry is why an accepted call may break the
    rule.
    """
    page, view, rows = answers.page, answers.view, len(answers.stage)
    lets: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    for tolerance in page.tolerated:
        for rule in tolerance.rules:
            lets[rule][tolerance.id] = tolerance.reached(view, rows)
    for i, stage in enumerate(page.stages):
        # not asked for this call, or only after the stage that accepted it
        missed = ~stage.reached(view, rows) | ((answers.stage != ACCEPTED) & (answers.stage < i))
        for held in stage.rules:
            lets[held.id][stage.id] = missed
        for rule in stage.instead_of:
            lets[rule][stage.id] = np.ones(rows, dtype=bool)
    return lets
