"""The arguments of one API that are no tensors, as columns: a row per call, a column per parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from opgen.bundle.dtypes import BundleError
from opgen.bundle.pools import Lists
from opgen.model import TensorDesc


class Columns:
    """The calls of one API, collected; parameters keep the order of the first call, which is the prototype's.

    A column of arrays holds numbers of ``/lists``, where 0 is a null pointer. A column of scalars has the
    narrowest type that holds its values; where a scalar is null, a column ``<name>.null`` says so.
    """

    KINDS: ClassVar = {"null": 0, "tensor": 1, "int_array": 2, "bool_array": 3, "int": 4, "bool": 5, "float": 6}

    def __init__(self, api: str) -> None:
        self.api = api
        self.added = 0
        self._cases: list[int] = []
        self._calls: list[int] = []
        self._values: dict[str, list[Any]] = {}
        self._seen: dict[str, set[str]] = {}

    def repeat(self, row: int, number: int) -> None:
        """A call with the arguments of the ``number``-th that was added."""
        self._cases.append(row)
        self._calls.append(number)

    def add(self, row: int, args: Mapping[str, Any], lists: Lists) -> list[tuple[str, TensorDesc]]:
        """Take one call's arguments; returns its tensors that are not null, in order."""
        if not self._values:
            self._values = {name: [] for name in args}
            self._seen = {name: set() for name in args}
        if len(args) != len(self._values):
            raise BundleError(f"{self.api}: calls with {', '.join(args)} and with {', '.join(self._values)}")
        tensors = []
        for name, value in args.items():
            try:
                column = self._values[name]
            except KeyError:
                raise BundleError(f"{self.api}: only some calls have a parameter {name}") from None
            if isinstance(value, TensorDesc):
                tensors.append((name, value))
                self._seen[name].add("tensor")
                column.append(None)
            elif isinstance(value, (tuple, list)):
                column.append(lists(value))
                if value:
                    self._seen[name].add("bool_array" if isinstance(value[0], (bool, np.bool_)) else "int_array")
                else:
                    self._seen[name].add("array")
            else:
                column.append(value)
                if value is not None:
                    self._seen[name].add(_scalar(self.api, name, value))
        self.repeat(row, self.added)
        self.added += 1
        return tensors

    @property
    def rows(self) -> int:
        """Calls so far."""
        return len(self._cases)

    def kinds(self) -> dict[str, str]:
        """Parameter to kind, in prototype order."""
        return {name: self._kind(name) for name in self._values}

    def table(self, lists: Lists) -> np.ndarray:
        """``/attributes/<api>``: the column ``case``, then one per parameter that is no tensor."""
        columns: dict[str, np.ndarray] = {}
        for name, kind in self.kinds().items():
            values = self._values[name]
            if kind.endswith("array"):
                columns[name] = np.array([v or 0 for v in values], dtype="<u4")
            elif kind in ("int", "bool", "float"):
                null = np.array([v is None for v in values])
                columns[name] = _narrow(name, [0 if v is None else v for v in values], kind)
                if null.any():
                    columns[f"{name}.null"] = null
        table = np.zeros(self.rows, dtype=[("case", "<u4"), *((name, column.dtype) for name, column in columns.items())])
        table["case"] = self._cases
        for name, column in columns.items():
            table[name] = column[self._calls]
        return table

    def _kind(self, name: str) -> str:
        seen = set(self._seen[name])
        if seen & {"int_array", "bool_array"}:
            seen.discard("array")
        if seen == {"int", "bool"}:
            return "int"
        if len(seen) > 1:
            raise BundleError(f"{self.api}: {name} is a {' here and a '.join(sorted(seen))} there")
        kind = next(iter(seen), "null")
        return "int_array" if kind == "array" else kind


def _scalar(api: str, name: str, value: Any) -> str:
    for kind, types in (("bool", (bool, np.bool_)), ("int", (int, np.integer)), ("float", (float, np.floating))):
        if isinstance(value, types):
            return kind
    raise BundleError(f"{api}: {name}: a {type(value).__name__} is no argument that a bundle knows")


def _narrow(name: str, values: list[Any], kind: str) -> np.ndarray:
    if kind != "int":
        return np.array(values, dtype="?" if kind == "bool" else "<f8")
    low, high = int(min(values)), int(max(values))
    for bits in (8, 16, 32, 64):
        if -(1 << (bits - 1)) <= low and high < 1 << (bits - 1):
            return np.array(values, dtype=f"<i{bits // 8}")
    raise BundleError(f"{name}: {low if -low > high else high} does not fit the 64 bits that a bundle keeps")
