"""Facts of cases, which those that fail may share.

They are derived from the arguments and the names of the spec, for any operator: dtypes, ranks,
views, null pointers, formats, the product, the compute dtype, the recipe, and of every number
whether it is 0, 1, more, odd, or this very value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.calls.columns import ArrayColumn, ScalarColumn, TensorColumn, TypedColumn
from opgen.calls.table import CallTable
from opgen.calls.vocabulary import vocabulary
from opgen.comparison.calls_by_page import calls_by_page
from opgen.numerics.arrays import Array
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView

STATED = ("stated", "unsupported_product")
"""The buckets of calls that a device has to refuse as the page states it."""
LEASTS = (1, 2, *(least for power in (4, 8, 16, 64, 256, 1024) for least in (power, power + 1)))
"""From which value on a number may be too large for a device."""
FEW_VALUES = 12
"""Numbers and dtypes are facts by themselves where a suite has at most so many of them."""
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
