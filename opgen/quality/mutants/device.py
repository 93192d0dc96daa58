"""A device made of the goldens: it takes a call apart into steps, and does each right unless a
mutant does it wrong.

Read the views, round once to the compute dtype, compute in float64, round once more to the output's
dtype, write the view. Unless it is a mutant its outputs lie within every bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from opgen.golden import Array, kernel
from opgen.model import TensorDesc
from opgen.numerics.rounding import in_compute, kept_in, rounded, stored
from opgen.numerics.views import index
from opgen.quality.mutants.mutant import Mutant, Outputs, Values, Work

UNWRITTEN = np.nan
"""What an output holds before it is written."""


def answer(work: Work, mutant: Mutant) -> Outputs:
    """The outputs that a call asks for, (B, *shape) in the dtype of the output, as they are read
    back.

    Where the gradient that flows in has no elements, nothing is computed wrongly.
    """
    found: dict[str, Array] = {}
    values = {name: _read(work, name, mutant) for name in work.batch.roles}
    gradient = values[work.gradient]
    if gradient is None or not gradient.size:
        mutant = replace(mutant, names=None, tensors=None, kernel=None)
    module: Any = kernel(work.spec.op)
    with np.errstate(all="ignore"):
        for wanted, to in _readings(work):
            seen: Values = {
                name: None if array is None else _cast(work, mutant, array, name, to)
                for name, array in values.items()
            }
            names = dict(work.batch.names)
            if mutant.names:
                names = mutant.names(work, names)
            if mutant.tensors:
                seen = mutant.tensors(work, seen)
            if mutant.kernel:
                found |= mutant.kernel(work, module.golden, seen, names, wanted)
            else:
                found |= module.golden(seen, names, wanted)
        if mutant.outputs:
            found = mutant.outputs(work, found)
        return {name: _write(work, mutant, name, found[name]) for name in work.batch.wanted}


def view(storage: Array, desc: TensorDesc) -> Array:
    """The elements of a view, (B, n)."""
    return storage if desc.plain else storage[:, index(desc.shape, desc.steps, desc.offset)]


def cast(work: Work, values: Array, storage: str, to: str | None) -> Array:
    """Values as they are computed with; as they are stored where no compute dtype is named."""
    return values if to is None else in_compute(values, storage, to)


def store(values: Array, dtype: str, through: str | None) -> Array:
    """Round to an output's dtype, by way of the compute dtype where the result is kept in that
    first.
    """
    return stored(values if through is None else rounded(values, through), dtype)


def _read(work: Work, name: str, mutant: Mutant) -> Array | None:
    desc = work.batch.tensors.get(name)
    if desc is None or name not in work.storage:
        return None
    raw = work.storage[name]
    flat = (mutant.read or view)(raw, desc)
    return flat.astype(np.complex128 if np.iscomplexobj(raw) else np.float64).reshape(
        len(raw), *desc.shape
    )


def _readings(work: Work) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Which outputs are computed from which values: most from the compute dtype, some from what is
    stored.
    """
    batch = work.batch
    cube = tuple(out for out in batch.wanted if out not in batch.exact)
    exact = tuple(out for out in batch.wanted if out in batch.exact)
    if cube:
        yield cube, batch.compute
    if exact:
        yield exact, None


def _cast(work: Work, mutant: Mutant, values: Array, name: str, to: str | None) -> Array:
    return (mutant.cast or cast)(work, values, work.batch.tensors[name].dtype, to)


def _write(work: Work, mutant: Mutant, name: str, values: Array) -> Array:
    batch, desc = work.batch, work.batch.tensors[name]
    through = None if name in batch.exact else kept_in(batch.compute, desc.dtype)
    array = (mutant.store or store)(values, desc.dtype, through)
    return array if mutant.lay is None else mutant.lay(array, desc)


def unwritten(shape: tuple[int, ...], dtype: Any) -> Array:
    """An output that nobody has written."""
    return np.full(shape, UNWRITTEN, dtype=dtype)


def storage_of(batch: int, desc: TensorDesc, dtype: Any) -> Array:
    """The storages of an output that nobody has written, (B, elements)."""
    return unwritten((batch, desc.storage_elements), dtype)
