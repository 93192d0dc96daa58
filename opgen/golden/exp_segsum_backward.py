"""The gradient of exp(segsum(x)): of sums of x over the segments that end in a row and begin behind
a column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden._elementwise import Names

VERSION = 1
PARTNERS = {"gradInput": "gradSelf"}
PROBES = [
    ProbeCall({}, dict.fromkeys(("gradOutput", "gradSelf"), shape), ("gradInput",))
    for shape in [(2, 3, 5, 5), (1, 2, 2, 9, 9), (2, 1, 1, 1)]
]


def golden(tensors: Tensors, names: Names, wanted: Collection[str]) -> dict[str, Array]:
    """GradInput (B, ..., N): steps 1 to 9 of the page, aclnnExpSegsumBackward.md."""
    if "gradInput" not in wanted:
        return {}
    gradient, result = present(tensors, "gradOutput", "gradSelf")
    terms = _below(gradient * result)
    from_row_on = np.flip(np.cumsum(np.flip(terms, -2), -2), -2)
    return {"gradInput": _below(from_row_on).sum(-1)}


def magnitude(tensors: Tensors, names: Names, wanted: Collection[str]) -> dict[str, Array]:
    """The same sums of absolute terms."""
    sizes = {name: None if array is None else np.abs(array) for name, array in tensors.items()}
    return golden(sizes, names, wanted)


def depth(names: Names, shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The rows from one on, times the columns before it, at most; and the product of a term."""
    size = shapes["gradOutput"][-1]
    return (size // 2) * (size - size // 2) + 1


def places(
    names: Names, shapes: Mapping[str, tuple[int, ...]], wanted: Collection[str], foreign: bool
) -> Array:
    """Flat positions of gradOutput below a diagonal."""
    return np.flatnonzero(_below(np.ones(shapes["gradOutput"])))


def _below(square: Array) -> Array:
    """What is below the diagonal, and zeros; what is not is never multiplied."""
    size = square.shape[-1]
    return np.where(np.tri(size, k=-1, dtype=bool), square, 0.0)


def forward(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The exponential of sums over segments, and what it saves: itself."""
    (x,) = present(tensors, "self")
    ends = np.cumsum(x, -1)
    result = np.where(
        np.tri(x.shape[-1], dtype=bool), np.exp(ends[..., None] - ends[..., None, :]), 0
    )
    return {"gradOutput": result, "gradSelf": result}


FORWARD = Differentiable(forward, {"gradInput": "self"})
