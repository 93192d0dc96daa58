"""Cases turned into the tables of a bundle, column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgen.bundle.format import dtypes
from opgen.bundle.format.column import Column, spread
from opgen.bundle.format.dtypes import BundleError, checked, enum, named
from opgen.bundle.format.layout import Layout
from opgen.bundle.write.attributes import Columns
from opgen.bundle.write.forms import Described, Forms
from opgen.bundle.write.pools import Lists, Strings
from opgen.bundle.write.tensors import tensors
from opgen.model import LONGEST_ID, Case, Code, Expectation, unkept

_BREAK = np.dtype(
    [("case", "<u4"), ("rule", "<u4"), ("clause", "<u4"), ("at", "<i4"), ("found", "<u4")]
)
_NUMBER, _COUNT = np.dtype("<u4"), np.dtype("<u2")


@dataclass(frozen=True)
class Tables:
    """Every table by its path in the file, the texts, and the tensor row of each row of the
    layout.
    """

    tables: dict[str, np.ndarray]
    strings: list[str]
    tensor_row: np.ndarray

    def note(self, rows: np.ndarray, digests: np.ndarray) -> None:
        """Take in the digests of tensors, by row of the layout."""
        self.tables["tensors"]["digest"][self.tensor_row[rows]] = digests


def build(
    cases: Sequence[Case], layout: Layout, outputs: Mapping[str, Collection[str]] | None = None
) -> Tables:
    """The tables of ``cases``, with the data of ``layout``.

    ``outputs`` names, per API, the parameters that the operator writes; where it does not know an
    API, a parameter is an output if any case of that API has a golden for it.
    """
    rows = np.arange(len(cases))
    of: dict[str, Sequence[Any]] = dict.fromkeys(Case._fields, ()) | dict(
        zip(Case._fields, zip(*cases, strict=True), strict=False)
    )
    calls, pages = Column.same(of["call"]), Column.same(of["page"])
    ops, products = (
        calls.by(lambda call: call.api).map(checked),
        calls.by(lambda call: call.product).map(checked),
    )
    libraries = Column.same(of["library"]).map(
        lambda a: (a.codes, a.basis, a.release) if a else (None, "none", "")
    )
    forms = Forms.of_cases(calls, ops, layout)
    described = Described.of_forms(cases, forms, _written(ops, layout, outputs or {}))
    lists, strings = Lists(), Strings()
    *arrays, extents, codes, library_codes = lists.columns(
        *forms.arrays,
        (described.extents, forms.case[described.form].repeat(3)),
        (pages.map(lambda page: _codes(page.codes)), rows),
        (libraries.map(lambda answer: answer[0] and _codes(answer[0])), rows),
    )
    release, *texts, told = strings.columns(
        (libraries.map(lambda answer: answer[2]), rows),
        *((Column.of(of[name]), rows) for name in dtypes.TEXTS),
        (
            Column.of(
                [
                    text
                    for page in pages.values
                    for b in page.breaks
                    for text in (b.rule, b.clause, b.found)
                ]
            ),
            pages.first.repeat([3 * len(page.breaks) for page in pages.values]),
        ),
    )
    attributes, attributes_row = forms.attributes(ops, arrays)
    found = tensors(cases, forms, described, extents, layout)
    breaks, first_break = _breaks(pages, told)
    columns = {
        "op": (named(ops.values), ops.number),
        "product": (named(products.values), products.number),
        "kind": (enum(dtypes.KINDS), Column.of(of["kind"]).numbers(dtypes.KINDS.__getitem__)),
        "phase": (np.dtype("u1"), np.array(of["phase"], dtype=np.int64)),
        "bucket": (enum(dtypes.BUCKETS), pages.numbers(lambda page: dtypes.BUCKETS[page.bucket])),
        "codes": (_NUMBER, codes),
        "library_codes": (_NUMBER, library_codes),
        "library_basis": (
            enum(dtypes.BASES),
            libraries.numbers(lambda answer: dtypes.BASES[answer[1]]),
        ),
        "library_release": (_NUMBER, release),
        **{name: (_NUMBER, column) for name, column in zip(dtypes.TEXTS, texts, strict=True)},
        "attributes_row": (_NUMBER, attributes_row),
        "first_tensor": (_NUMBER, found.first),
        "tensors": (_COUNT, found.count),
        "first_break": (_NUMBER, first_break),
        "breaks": (_COUNT, pages.numbers(lambda page: len(page.breaks))),
    }
    tables = {
        "cases": _cases(of["id"], columns),
        "tensors": found.table,
        "breaks": breaks,
        "ranges": found.ranges,
    }
    tables |= {f"attributes/{api}": table for api, table in attributes.items()}
    tables["parameters"] = _parameters(forms.columns)
    tables["lists"], tables["integers"] = lists.tables()
    return Tables(tables, strings.all, found.row)


def _codes(values: Sequence[Code]) -> tuple[int, ...]:
    """Admissible codes as a list; words stand as the negative numbers of the format."""
    return tuple(dtypes.CODE_WORDS[value] if isinstance(value, str) else value for value in values)


def _written(
    ops: Column[str], layout: Layout, given: Mapping[str, Collection[str]]
) -> dict[str, Collection[str]]:
    """By API, the parameters that its operator writes."""
    golden = layout.role == dtypes.ROLES["golden"]
    pairs = np.zeros((len(ops.values), len(layout.names)), dtype=bool)
    pairs[ops.number[layout.case[golden]], layout.name[golden]] = True
    found: dict[str, set[str]] = {api: set() for api in ops.values}
    for op, name in np.argwhere(pairs).tolist():
        found[ops.values[op]].add(layout.names[name])
    return {api: given.get(api, known) for api, known in found.items()}


def _cases(
    ids: Sequence[str], columns: Mapping[str, tuple[np.dtype[Any], np.ndarray]]
) -> np.ndarray:
    """``/cases``: the ids, of which no two are the same, then columns of the given types."""
    if len(set(ids)) < len(ids):
        raise BundleError(f"two cases have the id {Counter(ids).most_common(1)[0][0]!r}")
    if unkept("".join(ids)):  # rarely, so that ids are looked at one by one only then
        for one in ids:
            checked(one)
    encoded = list(map(str.encode, ids))
    width = max(map(len, encoded), default=1)
    if width > LONGEST_ID:
        raise BundleError(
            f"{max(encoded, key=len)[:60].decode(errors='replace')}...: a case id has at most"
            f" {LONGEST_ID} bytes"
        )
    table = np.zeros(
        len(ids),
        dtype=[("id", dtypes.text(width)), *((name, kind) for name, (kind, _) in columns.items())],
    )
    table["id"] = encoded
    for name, (_, column) in columns.items():
        table[name] = column
    return table


def _breaks(pages: Column[Expectation], texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``/breaks``, and the first of each case; ``texts`` are the numbers of rule, clause and what
    was found, page by page.
    """
    counts = np.array([len(page.breaks) for page in pages.values], dtype=np.int64)
    count = counts[pages.number]
    case, within = spread(count)
    source = (np.cumsum(counts) - counts)[pages.number[case]] + within
    lines = np.array(
        [-1 if b.at is None else b.at for page in pages.values for b in page.breaks], dtype=np.int64
    )
    table = np.zeros(len(case), dtype=_BREAK)
    table["case"], table["at"] = case, lines[source]
    table["rule"], table["clause"], table["found"] = texts.reshape(-1, 3)[source].T
    return table, np.cumsum(count) - count


def _parameters(columns: Mapping[str, Columns]) -> np.ndarray:
    """``/parameters``: the kind of every parameter of every API."""
    rows = [
        (op, name, kind)
        for op, of_api in enumerate(columns.values())
        for name, kind in of_api.kinds.items()
    ]
    names = list(dict.fromkeys(name for _, name, _ in rows))
    kind = np.dtype(
        [
            ("op", named(list(columns))),
            ("name", named(names)),
            ("kind", enum(dtypes.PARAMETER_KINDS)),
        ]
    )
    return np.array(
        [(op, names.index(name), dtypes.PARAMETER_KINDS[kind]) for op, name, kind in rows],
        dtype=kind,
    )
