"""The gradient of bilinear upsampling that averages where it shrinks: each weight falls off over as
many elements as one of the output covers, and the weights of an output add up to 1.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from opgen.golden._running_error import ROUNDOFF
from opgen.golden._upsampling import STEPS, probe, upsampled
from opgen.golden._weighted import WeightedAxis, derived

VERSION = 1


@lru_cache(maxsize=1024)
def averaged(extent: int, number: int, scale: float, align: bool) -> WeightedAxis:
    """The elements within ``support`` of each centre; one at its very end may count or not."""
    if align:
        ratio = (extent - 1) / (number - 1) if number > 1 else 0.0
    else:
        ratio = 1 / scale if scale > 0 else extent / number
    support = max(ratio, 1.0)
    centre = ratio * (np.arange(number) + 0.5)
    first = np.floor(centre - support - 0.5).astype(np.int64)
    index = first + np.arange(int(2 * support) + 3)[:, None]
    far = np.abs(index + 0.5 - centre) / support
    off = STEPS * (centre + support + 1) / support + np.zeros(index.shape)
    there = (index >= 0) & (index < extent) & (far < 1 + off * ROUNDOFF)
    weights = np.where(there, np.maximum(1 - far, 0.0), 0.0)
    total, terms = weights.sum(axis=0), there.sum(axis=0)
    total = np.where(total > 0, total, 1.0)
    weights /= total
    errors = np.where(there, off / total * (1 + terms * weights) + STEPS * weights, 0.0)
    return WeightedAxis(extent, np.where(there, index, -1), weights, errors)


weighted = upsampled("HW", averaged)
golden, magnitude, depth, FORWARD = derived(weighted, "gradOutput", "out")
PROBES = [
    probe(weighted, sizes, align, "gradOutput")
    for sizes, align in [
        ({"H": (3, 7, 2.5), "W": (8, 6, 0.75)}, False),
        ({"H": (9, 2, 0.0), "W": (5, 1, 0.2)}, True),
    ]
]
