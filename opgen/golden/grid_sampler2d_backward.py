"""The gradients of a sampler: of the image that it reads at places of a grid, and of the grid."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product
from math import prod

import numpy as np

from opgen.golden import Array, ProbeCall, Tensors, present
from opgen.golden._sampling import BICUBIC, ZEROS, SampledAxis, Taps, place, sampled, unknown

VERSION = 3
DIFFERENCES = ("gridGrad",)
PROBES = [
    ProbeCall(
        {"Hin": 4, "Win": 5, "interpolationMode": mode, "paddingMode": padding}
        | {"alignCorners": align},
        {"gradOutput": (2, 3, 3, 2), "input": (2, 3, 4, 5), "grid": (2, 3, 2, 2)},
        ("inputGrad", "gridGrad"),
    )
    for mode, padding, align in product(range(3), range(3), range(2))
]
STEP = 2.0**-6
"""What coordinates are multiples of: dtypes of 8 bits hold them to 4, and products are exact."""
BLOCK = 1 << 15
"""Elements of the incoming gradient that are taken together, if a channel has no more."""


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """InputGrad (B, N, C, Hin, Win) and gridGrad (B, N, Hout, Wout, 2) from gradOutput (B, N, C,
    Hout, Wout), input (B, N, C, Hin, Win) and grid, pairs (x, y).
    """
    x, y = _axes(tensors, names)
    return _spread(tensors, x.taps, y.taps, wanted, 0.0)


def magnitude(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]
) -> dict[str, Array]:
    """The sum of absolute terms with the largest weights of a device, and what the errors of its
    weights come to: ``(a + da)(b + db) - ab = da b + (a + da) db``. Where a device may or may not
    multiply Inf or NaN by 0, and of images and samples whose places nobody knows, it is infinite.
    """
    x, y = _axes(tensors, names)
    sizes: Tensors = {name: None if a is None else np.abs(a) for name, a in tensors.items()}
    shapes = {name: array.shape[1:] for name, array in sizes.items() if array is not None}
    total = _spread(sizes, x.largest, y.largest, wanted, np.inf)
    for pair in ((x.errors, y.sizes), (x.largest, y.errors)):
        for name, error in _spread(sizes, *pair, wanted, np.inf).items():
            total[name] += error / depth(names, shapes, name)
    if any(np.isnan(array).any() for array in total.values()):
        for name, array in golden(tensors, names, wanted).items():
            total[name][np.isnan(total[name]) & np.isfinite(array)] = np.inf
    left_open = _unknown(tensors, names)
    for name, places in (("gridGrad", left_open), ("inputGrad", left_open.any(axis=(2, 3)))):
        if name in total:
            total[name][places] = np.inf
    return total


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """Every sample may meet in one element, with each tap if these are padded one by one, and every
    tap and channel in a sample; then the products of weights, and of what a place moves by.
    """
    _, channels, rows, columns = shapes["gradOutput"]
    cubic = names["interpolationMode"] == BICUBIC
    if output == "inputGrad":
        return rows * columns * (16 if cubic and names["paddingMode"] != ZEROS else 1) + 6
    return channels * (16 if cubic else 4) + 6


def saved(tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """Grid: coordinates from -1.5 to 1.5 whose places are exact, none of them on an element or in
    the middle between two.
    """
    (drawn,) = present(tensors, "grid")
    fraction = 2 * np.frexp(np.abs(drawn))[0] - 1
    grid: Array = np.rint(np.copysign(1.5 * fraction, drawn) / STEP) * STEP
    for _ in range(3):
        for i, extent in enumerate((names["Win"], names["Hin"])):
            at = 2 * place(grid[..., i], extent, bool(names["alignCorners"]))
            grid[..., i] += STEP * (np.abs(at - np.rint(at)) < STEP)
    return {"grid": grid}


def _axes(tensors: Tensors, names: Mapping[str, int]) -> tuple[SampledAxis, SampledAxis]:
    """The axes of columns and rows."""
    (grid,) = present(tensors, "grid")
    modes = names["interpolationMode"], names["paddingMode"], bool(names["alignCorners"])
    return (
        sampled(grid[..., 0], names["Win"], *modes),
        sampled(grid[..., 1], names["Hin"], *modes),
    )


def _unknown(tensors: Tensors, names: Mapping[str, int]) -> Array:
    """(B, N, Hout, Wout) bool: samples whose places nobody knows."""
    (grid,) = present(tensors, "grid")
    ways = names["paddingMode"], bool(names["alignCorners"])
    columns, rows = (
        unknown(grid[..., i], extent, *ways)
        for i, extent in enumerate((names["Win"], names["Hin"]))
    )
    return np.asarray(columns | rows)


def _spread(
    tensors: Tensors, x: Taps, y: Taps, wanted: Collection[str], of_foreign: float
) -> dict[str, Array]:
    """Both gradients, tap by tap, some channels at a time; ``of_foreign`` is 0 times Inf or NaN."""

    def times(values: Array, weights: Array) -> Array:
        of_zero = np.where(np.isfinite(values), 0.0, of_foreign)
        return np.where(weights == 0, of_zero, values * weights)

    gradient, image = present(tensors, "gradOutput", "input")
    cases, batch, channels, rows, columns = image.shape
    flat = image.reshape(cases * batch, channels, rows * columns)
    samples = prod(gradient.shape[3:])
    incoming = gradient.reshape(cases * batch, channels, samples)
    plane = np.arange(cases * batch)[:, None]
    step = max(1, BLOCK // max(1, cases * batch * samples))
    sums = np.zeros((channels, cases * batch * rows * columns))
    of_grid = np.zeros((2, cases * batch, samples))
    taps = product(range(len(x.index)), range(len(y.index))) if image.size else ()
    for i, j in taps:
        there = (x.index[i] >= 0) & (y.index[j] >= 0)
        at = np.where(there, y.index[j] * columns + x.index[i], 0).reshape(cases * batch, samples)
        parts = x.weight[i] * y.weight[j], x.slope[i] * y.weight[j], x.weight[i] * y.slope[j]
        weight, along_x, along_y = (np.where(there, w, 0.0).reshape(at.shape) for w in parts)
        read = there.reshape(at.shape)
        places = (at + plane * rows * columns)[read]
        for first in range(0, channels, step):
            some = slice(first, first + step)
            given = np.moveaxis(incoming[:, some], 1, 0)
            if "inputGrad" in wanted:
                terms, of_some = times(given[:, read], weight[read]), sums[some]
                apart = places + np.arange(len(given))[:, None] * sums.shape[1]
                met = np.bincount(apart.reshape(-1), terms.reshape(-1), of_some.size)
                of_some += met.reshape(of_some.shape)
            if "gridGrad" in wanted:
                values = np.take_along_axis(flat[:, some], at[:, None], axis=2)
                moved = (np.moveaxis(values, 1, 0) * given)[:, read]
                for total, along in zip(of_grid, (along_x, along_y), strict=True):
                    so_far = total[read]
                    for terms in times(moved, along[read]):
                        so_far += terms
                    total[read] = so_far
    by_plane = sums.reshape(channels, cases, batch, rows, columns)
    outputs = {
        "inputGrad": np.moveaxis(by_plane, 0, 2),
        "gridGrad": np.moveaxis(of_grid.reshape(2, cases, batch, *gradient.shape[3:]), 0, -1),
    }
    return {name: np.ascontiguousarray(outputs[name]) for name in outputs if name in wanted}
