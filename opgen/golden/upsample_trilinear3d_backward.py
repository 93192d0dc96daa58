"""The gradient of trilinear upsampling."""

from __future__ import annotations

from opgen.golden._upsampling import linear, probe, upsampled
from opgen.golden._weighed import derived

VERSION = 1
weighed = upsampled("DHW", linear)
golden, magnitude, depth, FORWARD = derived(weighed, output="gradInput")
PROBES = [
    probe(weighed, {"D": (2, 3, 1.5), "H": (3, 7, 2.5), "W": (8, 6, 0.75)}, output="gradInput"),
    probe(
        weighed, {"D": (3, 3, 0.0), "H": (4, 10, 0.0), "W": (5, 1, 0.2)}, True, output="gradInput"
    ),
]
