"""Calls that break two rules with different codes: which code a device returns says which rule it
checks first.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from opgen.calls.aims import Aim
from opgen.suite.enumeration.edited import Edited

_TRIED = 3
"""Broken calls of each rule and product whose edits are put together."""


def fault_pairs(edited: Edited, singles: dict[str, list[int]], most: int) -> dict[int, Aim]:
    """Row -> aim, for every pair of rules with different codes: at most ``most`` calls per product
    that break exactly both, made from calls that break one of them alone. ``singles``: rule -> the
    rows that were chosen to break it.
    """
    rules = {rule.id: (i, rule) for i, rule in enumerate(edited.spec.rules)}
    product = edited.made.judged.table.product
    alone: dict[tuple[str, int], list[int]] = {}
    for name, rows in singles.items():
        for row in rows:
            if rules[name][1].code is not None and edited.made.judged.broken[:, row].sum() == 1:
                alone.setdefault((name, int(product[row])), []).append(row)
    asked: dict[tuple[int, int], tuple[str, str]] = {}
    for (one, here), (other, there) in combinations(alone, 2):
        if here == there and rules[one][1].code != rules[other][1].code:
            for a in alone[one, here][:_TRIED]:
                for b in alone[other, there][:_TRIED]:
                    asked[a, b] = asked[b, a] = (one, other)
    merged = edited.merged(asked)
    chosen: dict[int, Aim] = {}
    taken: dict[tuple[str, str, int], int] = {}
    product, broken = edited.made.judged.table.product, edited.made.judged.broken
    for pair, row in sorted(merged.items(), key=lambda item: edited.made.size[item[1]]):
        one, other = asked[pair]
        wanted = np.zeros(len(edited.spec.rules), dtype=bool)
        wanted[[rules[one][0], rules[other][0]]] = True
        key = (one, other, int(product[row]))
        if (broken[:, row] == wanted).all() and taken.get(key, 0) < most and row not in chosen:
            taken[key] = taken.get(key, 0) + 1
            chosen[row] = Aim(
                "orders", (one, other), codes=(rules[one][1].code, rules[other][1].code)
            )
    return chosen
