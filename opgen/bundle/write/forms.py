"""Forms: what cases of the same arguments and data have in common, worked out once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from opgen.bundle.format import dtypes
from opgen.bundle.format.column import Column, spread
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.layout import Layout
from opgen.bundle.write.attributes import Columns
from opgen.model import Call, Case, TensorDesc


@dataclass(frozen=True)
class Forms:
    """A form is a call's arguments with the data that the layout has for them.

    ``case`` (forms,) is the first case of each, ``of`` (cases,) the form of each case; ``columns``
    holds the arguments by API, ``members`` the forms of each API in the order of their columns.
    """

    case: np.ndarray
    of: np.ndarray
    columns: dict[str, Columns]
    members: dict[str, np.ndarray]

    @classmethod
    def of_cases(cls, calls: Column[Call], apis: Column[str], layout: Layout) -> Forms:
        """The forms of the calls of cases, numbered in the order of their first cases."""
        arguments = calls.by(lambda call: id(call.args))
        found = Column.of((arguments.number * (len(layout.form) + 1) + layout.form).tolist())
        api = apis.number[found.first]
        members = {name: np.flatnonzero(api == number) for number, name in enumerate(apis.values)}
        first = [calls.values[at].args for at in calls.number[found.first].tolist()]
        columns = {
            name: Columns(name, [first[form] for form in forms.tolist()])
            for name, forms in members.items()
        }
        return cls(found.first, found.number, columns, members)

    @property
    def arrays(self) -> list[tuple[Column[tuple[int, ...] | None], np.ndarray]]:
        """The columns of int and bool arrays of all APIs, each with the first case of each row."""
        return [
            (column, self.case[self.members[api]])
            for api, columns in self.columns.items()
            for column in columns.arrays.values()
        ]

    def attributes(
        self, ops: Column[str], arrays: Sequence[np.ndarray]
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """``/attributes`` by API, and the row there of each case; ``arrays`` are the numbers in
        ``/lists`` of :attr:`arrays`.
        """
        numbers = iter(arrays)
        tables: dict[str, np.ndarray] = {}
        rows = np.empty(len(self.of), dtype=np.int64)
        for number, (api, columns) in enumerate(self.columns.items()):
            cases = np.flatnonzero(ops.number == number)
            rows[cases] = np.arange(len(cases))
            calls = np.searchsorted(self.members[api], self.of[cases])
            tables[api] = columns.table(
                cases, calls, {name: next(numbers) for name in columns.arrays}
            )
        return tables, rows


@dataclass(frozen=True)
class Described:
    """The tensors that forms' calls describe, null pointers apart: a row for each, form by form, in
    prototype order.

    ``name`` numbers ``names``, ``dtype`` and ``format`` are those of the format, ``written`` says
    that the operator writes the tensor. ``extents`` holds three rows for each row here: shape,
    strides and storage shape.
    """

    form: np.ndarray
    name: np.ndarray
    names: list[str]
    written: np.ndarray
    dtype: np.ndarray
    format: np.ndarray
    offset: np.ndarray
    extents: Column[tuple[int, ...] | None]
    ranges: list[tuple[float, float] | None]

    @classmethod
    def of_forms(
        cls, cases: Sequence[Case], forms: Forms, written: Mapping[str, Collection[str]]
    ) -> Described:
        """What ``forms`` describe; ``written`` names, per API, the parameters that the operator
        writes.
        """
        given: list[tuple[TensorDesc | None, ...]] = [()] * len(forms.case)
        parameters: list[tuple[str, bool]] = []
        start = np.zeros(len(forms.case), dtype=np.int64)
        for api, columns in forms.columns.items():
            start[forms.members[api]] = len(parameters)
            parameters += [(name, name in written[api]) for name in columns.tensors]
            for form, tensors in zip(
                forms.members[api].tolist(),
                zip(*columns.tensors.values(), strict=True),
                strict=False,
            ):
                given[form] = tensors
        form, place = spread(np.fromiter(map(len, given), dtype=np.int64, count=len(given)))
        flat = list(chain.from_iterable(given))
        there = np.flatnonzero(
            np.fromiter((desc is not None for desc in flat), dtype=bool, count=len(flat))
        )
        descs = [desc for desc in flat if desc is not None]
        form, parameter = form[there], (start[form] + place)[there]
        names = Column.of([parameters[at][0] for at in parameter.tolist()])

        def numbers(words: Sequence[str], known: Mapping[str, int]) -> np.ndarray:
            column = Column.of(words)
            for word, at in zip(column.values, column.first.tolist(), strict=True):
                if word not in known:
                    where = f"{cases[forms.case[form[at]]].id}: {names.values[names.number[at]]}"
                    raise BundleError(f"{where}: {word!r} is none of {', '.join(known)}")
            return column.numbers(known.__getitem__)

        return cls(
            form=form,
            name=names.number,
            names=names.values,
            written=np.array([output for _, output in parameters], dtype=bool)[parameter],
            dtype=numbers([desc.dtype for desc in descs], dtypes.DTYPES),
            format=numbers([desc.format for desc in descs], dtypes.FORMATS),
            offset=np.array([desc.offset for desc in descs], dtype=np.int64),
            extents=Column.of(
                [
                    extent
                    for desc in descs
                    for extent in (desc.shape, desc.strides, desc.storage_shape)
                ]
            ),
            ranges=[desc.range for desc in descs],
        )
