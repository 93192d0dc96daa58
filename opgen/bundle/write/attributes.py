"""The arguments of one API as columns: a row per call, a column per parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opgen.bundle.format.column import Column
from opgen.bundle.format.dtypes import BundleError
from opgen.model import TensorDesc

_SCALARS = (("bool", (bool, np.bool_)), ("int", (int, np.integer)), ("float", (float, np.floating)))


class Columns:
    """The arguments of calls of one API; parameters keep the order of the first call, which is the
    prototype's.

    ``kinds`` are the kinds of the parameters, ``arrays`` the columns of those that are int or bool
    arrays.
    """

    def __init__(self, api: str, calls: Sequence[Mapping[str, Any]]) -> None:
        names = list(calls[0])
        if set(map(len, calls)) != {len(names)}:
            other = next(call for call in calls if len(call) != len(names))
            raise BundleError(f"{api}: calls with {', '.join(other)} and with {', '.join(names)}")
        try:
            self._values = {name: [call[name] for call in calls] for name in names}
        except KeyError:
            name = next(name for call in calls for name in call if name not in calls[0])
            raise BundleError(f"{api}: only some calls have a parameter {name}") from None
        self.kinds = {name: _kind(api, name, values) for name, values in self._values.items()}
        self.arrays = {
            name: Column.of(
                [None if value is None else tuple(value) for value in self._values[name]]
            )
            for name, kind in self.kinds.items()
            if kind.endswith("array")
        }

    @property
    def tensors(self) -> dict[str, list[TensorDesc | None]]:
        """The columns of the parameters that are tensors, None for a null pointer."""
        return {name: self._values[name] for name, kind in self.kinds.items() if kind == "tensor"}

    def table(
        self, cases: np.ndarray, calls: np.ndarray, arrays: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """``/attributes/<api>``: the column ``case``, then one per parameter that is no tensor.

        ``cases`` are rows of ``/cases``, ``calls`` the row here of the call of each, ``arrays`` for
        each row here the number in ``/lists``, where 0 is a null pointer. A column of scalars has
        the narrowest type that holds its values; where a scalar is null, a column ``<name>.null``
        says so.
        """
        columns: dict[str, np.ndarray] = {}
        for name, kind in self.kinds.items():
            if name in arrays:
                columns[name] = arrays[name].astype("<u4")
            elif kind in ("int", "bool", "float"):
                values = self._values[name]
                null = np.array([value is None for value in values])
                columns[name] = _narrow(
                    name, [0 if value is None else value for value in values], kind
                )
                if null.any():
                    columns[f"{name}.null"] = null
        table = np.zeros(
            len(cases),
            dtype=[("case", "<u4"), *((name, column.dtype) for name, column in columns.items())],
        )
        table["case"] = cases
        for name, column in columns.items():
            table[name] = column[calls]
        return table


def _kind(api: str, name: str, values: Sequence[Any]) -> str:
    """What all values of a parameter are; BundleError where they are several things."""
    seen: set[str] = set()
    for given in set(map(type, values)) - {type(None)}:
        if issubclass(given, TensorDesc):
            seen.add("tensor")
        elif issubclass(given, (tuple, list)):
            heads = {
                type(value[0]) if value else None for value in values if isinstance(value, given)
            }
            seen |= {
                (
                    "array"
                    if head is None
                    else "bool_array"
                    if issubclass(head, (bool, np.bool_))
                    else "int_array"
                )
                for head in heads
            }
        else:
            seen.add(_scalar(api, name, given))
    if seen & {"int_array", "bool_array"}:
        seen.discard("array")
    if seen == {"int", "bool"}:
        return "int"
    if len(seen) > 1:
        raise BundleError(f"{api}: {name} is a {' here and a '.join(sorted(seen))} there")
    kind = next(iter(seen), "null")
    return "int_array" if kind == "array" else kind


def _scalar(api: str, name: str, given: type) -> str:
    for kind, types in _SCALARS:
        if issubclass(given, types):
            return kind
    raise BundleError(f"{api}: {name}: a {given.__name__} is no argument that a bundle knows")


def _narrow(name: str, values: list[Any], kind: str) -> np.ndarray:
    if kind != "int":
        return np.array(values, dtype="?" if kind == "bool" else "<f8")
    low, high = int(min(values)), int(max(values))
    for bits in (8, 16, 32, 64):
        if -(1 << (bits - 1)) <= low and high < 1 << (bits - 1):
            return np.array(values, dtype=f"<i{bits // 8}")
    raise BundleError(
        f"{name}: {low if -low > high else high} does not fit the 64 bits that a bundle keeps"
    )
