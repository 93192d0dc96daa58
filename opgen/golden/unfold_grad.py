"""The gradient of unfold: the slices along one of the last two axes are added back to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from opgen.golden import Array, ProbeCall
from opgen.golden._adjoint import Forward
from opgen.golden._blocks import blocks, laid_out
from opgen.golden._gathers import Gather

VERSION = 1
Names = Mapping[str, int]


@lru_cache(maxsize=256)
def make(extent: int, size: int, step: int, width: int | None) -> Forward:
    """Slices of the last axis, or of the one before an axis of some width."""
    axis = blocks(extent, (extent - size) // step + 1, size, step)
    return Forward((axis,) if width is None else (axis, Gather(width, np.arange(width)[None])))


def behind(names: Names) -> int | None:
    """The extent of the axis behind ``dim``, if there is one."""
    return names.get(f"extent{names['dim'] + 1}")


def forward(names: Names) -> Forward:
    """The slices along ``dim``."""
    return make(names[f"extent{names['dim']}"], names["size"], names["step"], behind(names))


def back(slices: Array, names: Names) -> Array:
    """(B, ..., slices[, width], size) -> (B, ..., size * slices[, width])."""
    if behind(names) is None:
        moved = slices.swapaxes(-1, -2)
        return moved.reshape(*moved.shape[:-2], moved.shape[-2] * moved.shape[-1])
    moved = np.moveaxis(slices, -1, -3)
    *lead, size, number, width = moved.shape
    return moved.reshape(*lead, size * number, width)


def out(gathered: Array, names: Names) -> Array:
    """The opposite."""
    size = names["size"]
    if behind(names) is None:
        *lead, number = gathered.shape
        return gathered.reshape(*lead, size, number // size).swapaxes(-1, -2)
    *lead, number, width = gathered.shape
    return np.moveaxis(gathered.reshape(*lead, size, number // size, width), -3, -1)


golden, magnitude, both, depth, FORWARD = laid_out(forward, back, out, "gradOut", "gradIn")
PROBES = [
    ProbeCall(
        {"extent0": 3, "extent1": 9, "extent2": 4, "dim": dim, "size": 3, "step": 2},
        {"gradOut": shape},
        ("gradIn",),
    )
    for dim, shape in [(1, (3, 4, 4, 3)), (2, (3, 9, 1, 3))]
]
