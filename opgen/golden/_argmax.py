"""Max pools: each window's gradient goes to the element that was its largest, by the index that the
forward kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen.golden import Array, Differentiable, Tensors, present
from opgen.golden._absolute import Function, Outputs
from opgen.numerics.maxima import first_largest

Names: TypeAlias = Mapping[str, int]
Reached: TypeAlias = Callable[[Names, str], Iterable[Array]]
"""For each element of a window along an axis, its place in the image of every window; -1 where
there is none."""


class MaxPool(NamedTuple):
    """What a kernel has that is the gradient of a max pool."""

    golden: Function
    magnitude: Function
    saved: Callable[[Tensors, Names], Outputs]
    windows: Callable[[Names], dict[str, tuple[str, Array, Array]]]
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

    def windows(names: Names) -> dict[str, tuple[str, Array, Array]]:
        """The input whose largest elements the indices name, and its windows along both axes."""
        axes = ((axis, [*reached(names, axis)]) for axis in "HW")
        rows, columns = (
            np.array(places, dtype=np.int64).reshape(len(places), names[f"{axis}out"])
            for axis, places in axes
        )
        return {"indices": ("self", rows, columns)}

    def saved(tensors: Tensors, names: Names) -> Outputs:
        """Indices (B, ..., Hout, Wout): the first largest element of each window of ``self``,
        padding left out; 0 of a window of padding alone.
        """
        (image,) = present(tensors, "self")
        _, rows, columns = windows(names)["indices"]
        return {"indices": first_largest(image, rows, columns, np.float64)}

    def forward(tensors: Tensors, names: Names) -> Outputs:
        """The largest element of each window, and its index."""
        image, indices = tensors["self"], saved(tensors, names)["indices"]
        assert image is not None
        rows = indices.reshape(*indices.shape[:-2], -1).astype(np.int64)
        planes = image.reshape(*image.shape[:-2], -1)
        largest = np.take_along_axis(planes, rows, -1).reshape(indices.shape)
        return {"gradOutput": largest, "indices": indices}

    derivative = Differentiable(forward, {"gradInput": "self"})
    return MaxPool(scattered, magnitude, saved, windows, derivative)


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
