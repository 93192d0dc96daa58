"""The gradient of a bias that is added to groups of rows: the sum of the rows of each group."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from opgen.golden import Array, ProbeCall, Tensors, present
from opgen.golden._elementwise import Names
from opgen.golden._running_error import total

VERSION = 1
PROBES = [
    ProbeCall({}, {"gradY": (3, 40, 7), "groupIdxOptional": None}, ("out",)),
    ProbeCall({"G": 4}, {"gradY": (300, 7), "groupIdxOptional": (4,)}, ("out",)),
]
FACTORS = {"out": ("gradY",)}


def golden(tensors: Tensors, names: Names, wanted: Collection[str]) -> dict[str, Array]:
    """Out (B, G, H): the rows of gradY (B, rows, H) from the end of the group before to that of
    each group (B, G), or those of gradY (B, G, rows, H).
    """
    if "out" not in wanted:
        return {}
    (dy,), ends = present(tensors, "gradY"), tensors["groupIdxOptional"]
    if ends is not None:
        row, starts = np.arange(dy.shape[1]), np.roll(ends, 1, axis=1)
        starts[:, 0] = 0
        inside = (row >= starts[..., None]) & (row < ends[..., None])
        dy = np.where(inside[..., None], dy[:, None], 0.0)
    return {"out": total(dy, 2)[:, :, 0]}


def magnitude(tensors: Tensors, names: Names, wanted: Collection[str]) -> dict[str, Array]:
    """The sums of absolute rows."""
    (dy,) = present(tensors, "gradY")
    return golden({**tensors, "gradY": np.abs(dy)}, names, wanted)


def depth(names: Names, shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """As many rows as a group may have."""
    return max(shapes["gradY"][-2], 1)


def saved(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The ends of groups of growing size, the last of which ends with the last row."""
    (dy,), groups = present(tensors, "gradY"), names["G"]
    number = np.arange(1, groups + 1)
    ends = np.maximum(dy.shape[1] * number * (number + 1) // (groups * (groups + 1)), number)
    return {"groupIdxOptional": np.tile(np.minimum(ends, dy.shape[1]) * 1.0, (len(dy), 1))}
