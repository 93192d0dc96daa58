"""The gradient of RoI pooling: each part of a box gives its gradient to the element of its image
that its index names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

import numpy as np

from opgen.golden import Array, Differentiable, Names, ProbeCall, Tensors, present
from opgen.golden._weighted import ANY

VERSION = 1
PROBES = [
    ProbeCall(
        {"roisN": 4, "C": 3, "Hout": 3, "Wout": 2, "N": 2, "H": 5, "W": 4}
        | {"pooledH": 3, "pooledW": 2, "spatialScale": 0.5},
        {
            "gradOutput": (4, 3, 3, 2),
            "gradInputRef": (2, 3, 5, 4),
            "rois": (4, 5),
            "argmax": (4, 3, 3, 2),
        },
        ("gradInputRef",),
    )
]


def golden(tensors: Tensors, names: Names, wanted: Collection[str]) -> dict[str, Array]:
    """GradInputRef (B, N, C, H, W) from gradOutput and argmax (B, roisN, C, Hout, Wout), which
    counts the elements of a plane, and rois (B, roisN, 5), whose first column is the image. An
    index below 1 names no element (lines 34 and 38). Terms are added in the order of gradOutput.
    """
    if "gradInputRef" not in wanted:
        return {}
    places, index = _places(tensors, names)
    return {"gradInputRef": _added(tensors, names, places, index >= 1)}


def magnitude(tensors: Tensors, names: Names, wanted: Collection[str]) -> dict[str, Array]:
    """The sum of absolute terms. A device may count the index 0, and may add to what gradInputRef
    held: the page leaves both open. Nobody knows what an index of no element or image reaches.
    """
    if "gradInputRef" not in wanted:
        return {}
    gradient, before = present(tensors, "gradOutput", "gradInputRef")
    sizes = {**tensors, "gradOutput": np.abs(gradient)}
    places, index = _places(tensors, names)
    total = _added(sizes, names, places, index >= 1)
    steps = depth(names, {}, "gradInputRef")
    for doubtful in (_added(sizes, names, places, index == 0), before):
        total += np.where(np.isfinite(doubtful), np.abs(doubtful) * ANY / steps, np.inf)
    astray = (index >= 1) & (places < 0)
    total[astray.reshape(len(astray), -1).any(axis=1)] = np.inf
    return {"gradInputRef": total}


def depth(names: Names, shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """Every part of every box may name one element, which may hold something before."""
    return int(names["roisN"] * names["Hout"] * names["Wout"]) + 1


def saved(tensors: Tensors, names: Names) -> dict[str, Array]:
    """Boxes of an image, an element of each part of them in turn, and a gradient of zeros. No index
    is 0 where a plane has two elements.
    """
    drawn, before = present(tensors, "rois", "gradInputRef")
    part = np.nan_to_num(2 * np.frexp(np.abs(drawn))[0] - 1)
    boxes, scale = np.floor(part * names["N"]), names["spatialScale"]
    scale = scale if 0 < scale < np.inf else 1.0
    turn = np.arange(prod(boxes.shape[:2])).reshape(*boxes.shape[:2], 1, 1)
    turn = turn + np.arange(names["C"])[:, None]
    steps = {}
    for axis, column in (("W", 1), ("H", 3)):
        extent, parts = names[axis], np.arange(names[f"{axis}out"])
        first = np.floor(part[..., column] * max(extent - 1, 1))
        last = first + 1 + np.floor(part[..., column + 1] * np.maximum(extent - 1 - first, 1))
        last = np.minimum(last, max(extent - 1, 1))
        boxes[..., column], boxes[..., column + 1] = first / scale, last / scale
        size = (last - first + 1)[..., None] / max(len(parts), 1)
        begin, end = np.floor(parts * size), np.ceil((parts + 1) * size)
        width = np.maximum(end - begin, 1)[..., None, :]
        step = first[..., None, None] + begin[..., None, :] + (turn + parts) % width
        steps[axis] = np.minimum(step, max(extent - 1, 0))
    index = steps["H"][..., None] * names["W"] + steps["W"][..., None, :]
    index = np.clip(index, 1, max(names["H"] * names["W"] - 1, 0))
    return {"rois": boxes, "argmax": index, "gradInputRef": np.zeros_like(before)}


def forward(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The elements of an image that the parts of boxes name, and what :func:`saved` chooses."""
    (image,) = present(tensors, "gradInputRef")
    kept = saved(tensors, names)
    places, index = _places(kept, names)
    rows = np.maximum(places, 0).reshape(len(image), -1)
    named = np.take_along_axis(image.reshape(len(image), -1), rows, 1).reshape(places.shape)
    pooled = np.where((index >= 1) & (places >= 0), named, 0.0)
    return {"gradOutput": pooled, "rois": kept["rois"], "argmax": kept["argmax"]}


FORWARD = Differentiable(forward, {"gradInputRef": "gradInputRef"})


def _places(tensors: Tensors, names: Names) -> tuple[Array, Array]:
    """(B, roisN, C, Hout, Wout) each: which element of all images an index names, -1 where there is
    none, and the index.
    """
    boxes, argmax = present(tensors, "rois", "argmax")
    plane, channels = names["H"] * names["W"], np.arange(names["C"])
    image = np.where(np.isfinite(boxes[..., 0]), np.trunc(boxes[..., 0]), -1).astype(np.int64)
    image, index = image[..., None, None, None], argmax.astype(np.int64)
    there = (image >= 0) & (image < names["N"]) & (index >= 0) & (index < plane)
    place = (image * names["C"] + channels[:, None, None]) * plane + index
    return np.where(there, place, -1), index


def _added(tensors: Tensors, names: Names, places: Array, counted: Array) -> Array:
    """The gradients of the parts that are counted, where they belong."""
    (gradient,) = present(tensors, "gradOutput")
    shape = len(gradient), *(names[letter] for letter in "NCHW")
    kept = counted & (places >= 0)
    cases = np.arange(len(gradient)).reshape(-1, 1, 1, 1, 1)
    sums = np.bincount((places + cases * prod(shape[1:]))[kept], gradient[kept], prod(shape))
    return sums.astype(np.float64, copy=False).reshape(shape)
