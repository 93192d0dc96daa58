"""What torch calls the vendor's dtypes, for programs too that are written where torch is not
installed.
"""

from __future__ import annotations

from collections.abc import Mapping

WIDE: Mapping[str, str] = {
    "DOUBLE": "float64",
    "COMPLEX64": "complex64",
    "COMPLEX128": "complex128",
    **dict.fromkeys(("INT32", "INT64", "UINT32", "UINT64"), "float64"),
}
"""Dtypes that are computed with as they are, or where their numbers do not lose a digit; all others
in float32."""
WHOLE = ("INT8", "INT16", "INT32", "INT64", "UINT8", "BOOL")
NATIVE: Mapping[str, str] = {
    "FLOAT16": "float16",
    "BFLOAT16": "bfloat16",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "COMPLEX64": "complex64",
    "COMPLEX128": "complex128",
    **{word: word.lower() for word in WHOLE},
}
