"""What outputs hold before a device writes them, and what is left of it afterwards.

The pattern is a NaN that no operation produces, so an element that was never written fails every
comparison, and bytes that nobody may write are known again.
"""

from __future__ import annotations

import numpy as np

from opgen.numerics.views import index

GUARD = 512
"""Bytes behind every output that belong to nobody."""
_NANS = {"FLOAT16": 0x7EA5, "BFLOAT16": 0x7FE5, "FLOAT": 0x7FE5A5A5, "DOUBLE": 0x7FFDA5A5A5A5A5A5}
"""Quiet NaNs with payloads of their own, as bits."""
_OTHER, _GUARD_BYTE = 0xA5, 0x5A
"""The bytes of what has no NaN, and of guards."""
_COMPLEX = {"COMPLEX32": "FLOAT16", "COMPLEX64": "FLOAT", "COMPLEX128": "DOUBLE"}


def pattern(dtype: str, itemsize: int) -> np.ndarray:
    """The bytes of one canary element, (itemsize,) uint8."""
    part = _COMPLEX.get(dtype, dtype)
    if part not in _NANS:
        return np.full(itemsize, _OTHER, dtype=np.uint8)
    parts = 2 if dtype in _COMPLEX else 1
    return np.tile(
        np.frombuffer(_NANS[part].to_bytes(itemsize // parts, "little"), dtype=np.uint8), parts
    )


def prefilled(dtype: str, itemsize: int, elements: int) -> np.ndarray:
    """(elements * itemsize + GUARD,) uint8: canaries, and a guard behind them."""
    result = np.full(elements * itemsize + GUARD, _GUARD_BYTE, dtype=np.uint8)
    result[: elements * itemsize].reshape(elements, itemsize)[:] = pattern(dtype, itemsize)
    return result


def in_view(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, offset: int, elements: int
) -> np.ndarray:
    """(elements,) bool: which elements of a storage belong to a view."""
    inside = np.zeros(elements, dtype=bool)
    if strides is None:
        inside[offset : offset + int(np.prod(shape, dtype=np.int64))] = True
    elif 0 not in shape:
        inside[index(shape, strides, offset)] = True
    return inside


def inspect(
    name: str, raw: np.ndarray, dtype: str, itemsize: int, inside: np.ndarray, asked: bool
) -> tuple[list[str], bool]:
    """(what is noteworthy about an output after a run, whether the device wrote where nothing is
    its to write).
    """
    elements = len(inside)
    body = raw[: elements * itemsize].reshape(elements, itemsize)
    untouched = (body == pattern(dtype, itemsize)).all(axis=1)
    view = int(inside.sum())
    left = int((untouched & inside).sum())
    gaps = int((~untouched & ~inside).sum())
    beyond = int((raw[elements * itemsize :] != _GUARD_BYTE).sum())
    notes = []
    if asked and left:
        notes.append(f"{name}: {left} of {view} elements were not written")
    if not asked and left < view:
        notes.append(
            f"{name}: {view - left} of {view} elements were written though the output is masked out"
        )
    if gaps:
        notes.append(f"{name}: {gaps} elements of its storage outside the view were overwritten")
    if beyond:
        notes.append(f"{name}: {beyond} of the {GUARD} bytes behind its storage were overwritten")
    return notes, bool(gaps or beyond)
