"""Which edited calls a suite takes: the broken with the least company, the legal nearest to a
limit, a member of each list.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from opgen.oracle.judgement import Judgement
from opgen.spec.language.terms import Reference, Term
from opgen.spec.rules import Rule
from opgen.suite.enumeration.breaker import distance
from opgen.suite.enumeration.edited import Edited
from opgen.suite.enumeration.made import LAST_RESORT

_LOOKED_AT = 50
"""Calls that are looked at for one that is taken: many make the same edit of other calls."""


def company(edited: Edited, row: int, of: Iterable[int]) -> tuple[str, ...]:
    """The other rules that a row breaks."""
    return tuple(
        rule.id
        for i, rule in enumerate(edited.spec.rules)
        if edited.made.judged.broken[i, row] and i not in of
    )


def with_least_company(edited: Edited, number: int, most: int) -> list[int]:
    """Calls that break a guard with the least company: ``most`` per product, both sides of a
    comparison first; and where none of them is the nearest to the limit, one that is, in whatever
    company. The last resort only where a product has no other.
    """
    rows, guard = edited.breaking(number), edited.rule(number)[1]
    burden, products = edited.burden(number, rows), edited.made.judged.table.product[rows]
    spared = burden < LAST_RESORT
    kept = spared | ~np.isin(products, products[spared])
    rows, burden = rows[kept], burden[kept]
    away = distance(guard, edited.made.judged.view, len(edited.made))[rows]
    edits = (edited.made.proposals.target[rows] >= 0).sum(axis=1)
    order = np.lexsort(
        (edited.made.size[rows], np.abs(away), edits, _strangers(edited, number, rows), burden)
    )
    chosen = _picked(edited, rows, order, np.sign(away), most)
    if chosen and guard.require.is_inequality:
        nearest = order[np.abs(away[order]) == np.abs(away).min()]
        if not set(rows[nearest].tolist()) & set(chosen):
            chosen.append(int(rows[nearest[0]]))
    return chosen


def _strangers(edited: Edited, number: int, rows: np.ndarray) -> np.ndarray:
    """(rows,) int: broken rules that neither compare what a rule compares nor are its key of
    another parameter.
    """
    rule = edited.rule(number)[0]
    own = _compared(rule)
    apart = [
        (one.key is None or one.key != rule.key) and own.isdisjoint(_compared(one))
        for one in edited.spec.rules
    ]
    return np.asarray(edited.made.judged.broken[apart][:, rows].sum(axis=0))


def _compared(rule: Rule) -> set[Reference]:
    return {ref for guard in rule.guards for ref in guard.require.refs}


def limits(edited: Edited, number: int, most: int) -> list[int]:
    """Legal calls as near to the limit of a guard as edits come, ``most`` per product; those that
    prove nothing last.
    """
    rule, guard = edited.rule(number)
    dull = edited.choices.vacuous(edited.made.judged.view, len(edited.made), rule.id)
    rows = np.flatnonzero(
        edited.made.legal & guard.applies(edited.made.judged.view, len(edited.made))
    )
    away = np.abs(distance(guard, edited.made.judged.view, len(edited.made)))[rows]
    order = np.lexsort((edited.made.size[rows], dull[rows], away))
    order = order[away[order] == away.min(initial=np.inf)]
    return _picked(edited, rows, order, np.zeros(len(rows)), most)


def members(edited: Edited, number: int, known: Judgement) -> list[int]:
    """Legal calls for the members of a list that no call of ``known`` has, one each."""
    relation = edited.rule(number)[1].require
    found = []
    for right in (
        relation.right if relation.operator == "in" and relation.left.kind != "shape" else ()
    ):
        if not (_has(edited, relation.left, right, number, known) & known.valid).any():
            rows = np.flatnonzero(
                _has(edited, relation.left, right, number, edited.made.judged) & edited.made.legal
            )
            found += rows[np.lexsort((edited.made.size[rows],))][:1].tolist()
    return found


def _has(edited: Edited, left: Term, right: Term, number: int, judged: Judgement) -> np.ndarray:
    same = left.read(judged.view).data == right.read(judged.view).data
    return np.asarray(edited.rule(number)[1].applies(judged.view, len(judged.table)) & same)


def _picked(
    edited: Edited, rows: np.ndarray, order: np.ndarray, side: np.ndarray, most: int
) -> list[int]:
    chosen: list[int] = []
    products = edited.made.judged.table.product[rows]
    for product in np.unique(products):
        mine = order[products[order] == product]
        first = [int(mine[side[mine] == s][0]) for s in np.unique(side[mine])]
        first.sort(key=mine.tolist().index)
        taken: set[tuple[int, ...]] = set()
        for place in [*first, *mine[: _LOOKED_AT * most].tolist()]:
            key = edited.made.proposals.key(int(rows[place]))
            if len(taken) < most and key not in taken:
                taken.add(key)
                chosen.append(int(rows[place]))
    return chosen
