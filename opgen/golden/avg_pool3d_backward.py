"""The gradient of 3-D average pooling: every window spreads its quotient over the elements that it
covered.

Exact if gradOutput is in multiples of the divisors.
"""

from __future__ import annotations

from opgen.golden._adjoint import derived
from opgen.golden._pools import pooled, probe, scale

__all__ = ["scale"]
VERSION = 3
forward = pooled("DHW")
golden, magnitude, both, depth, FORWARD = derived(forward, output="output")
PROBES = [
    probe("DHW", extent, kernel, stride, pad, override, padded)._replace(wanted=("output",))
    for extent, kernel, stride, pad, override, padded in [
        ((4, 5, 6), (2, 3, 2), (1, 2, 2), (1, 1, 0), 0, 0),
        ((4, 4, 6), (2, 2, 3), (2, 2, 3), (0, 0, 0), 0, 1),
        ((30, 24, 28), (3, 2, 5), (2, 1, 3), (1, 1, 2), 5, 1),
    ]
]
