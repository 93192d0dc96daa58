"""A device made of the goldens: it takes a call apart into steps, and does each right unless a
mutant does it wrong.

Read the views, round once to the compute dtype, compute in float64, round once more to the output's
dtype, write the view. Unless it is a mutant its outputs lie within every bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from opgen.golden import Array, kernel
from opgen.numerics.arrays import turned
from opgen.numerics.rounding import kept_in
from opgen.quality.mutants.mutant import NOTHING, Computation, DeviceBatch, Mutant, Outputs

UNWRITTEN = np.nan
"""What an output holds before it is written."""
OTHERWISE = 0xA5
"""Each of its bytes, where it holds whole numbers."""


def answer(cases: DeviceBatch, mutant: Mutant) -> Outputs:
    """The outputs that a call asks for, (B, *shape) in the dtype of the output, as they are read
    back.

    Where the gradient that flows in has no elements, nothing is computed wrongly.
    """
    if mutant.compute:
        cases = replace(cases, batch=replace(cases.batch, compute=mutant.compute))
    batch = cases.batch
    outputs: Outputs = {}
    inputs = {name: _read(cases, name, mutant) for name in batch.roles}
    gradient = inputs[cases.gradient]
    compute = mutant.kernel if gradient is not None and gradient.size else Computation.run
    with np.errstate(all="ignore"):
        for wanted, to in _readings(cases):
            tensors = {
                name: None
                if values is None
                else mutant.cast(cases, values, batch.tensors[name].dtype, to)
                for name, values in inputs.items()
            }
            given = Computation(cases, kernel(cases.spec.op), tensors, batch.names, wanted)
            outputs |= compute(given)
        return {name: _write(cases, mutant, name, outputs[name]) for name in batch.wanted}


def answer_or_crash(cases: DeviceBatch, mutant: Mutant) -> tuple[Outputs | None, str]:
    """The same, or None where a wrong device ends: it reads a null pointer, or it has numbers with
    which its kernel cannot compute, which the text says. What stops a correct one is a fault of
    the kernel.
    """
    try:
        return None if mutant.crashes(cases) else answer(cases, mutant), ""
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
        if mutant is NOTHING:
            raise
        return None, f"{type(error).__name__}: {error}"


def _read(cases: DeviceBatch, name: str, mutant: Mutant) -> Array | None:
    desc = cases.batch.tensors.get(name)
    if desc is None or name not in cases.storage:
        return None
    raw = cases.storage[name]
    flat = mutant.read(raw, desc)
    return flat.astype(np.complex128 if np.iscomplexobj(raw) else np.float64).reshape(
        len(raw), *desc.shape
    )


def _readings(cases: DeviceBatch) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Which outputs are computed from which values: most from the compute dtype, some from what is
    stored.
    """
    batch = cases.batch
    for exact, to in ((False, batch.compute), (True, None)):
        wanted = tuple(name for name in batch.wanted if (name in batch.exact) == exact)
        if wanted:
            yield wanted, to


def _write(cases: DeviceBatch, mutant: Mutant, name: str, values: Array) -> Array:
    batch, desc = cases.batch, cases.batch.tensors[name]
    through = None if name in batch.exact else kept_in(batch.compute, desc.dtype)
    values = mutant.output(cases, name, values)
    laid = mutant.lay(mutant.store(values, desc.dtype, through), desc)
    return turned(laid, batch.turned.get(name))


def unwritten(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """An output that nobody has written: bytes that are no right answer where there is no NaN."""
    if np.dtype(dtype).kind not in "iub":
        return np.full(shape, UNWRITTEN, dtype=dtype)
    held = np.empty(shape, dtype=dtype)
    held.reshape(-1).view(np.uint8)[:] = OTHERWISE
    return held
