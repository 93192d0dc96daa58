"""The gradient of 3-D reflection padding: every border element returns to the element that it
mirrored.
"""

from __future__ import annotations

from opgen.golden._adjoint import derived
from opgen.golden._pads import padded, probe, reflected

VERSION = 1
forward = padded("DHW", reflected)
golden, magnitude, both, depth, FORWARD = derived(forward)
PARTNERS: dict[str, str] = {}
PROBES = [
    probe(forward, sizes, complex_)
    for sizes, complex_ in [
        ({"D": (3, 2, 1), "H": (4, 1, 2), "W": (7, 2, 0)}, False),
        ({"D": (2, 0, 1), "H": (7, 1, 0), "W": (6, 3, 2)}, True),
        ({"D": (12, 3, 5), "H": (39, 9, 12), "W": (40, 20, 10)}, False),
    ]
]
