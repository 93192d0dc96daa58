"""The floating-point formats of the vendor, and the dtypes that hold data: numbers of these
formats, and whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format: ``digits`` significant bits (the hidden one counted), normal
    from ``2**low``.
    """

    name: str
    digits: int
    low: int
    high: int

    @property
    def unit(self) -> float:
        """Unit roundoff: the largest relative error of one rounding to nearest."""
        return 2.0**-self.digits

    @property
    def min_normal(self) -> float:
        return 2.0**self.low

    @property
    def min_subnormal(self) -> float:
        return 2.0 ** (self.low - self.digits + 1)

    @property
    def max(self) -> float:
        return (2.0 - 2.0 ** (1 - self.digits)) * 2.0**self.high

    @property
    def half_ulp_at_max(self) -> float:
        """What a value may exceed :attr:`max` by before round to nearest makes it infinite."""
        return 2.0 ** (self.high - self.digits)


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "FLOAT16": Format("FLOAT16", 11, -14, 15),
        "BFLOAT16": Format("BFLOAT16", 8, -126, 127),
        "HFLOAT32": Format("HFLOAT32", 12, -126, 127),
        "FLOAT": Format("FLOAT", 24, -126, 127),
        "DOUBLE": Format("DOUBLE", 53, -1022, 1023),
    }
)


_REAL, _COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)


@dataclass(frozen=True, slots=True)
class Dtype:
    """A vendor dtype that can hold data. ``part`` is the format of a value, or of each part of a
    complex one; whole numbers are drawn and computed with as DOUBLE.

    ``golden`` is the dtype that goldens of an output are kept in, one precision wider where there
    is one. Those of whole numbers are kept in DOUBLE, before they are made whole.
    """

    name: str
    numpy: np.dtype[Any]
    part: Format
    golden: str
    complex: bool = False

    @property
    def whole(self) -> bool:
        """Whether it holds whole numbers, or true and false."""
        return self.numpy.kind in "iub"

    @property
    def limits(self) -> tuple[int, int]:
        """The lowest and the highest of the whole numbers that it and DOUBLE hold without gaps."""
        if self.numpy.kind == "b":
            return 0, 1
        exact = 1 << self.part.digits
        held = np.iinfo(self.numpy) if self.whole else None
        low, high = (-exact, exact) if held is None else (int(held.min), int(held.max))
        return max(low, -exact), min(high, exact)

    @property
    def bound(self) -> str:
        """The dtype that bounds of an output are kept in: FLOAT, and two of them (real, imaginary)
        for a complex one.
        """
        return "COMPLEX64" if self.complex else "FLOAT"

    @property
    def wide(self) -> np.dtype[Any]:
        """The numpy dtype that goldens are computed in."""
        return _COMPLEX if self.complex else _REAL


FLOATING: Mapping[str, Dtype] = MappingProxyType(
    {
        "FLOAT16": Dtype("FLOAT16", np.dtype(np.float16), FORMATS["FLOAT16"], "FLOAT"),
        "BFLOAT16": Dtype("BFLOAT16", np.dtype(ml_dtypes.bfloat16), FORMATS["BFLOAT16"], "FLOAT"),
        "FLOAT": Dtype("FLOAT", np.dtype(np.float32), FORMATS["FLOAT"], "DOUBLE"),
        "DOUBLE": Dtype("DOUBLE", np.dtype(np.float64), FORMATS["DOUBLE"], "DOUBLE"),
        "COMPLEX64": Dtype(
            "COMPLEX64", np.dtype(np.complex64), FORMATS["FLOAT"], "COMPLEX128", complex=True
        ),
        "COMPLEX128": Dtype(
            "COMPLEX128", np.dtype(np.complex128), FORMATS["DOUBLE"], "COMPLEX128", complex=True
        ),
    }
)
"""The dtypes of floating-point and complex numbers."""
_WHOLE = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL")
DTYPES: Mapping[str, Dtype] = MappingProxyType(
    {
        **FLOATING,
        **{
            name: Dtype(name, np.dtype(name.lower()), FORMATS["DOUBLE"], "DOUBLE")
            for name in _WHOLE
        },
    }
)
"""All dtypes that hold data."""


def format_of(dtype: str) -> Format:
    """The format of a dtype that holds data, or of a compute dtype."""
    return DTYPES[dtype].part if dtype in DTYPES else FORMATS[dtype]
