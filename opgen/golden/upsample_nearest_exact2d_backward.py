"""The gradient of nearest upsampling of planes, which reads at the middles of elements: every
element gets the gradients of its copies.
"""

from __future__ import annotations

from opgen.golden._upsampling import nearest, probe
from opgen.golden._weighed import derived

VERSION = 1
weighed = nearest("HW", half=True)
golden, magnitude, depth, FORWARD = derived(weighed, "gradOutput", "out")
FACTORS = {"out": ("gradOutput",)}
PROBES = [
    probe(weighed, {"H": (3, 7, 0.0), "W": (8, 6, 0.0)}, gradient="gradOutput", output="out"),
    probe(weighed, {"H": (4, 10, 0.0), "W": (5, 1, 0.0)}, gradient="gradOutput", output="out"),
]
