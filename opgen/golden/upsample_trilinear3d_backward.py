"""The gradient of trilinear upsampling."""

from __future__ import annotations

from opgen.golden._upsampling import linear, probe, upsampled
from opgen.golden._weighted import derived

VERSION = 1
weighted = upsampled("DHW", linear)
golden, magnitude, depth, FORWARD = derived(weighted, output="gradInput")
PROBES = [
    probe(weighted, {"D": (2, 3, 1.5), "H": (3, 7, 2.5), "W": (8, 6, 0.75)}, output="gradInput"),
    probe(
        weighted, {"D": (3, 3, 0.0), "H": (4, 10, 0.0), "W": (5, 1, 0.2)}, True, output="gradInput"
    ),
]
