"""The gradient of 1-D reflection padding: every border element returns to the element that it
mirrored.
"""

from __future__ import annotations

from opgen.golden._adjoint import derived
from opgen.golden._pads import padded, probe, reflected

VERSION = 2
forward = padded("W", reflected)
golden, magnitude, both, depth, FORWARD = derived(forward)
PARTNERS: dict[str, str] = {}
PROBES = [
    probe(forward, {"W": size}, complex_)
    for size, complex_ in [((4, 2, 3), False), ((4, 3, 3), True), ((8950, 20, 30), False)]
]
