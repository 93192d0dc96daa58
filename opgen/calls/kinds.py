"""The kinds of parameters in one table: what C, JSON, columns and the rule language make of each.

>>> KINDS["int8"].c_type, KINDS["int8"].element.highest, KINDS["output"].family
('int8_t', 127, 'tensor')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

Family: TypeAlias = Literal["tensor", "array", "scalar"]
"""What kinds have in common: tensors and arrays are pointers, which may be null."""


@dataclass(frozen=True)
class Element:
    """What a scalar, an item of an array or an extent is: numbers between two limits, or true and
    false. ``expects``, ``several`` and ``refusal`` say so in messages.
    """

    python: type[int] | type[float]
    dtype: type[np.generic]
    lowest: float
    highest: float
    expects: str
    several: str
    refusal: str

    @property
    def term(self) -> Literal["int", "bool"]:
        """The kind of a term of the rule language that reads it."""
        return "bool" if self.python is bool else "int"

    def accepts(self, value: Any) -> bool:
        """Whether JSON's ``value`` is one: no truth is a number, and no number a truth."""
        return type(value) is self.python and self.lowest <= value <= self.highest

    def schema(self) -> dict[str, object]:
        """The JSON Schema of one."""
        if self.python is bool:
            return {"type": "boolean"}
        return {"type": "integer", "minimum": self.lowest, "maximum": self.highest}


def _integers(bits: int) -> Element:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return Element(
        python=int,
        dtype=np.int64,
        lowest=low,
        highest=high,
        expects=f"a whole number of int{bits}, {low} to {high}",
        several="whole numbers",
        refusal=f"is not a whole number of {bits} bits",
    )


INT64 = _integers(64)
BOOL = Element(bool, np.bool_, 0, 1, "true or false", "true and false", "is neither true nor false")
DOUBLE = Element(float, np.float64, -np.inf, np.inf, "a number", "numbers", "is not a number")


@dataclass(frozen=True)
class ParameterKind:
    """One kind of parameter. ``element``: what it holds, of a tensor its extents; ``written``: the
    operator writes it.
    """

    family: Family
    c_type: str
    element: Element
    written: bool = False


KINDS: Mapping[str, ParameterKind] = {
    "tensor": ParameterKind("tensor", "const aclTensor*", INT64),
    "output": ParameterKind("tensor", "aclTensor*", INT64, written=True),
    "int_array": ParameterKind("array", "const aclIntArray*", INT64),
    "bool_array": ParameterKind("array", "const aclBoolArray*", BOOL),
    "int8": ParameterKind("scalar", "int8_t", _integers(8)),
    "int32": ParameterKind("scalar", "int32_t", _integers(32)),
    "int64": ParameterKind("scalar", "int64_t", INT64),
    "bool": ParameterKind("scalar", "bool", BOOL),
}
"""Name -> kind of a page's parameter. Calls and their tables know an ``output`` as a tensor."""
COLUMN_KINDS = {**KINDS, "double": ParameterKind("scalar", "double", DOUBLE)}
"""Those of tables: a bundle of somebody else's calls may hold what no page has yet."""
