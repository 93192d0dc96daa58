"""The gradient of 2-D reflection padding: every border element returns to the element that it
mirrored.
"""

from __future__ import annotations

from opgen.golden._adjoint import derived
from opgen.golden._pads import padded, probe, reflected

VERSION = 2
forward = padded("HW", reflected)
golden, magnitude, both, depth, FORWARD = derived(forward)
PARTNERS: dict[str, str] = {}
PROBES = [
    probe(forward, sizes, complex_)
    for sizes, complex_ in [
        ({"H": (4, 1, 2), "W": (7, 2, 0)}, False),
        ({"H": (3, 2, 2), "W": (4, 3, 3)}, False),
        ({"H": (7, 1, 0), "W": (6, 3, 2)}, True),
        ({"H": (139, 9, 12), "W": (140, 20, 10)}, False),
    ]
]
