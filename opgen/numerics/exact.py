"""Goldens whose bits do not depend on the order of summation, for data that keep to no grid.

Each operand is cut into slices on fixed-point grids so coarse that the kernel, run on one slice of
each, makes no rounding error at all: then no BLAS, thread count or batch can change a bit. The
exact partial results are added in a fixed order in twofold precision (Ozaki, Ogita, Oishi, Rump
2012; Knuth's two-sum). Data on a grid pass in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import numpy as np

from opgen.numerics.arrays import Array, by_parts

Tensors: TypeAlias = Mapping[str, Array | None]
Linear: TypeAlias = Callable[[Tensors, Mapping[str, int], Collection[str]], Mapping[str, Array]]
"""A golden that is linear in a gradient and in its partner."""

VERSION = 1
"""Raised by hand whenever an exact sum has other bits; a test sees to it."""

_HUGE = 2.0**900  # beyond this the splitting constants could overflow


def golden_exact(
    kernel: Linear,
    tensors: Tensors,
    names: Mapping[str, int],
    wanted: Collection[str],
    depth: int,
    partners: Mapping[str, str],
    gradient: str,
) -> dict[str, Array]:
    """Run a golden that is linear in the tensor ``gradient`` and in each output's partner, with no
    rounding but the last.

    ``tensors`` carry a leading batch axis; ``depth`` is the largest number of terms in a sum. A
    case's result is the same in every batch, and never -0. Cases with Inf, NaN or ``|x| >= 2**900``
    run once, unsplit.

    The cost is one call for data on a grid, else one per pair of slices: an operand whose bits span
    s binades has about ``s / (w + 1)`` slices, where ``w = (53 - log2 depth) / 2``. FLOAT at depth
    4096 has 2 for the recipe normal and 3 for wide_exponent.
    """
    wanted = list(wanted)
    used = {
        out: name
        for out, name in partners.items()
        if out in wanted and tensors.get(name) is not None
    }
    operands = {
        name: value for name in (gradient, *used.values()) if (value := tensors[name]) is not None
    }
    tame = np.logical_and.reduce([_largest(value) < _HUGE for value in operands.values()])
    if not tame.all():
        return _apart(
            tame,
            tensors,
            lambda some: golden_exact(kernel, some, names, wanted, depth, partners, gradient),
            lambda some: kernel(some, names, wanted),
        )
    room = 53 - (max(depth, 1) - 1).bit_length()
    width = min(room // 2 if used else room, 50)
    if width < 1:
        raise ValueError(f"a sum of {depth} terms leaves no bits to split")
    if all(_on_grid(value, width) for value in operands.values()) or _fits(
        operands, used, room, gradient
    ):
        return {out: value + 0.0 for out, value in kernel(tensors, names, wanted).items()}
    slices = {name: sliced(value, width) for name, value in operands.items()}
    totals: dict[str, tuple[Array, Array]] = {}
    for left in slices[gradient]:
        for index in range(max((len(slices[name]) for name in used.values()), default=1)):
            right = {
                name: slices[name][index]
                for name in set(used.values())
                if index < len(slices[name])
            }
            now = [out for out in wanted if (used[out] in right if out in used else index == 0)]
            for out, value in kernel({**tensors, gradient: left, **right}, names, now).items():
                totals[out] = (
                    _added(*totals[out], value) if out in totals else (value, np.zeros_like(value))
                )
    return {out: high + low + 0.0 for out, (high, low) in totals.items()}


def magnitude_exact(
    kernel: Linear,
    tensors: Tensors,
    names: Mapping[str, int],
    wanted: Collection[str],
    depth: int,
    partners: Mapping[str, str],
    gradient: str,
) -> dict[str, Array]:
    """The sum of ``|term|`` with the same guarantee: the golden kernel on absolute values, by parts
    for complex.

    Takes what :func:`golden_exact` takes. Right for operators whose other factors all have one
    sign.
    """
    sizes = {
        name: None if value is None else by_parts(np.abs, value) for name, value in tensors.items()
    }
    results = golden_exact(kernel, sizes, names, wanted, depth, partners, gradient)
    return {out: by_parts(np.abs, value) for out, value in results.items()}


def sliced(values: Array, width: int) -> list[Array]:
    """Cut each case of (B, ...) into arrays that add up to it exactly, each of ``width`` bits below
    a power of two.

    The largest come first. The scale is each case's own, so its slices are the same in every batch.

    >>> [piece.tolist() for piece in sliced(np.array([[1.0, 3.0, 2.0**-30]]), 20)]
    [[[1.0, 3.0, 0.0]], [[0.0, 0.0, 9.313225746154785e-10]]]
    """
    rest = _real(values)
    pieces = []
    while True:
        constant = _constant(rest, width)
        piece = (rest + constant) - constant
        pieces.append(piece.view(values.dtype) if np.iscomplexobj(values) else piece)
        rest = rest - piece
        if not rest.any():
            return pieces


def _real(values: Array) -> Array:
    return (
        np.ascontiguousarray(values).view(np.float64)
        if np.iscomplexobj(values)
        else np.asarray(values)
    )


def _largest(values: Array) -> Array:
    """The largest |value| of each case, (B,); NaN counts as Inf."""
    real = np.abs(_real(values))
    top = real.reshape(len(real), -1).max(axis=1, initial=0.0) if real.size else np.zeros(len(real))
    return np.where(np.isnan(top), np.inf, top)


def _constant(values: Array, width: int) -> Array:
    """What leaves the sum ``values + constant`` no room below ``2**-width`` of each case's largest,
    (B, 1, ...).
    """
    fraction, exponent = np.frexp(_largest(values))
    exponent -= fraction == 0.5  # the largest is at most 2**exponent
    constant: Array = np.ldexp(1.5, exponent + (52 - width))
    return constant.reshape(-1, *(1,) * (values.ndim - 1))


def _on_grid(values: Array, width: int) -> bool:
    real = _real(values)
    constant = _constant(real, width)
    return bool(np.array_equal((real + constant) - constant, real))


def _span(values: Array) -> Array:
    """How many bits lie from each case's largest value down to the lowest set bit of any of its
    values, (B,).
    """
    fraction, exponent = np.frexp(_real(values).reshape(len(values), -1))
    whole = (fraction * 2.0**53).astype(np.int64)
    _, low = np.frexp((whole & -whole).astype(np.float64))
    lowest = np.where(whole != 0, exponent - 54 + low, 2000).min(axis=1, initial=2000)
    fraction, top = np.frexp(_largest(values))
    return np.asarray(np.maximum(top - (fraction == 0.5) - lowest, 0))


def _fits(operands: Mapping[str, Array], used: Mapping[str, str], room: int, gradient: str) -> bool:
    """Whether one kernel call is exact although some operand is wider than half of the room."""
    spans = {name: _span(value) for name, value in operands.items()}
    totals = [spans[gradient], *(spans[gradient] + spans[name] for name in used.values())]
    return all(bool((total <= room).all()) for total in totals)


def _added(high: Array, low: Array, value: Array) -> tuple[Array, Array]:
    """Knuth's two-sum: the rounding error of the addition goes to the low part."""
    total = high + value
    shadow = total - high
    return total, low + ((high - (total - shadow)) + (value - shadow))


def _apart(
    tame: Array,
    tensors: Tensors,
    split: Callable[[Tensors], Mapping[str, Array]],
    whole: Callable[[Tensors], Mapping[str, Array]],
) -> dict[str, Array]:
    """Cases that can be split and cases that cannot, each on their own."""
    result: dict[str, Array] = {}
    for mask, way in ((tame, split), (~tame, whole)):
        if mask.any():
            some = {name: None if value is None else value[mask] for name, value in tensors.items()}
            for out, value in way(some).items():
                array = np.empty((len(tame), *value.shape[1:]), dtype=value.dtype)
                result.setdefault(out, array)[mask] = value + 0.0
    return result
