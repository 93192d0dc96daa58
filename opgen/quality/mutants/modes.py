"""Wrong kernels: what a page's modes say is computed in another dtype."""

from __future__ import annotations

from functools import partial

from opgen.numerics.rounding import as_they_are, holds, kept_in
from opgen.quality.mutants.mutant import DeviceBatch, Mutant, lists_dtype
from opgen.spec.spec import Spec

STORED = "as stored"
"""The row of a page's table for calls of which no mode speaks."""


def row_name(spec: Spec, mode: int) -> str:
    """A row of a page's table of modes: its line, and the dtype that inputs are rounded to."""
    if mode < 0:
        return STORED
    line, dtype = spec.modes[mode].at[0], spec.modes[mode].dtype
    return f"mode {mode + 1} (line {line}): {dtype}"


def allowed(cases: DeviceBatch, dtype: str) -> bool:
    """Whether a device may compute in a dtype: it is the one that the mode says; or rounding to
    that one is optional, or changes no input, and this one changes no more.
    """
    batch = cases.batch
    stored = {batch.tensors[name].dtype for name in batch.inputs}
    exact, free = (
        all(as_they_are(storage, to) for storage in stored) for to in (dtype, batch.compute)
    )
    exact &= all(
        kept_in(dtype, output) in (None, kept_in(batch.compute, output))
        for output in {batch.tensors[name].dtype for name in batch.wanted}
    )
    if batch.optional:
        return exact or holds(dtype, batch.compute)
    return dtype == batch.compute or (exact and free)


def differs(spec: Spec, dtype: str) -> bool:
    """Whether a page with modes has calls that are not to be computed in a dtype: a mode says
    another one, or an input may have a dtype that this one does not hold.
    """
    if not spec.modes:
        return False
    return any(mode.dtype != dtype for mode in spec.modes) or lists_dtype(
        spec, spec.inputs, lambda one: not (one.whole or holds(dtype, one.part.name))
    )


MUTANTS = tuple(
    Mutant(
        f"computes_{dtype.lower()}",
        f"every mode computes in {dtype}",
        compute=dtype,
        where=partial(differs, dtype=dtype),
    )
    for dtype in ("FLOAT", "HFLOAT32", "FLOAT16", "BFLOAT16")
)
