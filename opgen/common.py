"""What the failures share: facts of the calls, and pairs of them, that most failures have and few passes.

Facts are derived from the arguments and the names of the spec, for any operator: dtypes, ranks, views, null pointers, formats, the
product, the compute dtype, the recipe, and of every number whether it is 0, 1, more, odd, or this very value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from opgen.binding import TableView
from opgen.book import book
from opgen.bundle.reader import Bundle
from opgen.calls import make_call, no_collection
from opgen.model import Verdict
from opgen.numerics import Array
from opgen.outcome import Finding
from opgen.spec import Spec
from opgen.statuses import BAD, LENIENT, MISTRUSTED, PASSED
from opgen.table import ArrayColumn, CallTable, ScalarColumn, TensorColumn, from_calls
from opgen.words import words

FEW_VALUES = 12
"""Numbers and dtypes are facts by themselves where a suite has at most so many of them."""
SHOWN = 3
LEAST = 0.9
"""The part of the failures that must have a fact, for the fact to be worth saying."""


def findings(bundle: Bundle, verdicts: Mapping[int, Verdict]) -> list[Finding]:
    """The best facts for wrong numbers and for wrong statuses, operator by operator. ``verdicts`` is by row of the bundle."""
    kinds: dict[tuple[str, bool], tuple[list[int], list[int]]] = {}
    for row, verdict in verdicts.items():
        numbers = "outputs" in verdict.metrics
        bad, good = kinds.setdefault((str(verdict.metrics.get("op")), numbers), ([], []))
        if verdict.verdict in BAD:
            bad.append(row)
        elif verdict.verdict in (PASSED, MISTRUSTED, LENIENT):
            good.append(row)
    found: list[Finding] = []
    for (op, numbers), (bad, good) in sorted(kinds.items()):
        if bad:
            found += list(_of_operator(bundle, verdicts, op, bad, good, numbers))
    return found


def _of_operator(
    bundle: Bundle, verdicts: Mapping[int, Verdict], op: str, bad: list[int], good: list[int], numbers: bool
) -> Iterator[Finding]:
    rows = [*bad, *good]
    failed = np.arange(len(rows)) < len(bad)
    labels, matrix = facts(bundle, rows)
    if numbers:
        extra, columns = _wrong_outputs(verdicts, rows)
        labels, matrix = labels + extra, np.concatenate([matrix, columns]) if len(matrix) else columns
    for text, mine in ranked(labels, matrix, failed):
        yield Finding(
            f"{op.removeprefix('aclnn')}: {text}" if not text.startswith(op) else text,
            int(mine[failed].sum()),
            len(bad),
            int(mine[~failed].sum()),
            len(good),
        )


def ranked(labels: Sequence[str], matrix: Array, failed: Array) -> list[tuple[str, Array]]:
    """The best facts and pairs: (text, (rows,) bool). ``matrix`` is (facts, rows) bool.

    A fact is worth as many failures as it covers, less the passes it also covers, both as parts of the whole; a pair must be
    clearly better than either of its facts.
    """
    if not len(matrix) or failed.all() is None:
        return []
    bad, good = matrix[:, failed].astype(np.float32), matrix[:, ~failed].astype(np.float32)
    keep = np.flatnonzero((bad.mean(axis=1) >= LEAST) & ~matrix.all(axis=1))
    if not len(keep):
        return []
    bad, good = bad[keep], good[keep]
    passes = max(good.shape[1], 1)
    single = bad.mean(axis=1) - good.sum(axis=1) / passes
    pair = (bad @ bad.T) / bad.shape[1] - (good @ good.T) / passes
    better = pair - np.maximum(single[:, None], single[None, :])
    candidates = [(float(single[i]), (i,)) for i in range(len(keep))]
    candidates += [(float(pair[i, j]), (i, j)) for i, j in zip(*np.nonzero(np.triu(better > 0.02, 1)), strict=True)]
    candidates.sort(key=lambda one: (-round(one[0], 4), len(one[1]), sum(len(labels[keep[i]]) for i in one[1])))
    chosen: list[tuple[str, Array]] = []
    for score, which in candidates:
        if score < 0.3 or len(chosen) == SHOWN:
            break
        mine = matrix[keep[list(which)]].all(axis=0)
        if not any(np.array_equal(mine, other) for _, other in chosen):
            chosen.append((" and ".join(labels[keep[i]] for i in which), mine))
    return chosen


def facts(bundle: Bundle, rows: Sequence[int]) -> tuple[list[str], Array]:
    """Facts of some cases of one operator: names, and (facts, rows) bool."""
    table = bundle.tables["cases"][list(rows)]
    found: dict[str, Array] = {}
    product = bundle.words["cases.product"]
    _values(found, "", np.array([product[i] for i in table["product"].tolist()], dtype=object))
    for name in ("compute", "recipe"):
        _values(found, f"{name} ", np.array([bundle.strings[i] for i in table[name].tolist()], dtype=object))
    for name, number in _breaks(bundle, table).items():
        found[f"{name} broken"] = number
    pages: dict[str, tuple[Spec, list[int]]] = {}
    for at, row in enumerate(rows):
        spec = book().by_page.get((bundle[row].op, bundle[row].product))
        if spec is not None:
            pages.setdefault(spec.name, (spec, []))[1].append(at)
    for spec, places in pages.values():
        with no_collection():
            memory: dict[str, dict[bytes, object]] = {"tensor": {}, "int_array": {}, "bool_array": {}}
            calls = [
                make_call(v["op"], v["product"], v["args"], {spec.api: spec.kinds}, memory) for v in (bundle[rows[i]].call for i in places)
            ]  # type: ignore[arg-type]
            calls_table = from_calls(spec.api, spec.kinds, calls)
        for name, column in _of_calls(spec, calls_table):
            whole = found.setdefault(name, np.zeros(len(rows), dtype=bool))
            whole[places] = column
    labels = list(found)
    return labels, np.array([found[name] for name in labels], dtype=bool).reshape(len(labels), len(rows))


def _breaks(bundle: Bundle, table: Array) -> dict[str, Array]:
    """Rule -> where it is broken."""
    found: dict[str, Array] = {}
    rules = bundle.tables["breaks"]["rule"].tolist()
    for at, (first, count) in enumerate(zip(table["first_break"].tolist(), table["breaks"].tolist(), strict=True)):
        for number in rules[first : first + count]:
            found.setdefault(bundle.strings[number], np.zeros(len(table), dtype=bool))[at] = True
    return found


def _wrong_outputs(verdicts: Mapping[int, Verdict], rows: Sequence[int]) -> tuple[list[str], Array]:
    """Which outputs a case asks for."""
    names = sorted({name for row in rows for name in verdicts[row].metrics.get("outputs", {})})
    asked = [[name in verdicts[row].metrics.get("outputs", {}) for row in rows] for name in names]
    return [f"{name} wanted" for name in names], np.array(asked, dtype=bool).reshape(len(names), len(rows))


def _of_calls(spec: Spec, table: CallTable) -> Iterator[tuple[str, Array]]:
    names = {kind: np.array(words().names[kind], dtype=object) for kind in ("dtype", "format")}
    found: dict[str, Array] = {}
    for name, column in table.columns.items():
        if isinstance(column, TensorColumn):
            there = ~column.null
            found[f"{name} null"] = column.null
            for kind in ("dtype", "format"):
                _values(found, f"{name} " if kind == "dtype" else f"{name} format ", names[kind][getattr(column, kind)], there)
            _numbers(found, f"{name}.rank", column.rank.astype(np.int64), there, exact=True)
            found[f"{name} strided"] = column.strided & there
            found[f"{name} with offset"] = (column.offset > 0) & there
        elif isinstance(column, ArrayColumn):
            found[f"{name} null"] = column.null
            _numbers(found, f"len({name})", column.length.astype(np.int64), ~column.null, exact=True)
            if spec.kinds[name] == "bool_array":
                for i in range(column.values.shape[1]):
                    found[f"{name}[{i}]"] = column.values[:, i].astype(bool) & (column.length > i)
        elif isinstance(column, ScalarColumn):
            _scalar(found, spec, name, column)
    view = TableView(spec, table)
    for name in spec.scope.occurrences:
        value = view.get((name, ""))
        data = np.broadcast_to(np.asarray(value.data), len(table))
        if data.dtype != object:
            _numbers(found, name, data.astype(np.int64), np.broadcast_to(np.asarray(value.bound, dtype=bool), len(table)))
    yield from found.items()


def _scalar(found: dict[str, Array], spec: Spec, name: str, column: ScalarColumn) -> None:
    everywhere = np.ones(len(column.values), dtype=bool)
    if column.values.dtype == bool or spec.kinds[name] == "bool":
        found[name], found[f"not {name}"] = column.values.astype(bool), ~column.values.astype(bool)
        return
    if column.values.dtype == object:
        return
    enum = spec.parameters[name].enum
    for value in enum:
        found[f"{name} {enum[value]}"] = column.values == value
    if not enum:
        _numbers(found, name, column.values.astype(np.int64), everywhere)


def _values(found: dict[str, Array], prefix: str, values: Array, there: Array | None = None) -> None:
    """A fact per word, where there are few."""
    kinds = sorted(set(values[there] if there is not None else values) - {""})
    for value in kinds[:FEW_VALUES]:
        found[f"{prefix}{value}"] = (values == value) & (there if there is not None else True)


def _numbers(found: dict[str, Array], name: str, values: Array, there: Array, exact: bool = False) -> None:
    """Facts of a number: 0, above 0, 1, above 1, odd, and each value where there are few."""
    kinds = np.unique(values[there])
    if len(kinds) <= FEW_VALUES:
        for value in kinds.tolist():
            found[f"{name} = {value}"] = (values == value) & there
    if exact:
        return
    found[f"{name} > 0"] = (values > 0) & there
    found[f"{name} > 1"] = (values > 1) & there
    found[f"{name} odd"] = (values % 2 == 1) & there
    for power in (4, 8, 16, 64, 256, 1024):
        found[f"{name} >= {power}"] = (values >= power) & there
