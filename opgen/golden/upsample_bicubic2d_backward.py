"""The gradient of bicubic upsampling."""

from __future__ import annotations

from opgen.golden._upsampling import cubic, probe, upsampled
from opgen.golden._weighed import derived

VERSION = 2
weighed = upsampled("HW", cubic)
golden, magnitude, depth, FORWARD = derived(weighed, output="gradInput")
PROBES = [
    probe(weighed, {"H": (3, 7, 2.5), "W": (8, 6, 0.75)}, output="gradInput"),
    probe(weighed, {"H": (4, 10, 0.0), "W": (5, 1, 0.2)}, True, output="gradInput"),
]
