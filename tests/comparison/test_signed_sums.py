"""Faults planted in an output of 10^8 elements, of which a thousand have goldens: the sums over all
show each of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import opgen
from opgen.comparison.alignment import goldens_of
from opgen.comparison.signed_sums import wrong

SLOW = os.environ.get("OPGEN_SLOW") == "1"
SHAPE = (10, 64, 400, 400) if SLOW else (10, 64, 40, 40)
TRIES = 20


@dataclass
class Answer:
    """A device's output, in place of a file of results."""

    output: np.ndarray

    def tensor(self, golden: int) -> np.ndarray:
        """The output, as it is."""
        return self.output


def one(draw: np.random.Generator, flat: np.ndarray) -> np.ndarray:
    places = draw.integers(flat.size, size=1)
    flat[places] += 1
    return places


def two_that_cancel(draw: np.random.Generator, flat: np.ndarray) -> np.ndarray:
    places = draw.choice(flat.size, 2, replace=False, shuffle=False)
    flat[places] += (1, -1)
    return places


def a_row(draw: np.random.Generator, flat: np.ndarray) -> np.ndarray:
    start = int(draw.integers(flat.size // SHAPE[-1] - 1)) * SHAPE[-1]
    places = np.arange(start, start + SHAPE[-1])
    flat[places] = flat[places + SHAPE[-1]]
    return places


def test_each_planted_fault_is_seen(tmp_path: Path) -> None:
    n, channels, *extents = SHAPE
    tensor = {"dtype": "FLOAT", "format": "NCHW"}
    upstream = {"shape": [n, 4, *extents], **tensor}
    image, weight = {"shape": SHAPE, **tensor}, {"shape": [4, channels, 1, 1], **tensor}
    args = {
        **{"gradOutput": upstream, "input": image, "weight": weight, "biasSizes": [4]},
        **{"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "transposed": False},
        **{"outputPadding": [0, 0], "groups": 1, "outputMask": [True, False, False]},
        **{"cubeMathType": 0, "gradInput": image, "gradWeight": None, "gradBias": None},
    }
    call = {"id": "a", "op": "aclnnConvolutionBackward", "product": "ascend910b", "args": args}
    calls = tmp_path / "calls.jsonl"
    calls.write_text(json.dumps(call), encoding="utf-8")
    path, way = tmp_path / "large.h5", {"inputs": "seeded", "golden": "sampled"}
    opgen.generate(calls=calls, recipe="integers", output=path, workers=1, **way)
    with opgen.open(path) as bundle:
        inputs, goldens = bundle["a"].inputs, goldens_of(bundle)
        factors = inputs["weight"][:, :, 0, 0].T
        right = np.matmul(factors, inputs["gradOutput"].reshape(n, 4, -1)).reshape(-1)
        assert right.dtype == np.float32 and right.size == np.prod(SHAPE)

        def seen() -> bool:
            return bool(wrong(bundle, goldens, Answer(right), np.arange(1)))  # type: ignore[arg-type]

        assert not seen()
        faults: list[Callable[[np.random.Generator, np.ndarray], np.ndarray]]
        faults = [one, two_that_cancel, a_row]
        for plant in faults:
            for attempt in range(TRIES):
                places = plant(np.random.default_rng(attempt), right)
                assert seen(), (plant, attempt)
                right[places] = _right(factors, inputs["gradOutput"], places)
        assert not seen()


def _right(factors: np.ndarray, upstream: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Single elements of the output of a correct device."""
    case, channel, *at = np.unravel_index(places, SHAPE)
    moved = np.moveaxis(upstream, 1, -1)
    return np.asarray((moved[(case, *at)] * factors[channel]).sum(axis=1))
