"""Max pools: each window's gradient goes to the element that was its largest, by the index that the
forward kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import product
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen.golden import Array, Differentiable, Tensors, present
from opgen.golden._absolute import Function, Outputs

Names: TypeAlias = Mapping[str, int]
Reached: TypeAlias = Callable[[Names, str], Iterable[Array]]
"""For each element of a window along an axis, its place in the image of every window; -1 where
there is none."""


class MaxPool(NamedTuple):
    """What a kernel has that is the gradient of a max pool."""

    golden: Function
    magnitude: Function
    saved: Callable[[Tensors, Names], Outputs]
    forward: Differentiable


def max_pool(reached: Reached, depth: Callable[..., int]) -> MaxPool:
    """The functions of a kernel over planes: ``reached`` says which elements windows have,
    ``depth`` how many windows an element can be the largest of, as the forward reads them.
    """

    def magnitude(tensors: Tensors, names: Names, wanted: Collection[str]) -> Outputs:
        """The same of absolute terms; more of it where more windows meet than the forward lets: a
        call may give a range of indices.
        """
        (gradient,) = present(tensors, "gradOutput")
        sizes = scattered({**tensors, "gradOutput": np.abs(gradient)}, names, wanted)
        counts = scattered({**tensors, "gradOutput": np.ones_like(gradient)}, names, wanted)
        expected = max(depth(names, {}, "gradInput"), 1)
        return {out: size * np.maximum(counts[out] / expected, 1) for out, size in sizes.items()}

    def saved(tensors: Tensors, names: Names) -> Outputs:
        """Indices (B, ..., Hout, Wout): the first largest element of each window of ``self``,
        padding left out; 0 of a window of padding alone.
        """
        (image,) = present(tensors, "self")
        shape = *image.shape[:-2], names["Hout"], names["Wout"]
        largest, index = np.full(shape, -np.inf), np.zeros(shape)
        for rows, columns in product(reached(names, "H"), reached(names, "W")):
            inside = (rows >= 0)[:, None] & (columns >= 0)
            values = np.where(inside, image[..., rows[:, None], columns], -np.inf)
            larger = values > largest
            largest = np.where(larger, values, largest)
            index = np.where(larger, rows[:, None] * names["Win"] + columns, index)
        return {"indices": index}

    def forward(tensors: Tensors, names: Names) -> Outputs:
        """The largest element of each window, and its index."""
        image, indices = tensors["self"], saved(tensors, names)["indices"]
        assert image is not None
        rows = indices.reshape(*indices.shape[:-2], -1).astype(np.int64)
        planes = image.reshape(*image.shape[:-2], -1)
        largest = np.take_along_axis(planes, rows, -1).reshape(indices.shape)
        return {"gradOutput": largest, "indices": indices}

    return MaxPool(scattered, magnitude, saved, Differentiable(forward, {"gradInput": "self"}))


def scattered(tensors: Tensors, names: Names, wanted: Collection[str]) -> Outputs:
    """GradInput (B, ..., Hin, Win) from gradOutput and indices (B, ..., Hout, Wout): positions in
    one plane, row by row; terms are added in the order of the windows.
    """
    if "gradInput" not in wanted:
        return {}
    gradient, indices = present(tensors, "gradOutput", "indices")
    plane = names["Hin"] * names["Win"]
    planes = prod(gradient.shape[:-2])
    targets = indices.reshape(planes, prod(indices.shape[-2:])).astype(np.int64) % max(plane, 1)
    places = (targets + plane * np.arange(planes)[:, None]).reshape(-1)
    sums = np.bincount(places, gradient.reshape(-1), planes * plane).astype(np.float64, copy=False)
    return {"gradInput": sums.reshape(*gradient.shape[:-2], names["Hin"], names["Win"])}
