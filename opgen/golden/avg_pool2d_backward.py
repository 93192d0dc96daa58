"""The gradient of 2-D average pooling: every window spreads its quotient over the elements that it
covered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from opgen.golden import Array, Tensors
from opgen.golden._absolute import Copies, functions
from opgen.golden._pooling import pooled, probe, scale_of

VERSION = 2
PROBES = [
    probe("HW", extent, kernel, stride, pad, override, padded)
    for extent, kernel, stride, pad, override, padded in [
        ((7, 9), (3, 3), (1, 2), (1, 1), 0, 1),
        ((8, 6), (2, 2), (2, 2), (0, 0), 0, 1),
        ((5, 70), (3, 2), (2, 1), (1, 0), 0, 0),
        ((90, 80), (5, 4), (3, 2), (2, 1), -7, 1),
        ((1100, 500), (3, 3), (2, 3), (1, 0), 0, 0),
    ]
]


def computed(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], copies: Copies
) -> dict[str, Array]:
    """GradInput (B, ..., Hin, Win) from gradOutput (B, ..., Hout, Wout), of all copies.

    The same bits in every batch and under every BLAS, whatever the data; exact if gradOutput is in
    multiples of the divisors.
    """
    return pooled(tensors, names, wanted, "HW", copies)


golden, magnitude, both = functions(computed)


def scale(names: Mapping[str, int]) -> int:
    """That of a divisor that overrides those of the windows."""
    return scale_of(names["divisorOverride"])


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The windows that meet in an element, and two roundings of the factor."""
    rows = min(names["Hout"], -(-names["kH"] // names["sH"]))
    columns = min(names["Wout"], -(-names["kW"] // names["sW"]))
    return rows * columns + 2
