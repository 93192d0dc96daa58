"""Wrong kernels: places between elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opgen.quality.mutants.geometry import exchanged
from opgen.quality.mutants.mutant import Computation, Mutant, Outputs, on_names


def inverted(given: Computation) -> Mapping[str, Any]:
    """Every scale taken for its reciprocal."""
    scales = {name: value for name, value in given.names.items() if name.startswith("scales")}
    return {name: 1 / value if value else value for name, value in scales.items()}


def transposed(given: Computation) -> Outputs:
    """Each pair of a grid read as (y, x)."""
    grid = given.tensors["grid"]
    assert grid is not None
    return given.run({"grid": grid[..., ::-1]})


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
