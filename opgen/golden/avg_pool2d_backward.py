"""The gradient of 2-D average pooling: every window spreads its quotient over the elements that it
covered.

Exact if gradOutput is in multiples of the divisors.
"""

from __future__ import annotations

from collections.abc import Mapping

from opgen.golden._adjoint import Names, derived
from opgen.golden._pools import pooled, probe, scale

__all__ = ["scale"]
VERSION = 3
forward = pooled("HW")
golden, magnitude, both, depth, FORWARD = derived(forward)


def by_rows(names: Names, shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, ...]:
    """All tensors: samples, or channels."""
    return tuple(shapes)


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
