"""What torch calls the vendor's dtypes, for programs too that are written where torch is not
installed.
"""

from __future__ import annotations

from collections.abc import Mapping

WIDE: Mapping[str, str] = {
    "DOUBLE": "float64",
    "COMPLEX64": "complex64",
    "COMPLEX128": "complex128",
}
"""Dtypes that are computed with as they are; all others in float32."""
NATIVE: Mapping[str, str] = {
    "FLOAT16": "float16",
    "BFLOAT16": "bfloat16",
    "FLOAT": "float32",
    **WIDE,
}
