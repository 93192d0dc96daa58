"""The gradient of max pooling with windows of one size, by the indices that the forward kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from opgen.golden import Array, ProbeCall
from opgen.golden._argmax import max_pool

VERSION = 3
FACTORS = {"gradInput": ("gradOutput",)}
PROBES = [
    ProbeCall(
        {"Hin": 5, "Win": 6, "Hout": 3, "Wout": 2, "kH": 2, "kW": 3, "sH": 2, "sW": 3}
        | {"padH": 1, "padW": 0, "dH": 1, "dW": 1},
        {"gradOutput": (2, 3, 2), "self": (2, 5, 6), "indices": (2, 3, 2)},
        ("gradInput",),
    )
]


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The windows that an element can be the largest of, as the forward reads them."""
    return prod(
        min(
            names[f"{axis}out"],
            -(-((names[f"k{axis}"] - 1) * names[f"d{axis}"] + 1) // names[f"s{axis}"]),
        )
        for axis in "HW"
    )


def by_rows(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, ...]:
    """All tensors: samples, or channels."""
    return tuple(shapes)


def reached(names: Mapping[str, int], axis: str) -> Iterator[Array]:
    """For each element of a window along an axis, its place in the image of every window; -1 where
    that is padding.
    """
    first = np.arange(names[f"{axis}out"]) * names[f"s{axis}"] - names[f"pad{axis}"]
    for step in range(names[f"k{axis}"]):
        place = first + step * names[f"d{axis}"]
        yield np.where((place >= 0) & (place < names[f"{axis}in"]), place, -1)


golden, magnitude, saved, windows, FORWARD = max_pool(reached, depth)
