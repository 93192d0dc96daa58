"""The gradient of nearest upsampling of lines: every element gets the gradients of its copies."""

from __future__ import annotations

from opgen.golden._upsampling import nearest, probe
from opgen.golden._weighted import derived

VERSION = 2
weighted = nearest("L", half=False)
golden, magnitude, depth, FORWARD = derived(weighted)
FACTORS = {"out": ("gradOut",)}
PROBES = [
    probe(weighted, {"L": (3, 7, 0.0)}),
    probe(weighted, {"L": (4, 10, 0.0)}),
]
