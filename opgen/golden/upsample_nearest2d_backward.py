"""The gradient of nearest upsampling of planes: every element gets the gradients of its copies."""

from __future__ import annotations

from opgen.golden._upsampling import nearest, probe
from opgen.golden._weighted import derived

VERSION = 2
weighted = nearest("HW", half=False)
golden, magnitude, depth, FORWARD = derived(weighted, "gradOut", "gradInput")
FACTORS = {"gradInput": ("gradOut",)}
PROBES = [
    probe(weighted, {"H": (3, 7, 0.0), "W": (8, 6, 0.0)}, gradient="gradOut", output="gradInput"),
    probe(weighted, {"H": (4, 10, 0.0), "W": (5, 1, 0.0)}, gradient="gradOut", output="gradInput"),
]
