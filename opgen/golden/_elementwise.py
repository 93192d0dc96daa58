"""Kernels of operators that are a formula of their inputs, written once on tracked numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden import Names as Names  # noqa: PLC0414  kernels take it from here
from opgen.golden._absolute import Both, Function, Outputs
from opgen.golden._running_error import ROUNDOFF, Tracked

Operands: TypeAlias = Mapping[str, Tracked]
Formula: TypeAlias = Callable[[Operands, Names], Tracked]
"""The single output of an operator, from its inputs and the names of the call."""

NOTHING = 2.0**-500
"""A slope below it is 0: products with it would be subnormal in float64."""
SECOND_ORDER = 1 + 2.0**-10
"""For what products of errors that a first-order analysis leaves out add to it."""


def functions(formula: Formula, output: str) -> tuple[Function, Function, Callable[..., Both]]:
    """The functions ``golden``, ``magnitude`` and ``both`` of a kernel. The magnitude is the error
    of a device in units of its roundoff, and a value's size at least, so that such a kernel has the
    depth 1.
    """

    def both(tensors: Tensors, names: Names, wanted: Collection[str]) -> Both:
        if output not in wanted:
            return {}, {}
        given = {name: a for name, a in tensors.items() if a is not None}
        rank = max(a.ndim for a in given.values())
        operands = {name: Tracked.given(_aligned(a, rank)) for name, a in given.items()}
        result = formula(operands, names)
        shape = np.broadcast_shapes(*(operand.value.shape for operand in operands.values()))
        value = np.broadcast_to(result.value, shape)
        return {output: value}, {output: np.fmax(result.error * SECOND_ORDER, np.abs(value))}

    def golden(tensors: Tensors, names: Names, wanted: Collection[str]) -> Outputs:
        return both(tensors, names, wanted)[0]

    def magnitude(tensors: Tensors, names: Names, wanted: Collection[str]) -> Outputs:
        return both(tensors, names, wanted)[1]

    return golden, magnitude, both


def _aligned(stack: Array, rank: int) -> Array:
    """A stack (B, *shape) of one rank with the others: shapes broadcast from their last axis."""
    return stack.reshape(len(stack), *(1,) * (rank - stack.ndim), *stack.shape[1:])


def depth(names: Names, shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """One: all roundings are in the magnitude."""
    return 1


def by_rows(names: Names, shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, ...]:
    """All tensors, where none is broadcast."""
    return tuple(shapes) if len({*shapes.values()}) == 1 else ()


def passed(gradient: Tracked, slope: Tracked) -> Tracked:
    """A gradient times a slope. Where the slope may be 0 or have either sign, any value may come of
    Inf or NaN: a device may multiply, or select.
    """
    value = np.where(np.abs(slope.value) < NOTHING, 0.0, slope.value)
    product = gradient * Tracked(value, slope.error)
    vanishes = np.abs(value) <= slope.error * ROUNDOFF
    return product.unless(vanishes & ~np.isfinite(gradient.value))


def masked(gradient: Tracked, kept: Array, undecided: Array | bool = False) -> Tracked:
    """A gradient where it is kept, times a factor of 1, and 0 elsewhere, times 0: there any value
    may come of Inf or NaN, too.
    """
    result = gradient.where(kept, 0.0, undecided)
    return result.unless(~kept & ~np.isfinite(gradient.value))


def probe(*inputs: str, output: str = "gradInput", **names: float | str) -> ProbeCall:
    """A call in which all inputs have one shape."""
    return ProbeCall(names, dict.fromkeys(inputs, (5, 7)), (output,))


def of_argument(function: Callable[[Array], Array], output: str = "gradInput") -> Differentiable:
    """The forward of one argument, ``self``, which a kernel is given as it was."""

    def forward(tensors: Tensors, names: Names) -> Outputs:
        (x,) = present(tensors, "self")
        return {"gradOutput": function(x)}

    return Differentiable(forward, {output: "self"})


def of_result(
    function: Callable[[Array, Names], Array], output: str = "gradInput"
) -> Differentiable:
    """The forward of one argument, of which a kernel is given the result, ``output``."""

    def forward(tensors: Tensors, names: Names) -> Outputs:
        (x,) = present(tensors, "self")
        return dict.fromkeys(("gradOutput", "output"), function(x, names))

    return Differentiable(forward, {output: "self"})
