"""The gradient of nearest upsampling of volumes, which reads at the middles of elements: every
element gets the gradients of its copies.
"""

from __future__ import annotations

from opgen.golden._upsampling import nearest, probe
from opgen.golden._weighted import derived

VERSION = 2
weighted = nearest("DHW", half=True)
golden, magnitude, depth, FORWARD = derived(weighted, "gradOut", "gradInput")
FACTORS = {"gradInput": ("gradOut",)}
PROBES = [
    probe(
        weighted,
        {"D": (3, 7, 0.0), "H": (8, 6, 0.0), "W": (5, 10, 0.0)},
        gradient="gradOut",
        output="gradInput",
    ),
    probe(
        weighted,
        {"D": (4, 10, 0.0), "H": (5, 1, 0.0), "W": (6, 4, 0.0)},
        gradient="gradOut",
        output="gradInput",
    ),
]
