"""What the failures share: facts of the cases, and pairs of them, that most failures have and few
passes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import lgamma, log

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.comparison.case_facts import facts
from opgen.comparison.diff_report import SharedTrait
from opgen.comparison.statuses import BAD, LENIENT, MISSING, PASSED
from opgen.model import Verdict
from opgen.numerics.arrays import Array

SHOWN = 3
"""Traits of one kind of failures that are told."""
FEW = 3
"""Fewer failures share nothing but by chance."""
MOSTLY = 6
"""Where more failures than this come to one pass, nearly all fail, and that is what they share."""
LEAST = 0.9
"""The part of the failures that must have a fact, for the fact to be worth saying."""
CLEAR = 0.6
"""How much larger than the part of the passes it must be."""
BETTER, AS_GOOD = 0.02, 0.05
"""How much more a pair must be worth than either of its facts; how much less than the best what is
said as well."""
LUCK = 1.0
"""A trait is told only if fewer than so many of the facts that differ, or of their pairs, would
fit as well by chance; a pair, if fewer pairs than single facts would."""


def shared_traits(bundle: Bundle, verdicts: Mapping[int, Verdict]) -> list[SharedTrait]:
    """The best facts for the wrong statuses of each operator and for each of its outputs.
    ``verdicts`` is by row of the bundle.

    Cases without an answer, those of which a pass proves nothing, and known deviations are neither
    failures nor passes.
    """
    kinds: dict[tuple[str, str], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for row, verdict in verdicts.items():
        op, outputs = str(verdict.metrics.get("op")), verdict.metrics.get("outputs", {})
        failed, right = verdict.verdict in BAD - {MISSING}, verdict.verdict in (PASSED, LENIENT)
        if right or (failed and not outputs):
            kinds[op, ""][right].append(row)
        if right or failed:
            for name, output in outputs.items():
                kinds[op, name][right or not output["beyond"]].append(row)
    traits = [
        trait
        for (op, name), (bad, good) in sorted(kinds.items())
        if len(bad) >= FEW
        for trait in _of_kind(bundle, f"{op.removeprefix('aclnn')} {name}".rstrip(), bad, good)
    ]
    return sorted(traits, key=lambda trait: -trait.failures)


def _of_kind(bundle: Bundle, what: str, bad: list[int], good: list[int]) -> Iterator[SharedTrait]:
    rows = np.array(sorted([*bad, *good]))
    failed = np.isin(rows, bad)
    nearly_all = len(bad) > MOSTLY * len(good)
    best = [] if nearly_all else ranked(*facts(bundle, rows), failed)
    for text, having in best or [("", np.ones_like(failed))]:
        failures, passes = int(having[failed].sum()), int(having[~failed].sum())
        yield SharedTrait(what, text, failures, len(bad), passes, len(good))


def ranked(labels: Sequence[str], matrix: Array, failed: Array) -> list[tuple[str, Array]]:
    """The best facts and pairs: (text, (rows,) bool). ``matrix`` is (facts, rows) bool.

    A fact is worth as many failures as it covers, less the passes it also covers, both as parts of
    the whole. A pair must be clearly better than either of its facts, and by more than the number
    of pairs makes likely. What is not nearly as good as the best is not said, nor what is wrong
    wherever something better is.
    """
    bad, good = matrix[:, failed].astype(np.float32), matrix[:, ~failed].astype(np.float32)
    keep = np.flatnonzero((bad.mean(axis=1) >= LEAST) & ~matrix.all(axis=1))
    bad, good = bad[keep], good[keep]
    worth = (bad @ bad.T) / bad.shape[1] - (good @ good.T) / max(good.shape[1], 1)
    single = worth.diagonal()
    better = worth - np.maximum(single[:, None], single[None, :])
    pairs = np.argwhere(np.triu(better > BETTER, 1) & (worth >= CLEAR))
    tried = log(len({row.tobytes() for row in np.packbits(matrix, axis=1)}))

    def luck(chosen: list[int]) -> float:
        return log_chance(np.asarray(matrix[chosen].all(axis=0)), failed) + len(chosen) * tried

    lucks = [luck([fact]) for fact in keep.tolist()]
    clear = np.flatnonzero(single >= CLEAR).tolist()
    candidates = [(float(single[i]), [i], lucks[i]) for i in clear]
    for i, j in pairs.tolist():
        of_pair = luck(keep[[i, j]].tolist())
        if of_pair < min(lucks[i], lucks[j]):
            candidates.append((float(worth[i, j]), [i, j], of_pair))
    told = [
        (score, [labels[fact] for fact in keep[chosen]], np.asarray(matrix[keep[chosen]].all(0)))
        for score, chosen, by_chance in candidates
        if by_chance < log(LUCK)
    ]
    told.sort(key=lambda trait: (-round(trait[0], 4), len(trait[1]), sum(map(len, trait[1]))))
    best: list[tuple[str, Array]] = []
    for score, words, having in told:
        if score < told[0][0] - AS_GOOD or len(best) == SHOWN:
            break
        wrong = having ^ failed
        if not any((~(other ^ failed) | wrong).all() for _, other in best):
            best.append((" and ".join(words), having))
    return best


def log_chance(having: Array, failed: Array) -> float:
    """How probable it is that so many of the rows that have a fact are failures, or more, if
    failures have nothing to do with it; as a logarithm, since it may be too small for a number.

    >>> having, failed = np.array([True, True, False]), np.array([True, False, False])
    >>> round(float(np.exp(log_chance(having, failed))), 3)
    0.667
    """
    rows, some, bad = len(having), int(having.sum()), int(failed.sum())
    both = int((having & failed).sum())
    just = _choices(some, both) + _choices(rows - some, bad - both) - _choices(rows, bad)
    more = np.arange(both, min(some, bad), dtype=np.float64)
    steps = (some - more) * (bad - more) / ((more + 1) * (rows - some - bad + more + 1))
    return just + log(1 + np.cumprod(steps).sum())


def _choices(of: int, some: int) -> float:
    """The logarithm of the number of ways to choose some of so many."""
    return lgamma(of + 1) - lgamma(some + 1) - lgamma(of - some + 1)
