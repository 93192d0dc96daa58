"""The table of tensors: what calls describe and what the layout has data for, put together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from opgen.bundle.format import dtypes, schema
from opgen.bundle.format.digest import DIGEST_TYPE
from opgen.bundle.format.dtypes import BundleError, named
from opgen.bundle.format.layout import Layout
from opgen.bundle.format.tensorrow import NO_DATA
from opgen.bundle.write.arguments import Arguments, Integers, integer_lists, integers
from opgen.calls.categorical import Categorical
from opgen.calls.columns import take
from opgen.calls.vocabulary import vocabulary

_INPUT, _OUTPUT = dtypes.ROLES["input"], dtypes.ROLES["output"]


@dataclass(frozen=True)
class DescribedTensors:
    """The tensors that calls describe, null pointers apart: a row for each, parameter by parameter.

    ``case`` is a row of ``/cases``, ``name`` numbers ``names``, ``dtype`` and ``format`` are those
    of the format, ``written`` says that the operator writes the tensor, ``limits`` between which
    numbers its data are asked for. ``extents`` has three columns for each parameter: shape, strides
    and storage shape, each with the cases of its rows.
    """

    names: list[str]
    case: np.ndarray
    name: np.ndarray
    written: np.ndarray
    dtype: np.ndarray
    format: np.ndarray
    offset: np.ndarray
    limits: np.ndarray
    extents: list[tuple[Categorical[Integers | None], np.ndarray]]

    @classmethod
    def of(
        cls, arguments: Mapping[str, Arguments], written: Mapping[str, Collection[str]]
    ) -> DescribedTensors:
        """What the calls of each API describe; ``written`` names, per API, the parameters that the
        operator writes.
        """
        columns = [
            (api, name, mine.cases[there], take(column, there) if column.null.any() else column)
            for api, mine in arguments.items()
            for name, column in mine.calls.tensors.items()
            if len(there := np.flatnonzero(~column.null))
        ]
        in_order = sorted(range(len(columns)), key=lambda i: (int(columns[i][2][0]), i))
        names = list(dict.fromkeys(columns[i][1] for i in in_order))
        sizes = [len(cases) for _, _, cases, _ in columns]
        numbers = [names.index(name) for _, name, _, _ in columns]
        outputs = [name in written[api] for api, name, _, _ in columns]
        parts = [column for _, _, _, column in columns]
        return cls(
            names=names,
            case=_joined([cases for _, _, cases, _ in columns]),
            name=np.repeat(np.array(numbers, dtype=np.int64), sizes),
            written=np.repeat(np.array(outputs, dtype=bool), sizes),
            dtype=_numbers("dtype", dtypes.DTYPES)[_joined([part.dtype for part in parts])],
            format=_numbers("format", dtypes.FORMATS)[_joined([part.format for part in parts])],
            offset=_joined([integers(part.offset) for part in parts]),
            limits=np.concatenate([np.zeros((0, 2)), *(part.limits for part in parts)]),
            extents=[
                (lists, cases)
                for _, _, cases, column in columns
                for lists in (
                    integer_lists(~column.null, column.rank, column.shape),
                    integer_lists(column.strided, column.rank, column.strides),
                    integer_lists(column.storage_rank >= 0, column.storage_rank, column.storage),
                )
            ],
        )


@dataclass(frozen=True)
class TensorTables:
    """``/tensors`` and ``/ranges``; for every case how many tensors it has; the tensor of each row
    of the layout.
    """

    table: np.ndarray
    ranges: np.ndarray
    count: np.ndarray
    row: np.ndarray


def tensor_tables(
    ids: Sequence[str],
    described: DescribedTensors,
    extents: Sequence[np.ndarray],
    layout: Layout,
    number: Callable[[tuple[int, ...]], int],
) -> TensorTables:
    """A row for each tensor of each case: those of its call, then its goldens and bounds.

    ``extents`` are the numbers in ``/lists`` of ``described.extents``, and ``number`` gives that of
    another list: a golden with places has their number as its only extent. BundleError, with the
    id of the case, where the layout has other data than the call describes.
    """
    shape, strides, storage = (_joined(extents[i::3]) for i in range(3))
    source = _described(ids, described, layout)
    drawn = layout.role == _INPUT
    inputs, more = source[drawn], source[~drawn]
    elements = np.zeros(len(described.case), dtype=np.int64)
    elements[inputs] = layout.elements[drawn]
    position = np.full(len(described.case), NO_DATA, dtype=np.int64)
    position[inputs] = layout.position[drawn]
    role = np.where(described.written & (position == NO_DATA), _OUTPUT, _INPUT)
    none = np.zeros(len(more), dtype=np.int64)
    columns = {
        "case": (described.case, layout.case[~drawn]),
        "name": (described.name, described.name[more]),
        "role": (role, layout.role[~drawn]),
        "dtype": (described.dtype, layout.dtype[~drawn]),
        "format": (described.format, described.format[more]),
        "shape": (shape, _sampled(shape[more], layout, ~drawn, number)),
        "strides": (strides, none),
        "offset": (described.offset, none),
        "storage_shape": (storage, none),
        "elements": (elements, layout.elements[~drawn]),
        "position": (position, layout.position[~drawn]),
    }
    case = np.concatenate(columns["case"])
    order = np.argsort(case, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    cells = {name: np.concatenate(parts).take(order) for name, parts in columns.items()}
    cells["digest"] = np.zeros(len(order), dtype=DIGEST_TYPE)
    table = schema.table(schema.BUNDLE["tensors"], cells, name=named(described.names))
    row = np.empty(len(layout.case), dtype=np.int64)
    row[drawn], row[~drawn] = place[inputs], place[len(described.case) :]
    ranges = _ranges(described.limits, place)
    return TensorTables(table, ranges, np.bincount(case, minlength=len(ids)), row)


def _sampled(
    shape: np.ndarray, layout: Layout, asked: np.ndarray, number: Callable[[tuple[int, ...]], int]
) -> np.ndarray:
    """The shapes of what belongs to an output: where it has places, one axis of as many
    elements.
    """
    key = layout.case.astype(np.int64) << 16 | layout.name
    some = np.isin(key, key[layout.role == dtypes.ROLES["places"]])[asked]
    lengths = layout.elements[asked][some]
    numbers = {length: number((length,)) for length in np.unique(lengths).tolist()}
    shape = shape.copy()
    shape[some] = [numbers[length] for length in lengths.tolist()]
    return shape


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Integers one after the other, of which there may be none."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _numbers(kind: str, numbers: Mapping[str, int]) -> np.ndarray:
    """By a word's position in calls, its number in a bundle."""
    return np.array([numbers[word] for word in vocabulary().names[kind]])


def _ranges(limits: np.ndarray, place: np.ndarray) -> np.ndarray:
    """``/ranges``: where calls ask data to lie; ``place`` is each tensor's row in the table."""
    asked = np.flatnonzero(~np.isnan(limits[:, 0]))
    asked = asked[np.argsort(place[asked])]
    low, high = limits[asked].T
    cells = {"tensor": place[asked], "low": low, "high": high}
    return schema.table(schema.BUNDLE["ranges"], cells)


def _described(ids: Sequence[str], described: DescribedTensors, layout: Layout) -> np.ndarray:
    """(layout rows,) the described tensor that each has data for; BundleError where none is."""

    def refuse(wrong: np.ndarray, why: Callable[[int, str], str]) -> None:
        if wrong.any():
            row = int(wrong.argmax())
            name = layout.names[layout.name[row]]
            raise BundleError(f"{ids[layout.case[row]]}: {why(row, name)}")

    numbers = {name: number for number, name in enumerate(described.names)}
    count = len(numbers) + 1
    name = np.array([numbers.get(name, count - 1) for name in layout.names], dtype=np.int64)
    known = described.case * count + described.name
    order = np.argsort(known)
    wanted = layout.case * np.int64(count) + name[layout.name]
    source: np.ndarray = np.append(order, -1)[np.searchsorted(known[order], wanted)]
    refuse(
        np.append(known, -1)[source] != wanted,
        lambda _, name: f"data for {name}, which is not a tensor of the call",
    )
    sets = source * len(dtypes.ROLES) + layout.role
    refuse(np.bincount(sets)[sets] > 1, lambda *_: "a tensor has two sets of data")
    planned = described.dtype[source]
    refuse(
        (layout.role == _INPUT) & (layout.dtype != planned),
        lambda row, name: f"{name} is {dtypes.WORDS[int(planned[row])]}, its data are not",
    )
    return source
