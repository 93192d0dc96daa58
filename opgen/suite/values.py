"""Between which numbers the elements of a tensor lie: where a call does not say, the page's rules
on values do.
"""

from __future__ import annotations

import numpy as np

from opgen.calls import bigint
from opgen.calls.columns import TensorColumn
from opgen.oracle.judgement import Judgement
from opgen.spec.rules import Guard, true_where

ENDS = ("least", "greatest")
"""What is asked of a tensor's elements; the columns of their limits."""


def on_values(guard: Guard) -> bool:
    """Whether a guard speaks of the elements of a tensor."""
    return any(what in ENDS for _, what in guard.require.refs)


def limits(judged: Judgement) -> dict[str, np.ndarray]:
    """Tensor -> (rows, 2) float64, the least and the greatest number that an element may be; NaN
    where neither the call nor a rule says one. Of tensors of which rules speak alone.
    """
    guards = [guard for rule in judged.spec.rules for guard in rule.guards if on_values(guard)]
    lawful: dict[str, np.ndarray] = {}
    rows = len(judged.table)
    for guard in guards:
        ((name, what),) = guard.require.left.refs
        end, strict = ENDS.index(str(what)), len(guard.require.operator) == 1
        data, bound, over = guard.require.right[0].read(judged.view)
        limit = bigint.broadcast(np.asarray(data), rows).astype(np.float64) / over
        limit = limit + strict * (1 - 2 * end)
        here = true_where(guard.when, judged.view, rows) & bound
        ends = lawful.setdefault(name, np.full((rows, 2), np.nan))
        narrower = (np.fmax, np.fmin)[end]
        ends[:, end] = np.where(here, narrower(ends[:, end], limit), ends[:, end])
    for name, ends in lawful.items():
        column = judged.table.columns[name]
        assert isinstance(column, TensorColumn)
        lawful[name] = np.where(np.isnan(column.limits), ends, column.limits)
    return lawful


def drawable(judged: Judgement) -> np.ndarray:
    """(rows,) bool: every tensor that has elements may hold some number."""
    result = np.ones(len(judged.table), dtype=bool)
    for name, (low, high) in ((name, ends.T) for name, ends in limits(judged).items()):
        result &= ~(low > high) | (judged.view.get((name, "numel")).data == 0)
    return result
