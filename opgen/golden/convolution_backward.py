"""The gradients of 1-D, 2-D and 3-D convolutions, transposed or not.

A convolution joins a wide tensor, over which windows slide, with a narrow one that has an element per window: input and
gradOutput, or gradOutput and input where the convolution is transposed. The weight is (groups * narrow channels, wide
channels, *kernel) in both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product
from math import prod

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._axes import Windows

AXES = {"D": "padFront", "H": "padTop", "W": "padLeft"}


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """gradInput (B, *input shape), gradWeight (B, *weight shape) and gradBias (B, channels of gradOutput)."""
    upstream, source, weight = tensors["gradOutput"], tensors["input"], tensors["weight"]
    assert upstream is not None and source is not None and weight is not None
    wide, narrow = (upstream, source) if names["transposed"] else (source, upstream)
    windows = sliding(names, wide.shape[3:], narrow.shape[3:], weight.shape[3:])
    outputs: dict[str, Array] = {}
    if "gradBias" in wanted:
        outputs["gradBias"] = upstream.sum(axis=(1, *range(3, upstream.ndim)))
    if "gradWeight" in wanted:
        outputs["gradWeight"] = weight_gradient(wide, narrow, weight, names["groups"], windows)
    if "gradInput" in wanted:
        gradient = narrow_gradient if names["transposed"] else wide_gradient
        outputs["gradInput"] = gradient(wide, narrow, weight, names["groups"], windows)
    return outputs


def sliding(names: Mapping[str, int], wide: tuple[int, ...], narrow: tuple[int, ...],
            kernel: tuple[int, ...]) -> tuple[Windows, ...]:
    """The windows of every spatial axis."""
    letters = "DHW"[-len(wide):]
    return tuple(Windows(extent, count, k, names[f"s{a}"], names[f"d{a}"], names[AXES[a]])
                 for a, extent, count, k in zip(letters, wide, narrow, kernel, strict=True))


def taps(windows: tuple[Windows, ...]) -> list[tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]]:
    """For every tap its kernel index, the windows in which it meets the tensor, and the elements that it meets."""
    result = []
    for index in product(*(range(w.kernel) for w in windows)):
        pairs = [w.tap(r) for w, r in zip(windows, index, strict=True)]
        if all(outer.stop > outer.start for outer, _ in pairs):
            result.append((index, tuple(outer for outer, _ in pairs), tuple(inner for _, inner in pairs)))
    return result


def grouped(array: Array, groups: int, axis: int) -> Array:
    """Splits an axis of channels: (..., groups, channels per group, ...)."""
    return array.reshape(*array.shape[:axis], groups, array.shape[axis] // groups, *array.shape[axis + 1:])


def flat(array: Array, axis: int) -> Array:
    """Joins all axes from ``axis`` on."""
    return array.reshape(*array.shape[:axis], prod(array.shape[axis:]))


def weight_gradient(wide: Array, narrow: Array, weight: Array, groups: int, windows: tuple[Windows, ...]) -> Array:
    """Adds narrow x wide over samples and windows, tap by tap."""
    x, y = grouped(wide, groups, 2), grouped(narrow, groups, 2)
    result = np.zeros((weight.shape[0], groups, weight.shape[1] // groups, *weight.shape[2:]))
    for index, outer, inner in taps(windows):
        left = flat(y[(..., *outer)], 4)
        right = flat(x[(..., *inner)], 4)
        result[(..., *index)] = np.matmul(left, right.swapaxes(-1, -2)).sum(1)
    return result.reshape(weight.shape)


def wide_gradient(wide: Array, narrow: Array, weight: Array, groups: int, windows: tuple[Windows, ...]) -> Array:
    """Adds weight x narrow to the elements under each window, tap by tap."""
    y, w = grouped(narrow, groups, 2), grouped(weight, groups, 1)
    result = np.zeros_like(grouped(wide, groups, 2), order="C")
    for index, outer, inner in taps(windows):
        part = y[(..., *outer)]
        value = np.matmul(w[(..., *index)].swapaxes(-1, -2)[:, None], flat(part, 4))
        result[(..., *inner)] += value.reshape(*value.shape[:4], *part.shape[4:])
    return result.reshape(wide.shape)


def narrow_gradient(wide: Array, narrow: Array, weight: Array, groups: int, windows: tuple[Windows, ...]) -> Array:
    """Adds weight x wide over the elements under each window, tap by tap."""
    x, w = grouped(wide, groups, 2), grouped(weight, groups, 1)
    result = np.zeros_like(grouped(narrow, groups, 2), order="C")
    for index, outer, inner in taps(windows):
        part = x[(..., *inner)]
        value = np.matmul(w[(..., *index)][:, None], flat(part, 4))
        result[(..., *outer)] += value.reshape(*value.shape[:4], *part.shape[4:])
    return result.reshape(narrow.shape)


def magnitude(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """The gradients of absolute values."""
    return golden({name: None if array is None else np.abs(array) for name, array in tensors.items()}, names, wanted)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The terms of one element's sum."""
    upstream, source, weight = shapes["gradOutput"], shapes["input"], shapes["weight"]
    if output == "gradBias":
        return upstream[0] * prod(upstream[2:])
    wide, narrow = (upstream, source) if names["transposed"] else (source, upstream)
    if output == "gradWeight":
        return narrow[0] * prod(narrow[2:])
    if names["transposed"]:
        return weight[1] * prod(weight[2:])
    windows = sliding(names, wide[2:], narrow[2:], weight[2:])
    return weight[0] // names["groups"] * prod(w.overlap for w in windows)
