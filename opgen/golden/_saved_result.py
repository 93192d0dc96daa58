"""Gradients of functions whose derivative is a formula of their result, which the forward saved.

Both inputs broadcast. Complex numbers are multiplied by parts, without a conjugate. The sums of
absolute terms are the same formula of absolute values, by parts, with plus for minus: of whatever
formula a device has, no intermediate result is larger.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TypeAlias

import numpy as np

from opgen.golden import Array, ProbeCall, Tensors
from opgen.golden._absolute import MAGNITUDE, Function, stacked

Minus: TypeAlias = Callable[..., Array]
Derivative: TypeAlias = Callable[[Array, Minus], Array]
"""The derivative from the result; it subtracts by a function that may add."""
PROBES = [
    ProbeCall({}, {"gradOutput": gradient, "output": result}, ("gradInput",))
    for gradient, result in [((5, 7), (5, 7)), ((3, 1, 7), (5, 1))]
]


def functions(derivative: Derivative) -> tuple[Function, Function]:
    """The functions ``golden`` and ``magnitude`` of a kernel."""

    def computed(
        tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], absolute: bool
    ) -> dict[str, Array]:
        if "gradInput" not in wanted:
            return {}
        inputs = [tensors["gradOutput"], tensors["output"]]
        gradient, result = aligned(
            *(stacked(a, MAGNITUDE) if absolute else a for a in inputs if a is not None)
        )
        minus = np.add if absolute else np.subtract
        return {"gradInput": times(gradient, derivative(result, minus), minus)}

    return partial(computed, absolute=False), partial(computed, absolute=True)


def aligned(*stacks: Array) -> list[Array]:
    """The stacks (B, *shape) of several inputs, of one rank: with axes of extent 1 behind that of
    the cases.
    """
    rank = max(stack.ndim for stack in stacks)
    return [
        stack.reshape(len(stack), *(1,) * (rank - stack.ndim), *stack.shape[1:]) for stack in stacks
    ]


def times(a: Array, b: Array, minus: Minus) -> Array:
    """The product, by parts where it is complex."""
    if a.dtype.kind != "c" and b.dtype.kind != "c":
        product: Array = a * b
        return product
    real = minus(a.real * b.real, a.imag * b.imag)
    result = np.empty(real.shape, dtype=np.complex128)
    result.real = real
    result.imag = a.real * b.imag + a.imag * b.real
    return result


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """A difference and two products; a complex product is one of parts, and a sum."""
    return 5
