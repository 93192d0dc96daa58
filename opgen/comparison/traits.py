"""What the failures share: facts of the calls, and pairs of them, that most failures have and few
passes.

Facts are derived from the arguments and the names of the spec, for any operator: dtypes, ranks,
views, null pointers, formats, the product, the compute dtype, the recipe, and of every number
whether it is 0, 1, more, odd, or this very value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, lgamma

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.calls.collection import no_collection
from opgen.calls.table import ArrayColumn, CallTable, ScalarColumn, TensorColumn, from_calls
from opgen.calls.vocabulary import vocabulary
from opgen.comparison.outcome import SharedTrait
from opgen.comparison.statuses import BAD, LENIENT, MISSING, PASSED
from opgen.model import Verdict
from opgen.numerics.arrays import Array
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView

STATED = ("stated", "unsupported_product")
"""The buckets of calls that a device has to refuse as the page states it."""
FEW_VALUES = 12
"""Numbers and dtypes are facts by themselves where a suite has at most so many of them."""
SHOWN = 3
"""Findings of one kind of failures."""
FEW = 3
"""Fewer failures share nothing but by chance."""
MOSTLY = 6
"""Where more failures than this come to one pass, nearly all fail, and that is the finding."""
LEAST = 0.9
"""The part of the failures that must have a fact, for the fact to be worth saying."""
CLEAR = 0.6
"""How much larger than the part of the passes it must be."""
BETTER, AS_GOOD = 0.02, 0.05
"""How much more a pair must be worth than either of its facts; how much less than the best what is
said as well."""
LUCK = 1.0
"""A finding is told only if fewer than so many of the facts that differ, or of their pairs, would
fit as well by chance."""


def findings(bundle: Bundle, verdicts: Mapping[int, Verdict]) -> list[SharedTrait]:
    """The best facts for the wrong statuses of each operator and for each of its outputs.
    ``verdicts`` is by row of the bundle.

    Cases without an answer, those of which a pass proves nothing, and known deviations are neither
    failures nor passes.
    """
    kinds: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
    for row, verdict in verdicts.items():
        op, outputs = str(verdict.metrics.get("op")), verdict.metrics.get("outputs", {})
        failed, right = verdict.verdict in BAD - {MISSING}, verdict.verdict in (PASSED, LENIENT)
        if right or (failed and not outputs):
            kinds.setdefault((op, ""), ([], []))[right].append(row)
        for name, one in outputs.items():
            if right or failed:
                kinds.setdefault((op, name), ([], []))[right or not one["beyond"]].append(row)
    found: list[SharedTrait] = []
    for (op, name), (bad, good) in sorted(kinds.items()):
        if len(bad) >= FEW:
            found += _of_output(bundle, f"{op.removeprefix('aclnn')} {name}".rstrip(), bad, good)
    return sorted(found, key=lambda one: -one.failures)


def _of_output(bundle: Bundle, what: str, bad: list[int], good: list[int]) -> Iterator[SharedTrait]:
    if len(bad) > MOSTLY * len(good):
        yield SharedTrait(what, "", len(bad), len(bad), len(good), len(good))
        return
    failed = np.arange(len(bad) + len(good)) < len(bad)
    labels, matrix = facts(bundle, [*bad, *good])
    chosen = ranked(labels, matrix, failed)
    if not chosen:
        yield SharedTrait(what, "", len(bad), len(bad), len(good), len(good))
    for text, mine in chosen:
        yield SharedTrait(
            what, text, int(mine[failed].sum()), len(bad), int(mine[~failed].sum()), len(good)
        )


def ranked(labels: Sequence[str], matrix: Array, failed: Array) -> list[tuple[str, Array]]:
    """The best facts and pairs: (text, (rows,) bool). ``matrix`` is (facts, rows) bool.

    A fact is worth as many failures as it covers, less the passes it also covers, both as parts of
    the whole; a pair must be clearly better than either of its facts, and what is not nearly as
    good as the best is not said.
    """
    if not len(matrix):
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
    candidates: list[tuple[float, tuple[int, ...]]] = [
        (float(single[i]), (i,)) for i in range(len(keep))
    ]
    candidates += [
        (float(pair[i, j]), (i, j))
        for i, j in zip(*np.nonzero(np.triu(better > BETTER, 1)), strict=True)
    ]
    candidates.sort(
        key=lambda one: (-round(one[0], 4), len(one[1]), sum(len(labels[keep[i]]) for i in one[1]))
    )
    chosen: list[tuple[str, Array]] = []
    tried = len(np.unique(np.packbits(matrix, axis=1), axis=0))
    for score, which in candidates:
        if score < max(CLEAR, candidates[0][0] - AS_GOOD) or len(chosen) == SHOWN:
            break
        mine: Array = np.asarray(matrix[keep[list(which)]].all(axis=0))
        luck = chance(mine, failed) * tried ** len(which)
        if luck < LUCK and not any(np.array_equal(mine, other) for _, other in chosen):
            chosen.append((" and ".join(labels[keep[i]] for i in which), mine))
    return chosen


def chance(mine: Array, failed: Array) -> float:
    """How probable it is that so many of the rows that have a fact are failures, or more, if
    failures have nothing to do with it.
    """
    rows, having, bad, both = (
        len(mine),
        int(mine.sum()),
        int(failed.sum()),
        int((mine & failed).sum()),
    )
    just = exp(_choices(having, both) + _choices(rows - having, bad - both) - _choices(rows, bad))
    less = np.arange(both, min(having, bad), dtype=np.float64)
    steps = (
        (having - less) * (bad - less) / ((less + 1) * (rows - having - bad + less + 1))
    )  # to one more each
    return just * float(1 + np.cumprod(steps).sum())


def _choices(of: int, some: int) -> float:
    """The logarithm of the number of ways to choose some of so many."""
    return lgamma(of + 1) - lgamma(some + 1) - lgamma(of - some + 1)


def facts(bundle: Bundle, rows: Sequence[int]) -> tuple[list[str], Array]:
    """Facts of some cases of one operator: names, and (facts, rows) bool."""
    table = bundle.tables["cases"][list(rows)]
    found: dict[str, Array] = {}
    product = bundle.words["cases.product"]
    _values(found, "", np.array([product[i] for i in table["product"].tolist()], dtype=object))
    dtypes = _dtypes(bundle, table)
    _values(found, "", dtypes)
    found["complex data"] = np.char.startswith(dtypes.astype(str), "COMPLEX")
    for name in ("compute", "recipe"):
        _values(
            found,
            f"{name} ",
            np.array([bundle.strings[i] for i in table[name].tolist()], dtype=object),
        )
    bucket = bundle.words["cases.bucket"]
    found["to be refused as the page states"] = np.array(
        [bucket[i] in STATED for i in table["bucket"].tolist()], dtype=bool
    )
    for name, number in _breaks(bundle, table).items():
        found[f"{name} broken"] = number
    pages: dict[str, tuple[Spec, list[int]]] = {}
    for at, row in enumerate(rows):
        spec = catalog().by_page.get((bundle[row].op, bundle[row].product))
        if spec is not None:
            pages.setdefault(spec.name, (spec, []))[1].append(at)
    for spec, places in pages.values():
        with no_collection():
            calls_table = from_calls(spec.api, spec.kinds, [bundle[rows[i]].asked for i in places])
        for name, column in _of_calls(spec, calls_table):
            whole = found.setdefault(name, np.zeros(len(rows), dtype=bool))
            whole[places] = column
    labels = list(found)
    return labels, np.array([found[name] for name in labels], dtype=bool).reshape(
        len(labels), len(rows)
    )


def _dtypes(bundle: Bundle, table: Array) -> Array:
    """The dtype of each case's first tensor; empty where it has none."""
    tensors, names = bundle.tables["tensors"], bundle.words["tensors.dtype"]
    first = np.minimum(table["first_tensor"], max(len(tensors) - 1, 0))
    numbers = tensors["dtype"][first].tolist() if len(tensors) else [0] * len(table)
    return np.array(
        [
            names[n] if some else ""
            for n, some in zip(numbers, table["tensors"].tolist(), strict=True)
        ],
        dtype=object,
    )


def _breaks(bundle: Bundle, table: Array) -> dict[str, Array]:
    """Rule -> where it is broken."""
    found: dict[str, Array] = {}
    rules = bundle.tables["breaks"]["rule"].tolist()
    for at, (first, count) in enumerate(
        zip(table["first_break"].tolist(), table["breaks"].tolist(), strict=True)
    ):
        for number in rules[first : first + count]:
            found.setdefault(bundle.strings[number], np.zeros(len(table), dtype=bool))[at] = True
    return found


def _of_calls(spec: Spec, table: CallTable) -> Iterator[tuple[str, Array]]:
    names = {kind: np.array(vocabulary().names[kind], dtype=object) for kind in ("dtype", "format")}
    found: dict[str, Array] = {}
    for name, column in table.columns.items():
        if isinstance(column, TensorColumn):
            there = ~column.null
            found[f"{name} null"] = column.null
            for kind in ("dtype", "format"):
                _values(
                    found,
                    f"{name} " if kind == "dtype" else f"{name} format ",
                    names[kind][getattr(column, kind)],
                    there,
                )
            _numbers(found, f"{name}.rank", column.rank.astype(np.int64), there, exact=True)
            found[f"{name} strided"] = column.strided & there
            found[f"{name} with offset"] = (column.offset > 0) & there
        elif isinstance(column, ArrayColumn):
            found[f"{name} null"] = column.null
            _numbers(
                found, f"len({name})", column.length.astype(np.int64), ~column.null, exact=True
            )
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
            _numbers(
                found,
                name,
                data.astype(np.int64),
                np.broadcast_to(np.asarray(value.bound, dtype=bool), len(table)),
            )
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


def _values(
    found: dict[str, Array], prefix: str, values: Array, there: Array | None = None
) -> None:
    """A fact per word, where there are few."""
    kinds = sorted(set(values[there] if there is not None else values) - {""})
    for value in kinds[:FEW_VALUES]:
        found[f"{prefix}{value}"] = (values == value) & (there if there is not None else True)


def _numbers(
    found: dict[str, Array], name: str, values: Array, there: Array, exact: bool = False
) -> None:
    """Facts of a number: its sign, odd, from and above powers of two, no multiple of the blocks of
    a vector unit, and each value where there are few.
    """
    kinds = np.unique(values[there])
    if len(kinds) <= FEW_VALUES:
        for value in kinds.tolist():
            found[f"{name} = {value}"] = (values == value) & there
    if exact:
        return
    if len(kinds) and kinds[0] <= 0:
        found[f"{name} > 0"], found[f"{name} < 0"] = (values > 0) & there, (values < 0) & there
    found[f"{name} > 1"] = (values > 1) & there
    found[f"{name} odd"] = (values % 2 == 1) & there
    for power in (4, 8, 16, 64, 256, 1024):
        found[f"{name} >= {power}"], found[f"{name} > {power}"] = (
            (values >= power) & there,
            (values > power) & there,
        )
    for block in (8, 16, 32):
        found[f"{name} no multiple of {block}"] = (values % block != 0) & there
