"""What lies in memory before a call runs, and what is said of it afterwards.

Outputs hold a pattern that no operation makes, so an element that was never written is known again.
Floating ones hold a NaN with a payload of its own. Every number is one that integers may come to,
so these are run twice, over two patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

import numpy as np

from opgen.bundle.format.dtypes import numpy_dtype
from opgen.devices.messages import Overwritten
from opgen.model import TensorDesc

_NANS = {"FLOAT16": 0x7EA5, "BFLOAT16": 0x7FE5, "FLOAT": 0x7FE5A5A5, "DOUBLE": 0x7FFDA5A5A5A5A5A5}
"""Quiet NaNs with payloads of their own, as bits."""
_PARTS = {"COMPLEX32": "FLOAT16", "COMPLEX64": "FLOAT", "COMPLEX128": "DOUBLE"}
_INTEGERS = (0xA5, 0x5A)
"""The byte of each of the two patterns of what has no NaN."""


def runs(dtypes: Iterable[str]) -> int:
    """How often a call must run for all elements of its outputs that were not written to be
    known.
    """
    return 1 if all(_PARTS.get(dtype, dtype) in _NANS for dtype in dtypes) else 2


def pattern(dtype: str, run: int = 0) -> np.ndarray:
    """The bytes of one element that is not written in a run, (itemsize,) uint8."""
    part, size = _PARTS.get(dtype, dtype), numpy_dtype(dtype).itemsize
    if part not in _NANS:
        return np.full(size, _INTEGERS[run], dtype=np.uint8)
    bits = np.array(_NANS[part], dtype=f"<u{numpy_dtype(part).itemsize}")
    return np.tile(bits.reshape(1).view(np.uint8), size // bits.itemsize)


def prefilled(desc: TensorDesc, run: int = 0) -> np.ndarray:
    """(bytes,) uint8: the storage of an output before a run."""
    return np.tile(pattern(desc.dtype, run), desc.storage_elements)


def untouched(
    desc: TensorDesc, runs: Sequence[np.ndarray], given: np.ndarray | None = None
) -> np.ndarray:
    """(elements,) bool: where the storage of an output is, after each run, as it was before it;
    ``given`` is what one that is an input too held then.
    """
    size = numpy_dtype(desc.dtype).itemsize
    patterns = (pattern(desc.dtype, run) for run in range(len(runs)))
    before = patterns if given is None else repeat(given.view(np.uint8).reshape(-1, size))
    kept = [
        (raw.reshape(-1, size) == held).all(axis=1) for raw, held in zip(runs, before, strict=False)
    ]
    return np.asarray(np.logical_and.reduce(kept))


def of_output(
    name: str, untouched: np.ndarray, places: np.ndarray, asked: bool, read: bool = False
) -> Iterator[tuple[str, bool]]:
    """What is noteworthy about an output, each with whether the device wrote where nothing is its
    to write. ``places`` are those of its elements in its storage. ``read``: it is an input too,
    whose elements may keep their values.
    """
    view, left = len(places), int(untouched[places].sum())
    gaps = int(np.delete(~untouched, places).sum())
    if asked and left and not read:
        yield f"{name}: {left} of {view} elements were not written", False
    if not asked and left < view:
        written = f"{view - left} of {view} elements were written"
        yield f"{name}: {written} though the output is masked out", False
    if gaps:
        yield f"{name}: {gaps} elements of its storage outside the view were overwritten", True


def of_guards(name: str, found: Overwritten) -> Iterator[tuple[str, bool]]:
    """What is noteworthy about a buffer that is not the device's to write, and about its guards."""
    if found.within:
        yield f"{name}: the input was overwritten", True
    yield from (
        (f"{name}: {count} of the bytes {where} its storage were overwritten", True)
        for count, where in ((found.before, "before"), (found.behind, "after"))
        if count
    )
