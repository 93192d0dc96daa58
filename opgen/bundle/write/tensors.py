"""The table of tensors: what calls describe and what the layout has data for, put together form by
form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from opgen.bundle.format import dtypes
from opgen.bundle.format.column import spread
from opgen.bundle.format.digest import DIGEST_TYPE
from opgen.bundle.format.dtypes import BundleError, enum, named
from opgen.bundle.format.layout import Layout
from opgen.bundle.format.tensorrow import NO_DATA
from opgen.bundle.write.forms import Described, Forms
from opgen.model import Case

RANGE = np.dtype([("tensor", "<u4"), ("low", "<f8"), ("high", "<f8")])
_INPUT, _OUTPUT = dtypes.ROLES["input"], dtypes.ROLES["output"]


@dataclass(frozen=True)
class Tensors:
    """``/tensors`` and ``/ranges``; for every case its first tensor and how many; the tensor of
    each row of the layout.
    """

    table: np.ndarray
    ranges: np.ndarray
    first: np.ndarray
    count: np.ndarray
    row: np.ndarray


@dataclass(frozen=True)
class _Data:
    """What the layout has for forms: the form, the row of the layout, its place in the case, and
    the row that describes it.
    """

    form: np.ndarray
    at: np.ndarray
    place: np.ndarray
    described: np.ndarray


def tensors(
    cases: Sequence[Case], forms: Forms, described: Described, extents: np.ndarray, layout: Layout
) -> Tensors:
    """A row for each tensor of each case: those of its call, then its goldens and bounds.

    ``extents`` are the numbers in ``/lists`` of ``described.extents``. BundleError where the layout
    has other data than the call describes.
    """
    rows, form, origin = _rows(described, extents, _data(cases, forms, described, layout), layout)
    counts = np.bincount(form, minlength=len(forms.case))
    count = counts[forms.of]
    case, within = spread(count)
    source = (np.cumsum(counts) - counts)[forms.of][case] + within
    table = rows.take(source)  # many times as fast as an index
    table["case"] = case
    held = np.flatnonzero(table["position"] != NO_DATA)
    at = layout.starts[case[held]] + table["position"][held]
    table["position"][held] = layout.position[at]
    row = np.empty(len(layout.case), dtype=np.int64)
    row[at] = held
    return Tensors(table, _ranges(described, origin[source]), np.cumsum(count) - count, count, row)


def _rows(
    described: Described, extents: np.ndarray, data: _Data, layout: Layout
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of all forms, with places in the case as positions; the form of each; and which
    described tensor each is.

    From as many on as are described, the last counts goldens and bounds.
    """
    given = layout.role[data.at] == _INPUT
    inputs, more = np.flatnonzero(given), np.flatnonzero(~given)
    elements = np.zeros(len(described.form), dtype=np.int64)
    elements[data.described[inputs]] = layout.elements[data.at[inputs]]
    position = np.full(len(described.form), NO_DATA, dtype=np.int64)
    position[data.described[inputs]] = data.place[inputs]
    shape, strides, storage = extents.reshape(-1, 3).T
    of, at, nothing = data.described[more], data.at[more], np.zeros(len(more), dtype=np.int64)
    columns = {
        "name": (described.name, described.name[of]),
        "role": (
            np.where(described.written & (position == NO_DATA), _OUTPUT, _INPUT),
            layout.role[at],
        ),
        "dtype": (described.dtype, layout.dtype[at]),
        "format": (described.format, described.format[of]),
        "shape": (shape, shape[of]),
        "strides": (strides, nothing),
        "offset": (described.offset, nothing),
        "storage_shape": (storage, nothing),
        "elements": (elements, layout.elements[at]),
        "position": (position, data.place[more]),
    }
    form = np.concatenate([described.form, data.form[more]])
    origin = np.argsort(form, kind="stable")
    rows = np.zeros(
        len(form),
        dtype=[
            ("case", "<u4"),
            ("name", named(described.names)),
            ("role", enum(dtypes.ROLES)),
            ("dtype", enum(dtypes.DTYPES)),
            ("format", enum(dtypes.FORMATS)),
            ("shape", "<u4"),
            ("strides", "<u4"),
            ("offset", "<i8"),
            ("storage_shape", "<u4"),
            ("elements", "<i8"),
            ("position", "<i8"),
            ("digest", DIGEST_TYPE),
        ],
    )
    for name, parts in columns.items():
        rows[name] = np.concatenate(parts)[origin]
    return rows, form[origin], origin


def _ranges(described: Described, origin: np.ndarray) -> np.ndarray:
    """``/ranges``: where calls ask data to lie."""
    asked = {at: limits for at, limits in enumerate(described.ranges) if limits is not None}
    hits = np.flatnonzero(np.isin(origin, list(asked)))
    return np.array(
        [
            (tensor, *asked[at])
            for tensor, at in zip(hits.tolist(), origin[hits].tolist(), strict=True)
        ],
        dtype=RANGE,
    )


def _data(cases: Sequence[Case], forms: Forms, described: Described, layout: Layout) -> _Data:
    """The data of every form's first case, held against what its call describes."""
    starts = layout.starts
    form, place = spread((starts[1:] - starts[:-1])[forms.case])
    at = starts[forms.case][form] + place
    known = np.full((len(forms.case), len(described.names) + 1), -1, dtype=np.int64)
    known[described.form, described.name] = np.arange(len(described.form))
    numbers = {name: number for number, name in enumerate(described.names)}
    name = np.array([numbers.get(name, -1) for name in layout.names], dtype=np.int64)[
        layout.name[at]
    ]
    found = known[form, name]
    role, of = layout.role[at], forms.case[form]
    _refuse(
        cases,
        of,
        found < 0,
        lambda one: (
            f"data for {layout.names[layout.name[at[one]]]}, which is no tensor of the call"
        ),
    )
    sets = found * len(dtypes.ROLES) + role
    _refuse(cases, of, np.bincount(sets)[sets] > 1, lambda one: "a tensor has two sets of data")
    planned = described.dtype[found]
    other = (role == _INPUT) & (layout.dtype[at] != planned)
    _refuse(
        cases,
        of,
        other,
        lambda one: (
            f"{layout.names[layout.name[at[one]]]} is {dtypes.WORDS[int(planned[one])]}, its data"
            " are not"
        ),
    )
    return _Data(form, at, place, found)


def _refuse(
    cases: Sequence[Case], of: np.ndarray, wrong: np.ndarray, why: Callable[[int], str]
) -> None:
    """BundleError where a row is wrong: the case ``of`` that row, and why."""
    if wrong.any():
        first = int(wrong.argmax())
        raise BundleError(f"{cases[of[first]].id}: {why(first)}")
