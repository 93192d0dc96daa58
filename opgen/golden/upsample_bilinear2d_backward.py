"""The gradient of bilinear upsampling, by the scales or by the ratio of the extents.

The page has scales in its formula, and that of the second version says that it alone uses them:
where the two differ, either is admitted.
"""

from __future__ import annotations

from opgen.golden._upsampling import linear_of_either, probe, upsampled
from opgen.golden._weighted import derived

VERSION = 2
weighted = upsampled("HW", linear_of_either)
golden, magnitude, depth, FORWARD = derived(weighted)
PROBES = [
    probe(weighted, {"H": (3, 7, 2.5), "W": (8, 6, 0.75)}),
    probe(weighted, {"H": (4, 10, 0.0), "W": (5, 1, 0.2)}, align=True),
]
