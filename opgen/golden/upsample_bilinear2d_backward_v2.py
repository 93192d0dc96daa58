"""The gradient of bilinear upsampling, with scales that need not be the ratio of the extents."""

from __future__ import annotations

from opgen.golden._upsampling import linear, probe, upsampled
from opgen.golden._weighted import derived

VERSION = 1
weighted = upsampled("HW", linear)
golden, magnitude, depth, FORWARD = derived(weighted)
PROBES = [
    probe(weighted, {"H": (3, 7, 2.5), "W": (8, 6, 0.75)}),
    probe(weighted, {"H": (4, 10, 0.0), "W": (5, 1, 0.2)}, align=True),
    probe(weighted, {"H": (30, 75, 2.5), "W": (40, 30, 0.0)}),
]
