"""The table of tensors: what cases of the same arguments and data have in common is worked out once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from opgen.bundle import dtypes
from opgen.bundle.attributes import Columns
from opgen.bundle.dtypes import BundleError, enum, named
from opgen.bundle.layout import Layout
from opgen.bundle.pools import Lists
from opgen.model import Case

NO_DATA = -1
"""The position of a tensor that is described and has no data."""
RANGE = np.dtype([("tensor", "<u4"), ("low", "<f8"), ("high", "<f8")])
_COLUMNS = ("name", "role", "dtype", "format", "shape", "strides", "offset", "storage_shape", "elements")


class _Form(NamedTuple):
    """What cases have in common: where its rows begin among those of all forms, how many, and which call they repeat."""

    number: int
    first: int
    rows: int
    call: int


class Forms:
    """The tensors of cases, collected. A form is a call's arguments with the data that the layout has for them."""

    def __init__(
        self, layout: Layout, written: Mapping[str, Collection[str]], columns: dict[str, Columns], lists: Lists
    ) -> None:
        self.columns = columns
        self._layout = layout
        self._written = written
        self._lists = lists
        self._names: dict[str, int] = {}
        self._forms: dict[tuple[int, int], _Form] = {}
        self._rows: list[tuple[int, ...]] = []
        self._ranges: dict[int, list[tuple[int, float, float]]] = {}
        self._of: list[int] = []
        self._total = 0
        self._first = np.searchsorted(layout.case, np.arange(layout.cases + 1)).tolist()

    def add(self, row: int, case: Case) -> tuple[int, int, int]:
        """Take one case: the first row of its tensors, how many, and the row of its attributes."""
        columns = self.columns[case.call.api]
        key = id(case.call.args), int(self._layout.form[row])
        form = self._forms.get(key)
        if form is None:
            form = self._forms[key] = self._new(row, case)
        else:
            columns.repeat(row, form.call)
        start = self._total
        self._total += form.rows
        self._of.append(form.number)
        return start, form.rows, columns.rows - 1

    def _new(self, row: int, case: Case) -> _Form:
        layout, lists, number, first = self._layout, self._lists, len(self._forms), len(self._rows)
        here = range(self._first[row], self._first[row + 1])
        data = {(int(layout.name[at]), int(layout.role[at])): at for at in here}
        if len(data) != len(here):
            raise BundleError(f"{case.id}: a tensor has two sets of data")
        stored = {name: i for i, name in enumerate(layout.names)}
        shapes: dict[str, tuple[int, int]] = {}
        for name, desc in self.columns[case.call.api].add(row, case.call.args, lists):
            at = data.pop((stored.get(name, -1), 0), None)
            dtype, form = _word(case, name, dtypes.DTYPES, desc.dtype), _word(case, name, dtypes.FORMATS, desc.format)
            if at is not None and layout.dtype[at] != dtype:
                raise BundleError(f"{case.id}: {name} is {desc.dtype}, its data are not")
            if desc.range is not None:
                self._ranges.setdefault(number, []).append((len(self._rows) - first, *desc.range))
            shapes[name] = lists(desc.shape), form
            role = int(name in self._written[case.call.api] and at is None)
            self._rows.append((
                self._names.setdefault(name, len(self._names)), role, dtype, form, shapes[name][0], lists(desc.strides),
                desc.offset, lists(desc.storage_shape), 0 if at is None else int(layout.elements[at]),
                NO_DATA if at is None else at - here.start,
            ))  # fmt: skip
        for (code, role), at in data.items():
            name = layout.names[code]
            if name not in shapes:
                raise BundleError(f"{case.id}: data for {name}, which is no tensor of the call")
            self._rows.append((
                self._names[name], role, int(layout.dtype[at]), shapes[name][1], shapes[name][0], 0, 0, 0,
                int(layout.elements[at]), at - here.start,
            ))  # fmt: skip
        return _Form(number, first, len(self._rows) - first, self.columns[case.call.api].added - 1)

    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``/tensors``, ``/ranges``, and the row in ``/tensors`` of each row of the layout."""
        layout, of = self._layout, np.array(self._of, dtype=np.int64)
        firsts = np.array([form.first for form in self._forms.values()], dtype=np.int64)
        counts = np.array([form.rows for form in self._forms.values()], dtype=np.int64)[of]
        starts = np.cumsum(counts) - counts
        case = np.repeat(np.arange(len(of)), counts)
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, len(_COLUMNS) + 1)
        mine = rows[np.repeat(firsts[of] - starts, counts) + np.arange(len(case))]
        table = np.zeros(len(case), dtype=[
            ("case", "<u4"), ("name", named(list(self._names))), ("role", enum(dtypes.ROLES)),
            ("dtype", enum(dtypes.DTYPES)), ("format", enum(dtypes.FORMATS)), ("shape", "<u4"), ("strides", "<u4"),
            ("offset", "<i8"), ("storage_shape", "<u4"), ("elements", "<i8"), ("position", "<i8"), ("digest", "V16"),
        ])  # fmt: skip
        table["case"] = case
        for number, name in enumerate(_COLUMNS):
            table[name] = mine[:, number]
        held = np.flatnonzero(mine[:, -1] >= 0)
        at = np.array(self._first, dtype=np.int64)[case[held]] + mine[held, -1]
        table["position"] = NO_DATA
        table["position"][held] = layout.position[at]
        tensor_row = np.empty(len(layout.case), dtype=np.int64)
        tensor_row[at] = held
        ranges = [
            (start + place, low, high)
            for start, number in (zip(starts.tolist(), self._of, strict=True) if self._ranges else ())
            for place, low, high in self._ranges.get(number, ())
        ]
        return table, np.array(ranges, dtype=RANGE), tensor_row


def _word(case: Case, name: str, numbers: dict[str, int], word: str) -> int:
    try:
        return numbers[word]
    except KeyError:
        raise BundleError(f"{case.id}: {name}: {word!r} is none of {', '.join(numbers)}") from None
