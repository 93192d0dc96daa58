"""The gradient of max unpooling: each element that was put into the larger plane gets what stands
there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden._argmax import scattered

VERSION = 1
FACTORS = {"out": ("gradOutput",)}
PROBES = [
    ProbeCall(
        {"Hin": 5, "Win": 6, "Hout": 3, "Wout": 2},
        {"gradOutput": (2, 5, 6), "self": (2, 3, 2), "indices": (2, 3, 2)},
        ("out",),
    )
]


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """Out (B, ..., Hout, Wout): the elements of gradOutput (B, ..., Hin, Win) at indices (B, ...,
    Hout, Wout), positions in one plane, row by row.
    """
    if "out" not in wanted:
        return {}
    gradient, indices = present(tensors, "gradOutput", "indices")
    plane = names["Hin"] * names["Win"]
    flat = *indices.shape[:-2], prod(indices.shape[-2:])
    places = indices.reshape(flat).astype(np.int64) % max(plane, 1)
    planes = gradient.reshape(*gradient.shape[:-2], plane)
    return {"out": np.take_along_axis(planes, places, -1).reshape(indices.shape)}


def magnitude(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]
) -> dict[str, Array]:
    """The size of each element, which is a copy."""
    return {name: np.abs(array) for name, array in golden(tensors, names, wanted).items()}


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """A copy, which may be rounded to another dtype."""
    return 1


def saved(tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """Indices (B, ..., Hout, Wout) of a max pool whose windows meet as little as they can: one
    element of each, that ``self`` chooses.
    """
    (image,) = present(tensors, "self")
    chosen = np.abs(image) * 4099
    places = []
    for axis, shape in (("H", (-1, 1)), ("W", (-1,))):
        size, number = names[f"{axis}in"], names[f"{axis}out"]
        starts, ends = ((np.arange(number) + side) * size // max(number, 1) for side in (0, 1))
        length = np.maximum(ends - starts, 1).reshape(shape)
        places.append(starts.reshape(shape) + np.floor(chosen % length))
    return {"indices": places[0] * names["Win"] + places[1]}


def forward(tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """The larger plane; elements that come to one place are added, as their gradients are."""
    image, indices = tensors["self"], tensors["indices"]
    put = scattered({"gradOutput": image, "indices": indices}, names, ["gradInput"])
    assert indices is not None
    return {"gradOutput": put["gradInput"], "indices": indices}


FORWARD = Differentiable(forward, {"out": "self"})
