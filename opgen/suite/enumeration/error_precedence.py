"""Calls that break two rules with different codes: which code a device returns says which rule it
checks first.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from opgen.calls.factorize import by_key
from opgen.calls.purposes import Purpose
from opgen.suite.enumeration.edit_search import EditSearch

_TRIED = 3
"""Violations of each rule and product whose edits are put together."""


def precedence_calls(
    search: EditSearch, violations: dict[str, list[int]], most: int
) -> dict[int, Purpose]:
    """Row -> purpose, for every pair of rules with different codes: at most ``most`` calls per
    product that break exactly both, made from calls that break one of them alone.
    ``violations``: rule -> the rows that were chosen to break it.
    """
    rules, code = search.spec.rules, {rule.id: rule.code for rule in search.spec.rules}
    isolated = by_key(
        ((rule, search.edited.product(row)), row)
        for rule, rows in violations.items()
        for row in rows
        if code[rule] is not None and search.edited.judged.broken[:, row].sum() == 1
    )
    asked: dict[tuple[int, int], tuple[str, str]] = {}
    for (first, here), (second, there) in combinations(isolated, 2):
        if here == there and code[first] != code[second]:
            for a, b in product(isolated[first, here][:_TRIED], isolated[second, there][:_TRIED]):
                asked[a, b] = asked[b, a] = (first, second)
    merged = search.merged(asked)
    chosen: dict[int, Purpose] = {}
    taken: dict[tuple[tuple[str, str], int], int] = {}
    for pair, row in sorted(merged.items(), key=lambda item: search.edited.size[item[1]]):
        both = asked[pair]
        broken = [rules[i].id for i in np.flatnonzero(search.edited.judged.broken[:, row])]
        key = both, search.edited.product(row)
        if set(broken) == set(both) and taken.get(key, 0) < most and row not in chosen:
            taken[key] = taken.get(key, 0) + 1
            chosen[row] = Purpose("orders", both, codes=(code[both[0]], code[both[1]]))
    return chosen
