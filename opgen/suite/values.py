"""Between which numbers the elements of a tensor lie: where a call does not say, the page's rules
on values do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from opgen.calls import bigint
from opgen.calls.jsonl import NamedCall
from opgen.model import Problem
from opgen.oracle.judgement import Judgement
from opgen.spec.language.value import constant_value
from opgen.spec.rules import Guard, readable, true_where
from opgen.spec.spec import ENDS, TOTAL
from opgen.spec.table_view import TableView


def on_values(guard: Guard) -> bool:
    """Whether a guard speaks of the elements of a tensor."""
    return any(what in (*ENDS, TOTAL) for _, what in guard.require.refs)


def lawful(judged: Judgement) -> dict[str, np.ndarray]:
    """Tensor -> (rows, 2) float64, the least and the greatest number that rules let an element be;
    NaN where none speaks. Of tensors of which rules speak alone.
    """
    guards = [guard for rule in judged.spec.rules for guard in rule.guards if on_values(guard)]
    result: dict[str, np.ndarray] = {}
    rows = len(judged.table)
    for guard in guards:
        (name, what), *_ = guard.require.left.refs
        if what == TOTAL:
            continue
        end, strict = ENDS.index(str(what)), len(guard.require.operator) == 1
        data, bound, over = guard.require.right[0].read(judged.view)
        limit = bigint.broadcast(np.asarray(data), rows).astype(np.float64) / over
        limit = limit + strict * (1 - 2 * end)
        here = true_where(guard.when, judged.view, rows) & bound
        ends = result.setdefault(name, np.full((rows, 2), np.nan))
        narrower = (np.fmax, np.fmin)[end]
        ends[:, end] = np.where(here, narrower(ends[:, end], limit), ends[:, end])
    return result


def limits(judged: Judgement) -> dict[str, np.ndarray]:
    """The same, where what the call says of its data goes before the rules."""
    result = lawful(judged)
    for name, ends in result.items():
        own = judged.table.tensors[name].limits
        result[name] = np.where(np.isnan(own), ends, own)
    return result


def unlawful(
    judged: Judgement,
    rows: Iterable[int],
    calls: Iterable[NamedCall],
    given: Mapping[str, Mapping[str, npt.ArrayLike]],
    file: str,
) -> Iterator[Problem]:
    """What is said of a ``file`` of calls, each in a row of a judged table, whose own arrays (id ->
    name -> array) hold what the rules on values forbid.
    """
    ends, apart = lawful(judged), _left_out(judged)
    for row, call in zip(rows, calls, strict=False):
        arrays = given.get(call.id, {})
        for name in ends.keys() & arrays.keys():
            (low, high), values = ends[name][row], np.asarray(arrays[name])
            limited = not np.isnan([low, high]).all()
            wrong = (values < low) | (values > high) | limited & np.isnan(values)
            wrong &= values != apart.get(name, {row: np.nan})[row]
            if wrong.any():
                place = np.unravel_index(int(wrong.argmax()), values.shape)
                admitted = f"{low:g} to {high:g}".replace("nan to", "up to")
                text = (
                    f"{name}{[int(i) for i in place]} is {values[place]:g}; the page admits"
                    f" {admitted.replace('to nan', 'and up')}"
                )
                yield Problem(file, call.line, call.id, f"data: {text}")
    summed = judged.spec.sums
    for row, call in zip(rows, calls, strict=False) if summed else ():
        view = TableView(judged.spec, judged.table.take(np.array([row])))
        sums = {name: np.sum(array) for name, array in given.get(call.id, {}).items()}
        for name, guard in summed:
            if name in sums and np.isfinite(sums[name]):
                view.known[name, TOTAL] = constant_value(int(sums[name]))
                if guard.broken(view, 1).any():
                    text = f"{name} adds up to {sums[name]:g}; the page asks for"
                    yield Problem(
                        file, call.line, call.id, f"data: {text} {readable(guard.require.text)}"
                    )


def _left_out(judged: Judgement) -> dict[str, np.ndarray]:
    """Tensor -> (rows,) the number to which rules on its elements do not apply, where there is
    one.
    """
    result = {}
    for rule in judged.spec.rules:
        for guard in filter(on_values, rule.guards):
            (name, _), *others = guard.require.left.refs
            for other in others:
                data = np.asarray(judged.view.get(other).data)
                result[name] = np.broadcast_to(data, len(judged.table))
    return result


def summable(judged: Judgement) -> np.ndarray:
    """(rows,) bool: no tensor whose sum the page limits is drawn element by element."""
    result = np.ones(len(judged.table), dtype=bool)
    for name in {name for name, _ in judged.spec.sums}:
        low, high = judged.table.tensors[name].limits.T
        result &= ~(low < high)
    return result


def drawable(judged: Judgement) -> np.ndarray:
    """(rows,) bool: every tensor that has elements may hold some number."""
    result = np.ones(len(judged.table), dtype=bool)
    for name, (low, high) in ((name, ends.T) for name, ends in limits(judged).items()):
        result &= ~(low > high) | (judged.view.get((name, "numel")).data == 0)
    return result
