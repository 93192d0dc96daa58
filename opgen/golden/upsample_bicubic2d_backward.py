"""The gradient of bicubic upsampling."""

from __future__ import annotations

from opgen.golden._upsampling import cubic, probe, upsampled
from opgen.golden._weighted import derived

VERSION = 2
weighted = upsampled("HW", cubic)
golden, magnitude, depth, FORWARD = derived(weighted, output="gradInput")
PROBES = [
    probe(weighted, {"H": (3, 7, 2.5), "W": (8, 6, 0.75)}, output="gradInput"),
    probe(weighted, {"H": (4, 10, 0.0), "W": (5, 1, 0.2)}, True, output="gradInput"),
]
