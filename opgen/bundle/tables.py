"""Cases turned into the tables of a bundle: the one place that walks over cases in Python."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgen.bundle import dtypes
from opgen.bundle.attributes import Columns
from opgen.bundle.dtypes import BundleError, enum, named
from opgen.bundle.forms import Forms
from opgen.bundle.layout import Layout
from opgen.bundle.pools import Lists, Strings, checked
from opgen.model import Case, Code, LibraryAnswer

LONGEST_ID = 1024
_BREAK = np.dtype([("case", "<u4"), ("rule", "<u4"), ("clause", "<u4"), ("at", "<i4"), ("found", "<u4")])


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
    forms = Forms(layout, _outputs(cases, layout, outputs or {}), {api: Columns(api) for api in ops}, lists)
    ids: list[bytes] = []
    rows: list[tuple[int, ...]] = []
    breaks: list[tuple[int, ...]] = []
    pages: dict[int, tuple[int, int]] = {}
    libraries: dict[LibraryAnswer | None, tuple[int, int, int]] = {None: (0, dtypes.BASES["none"], 0)}
    for row, case in enumerate(cases):
        start, count, attributes = forms.add(row, case)
        page, library = pages.get(id(case.page)), libraries.get(case.library)
        if page is None:
            page = pages[id(case.page)] = dtypes.BUCKETS[case.page.bucket], codes(lists, case.page.codes)
        if library is None and case.library is not None:
            answer = case.library
            library = libraries[answer] = codes(lists, answer.codes), dtypes.BASES[answer.basis], strings(answer.release)
        assert library is not None
        ids.append(checked(case.id).encode())
        rows.append((
            ops[case.call.api], products[case.call.product], dtypes.KINDS[case.kind], case.phase, *page, *library,
            strings(case.intent), strings(case.recipe), strings(case.twin), strings(case.compute), strings(case.mistrusted),
            attributes, start, count, len(breaks), len(case.page.breaks),
        ))  # fmt: skip
        if case.page.breaks:
            breaks += [
                (row, strings(b.rule), strings(b.clause), -1 if b.at is None else b.at, strings(b.found))
                for b in case.page.breaks
            ]
    tensors, ranges, tensor_row = forms.tables()
    found = {"cases": _cases(ids, rows, ops, products), "tensors": tensors}
    found["breaks"], found["ranges"] = np.array(breaks, dtype=_BREAK), ranges
    for api in ops:
        found[f"attributes/{api}"] = forms.columns[api].table(lists)
    found["parameters"] = _parameters(forms.columns, ops)
    found["lists"], found["integers"] = lists.tables()
    return Tables(found, strings.all, tensor_row)


def _numbers(words: Any) -> dict[str, int]:
    return {checked(word): i for i, word in enumerate(dict.fromkeys(words))}


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


def _parameters(columns: Mapping[str, Columns], ops: dict[str, int]) -> np.ndarray:
    rows = [(ops[api], name, kind) for api, c in columns.items() for name, kind in c.kinds().items()]
    names = list(dict.fromkeys(name for _, name, _ in rows))
    kind = np.dtype([("op", named(list(ops))), ("name", named(names)), ("kind", enum(Columns.KINDS))])
    return np.array([(op, names.index(name), Columns.KINDS[kind]) for op, name, kind in rows], dtype=kind)
