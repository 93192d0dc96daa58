"""The gradient of adaptive average pooling of planes: each part of an image gets its quotient."""

from __future__ import annotations

from opgen.golden._adjoint import derived, probed
from opgen.golden._pools import adaptively_pooled

VERSION = 1
forward = adaptively_pooled("HW")
golden, magnitude, both, depth, FORWARD = derived(forward, output="out")
PROBES = [
    probed(forward(names), names, 2, output="out")
    for names in [
        {"Hin": 5, "Hout": 3, "Win": 7, "Wout": 4},
        {"Hin": 6, "Hout": 2, "Win": 3, "Wout": 5},
        {"Hin": 70, "Hout": 9, "Win": 110, "Wout": 13},
    ]
]
