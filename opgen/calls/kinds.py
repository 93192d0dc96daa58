"""The kinds of parameters in one table: what C, JSON, columns and the rule language make of each.

>>> KINDS["int8"].c_type, KINDS["int8"].element.highest, KINDS["output"].family
('int8_t', 127, 'tensor')
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count, takewhile
from math import isfinite
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from opgen.calls import bigint, reals
from opgen.model import unkept

T = TypeVar("T")
Family: TypeAlias = Literal["tensor", "array", "scalar", "typed", "list"]
"""What kinds have in common: how a column of them looks."""
TermKind: TypeAlias = Literal["int", "bool", "double", "float", "string"]
REAL: Mapping[str, np.dtype] = {"double": np.dtype(np.float64), "float": np.dtype(np.float32)}
"""The kinds of real terms of the rule language, and their types."""
NUMERIC = ("int", *REAL)
"""The kinds of terms that are numbers, and have an order."""


@dataclass(frozen=True)
class Element:
    """What a scalar, an item of an array or an extent is: numbers between two limits, or true and
    false. ``term`` is the kind of a term of the rule language that reads it; ``expects``,
    ``several`` and ``refusal`` speak of it in messages.
    """

    term: TermKind
    dtype: np.dtype
    lowest: float
    highest: float
    expects: str
    several: str
    refusal: str

    def read(self, value: Any) -> Any:
        """What JSON's ``value`` is as an element; None where it is none: no truth is a number, and
        no number a truth. A real is what its type makes of it.
        """
        if self.term == "string":
            fits = isinstance(value, str) and len(value) <= MOST_CHARACTERS and not unkept(value)
            return value if fits else None
        if self.term in REAL:
            value = reals.SPECIAL.get(value, value) if isinstance(value, str) else value
            fits = type(value) is float or (type(value) is int and abs(value) < _TOO_LARGE)
            return reals.rounded(value, self.dtype) if fits else None
        fits = type(value) is (bool if self.term == "bool" else int)
        return value if fits and self.lowest <= value <= self.highest else None

    @property
    def blank(self) -> Any:
        """What stands in a column where there is none."""
        return self.dtype.type()

    def schema(self) -> dict[str, object]:
        """The JSON Schema of one."""
        if self.term == "bool":
            return {"type": "boolean"}
        if self.term == "string":
            return {"type": "string", "maxLength": MOST_CHARACTERS}
        if self.term in REAL:
            return {"anyOf": [{"type": "number"}, {"enum": list(reals.SPECIAL)}]}
        return {"type": "integer", "minimum": self.lowest, "maximum": self.highest}


MOST_CHARACTERS = 1024
"""Characters of a string, at most."""
_TOO_LARGE = 2**1024 - 2**970
"""Whole numbers from here on have no double."""


def _integers(bits: int, signed: bool = True) -> Element:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    name = f"int{bits}" if signed else f"uint{bits}"
    return Element(
        term="int",
        dtype=np.dtype(np.int64),
        lowest=low,
        highest=high,
        expects=f"a whole number of {name}, {low} to {high}",
        several="whole numbers",
        refusal=f"is not a whole number of {bits} bits",
    )


def _reals(term: Literal["double", "float"]) -> Element:
    expects = "a number, or one of " + ", ".join(f'"{word}"' for word in reals.SPECIAL)
    return Element(term, REAL[term], -np.inf, np.inf, expects, "numbers", "is not a number")


INT64 = _integers(64)
STRING = Element(
    "string",
    np.dtype(np.str_),
    0,
    0,
    f"a text of at most {MOST_CHARACTERS} characters, without NUL",
    "texts",
    "is no text",
)
DOUBLE, FLOAT = _reals("double"), _reals("float")
BOOL = Element(
    "bool", np.dtype(np.bool_), 0, 1, "true or false", "true and false", "is neither true nor false"
)


@dataclass(frozen=True)
class ParameterKind:
    """One kind of parameter. ``element``: what it holds, of a tensor its extents; ``ctype``: the
    type of :mod:`ctypes` that passes it; ``noun``: what ``aclCreate`` makes for it; ``item``: the C
    type of an array's items; ``read``, ``written``: what the operator does with it.
    """

    family: Family
    c_type: str
    element: Element
    ctype: str = "c_void_p"
    noun: str = ""
    item: str = ""
    read: bool = True
    written: bool = False

    @property
    def pointer(self) -> bool:
        """Whether it may be null."""
        return self.ctype in ("c_void_p", "c_char_p")


KINDS: Mapping[str, ParameterKind] = {
    "tensor": ParameterKind("tensor", "const aclTensor*", INT64, noun="Tensor"),
    "output": ParameterKind("tensor", "aclTensor*", INT64, noun="Tensor", read=False, written=True),
    "inout": ParameterKind("tensor", "aclTensor*", INT64, noun="Tensor", written=True),
    "int_array": ParameterKind(
        "array", "const aclIntArray*", INT64, noun="IntArray", item="int64_t"
    ),
    "bool_array": ParameterKind(
        "array", "const aclBoolArray*", BOOL, noun="BoolArray", item="bool"
    ),
    "float_array": ParameterKind(
        "array", "const aclFloatArray*", FLOAT, noun="FloatArray", item="float"
    ),
    "int8": ParameterKind("scalar", "int8_t", _integers(8), "c_int8"),
    "int32": ParameterKind("scalar", "int32_t", _integers(32), "c_int32"),
    "int64": ParameterKind("scalar", "int64_t", INT64, "c_int64"),
    "uint64": ParameterKind("scalar", "uint64_t", _integers(64, signed=False), "c_uint64"),
    "bool": ParameterKind("scalar", "bool", BOOL, "c_bool"),
    "double": ParameterKind("scalar", "double", DOUBLE, "c_double"),
    "float": ParameterKind("scalar", "float", FLOAT, "c_float"),
    "string": ParameterKind("scalar", "const char*", STRING, "c_char_p"),
    "scalar": ParameterKind("typed", "const aclScalar*", DOUBLE, noun="Scalar"),
    "tensor_list": ParameterKind("list", "const aclTensorList*", INT64, noun="TensorList"),
    "output_list": ParameterKind(
        "list", "aclTensorList*", INT64, noun="TensorList", read=False, written=True
    ),
}
"""Name -> kind of a page's parameter; ``inout`` is an input and an output. Calls and their tables
know both kinds of outputs as tensors, and of a list of tensors how many there are; each is a tensor
of its own."""


def member(name: str, place: int) -> str:
    """The name of a tensor of a list.

    >>> member("hx", 1)
    'hx[1]'
    """
    return f"{name}[{place}]"


def prototype(kinds: Mapping[str, T]) -> dict[str, T]:
    """What is said of the parameters of a first phase, without the tensors of its lists."""
    return {name: kind for name, kind in kinds.items() if not name.endswith("]")}


def members(kinds: Mapping[str, object], name: str) -> list[str]:
    """The tensors that a list may have, in their order."""
    return list(takewhile(kinds.__contains__, map(partial(member, name), count())))


def column_of(dtype: np.dtype, values: Any) -> np.ndarray:
    """A column of elements; whole numbers beyond int64 as Python's own."""
    return bigint.as_column(values) if dtype == np.int64 else np.array(values, dtype=dtype)


def c_literal(value: float | str | None) -> str:
    r"""A scalar as C++ writes it; what is not plain ASCII of a text by its bytes, in octal.

    >>> print(*map(c_literal, (True, -(2**63), float("nan"), "a?", None)))
    true INT64_MIN NAN "a\077" nullptr
    """
    if value is None:
        return "nullptr"
    if isinstance(value, str):
        bytes_of = "".join(chr(byte) for byte in value.encode())
        return '"' + re.sub(r'[^ -~]|["\\?]', lambda m: f"\\{ord(m[0]):03o}", bytes_of) + '"'
    if isinstance(value, float):
        return repr(value) if isfinite(value) else _C_REALS[str(value)]
    if value == INT64.lowest:
        return "INT64_MIN"  # no literal of its own
    return f"{value}ull" if value > INT64.highest else str(value).lower()


_C_REALS = {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}
