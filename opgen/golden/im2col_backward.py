"""The gradient of im2col: the columns of all blocks are added back to the image."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.golden import Array, ProbeCall
from opgen.golden._adjoint import Forward, forwards
from opgen.golden._blocks import blocks, laid_out

VERSION = 1
Names = Mapping[str, int]
KEYS = ("{}in", "k{}", "s{}", "d{}", "pad{}")


def number(extent: int, kernel: int, stride: int, dilation: int, pad: int) -> int:
    """How many blocks there are along an axis."""
    return max((extent + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1, 0)


def make(*sizes: int) -> Forward:
    """The blocks along each axis."""
    axes = [
        blocks(size[0], number(*size), *size[1:]) for size in zip(*[iter(sizes)] * 5, strict=True)
    ]
    return Forward(tuple(axes))


forward = forwards([key.format(a) for a in "HW" for key in KEYS], make)


def parts(names: Names) -> tuple[int, ...]:
    """(kH, blocks down, kW, blocks across)."""
    sizes = [[names[key.format(a)] for key in KEYS] for a in "HW"]
    return tuple([part for size in sizes for part in (size[1], number(*size))])


def back(columns: Array, names: Names) -> Array:
    """(B, ..., C * kH * kW, L) -> (B, ..., C, kH * blocks down, kW * blocks across). A wrong device
    that counts other blocks than L reads those that there are, and zeros.
    """
    kh, down, kw, across = parts(names)
    *lead, rows, count = columns.shape
    if count != down * across:
        counted = np.zeros((*lead, rows, down * across))
        counted[..., :count] = columns[..., : down * across]
        columns = counted
    apart = columns.reshape(*lead, rows // (kh * kw), kh, kw, down, across)
    return apart.swapaxes(-3, -2).reshape(*lead, rows // (kh * kw), kh * down, kw * across)


def out(image: Array, names: Names) -> Array:
    """The opposite."""
    kh, down, kw, across = parts(names)
    channels = image.shape[-3]
    apart = image.reshape(*image.shape[:-2], kh, down, kw, across).swapaxes(-3, -2)
    return apart.reshape(*image.shape[:-3], channels * kh * kw, down * across)


golden, magnitude, both, depth, FORWARD = laid_out(forward, back, out, "gradOutput", "out")
PROBES = [
    ProbeCall(
        {"Hin": 5, "Win": 6, "kH": 2, "kW": 3, "sH": 2, "sW": 1}
        | {"dH": 1, "dW": 2, "padH": 1, "padW": 0},
        {"gradOutput": (2, 18, 6)},
        ("out",),
    )
]
