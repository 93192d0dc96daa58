"""Telling apart calls that break the same rule and returned different statuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial

import numpy as np

from opgen.learning.conditions import Condition, candidates
from opgen.learning.features import Feature, varying

LEAST = 3
"""Calls on either side of a condition that carry it."""
ENOUGH = LEAST - 1e-3
"""The same of sums of parts of calls."""
DOUBT = 0.1
"""How many conditions on strange things, of all that are tried, may hold by chance."""
PAIR = 2.0
"""What a second condition costs, in calls."""
MOST_PAIRED = 400
"""Conditions that are tried in pairs, the simplest first."""


@dataclass(frozen=True)
class Share:
    """Calls that returned one status and share a condition, ``when``, that no other call meets;
    ``rows`` (rows,) bool. A share without a condition is all of them.
    """

    when: str
    status: int
    rows: np.ndarray


def split(
    known: Sequence[Feature],
    rows: np.ndarray,
    outcome: np.ndarray,
    usual: int,
    related: Set[str] = frozenset(),
    explained: np.ndarray | None = None,
    beyond: Callable[[str, int], int] = lambda when, status: 0,
) -> Iterator[Share]:
    """Shares of the calls at ``rows``, of which ``known`` speaks, that did not return what is
    ``usual``; ``outcome`` (rows,) is what each returned. Of all conditions that are carried, the
    one that explains most goes first. A call that stands there several times counts once; those
    that are ``explained`` count for nothing, and no condition may contradict them.
    """
    _, number, times = np.unique(rows, return_inverse=True, return_counts=True)
    weight = 1.0 / times[number]
    left = np.ones(len(rows), dtype=bool) if explained is None else ~explained
    tried, known = len(known), varying(known, related)
    while True:
        best: tuple[float, Condition, int] | None = None
        for status in np.unique(outcome[left & (outcome != usual)]).tolist():
            wanted = left & (outcome == status)
            against = outcome != status
            if weight[wanted].sum() < ENOUGH or not against.any():
                continue
            others = partial(_others, beyond, status)
            found = _best(known, wanted * weight, against * weight, related, tried, others)
            if found is not None and (best is None or found[0] > best[0]):
                best = (*found, status)
        if best is None:
            return
        _, condition, status = best
        part = condition.rows & (outcome == status)
        yield Share(condition.text, status, part)
        left &= ~part


def _others(beyond: Callable[[str, int], int], status: int, when: str) -> int:
    return beyond(when, status)


def _best(
    known: Sequence[Feature],
    wanted: np.ndarray,
    against: np.ndarray,
    related: Set[str],
    tried: int,
    beyond: Callable[[str], int],
) -> tuple[float, Condition] | None:
    """The condition, or the two together, that most of the wanted calls and no other call meet.
    ``wanted`` and ``against`` (rows,) are how much each call counts,
    ``tried`` is how many features there were to choose from, ``beyond`` how many more calls do not
    meet a condition.
    """
    singles = sorted(candidates(known, wanted > 0, related), key=lambda each: each.cost)
    if not singles:
        return None
    holds = np.array([each.rows for each in singles])
    hits, misses = holds @ wanted, holds @ against
    enough = hits + 1e-3 >= [each.inside for each in singles]
    enough &= against.sum() - misses + 1e-3 >= [each.outside for each in singles]
    singles = [single for single, kept in zip(singles, enough.tolist(), strict=True) if kept]
    holds, hits, misses = holds[enough], hits[enough], misses[enough]
    outside, strange = float(against.sum()) + 1e-9, np.array([each.strange for each in singles])
    chance = _chance(float(wanted.sum()), float(against.sum()))
    carried = (misses == 0) & (hits >= ENOUGH)
    carried &= ~strange | (chance[(hits + 1e-3).astype(np.int64)] * tried <= DOUBT)
    best: tuple[float, Condition] | None = None
    few = outside < LEAST
    for i in np.flatnonzero(carried).tolist():
        score = float(hits[i]) - singles[i].cost
        if best is not None and score <= best[0]:
            continue
        if outside + (beyond(singles[i].text) if few and singles[i].word else 0) >= LEAST:
            best = score, singles[i]
    if outside >= LEAST:
        useful = np.flatnonzero(hits >= ENOUGH)[:MOST_PAIRED]
        some = [singles[i] for i in useful.tolist()]
        pair = _best_pair(some, wanted, against, chance * tried**2 <= DOUBT)
        if pair is not None and (best is None or pair[0] > best[0]):
            best = pair
    return best


def _chance(wanted: float, against: float) -> np.ndarray:
    """How likely it is that so many calls, drawn from all, are wanted, by their number. Where most
    are, a condition is what keeps a few exceptions out, and no claim of its own.
    """
    drawn = np.arange(int(wanted + 1e-3))
    ratios = np.log((wanted - drawn) / (wanted + against - drawn))
    return np.asarray(np.exp(np.cumsum([0.0, *ratios]))) * (wanted <= against)


def _together(some: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """How much the calls count that meet each two of some conditions."""
    held = some[:, counts > 0].astype(np.float32)
    return np.asarray((held * counts[counts > 0].astype(np.float32)) @ held.T)


def _best_pair(
    singles: Sequence[Condition], wanted: np.ndarray, against: np.ndarray, sure: np.ndarray
) -> tuple[float, Condition] | None:
    """Two conditions together. ``sure``: by the number of calls that meet both, whether that is no
    chance.
    """
    some = np.array([each.rows for each in singles]).reshape(-1, len(wanted))
    both, bad = (_together(some, counts) for counts in (wanted, against))
    cost = np.array([each.cost for each in singles])
    strange = np.array([each.strange for each in singles], dtype=bool)
    score = both - cost[:, None] - cost[None, :] - PAIR
    doubtful = (strange[:, None] | strange[None, :]) & ~sure[(both + 1e-3).astype(np.int64)]
    score[(bad > 0) | (both < ENOUGH) | doubtful] = -np.inf
    if not score.size or score.max() == -np.inf:
        return None
    first, second = divmod(int(score.argmax()), len(singles))
    a, b = singles[first], singles[second]
    text = " and ".join(sorted((a.text, b.text)))
    return float(score.max()), Condition(text, a.rows & b.rows, a.cost + b.cost + PAIR)
