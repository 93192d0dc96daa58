"""What the failures share: facts of the calls, and pairs of them, that most failures have and few
passes.

Facts are derived from the arguments and the names of the spec, for any operator: dtypes, ranks,
views, null pointers, formats, the product, the compute dtype, the recipe, and of every number
whether it is 0, 1, more, odd, or this very value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import lgamma, log

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.calls.columns import ArrayColumn, ScalarColumn, TensorColumn, TypedColumn
from opgen.calls.table import CallTable
from opgen.calls.vocabulary import vocabulary
from opgen.comparison.calls_by_page import calls_by_page
from opgen.comparison.diff_report import SharedTrait
from opgen.comparison.statuses import BAD, LENIENT, MISSING, PASSED
from opgen.model import Verdict
from opgen.numerics.arrays import Array
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView

STATED = ("stated", "unsupported_product")
"""The buckets of calls that a device has to refuse as the page states it."""
LEASTS = (1, 2, *(least for power in (4, 8, 16, 64, 256, 1024) for least in (power, power + 1)))
"""From which value on a number may be too large for a device."""
FEW_VALUES = 12
"""Numbers and dtypes are facts by themselves where a suite has at most so many of them."""
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


Facts = Iterator[tuple[str, Array]]
"""Facts of some cases: a name, and (rows,) bool. A number that is large has for a fact the number
itself, and 0 where it is small.
"""


def facts(bundle: Bundle, rows: Array) -> tuple[list[str], Array]:
    """Facts of some cases of one operator, ascending ``rows``: names, and (facts, rows) bool."""
    columns = dict(_of_cases(bundle, bundle.tables["cases"][rows]))
    for spec, own, table in calls_by_page(bundle, rows):
        places = np.searchsorted(rows, own)
        for name, column in _of_calls(spec, table):
            columns.setdefault(name, np.zeros(len(rows), dtype=column.dtype))[places] = column
    told = {_told(name, column): column for name, column in columns.items()}
    matrix = np.array(list(told.values()), dtype=bool)
    return list(told), matrix.reshape(len(told), len(rows))


def _told(name: str, column: Array) -> str:
    """The name of a fact. A number is at least its least value, and not at least a value that no
    call tries.

    >>> _told("padH >= 1", np.array([0, 3, 2])), _told("padH odd", np.array([False, True]))
    ('padH >= 2', 'padH odd')
    """
    if column.dtype == bool or not column.any():
        return name
    return f"{name.rpartition(' ')[0]} {column[column > 0].min()}"


def _of_cases(bundle: Bundle, table: Array) -> Facts:
    """What the rows of ``/cases`` say by themselves."""
    everywhere = np.ones(len(table), dtype=bool)

    def words(column: str, names: Mapping[int, str] | Sequence[str]) -> Array:
        return np.array([names[number] for number in table[column].tolist()], dtype=object)

    yield from _words("", words("product", bundle.words["cases.product"]), everywhere)
    tensors, names = bundle.tables["tensors"]["dtype"], bundle.words["tensors.dtype"]
    there = table["tensors"] > 0
    dtypes = np.full(len(table), "", dtype=object)
    dtypes[there] = [names[number] for number in tensors[table["first_tensor"][there]].tolist()]
    yield from _words("", dtypes, there)
    yield "complex data", np.char.startswith(dtypes.astype(str), "COMPLEX")
    for name in ("compute", "recipe"):
        yield from _words(f"{name} ", words(name, bundle.strings), everywhere)
    buckets = words("bucket", bundle.words["cases.bucket"])
    yield "to be refused as the page states", np.isin(buckets.astype(str), STATED)
    broken: dict[str, Array] = defaultdict(lambda: ~everywhere)
    rules = bundle.tables["breaks"]["rule"].tolist()
    for i, (first, count) in enumerate(table[["first_break", "breaks"]].tolist()):
        for number in rules[first : first + count]:
            broken[f"{bundle.strings[number]} broken"][i] = True
    yield from broken.items()


def _of_calls(spec: Spec, table: CallTable) -> Facts:
    """What the arguments are, and what the names of the spec stand for."""
    for name, column in table.columns.items():
        if isinstance(column, TensorColumn):
            there = ~column.null
            yield f"{name} null", column.null
            for kind, prefix in (("dtype", f"{name} "), ("format", f"{name} format ")):
                names = np.array(vocabulary().names[kind], dtype=object)
                yield from _words(prefix, names[getattr(column, kind)], there)
            yield from _each_number(f"{name}.rank", column.rank.astype(np.int64), there)
            yield f"{name} strided", column.strided & there
            yield f"{name} with offset", (column.offset > 0) & there
        elif isinstance(column, ArrayColumn):
            yield f"{name} null", column.null
            yield from _each_number(f"len({name})", column.length.astype(np.int64), ~column.null)
            if spec.kinds[name] == "bool_array":
                for i in range(column.values.shape[1]):
                    yield f"{name}[{i}]", column.values[:, i].astype(bool) & (column.length > i)
        elif isinstance(column, TypedColumn):
            there = ~column.null
            yield f"{name} null", column.null
            names = np.array(vocabulary().names["dtype"], dtype=object)
            yield from _words(f"{name} ", names[column.dtype], there)
            yield from _each_number(name, column.values, there)
        elif isinstance(column, ScalarColumn):
            if spec.parameters[name].is_pointer:
                yield f"{name} null", column.null
            yield from _of_scalar(spec, name, column.values)
    view = TableView(spec, table)
    for name in spec.scope.occurrences:
        value = view.get((name, ""))
        data = np.broadcast_to(np.asarray(value.data), len(table))
        if data.dtype != object:
            bound = np.broadcast_to(np.asarray(value.bound, dtype=bool), len(table))
            yield from _numbers(name, data.astype(np.int64), bound)


def _of_scalar(spec: Spec, name: str, values: Array) -> Facts:
    if values.dtype == bool or spec.kinds[name] == "bool":
        yield name, values.astype(bool)
        yield f"not {name}", ~values.astype(bool)
    elif values.dtype.kind in "fU":
        yield from _each_number(name, values, np.ones(len(values), dtype=bool))
    elif values.dtype != object:
        enum = spec.parameters[name].enum
        yield from ((f"{name} {word}", values == number) for number, word in enum.items())
        if not enum:
            yield from _numbers(name, values.astype(np.int64), np.ones(len(values), dtype=bool))


def _words(prefix: str, words: Array, there: Array) -> Facts:
    """A fact per word, where there are few."""
    for word in sorted(set(words[there]) - {""})[:FEW_VALUES]:
        yield f"{prefix}{word}", (words == word) & there


def _each_number(name: str, values: Array, there: Array) -> Facts:
    """A fact per number, where there are few."""
    numbers = np.unique(values[there]).tolist()
    if len(numbers) <= FEW_VALUES:
        yield from ((f"{name} = {number}", (values == number) & there) for number in numbers)


def _numbers(name: str, values: Array, there: Array) -> Facts:
    """Facts of a number: each value, its sign, odd, from and above powers of two, no multiple of
    the blocks of a vector unit.
    """
    yield from _each_number(name, values, there)
    yield f"{name} < 0", (values < 0) & there
    yield f"{name} odd", (values % 2 == 1) & there
    for least in LEASTS if (values[there] <= 0).any() else LEASTS[1:]:
        yield f"{name} >= {least}", values * ((values >= least) & there)
    for block in (8, 16, 32):
        yield f"{name} no multiple of {block}", (values % block != 0) & there
