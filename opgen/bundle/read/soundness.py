"""Do the tables of a file make sense? They are compared with their declaration, and every number
in them that stands for something else against what it stands for.

Digests cannot tell: whoever writes a file writes its digests, too. So no reader meets a word that
it does not know, or a reference into nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.bundle.format import dtypes, schema
from opgen.bundle.format.dtypes import PARAMETER_KINDS, ROLES, words_of
from opgen.bundle.format.layout import spread
from opgen.bundle.format.root_digest import root_digest
from opgen.bundle.format.schema import Column, Columns
from opgen.bundle.format.tensorrow import NO_DATA
from opgen.bundle.read.omitted_inputs import Checks, Tables, computed_inputs, drawn_inputs, spans
from opgen.bundle.read.opening import OpenedFile
from opgen.calls.argument_json import MAX_ITEMS, MAX_RANK
from opgen.calls.vocabulary import vocabulary
from opgen.numerics.formats import DTYPES


def unsoundness(file: OpenedFile) -> str:
    """The first thing in a file that means nothing; an empty text where all of it does."""
    return next((text for wrong, text in _checks(file) if wrong), "")


def _checks(file: OpenedFile) -> Checks:
    tables, declared = file.tables, schema.TABLES[file.kind]
    yield from _declared(file, declared)
    yield root_digest(tables["digests"]) != file.digest, "the root digest does not match"
    yield file.strings[:1] != [""], "the first text is not empty"
    yield from _lists(tables)
    rows, tensors = tables[schema.ROWS[file.kind]], tables["tensors"]
    yield from _ids(rows["id"].tolist())
    if file.kind == "bundle":
        arguments = _arguments(tables)
        yield from _declared(file, arguments)
        declared = {**declared, **arguments}
        yield from _follow(rows, tensors, "tensors", "case")
        yield from _follow(rows, tables["breaks"], "breaks", "case")
        yield from _attributes(tables)
        yield from _codes(tables)
        yield from _outputs(tensors)
        yield from drawn_inputs(tables)
    else:
        yield from _follow(rows, tensors, "tensors", "result")
        yield (
            (tensors["unwritten"] > tensors["elements"]).any(),
            "more elements of an output were left unwritten than it has",
        )
    for name in sorted(tables.keys() - declared.keys()):
        yield True, f"{name} is not a table that it can have"
    yield from _places(file)
    yield from _shapes(tables)
    if file.kind == "bundle":
        yield from computed_inputs(tables)


def _declared(file: OpenedFile, declared: Mapping[str, Columns]) -> Checks:
    """Tables that are missing or not as they are declared, and cells that they cannot have."""
    for name in sorted(declared.keys() - file.tables.keys()):
        yield True, f"there is no table {name}"
    for name, columns in declared.items():
        table = file.tables[name]
        yield (
            (table.dtype.names or ("",)) != tuple(columns),
            f"{name}: has other columns than {', '.join(columns)}",
        )
        for title, column in columns.items():
            kind, cells = (table.dtype[title], table[title]) if title else (table.dtype, table)
            yield not column.fits(kind), f"{name}: {title} is of another type than it can be"
            for wrong, text in _cells(file, column, cells, title):
                yield wrong, f"{name}: {text}"


def _cells(file: OpenedFile, column: Column, cells: np.ndarray, title: str) -> Checks:
    """Cells of a column that mean nothing there."""
    if column.words is not None:
        plain = f"u{cells.itemsize}"
        # of one byte or two: to count them is many times as fast as to sort them
        there = np.flatnonzero(np.bincount(cells.view(plain))).astype(plain).view(cells.dtype)
        for number in set(there.tolist()) - words_of(cells.dtype).keys():
            yield True, f"{number} is not a {title}"
    if column.of:
        count = len(file.strings if column.of == "strings" else file.tables[column.of])
        beyond = len(cells) and cells.max() >= count
        yield beyond, f"{title} names none of the {count} {column.of}"
    if column.texts:
        numbers = set(cells.tolist())
        beyond = max(numbers, default=-1) >= len(file.strings)
        yield beyond, f"{title} names none of the {len(file.strings)} strings"
        for text in {file.strings[number] for number in numbers} - column.texts:
            yield True, f"{text!r} is not a {title}"
    if column.bounded:
        for number in cells[(cells < column.least) | (cells > column.most)]:
            yield True, f"{title} cannot be {number}"


def _lists(tables: Tables) -> Checks:
    """Lists beyond the integers, longer than any can be, or not what the first two stand for."""
    starts, lengths = spans(tables)
    yield (
        (starts + lengths).max(initial=0) > len(tables["integers"]),
        "a list reaches beyond the integers",
    )
    yield lengths.max(initial=0) > MAX_ITEMS, f"a list is longer than {MAX_ITEMS}"
    yield lengths[:2].tolist() != [0, 0], "the first two lists are not empty"


def _holding(tables: Tables, wrong: np.ndarray) -> np.ndarray:
    """(lists,) bool: one of the list's integers is ``wrong``, of which there is a bool for each."""
    starts, lengths = spans(tables)
    counted = np.concatenate([[0], np.cumsum(wrong)])
    return np.asarray(counted[starts + lengths] > counted[starts])


def _ids(ids: list[bytes]) -> Checks:
    text = b"\n".join(ids).decode(errors="replace")
    yield "\ufffd" in text and text.encode() != b"\n".join(ids), "an id is not UTF-8"
    yield "\0" in text or b"" in ids, "an id is empty, or holds a NUL character"
    yield len(set(ids)) != len(ids), "two cases have the same id"


def _arguments(tables: Tables) -> dict[str, dict[str, Column]]:
    """The tables of arguments, as the parameters have them."""
    table, apis = tables["parameters"], words_of(tables["cases"].dtype["op"])
    ops, names, kinds = (words_of(table.dtype[column]) for column in ("op", "name", "kind"))
    there = apis.values() if len(tables["cases"]) else ()
    result = {f"attributes/{op}": {"case": schema.CASE} for op in there}
    for op, name, number in table.tolist():
        api, title, kind = f"attributes/{ops[op]}", names[name], kinds[number]
        columns = result.setdefault(api, {"case": schema.CASE})
        if kind in schema.ARGUMENTS:
            columns[title] = schema.ARGUMENTS[kind]
            if kind == "scalar":
                columns[f"{title}.dtype"] = schema.SCALAR_DTYPE
            if api in tables and f"{title}.null" in (tables[api].dtype.names or ()):
                columns[f"{title}.null"] = schema.ABSENT
    return result


def _follow(rows: np.ndarray, table: np.ndarray, what: str, owner: str) -> Checks:
    """Whether the rows of a table stand one after the other as the cases say that they belong to,
    and say so themselves.
    """
    counts = rows[what].astype(np.int64)
    first = rows[f"first_{what.removesuffix('s')}"]
    yield (
        counts.sum() != len(table) or (first != np.cumsum(counts) - counts).any(),
        f"the {what} do not follow their cases",
    )
    yield (
        (table[owner] != np.repeat(np.arange(len(counts)), counts)).any(),
        f"a row of {what} names another {owner} than the one that it belongs to",
    )


def _attributes(tables: Tables) -> Checks:
    """Arguments that a case cannot have: of products that nobody knows, rows of attributes beyond
    the last, tensors that are no parameter of its API.
    """
    cases, tensors, parameters = tables["cases"], tables["tensors"], tables["parameters"]
    if not len(cases):
        return
    ops, products = (words_of(cases.dtype[name]) for name in ("op", "product"))
    for word in sorted(set(products.values()) - vocabulary().products.keys()):
        yield True, f"{word} is not a product"
    names = {word: number for number, word in words_of(tensors.dtype["name"]).items()}
    titles, apis = (words_of(parameters.dtype[name]) for name in ("name", "op"))
    allowed = np.zeros((len(ops), len(names)), dtype=bool)
    for number, op in ops.items():
        mine, count = (
            cases["attributes_row"][cases["op"] == number],
            len(tables[f"attributes/{op}"]),
        )
        yield (
            len(mine) and mine.max() >= count,
            f"cases: attributes_row names none of the {count} rows of {op}",
        )
        for api, name, kind in parameters.tolist():
            if kind == PARAMETER_KINDS["tensor"] and apis[api] == op and titles[name] in names:
                allowed[number, names[titles[name]]] = True
    known = allowed[cases["op"][tensors["case"]], tensors["name"]].all()
    yield not known, "a tensor is not a parameter of its case's API"


def _codes(tables: Tables) -> Checks:
    """Status codes that none can be, and cases that admit none."""
    lengths, least = tables["lists"]["length"], min(dtypes.CODE_WORDS.values())
    wrong = (lengths == 0) | _holding(tables, tables["integers"] < least)
    yield wrong[tables["cases"]["codes"]].any(), "codes of a case are not status codes"
    wrong[0] = False  # nothing is known
    yield wrong[tables["cases"]["library_codes"]].any(), "library_codes of a case are not codes"


def _places(file: OpenedFile) -> Checks:
    """Tensors whose data are not there."""
    tensors, room = file.tables["tensors"], np.full(256, NO_DATA - 1)
    for number, blob in file.blobs.items():
        room[number] = blob.elements
    beyond = tensors["position"] > room[tensors["dtype"]] - tensors["elements"]
    yield (beyond & (tensors["position"] >= 0)).any(), "a tensor lies outside the data of its dtype"


def _shapes(tables: Tables) -> Checks:
    """Tensors of more axes than one can have; data of tensors with extents below zero, or of
    another number of elements than their shape has; views that leave them.
    """
    tensors, integers = tables["tensors"], tables["integers"]
    starts, lengths = spans(tables)
    viewed = "strides" in (tensors.dtype.names or ())
    for column in ("shape", "strides", "storage_shape") if viewed else ("shape",):
        yield (
            lengths[tensors[column]].max(initial=0) > MAX_RANK,
            f"a tensor has more than {MAX_RANK} axes",
        )
    tensors = tensors[tensors["position"] != NO_DATA]
    edges = np.stack([starts, starts + lengths], axis=1).reshape(-1)
    product = np.where(
        lengths > 0,
        np.multiply.reduceat(np.append(integers, 1).astype(np.float64), edges)[::2],
        1.0,
    )
    shape, elements = tensors["shape"], tensors["elements"]
    yield (
        _holding(tables, integers < 0)[shape].any(),
        "a tensor with data has fewer elements than none",
    )
    none = np.zeros(len(tensors), dtype=np.int64)
    strides, storage, offset = (
        tensors[name] if viewed else none for name in ("strides", "storage_shape", "offset")
    )
    told = (strides == 0) & (offset == 0) | (storage > 0)
    yield (
        (product[np.where(storage > 0, storage, shape)] != elements)[told].any(),
        "a tensor has another number of elements than its shape",
    )
    given = np.flatnonzero(strides)
    yield (
        (lengths[strides[given]] != lengths[shape[given]]).any(),
        "a tensor with data has strides of another rank",
    )
    view, within = spread(lengths[shape[given]])
    steps = (integers[starts[shape[given]][view] + within] - 1.0) * integers[
        starts[strides[given]][view] + within
    ]
    low, high = offset.astype(np.float64), offset + np.maximum(product[shape] - 1, 0)
    low[given] += np.bincount(view, np.minimum(steps, 0), len(given))
    high[given] = offset[given] + np.bincount(view, np.maximum(steps, 0), len(given))
    yield ((low < 0) | (high >= elements))[product[shape] > 0].any(), "a view leaves its data"


def _among(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which values are known; few bundles have any to ask of, and numpy would sort all the same."""
    if len(values) and len(known):
        return np.isin(values, known)
    return np.zeros(len(values), dtype=bool)


def _outputs(tensors: np.ndarray) -> Checks:
    """Tensors that stand there twice; goldens and bounds without an output, which may be an input
    too, or of another shape or dtype than belongs to it.
    """
    role = tensors["role"]
    key = tensors["case"].astype(np.int64) << 16 | tensors["name"]
    own = np.sort(key * len(ROLES) + np.maximum(role, ROLES["output"]))
    yield (own[1:] == own[:-1]).any(), "a case has the same tensor twice"
    outputs = np.flatnonzero(role <= ROLES["output"])
    outputs = outputs[np.argsort(key[outputs], kind="stable")]
    places = np.flatnonzero(role == ROLES["places"])
    sample = key << 32 | tensors["shape"]
    yield (tensors["dtype"][places] != dtypes.DTYPES["INT64"]).any(), "places are not INT64"
    alone = ~_among(sample[places], sample[role == ROLES["golden"]])
    yield alone.any(), "places belong to no golden of as many elements"
    sums = np.flatnonzero(role == ROLES["sums"])
    other = (tensors["dtype"][sums] != dtypes.DTYPES["DOUBLE"]) | (
        tensors["elements"][sums] % 2 > 0
    )
    yield other.any(), "sums are not pairs of DOUBLE"
    yield (~_among(key[sums], key[places])).any(), "sums belong to no output with places"
    for kind in ("golden", "bound"):
        kept = np.full(256, NO_DATA - 1)
        for word, facts in DTYPES.items():
            kept[dtypes.DTYPES[word]] = dtypes.DTYPES[getattr(facts, kind)]
        rows = np.flatnonzero(role == ROLES[kind])
        yield len(rows) and not len(outputs), f"a {kind} belongs to no output"
        of = outputs[np.searchsorted(key[outputs], key[rows]).clip(max=len(outputs) - 1)]
        shape = tensors["shape"]
        right = (key[of] == key[rows]) & (
            (shape[of] == shape[rows]) | _among(sample[rows], sample[places])
        )
        right &= kept[tensors["dtype"][of]] == tensors["dtype"][rows]
        yield not right.all(), f"a {kind} belongs to no output of its shape"
