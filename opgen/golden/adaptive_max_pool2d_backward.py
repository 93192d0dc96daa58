"""The gradient of adaptive max pooling of planes, by the indices that the forward kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opgen.golden import Array, ProbeCall
from opgen.golden._argmax import max_pool
from opgen.golden._gathers import Gather
from opgen.golden._pools import shares

VERSION = 1
FACTORS = {"gradInput": ("gradOutput",)}
PROBES = [
    ProbeCall(
        {"Hin": 5, "Win": 7, "Hout": 3, "Wout": 4},
        {"gradOutput": (2, 3, 4), "self": (2, 5, 7), "indices": (2, 3, 4)},
        ("gradInput",),
    )
]


def parts(names: Mapping[str, int], axis: str) -> Gather:
    """The elements of each part of an axis."""
    return shares(names[f"{axis}in"], names[f"{axis}out"])[0]


def reached(names: Mapping[str, int], axis: str) -> Iterable[Array]:
    """For each element of a part, its place in the image; -1 where a part has fewer."""
    return parts(names, axis).index


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The parts that an element can be the largest of."""
    return parts(names, "H").terms * parts(names, "W").terms


golden, magnitude, saved, windows, FORWARD = max_pool(reached, depth)
