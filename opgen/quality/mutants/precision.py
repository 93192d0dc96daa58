"""Wrong kernels: in which precision is computed, and what becomes of numbers that are rounded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from opgen.golden import Array, kernel
from opgen.numerics.arrays import by_parts
from opgen.numerics.formats import format_of
from opgen.numerics.rounding import binade, rounded, stored
from opgen.quality.mutants.mutant import (
    Computation,
    DeviceBatch,
    Mutant,
    Outputs,
    WrongKernel,
    cast,
    lists_dtype,
    store,
)
from opgen.spec.spec import Spec

PIECES = 8
"""Partial sums that a narrow accumulator adds up."""


def has_complex(spec: Spec) -> bool:
    """Whether a page lists a complex dtype for some input and some output."""
    return all(
        lists_dtype(spec, tensors, lambda dtype: dtype.complex)
        for tensors in (spec.inputs, spec.outputs)
    )


def rounds(spec: Spec) -> bool:
    """Whether an operator's outputs are more than zeros and elements of its inputs, as its probes
    show.
    """
    random, module = np.random.default_rng(0), kernel(spec.op)
    for probe in module.PROBES:
        given = {
            name: None if shape is None else random.standard_normal((1, *shape))
            for name, shape in probe.shapes.items()
        }
        known = np.concatenate([a.reshape(-1) for a in given.values() if a is not None] + [[0.0]])
        with np.errstate(all="ignore"):
            outputs = module.golden(given, probe.names, probe.wanted)
        if not all(np.isin(output, known).all() for output in outputs.values()):
            return True
    return False


def accumulated(form: str) -> WrongKernel:
    """Partial sums kept in a narrow format: every eighth element of the gradient goes to the same
    one.
    """

    def kernel(given: Computation) -> Outputs:
        gradient = given.gradient
        piece = (np.arange(gradient[0].size) % PIECES).reshape(gradient.shape[1:])
        total: Outputs = {}
        for p in range(min(PIECES, gradient[0].size)):
            part = given.run({given.of.gradient: np.where(piece == p, gradient, 0)})
            for name, array in part.items():
                total[name] = rounded(total.get(name, 0.0) + rounded(array, form), form)
        return total

    return kernel


def truncated(values: Array, to: str) -> Array:
    """Rounded towards zero to a format or a dtype."""
    if np.iscomplexobj(values):
        return by_parts(lambda part: truncated(part, to), values)
    form = format_of(to)
    with np.errstate(all="ignore"):
        quantum = binade(values, form.low) * 2.0 ** (1 - form.digits)
        whole = np.clip(np.trunc(values / quantum) * quantum, -form.max, form.max)
    return np.where(np.isfinite(values), whole, values)


def truncating(cases: DeviceBatch, values: Array, storage: str, to: str | None) -> Array:
    """Inputs truncated to the compute dtype."""
    right = cast(cases, values, storage, to)
    return values if right is values or to is None else truncated(values, to)


def always(form: str) -> Callable[[DeviceBatch, Array, str, str | None], Array]:
    """Inputs rounded to a format where FLOAT is asked for."""

    def rounding(cases: DeviceBatch, values: Array, storage: str, to: str | None) -> Array:
        if to == "FLOAT" and storage == "FLOAT":
            return rounded(values, form)
        return cast(cases, values, storage, to)

    return rounding


def clipped(values: Array, dtype: str, through: str | None) -> Array:
    """The largest finite number for Inf."""
    limit = min(format_of(through or dtype).max, format_of(dtype).max)

    def part(array: Array) -> Array:
        return np.clip(array, -limit, limit)

    return store(by_parts(part, values), dtype, through)


MUTANTS = (
    Mutant(
        "accumulates_float16", "partial sums are kept in FLOAT16", kernel=accumulated("FLOAT16")
    ),
    Mutant(
        "accumulates_bfloat16", "partial sums are kept in BFLOAT16", kernel=accumulated("BFLOAT16")
    ),
    Mutant(
        "inputs_truncated",
        "inputs are truncated to the compute dtype, not rounded",
        ("cubeMathType",),
        cast=truncating,
    ),
    Mutant(
        "output_truncated",
        "results are truncated to the output's dtype, not rounded",
        where=rounds,
        store=lambda values, dtype, through: stored(
            truncated(values if through is None else truncated(values, through), dtype), dtype
        ),
    ),
    Mutant(
        "hfloat32_for_float",
        "inputs are rounded to HFLOAT32 where the compute dtype is FLOAT",
        ("cubeMathType",),
        cast=always("HFLOAT32"),
    ),
    Mutant(
        "float16_for_float",
        "inputs are rounded to FLOAT16 where the compute dtype is FLOAT",
        ("cubeMathType",),
        cast=always("FLOAT16"),
    ),
    Mutant(
        "imaginary_dropped",
        "the imaginary part is lost",
        where=has_complex,
        store=lambda v, dtype, through: store(v.real.astype(v.dtype), dtype, through),
    ),
    Mutant(
        "conjugated",
        "complex results are conjugated",
        where=has_complex,
        store=lambda v, dtype, through: store(np.conj(v), dtype, through),
    ),
    Mutant(
        "nan_lost",
        "NaN becomes 0",
        store=lambda v, dtype, through: store(
            by_parts(lambda a: np.where(np.isnan(a), 0.0, a), v), dtype, through
        ),
    ),
    Mutant("inf_clipped", "Inf becomes the largest finite number", store=clipped),
)
