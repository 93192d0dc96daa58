"""Wrong kernels: places between elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opgen.quality.mutants.geometry import exchanged
from opgen.quality.mutants.mutant import Computation, Mutant, Outputs, on_names
from opgen.spec.spec import Spec


def inverted(given: Computation) -> Mapping[str, Any]:
    """Every scale taken for its reciprocal."""
    scales = {name: value for name, value in given.names.items() if name.startswith("scales")}
    return {name: 1 / value if value else value for name, value in scales.items()}


def transposed(given: Computation) -> Outputs:
    """Each pair of a grid read as (y, x)."""
    grid = given.tensors["grid"]
    assert grid is not None
    return given.run({"grid": grid[..., ::-1]})


def copies(spec: Spec) -> bool:
    """Whether each element of the output is the one below its place: then the gradient of twice as
    many, of which every other has none, belongs to elements half a step further.
    """
    return spec.op.startswith("upsample_nearest") and "exact" not in spec.op


def at_middles(given: Computation) -> Outputs:
    """Each element of the output at its middle instead of its beginning."""
    names = [f"{letter}out" for letter in "DHWL" if f"{letter}out" in given.names]
    lead, extents = given.gradient.shape[: -len(names)], given.gradient.shape[-len(names) :]
    sparse = np.zeros((*lead, *(2 * extent for extent in extents)))
    sparse[(slice(None),) * len(lead) + (slice(1, None, 2),) * len(names)] = given.gradient
    return given.run({given.of.gradient: sparse}, {name: 2 * given.names[name] for name in names})


MUTANTS = (
    Mutant(
        "corners_always_aligned",
        "corners are aligned, whatever alignCorners says",
        ("alignCorners",),
        kernel=on_names(lambda given: {"alignCorners": 1}),
    ),
    Mutant(
        "corners_never_aligned",
        "corners are not aligned, whatever alignCorners says",
        ("alignCorners",),
        kernel=on_names(lambda given: {"alignCorners": 0}),
    ),
    Mutant(
        "scales_swapped",
        "the scales of two axes are exchanged",
        ("scalesH", "scalesW"),
        kernel=exchanged("scales"),
    ),
    Mutant(
        "scales_inverted",
        "places are multiplied by the scale instead of divided",
        ("scalesW",),
        kernel=on_names(inverted),
    ),
    Mutant(
        "nearest_rounded",
        "a place is rounded to the nearest element, not to the one below",
        kernel=at_middles,
        where=copies,
    ),
    Mutant(
        "coordinates_exchanged",
        "the coordinates of a place are read in the order y, x",
        ("grid",),
        kernel=transposed,
    ),
    Mutant(
        "outside_is_zero",
        "what lies outside of an image is zero, whatever paddingMode says",
        ("paddingMode",),
        kernel=on_names(lambda given: {"paddingMode": 0}),
    ),
)
"""Wrong kernels of upsamplings and samplers."""
