"""Cases turned into the tables of a bundle: the one place that walks over cases in Python."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgen.bundle import dtypes
from opgen.bundle.attributes import Columns
from opgen.bundle.dtypes import BundleError, enum, named
from opgen.bundle.layout import Layout
from opgen.bundle.pools import Lists, Strings, checked
from opgen.model import Case, Code

LONGEST_ID = 1024
NO_DATA = -1
"""The position of a tensor that is described and has no data."""

_BREAK = np.dtype([("case", "<u4"), ("rule", "<u4"), ("clause", "<u4"), ("at", "<i4"), ("found", "<u4")])
_RANGE = np.dtype([("tensor", "<u4"), ("low", "<f8"), ("high", "<f8")])


@dataclass(frozen=True)
class Tables:
    """Every table by its path in the file, the texts, and the tensor row of each row of the layout."""

    tables: dict[str, np.ndarray]
    strings: list[str]
    tensor_row: np.ndarray


def codes(lists: Lists, values: Sequence[Code]) -> int:
    """The number of a list of admissible codes; words stand as the negative numbers of the format."""
    return lists(tuple(v if not isinstance(v, str) else dtypes.CODE_WORDS[v] for v in values))


def build(cases: Sequence[Case], layout: Layout, outputs: Mapping[str, Collection[str]] | None = None) -> Tables:
    """The tables of ``cases``, with the data of ``layout``.

    ``outputs`` names, per API, the parameters that the operator writes; where it does not know an API, a
    parameter is an output if any case of that API has a golden for it.
    """
    strings, lists = Strings(), Lists()
    ops = _numbers(case.call.api for case in cases)
    products = _numbers(case.call.product for case in cases)
    names: dict[str, int] = {}
    stored = {name: i for i, name in enumerate(layout.names)}
    written = _outputs(cases, layout, outputs or {})
    columns = {api: Columns(api) for api in ops}
    ids: list[bytes] = []
    rows: list[tuple[int, ...]] = []
    breaks: list[tuple[int, ...]] = []
    ranges: list[tuple[float, ...]] = []
    tensors: list[tuple[Any, ...]] = []
    tensor_row = np.empty(len(layout.case), dtype=np.int64)
    first = np.searchsorted(layout.case, np.arange(len(cases) + 1)).tolist()
    data = list(zip(layout.name.tolist(), layout.role.tolist(), layout.dtype.tolist(),
                    layout.elements.tolist(), layout.position.tolist(), strict=True))  # fmt: skip
    for row, case in enumerate(cases):
        start = len(tensors)
        call = case.call
        mine = {(data[i][0], data[i][1]): i for i in range(first[row], first[row + 1])}
        if len(mine) != first[row + 1] - first[row]:
            raise BundleError(f"{case.id}: a tensor has two sets of data")
        tensor_args = columns[call.api].add(row, call.args, lists)
        shapes: dict[str, tuple[int, int]] = {}
        for name, desc in tensor_args:
            number = names.setdefault(name, len(names))
            shape, form = lists(desc.shape), _word(case, name, dtypes.FORMATS, desc.format)
            shapes[name] = shape, form
            at = mine.pop((stored.get(name, -1), 0), None)
            if desc.range is not None:
                ranges.append((len(tensors), *desc.range))
            if at is not None:
                tensor_row[at] = len(tensors)
            tensors.append((
                row, number, int(name in written[call.api] and at is None),
                _word(case, name, dtypes.DTYPES, desc.dtype), form,
                shape, lists(desc.strides), desc.offset, lists(desc.storage_shape),
                0 if at is None else data[at][3], NO_DATA if at is None else data[at][4],
            ))  # fmt: skip
            if at is not None and data[at][2] != tensors[-1][3]:
                raise BundleError(f"{case.id}: {name} is {desc.dtype}, its data are not")
        for (code, role), at in mine.items():
            name = layout.names[code]
            if name not in shapes:
                raise BundleError(f"{case.id}: data for {name}, which is no tensor of the call")
            tensor_row[at] = len(tensors)
            shape, form = shapes[name]
            tensors.append((row, names[name], role, data[at][2], form, shape, 0, 0, 0, data[at][3], data[at][4]))
        library = case.library
        ids.append(checked(case.id).encode())
        rows.append((
            ops[call.api], products[call.product],
            dtypes.KINDS[case.kind], case.phase, dtypes.BUCKETS[case.page.bucket],
            codes(lists, case.page.codes), 0 if library is None else codes(lists, library.codes),
            dtypes.BASES["none" if library is None else library.basis],
            strings(None if library is None else library.release), strings(case.intent), strings(case.recipe),
            strings(case.twin), strings(case.compute), strings(case.mistrusted),
            columns[call.api].rows - 1, start, len(tensors) - start, len(breaks), len(case.page.breaks),
        ))  # fmt: skip
        breaks += [
            (row, strings(b.rule), strings(b.clause), -1 if b.at is None else b.at, strings(b.found))
            for b in case.page.breaks
        ]
    found = {"cases": _cases(ids, rows, ops, products), "tensors": _tensors(tensors, names)}
    found["breaks"], found["ranges"] = np.array(breaks, dtype=_BREAK), np.array(ranges, dtype=_RANGE)
    for api in ops:
        found[f"attributes/{api}"] = columns[api].table(lists)
    found["parameters"] = _parameters(columns, ops)
    found["lists"], found["integers"] = lists.tables()
    return Tables(found, strings.all, tensor_row)


def _numbers(words: Any) -> dict[str, int]:
    return {checked(word): i for i, word in enumerate(dict.fromkeys(words))}


def _word(case: Case, name: str, numbers: dict[str, int], word: str) -> int:
    try:
        return numbers[word]
    except KeyError:
        raise BundleError(f"{case.id}: {name}: {word!r} is none of {', '.join(numbers)}") from None


def _outputs(
    cases: Sequence[Case], layout: Layout, given: Mapping[str, Collection[str]]
) -> dict[str, Collection[str]]:
    result: dict[str, set[str]] = {case.call.api: set() for case in cases}
    golden = np.flatnonzero(layout.role == dtypes.ROLES["golden"])
    for case, name in set(zip(layout.case[golden].tolist(), layout.name[golden].tolist(), strict=True)):
        result[cases[case].call.api].add(layout.names[name])
    return {api: given.get(api, known) for api, known in result.items()}


def _cases(ids: list[bytes], rows: list[tuple[int, ...]], ops: dict[str, int], products: dict[str, int]) -> np.ndarray:
    width = max(map(len, ids), default=1)
    if width > LONGEST_ID:
        raise BundleError(f"{max(ids, key=len)[:60].decode(errors='replace')}...: a case id has at most 1024 bytes")
    kind = np.dtype([
        ("op", named(list(ops))), ("product", named(list(products))), ("kind", enum(dtypes.KINDS)),
        ("phase", "u1"), ("bucket", enum(dtypes.BUCKETS)), ("codes", "<u4"), ("library_codes", "<u4"),
        ("library_basis", enum(dtypes.BASES)), ("library_release", "<u4"), ("intent", "<u4"), ("recipe", "<u4"),
        ("twin", "<u4"), ("compute", "<u4"), ("mistrusted", "<u4"), ("attributes_row", "<u4"),
        ("first_tensor", "<u4"), ("tensors", "<u2"), ("first_break", "<u4"), ("breaks", "<u2"),
    ])  # fmt: skip
    full = np.dtype([("id", dtypes.text(width)), *((n, kind[n]) for n in kind.names or ())])
    table = np.zeros(len(rows), dtype=full)
    table["id"] = ids
    for name, column in zip(kind.names or (), zip(*rows, strict=True), strict=False):
        table[name] = column
    return table


def _tensors(rows: list[tuple[Any, ...]], names: dict[str, int]) -> np.ndarray:
    table = np.zeros(len(rows), dtype=[
        ("case", "<u4"), ("name", named(list(names))), ("role", enum(dtypes.ROLES)),
        ("dtype", enum(dtypes.DTYPES)), ("format", enum(dtypes.FORMATS)), ("shape", "<u4"), ("strides", "<u4"),
        ("offset", "<i8"), ("storage_shape", "<u4"), ("elements", "<i8"), ("position", "<i8"), ("digest", "V16"),
    ])  # fmt: skip
    for name, column in zip(table.dtype.names or (), zip(*rows, strict=True), strict=False):
        table[name] = column
    return table


def _parameters(columns: Mapping[str, Columns], ops: dict[str, int]) -> np.ndarray:
    rows = [(ops[api], name, kind) for api, c in columns.items() for name, kind in c.kinds().items()]
    names = list(dict.fromkeys(name for _, name, _ in rows))
    kind = np.dtype([("op", named(list(ops))), ("name", named(names)), ("kind", enum(Columns.KINDS))])
    return np.array([(op, names.index(name), Columns.KINDS[kind]) for op, name, kind in rows], dtype=kind)
