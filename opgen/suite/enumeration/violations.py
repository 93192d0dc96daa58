"""Which edited calls a suite takes: violations as isolated as possible, valid calls nearest to a
limit, a member of each list.
"""

from __future__ import annotations

import numpy as np

from opgen.oracle.judgement import Judgement
from opgen.spec.language.term import Term
from opgen.spec.rules import Guard, Rule
from opgen.suite.enumeration.distance import distance, unit_of
from opgen.suite.enumeration.edit_search import EditSearch
from opgen.suite.enumeration.edited_calls import LAST_RESORT

_LOOKED_AT = 50
"""Calls that are looked at for one that is taken: many make the same edit of other calls."""


def side_violations(search: EditSearch, row: int, r: int) -> tuple[str, ...]:
    """The rules that a row breaks besides the rule number ``r``."""
    broken = search.edited.judged.broken[:, row]
    return tuple(rule.id for i, rule in enumerate(search.spec.rules) if broken[i] and i != r)


def violations(search: EditSearch, r: int, guard: Guard, most: int) -> list[int]:
    """Calls that break a guard of the rule number ``r``, and as little else as possible: ``most``
    per product, both sides of a comparison first; and where none of them is the nearest to the
    limit, one that is, whatever else it breaks. The last resort only where a product has no other.
    Of calls that break more, those whose product is edited come last.
    """
    rows = search.edited.breaking(r, guard)
    weight, products = search.edited.side_weight(r, rows), search.edited.judged.table.product[rows]
    spared = weight < LAST_RESORT
    kept = spared | ~np.isin(products, products[spared])
    rows, weight = rows[kept], weight[kept]
    away = _distance(guard, search)[rows]
    edits = (search.edited.edits.changes[rows, :, 0] >= 0).sum(axis=1)
    strangers = _strangers(search, r, rows)
    keys = (np.abs(away), edits, strangers, weight, search.moved[rows], weight > 0)
    order = np.lexsort((search.edited.size[rows], *keys))
    chosen = _picked(search, rows, order, np.sign(away), most)
    if chosen and guard.require.is_inequality:
        nearest = order[np.abs(away[order]) == np.abs(away).min()]
        if not set(rows[nearest].tolist()) & set(chosen):
            chosen.append(int(rows[nearest[0]]))
    return chosen


def _distance(guard: Guard, search: EditSearch) -> np.ndarray:
    judged = search.edited.judged
    return distance(guard, judged.view, len(search.edited), unit_of(guard, judged.table))


def _strangers(search: EditSearch, r: int, rows: np.ndarray) -> np.ndarray:
    """(rows,) int: broken rules that neither compare what a rule compares nor are its key of
    another parameter.
    """
    rule = search.spec.rules[r]
    own = rule.compared
    apart = [
        (other.key is None or other.key != rule.key) and own.isdisjoint(other.compared)
        for other in search.spec.rules
    ]
    return np.asarray(search.edited.judged.broken[apart][:, rows].sum(axis=0))


def boundary_calls(search: EditSearch, rule: Rule, guard: Guard, most: int) -> list[int]:
    """Legal calls as near to the limit of a guard as edits come, ``most`` per product; those that
    prove nothing last.
    """
    dull = search.compiled.vacuous(search.edited.judged.view, len(search.edited), rule.id)
    rows = np.flatnonzero(
        search.edited.valid & guard.applies(search.edited.judged.view, len(search.edited))
    )
    away = np.abs(_distance(guard, search))[rows]
    order = np.lexsort((search.edited.size[rows], dull[rows], away))
    order = order[away[order] == away.min(initial=np.inf)]
    return _picked(search, rows, order, np.zeros(len(rows)), most)


def list_members(search: EditSearch, guard: Guard, known: Judgement) -> list[int]:
    """Legal calls for the members of a list that no call of ``known`` has, one each."""
    relation = guard.require
    members = []
    for right in (
        relation.right if relation.operator == "in" and relation.left.kind != "shape" else ()
    ):
        if not (_has(guard, right, known) & known.valid).any():
            rows = np.flatnonzero(_has(guard, right, search.edited.judged) & search.edited.valid)
            members += rows[np.lexsort((search.edited.size[rows],))][:1].tolist()
    return members


def exempt_calls(search: EditSearch, r: int, guard: Guard) -> list[int]:
    """The smallest legal call that does what a guard of the rule number ``r`` forbids under a
    condition, where that does not hold, one that proves something first; none where a call of the
    tier's own does.
    """
    rule = search.spec.rules[r]
    if not (rule.forbids and search.valid.lacks_exempt(guard)):
        return []
    exempt = guard.exempts(search.edited.judged.view, len(search.edited)) & search.edited.valid
    rows = np.flatnonzero(exempt)
    dull = search.compiled.vacuous(search.edited.judged.view, len(search.edited), rule.id)
    return [int(row) for row in rows[np.lexsort((search.edited.size[rows], dull[rows]))][:1]]


def _has(guard: Guard, right: Term, judged: Judgement) -> np.ndarray:
    same = guard.require.left.read(judged.view).data == right.read(judged.view).data
    return np.asarray(guard.applies(judged.view, len(judged.table)) & same)


def _picked(
    search: EditSearch, rows: np.ndarray, order: np.ndarray, side: np.ndarray, most: int
) -> list[int]:
    chosen: list[int] = []
    products = search.edited.judged.table.product[rows]
    for product in np.unique(products):
        mine = order[products[order] == product]
        first = [int(mine[side[mine] == s][0]) for s in np.unique(side[mine])]
        first.sort(key=mine.tolist().index)
        taken: set[tuple[int, ...]] = set()
        for place in [*first, *mine[: _LOOKED_AT * most].tolist()]:
            key = search.edited.edits.key(int(rows[place]))
            if len(taken) < most and key not in taken:
                taken.add(key)
                chosen.append(int(rows[place]))
    return chosen
