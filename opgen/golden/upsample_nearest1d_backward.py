"""The gradient of nearest upsampling of lines: every element gets the gradients of its copies."""

from __future__ import annotations

from opgen.golden._upsampling import nearest, probe
from opgen.golden._weighed import derived

VERSION = 1
weighed = nearest("L", half=False)
golden, magnitude, depth, FORWARD = derived(weighed)
FACTORS = {"out": ("gradOut",)}
PROBES = [
    probe(weighed, {"L": (3, 7, 0.0)}),
    probe(weighed, {"L": (4, 10, 0.0)}),
]
