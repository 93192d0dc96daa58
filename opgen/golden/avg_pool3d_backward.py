"""The gradient of 3-D average pooling: every window spreads its quotient over the elements that it
covered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

from opgen.golden import Array, Tensors
from opgen.golden._absolute import Copies, functions
from opgen.golden._pooling import pooled, probe, scale_of

VERSION = 2
PROBES = [
    probe("DHW", extent, kernel, stride, pad, override, padded)
    for extent, kernel, stride, pad, override, padded in [
        ((4, 5, 6), (2, 3, 2), (1, 2, 2), (1, 1, 0), 0, 0),
        ((4, 4, 6), (2, 2, 3), (2, 2, 3), (0, 0, 0), 0, 1),
        ((30, 24, 28), (3, 2, 5), (2, 1, 3), (1, 1, 2), 5, 1),
    ]
]


def computed(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], copies: Copies
) -> dict[str, Array]:
    """GradInput (B, ..., Din, Hin, Win) from gradOutput (B, ..., Dout, Hout,
    Wout), of all copies.

    The same bits in every batch and under every BLAS, whatever the data; exact if gradOutput is in
    multiples of the divisors.
    """
    return pooled(tensors, names, wanted, "DHW", copies)


golden, magnitude, both = functions(computed)


def scale(names: Mapping[str, int]) -> int:
    """That of a divisor that overrides those of the windows."""
    return scale_of(names["divisorOverride"])


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The windows that meet in an element, and three roundings of the factor."""
    return prod(min(names[a + "out"], -(-names["k" + a] // names["s" + a])) for a in "DHW") + 3
