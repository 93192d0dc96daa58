"""Cases turned into the tables of a bundle, column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from opgen.bundle.format import dtypes, schema
from opgen.bundle.format.dtypes import BundleError, checked, named
from opgen.bundle.format.layout import Layout, spread
from opgen.bundle.format.seeds import Maxima, Seeds
from opgen.bundle.write.arguments import Arguments, Integers
from opgen.bundle.write.pools import Lists, Strings, numbered
from opgen.bundle.write.tensors import DescribedTensors, tensor_tables
from opgen.calls.case_table import CaseTable
from opgen.calls.categorical import Categorical
from opgen.model import LONGEST_ID, Code, Expectation, LibraryAnswer, unkept


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
    cases: CaseTable,
    layout: Layout,
    outputs: Mapping[str, Collection[str]] | None = None,
    seeds: Seeds | None = None,
) -> Tables:
    """The tables of ``cases``, with the data of ``layout`` and the inputs that ``seeds`` draw.

    ``outputs`` names, per API, the parameters that the operator writes; where it does not know an
    API, a parameter is an output if any case of that API has a golden for it.
    """
    seeds = seeds or Seeds.of([])
    rows, pages, library = np.arange(len(cases)), cases.page, cases.library
    arguments = Arguments.by_api(cases)
    described = DescribedTensors.of(arguments, {**_written(cases.api, layout), **(outputs or {})})
    lists, strings = Lists(), Strings()
    arrays = {
        (api, name): (column, mine.cases)
        for api, mine in arguments.items()
        for name, column in mine.arrays.items()
    }
    codes: list[Categorical[Integers | None]] = [
        pages.map(lambda page: _codes(page.codes)),
        library.map(lambda answer: _codes(answer.codes) if answer else None),
    ]
    listed = numbered(
        lists.number,
        *arrays.values(),
        *described.extents,
        *((column, rows) for column in codes),
    )
    array_numbers = dict(zip(arrays, listed, strict=False))
    tensors = tensor_tables(cases.id, described, listed[len(arrays) : -2], layout, lists.number)
    texts = {
        "library_release": library.map(lambda answer: answer.release if answer else ""),
        **{name: getattr(cases, name) for name in dtypes.TEXTS},
    }
    breaks = [each for page in pages.values for each in page.breaks]
    words = Categorical.of([text for b in breaks for text in (b.rule, b.clause, b.found)])
    when = pages.first.repeat([3 * len(page.breaks) for page in pages.values])
    spoken = {
        (api, name): (column, mine.cases)
        for api, mine in arguments.items()
        for name, column in mine.texts.items()
    }
    *numbers, told = numbered(
        strings.number,
        *spoken.values(),
        *((column, rows) for column in texts.values()),
        (words, when),
    )
    array_numbers |= zip(spoken, numbers, strict=False)
    numbers = numbers[len(spoken) :]
    break_table, first_break = _breaks(pages, told)
    attributes_row = np.empty(len(cases), dtype=np.int64)
    for mine in arguments.values():
        attributes_row[mine.cases] = np.arange(len(mine.cases))
    basis = library.array(lambda answer: dtypes.BASES[_basis(answer)])
    until = library.array(lambda answer: dtypes.REACHES[answer.until if answer else "none"])
    ids = _encoded(cases.id)
    columns = {
        "id": ids,
        "op": cases.api.number,
        "product": cases.product.number,
        "kind": cases.kind.array(dtypes.KINDS.__getitem__),
        "phase": cases.phase,
        "bucket": pages.array(lambda page: dtypes.BUCKETS[page.bucket]),
        "codes": listed[-2],
        "library_codes": listed[-1],
        "library_basis": basis,
        "library_until": until,
        **dict(zip(texts, numbers, strict=True)),
        "attributes_row": attributes_row,
        "first_tensor": np.cumsum(tensors.count) - tensors.count,
        "tensors": tensors.count,
        "first_break": first_break,
        "breaks": pages.array(lambda page: len(page.breaks)),
    }
    own = {
        "id": dtypes.text(max(map(len, ids), default=1)),
        "op": named(cases.api.values),
        "product": named(cases.product.values),
    }
    tables = {
        "cases": schema.table(schema.BUNDLE["cases"], columns, **own),
        "tensors": tensors.table,
        "breaks": break_table,
        "ranges": tensors.ranges,
        "seeds": _seeds(seeds, layout, tensors.row),
        "maxima": _maxima(seeds.maxima, layout, tensors.row, lists),
    }
    for api, mine in arguments.items():
        tables[f"attributes/{api}"] = mine.table(
            {name: number for (of, name), number in array_numbers.items() if of == api}
        )
    tables["parameters"] = _parameters(arguments)
    tables["lists"], tables["integers"] = lists.tables()
    return Tables(tables, strings.all, tensors.row)


def _basis(answer: LibraryAnswer | None) -> str:
    """The word for how a library's answer is known; what was observed may be accepted or not."""
    if answer is None:
        return "none"
    return "accepted" if answer.basis == "observed" and answer.accepted else answer.basis


def _codes(values: Sequence[Code]) -> Integers:
    """Admissible codes as a list; words stand as the negative numbers of the format."""
    return tuple(dtypes.CODE_WORDS[value] if isinstance(value, str) else value for value in values)


def _written(api: Categorical[str], layout: Layout) -> dict[str, Collection[str]]:
    """By API, the parameters that have goldens."""
    golden = layout.role == dtypes.ROLES["golden"]
    pairs = np.zeros((len(api.values), len(layout.names)), dtype=bool)
    pairs[api.number[layout.case[golden]], layout.name[golden]] = True
    return {
        name: [layout.names[i] for i in np.flatnonzero(row).tolist()]
        for name, row in zip(api.values, pairs, strict=True)
    }


def _encoded(ids: Sequence[str]) -> list[bytes]:
    """The ids, of which no two are the same, as a file keeps them."""
    if len(set(ids)) < len(ids):
        raise BundleError(f"two cases have the id {Counter(ids).most_common(1)[0][0]!r}")
    if unkept("".join(ids)):  # rarely, so that ids are looked at one by one only then
        for name in ids:
            checked(name)
    encoded = list(map(str.encode, ids))
    longest = max(encoded, key=len, default=b"")
    if len(longest) > LONGEST_ID:
        raise BundleError(
            f"{longest[:60].decode(errors='replace')}...: a case id has at most {LONGEST_ID} bytes"
        )
    return encoded


def _breaks(pages: Categorical[Expectation], texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``/breaks``, and the first of each case; ``texts`` are the numbers of rule, clause and what
    was found, page by page.
    """
    counts = np.array([len(page.breaks) for page in pages.values], dtype=np.int64)
    count = counts[pages.number]
    case, within = spread(count)
    source = (np.cumsum(counts) - counts)[pages.number[case]] + within
    lines = [-1 if b.at is None else b.at for page in pages.values for b in page.breaks]
    rule, clause, found = texts.reshape(-1, 3)[source].T
    at = np.array(lines, dtype=np.int64)[source]
    cells = {"case": case, "rule": rule, "clause": clause, "at": at, "found": found}
    return schema.table(schema.BUNDLE["breaks"], cells), np.cumsum(count) - count


def _seeds(seeds: Seeds, layout: Layout, tensor: np.ndarray) -> np.ndarray:
    """``/seeds``; ``tensor`` is the tensor of each row of the layout."""
    row = _inputs(seeds.case, seeds.name, layout, tensor)
    order = np.argsort(row)
    cells = {"tensor": row} | {
        name: getattr(seeds, name) for name in ("start", "low", "high", "exponent")
    }
    cells = {name: column[order] for name, column in cells.items()}
    return schema.table(schema.BUNDLE["seeds"], cells)


def _maxima(
    maxima: Sequence[Maxima], layout: Layout, tensor: np.ndarray, lists: Lists
) -> np.ndarray:
    """``/maxima``, likewise."""
    cases = np.array([each.case for each in maxima], dtype=np.int64)
    row, of = (
        _inputs(cases, [getattr(each, name) for each in maxima], layout, tensor)
        for name in ("name", "of")
    )
    order = np.argsort(row)
    cells = {"tensor": row[order], "of": of[order]} | {
        name: np.array([lists.number(getattr(maxima[i], name)) for i in order], dtype=np.int64)
        for name in ("rows", "columns")
    }
    return schema.table(schema.BUNDLE["maxima"], cells)


def _inputs(
    cases: np.ndarray, names: Iterable[str], layout: Layout, tensor: np.ndarray
) -> np.ndarray:
    """The tensors that inputs of cases are."""
    codes = np.array([layout.codes[name, "input"] for name in names], dtype=np.int64)
    return np.asarray(tensor[layout.rows(cases, codes)])


def _parameters(arguments: Mapping[str, Arguments]) -> np.ndarray:
    """``/parameters``: the kind of every parameter of every API."""
    rows = [
        (op, name, dtypes.PARAMETER_KINDS[kind])
        for op, mine in enumerate(arguments.values())
        for name, kind in mine.kinds.items()
    ]
    names = Categorical.of([name for _, name, _ in rows])
    ops, _, kinds = np.array(rows, dtype=object).reshape(-1, 3).T
    return schema.table(
        schema.BUNDLE["parameters"],
        {"op": ops, "name": names.number, "kind": kinds},
        op=named(list(arguments)),
        name=named(names.values),
    )
