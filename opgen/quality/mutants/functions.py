"""Wrong kernels: functions of single elements, and of elements along an axis."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.golden import kernel
from opgen.numerics.formats import DTYPES
from opgen.quality.mutants.mutant import Computation, Mutant, Outputs, on_names
from opgen.spec.spec import Spec


def has_thresholds(spec: Spec) -> bool:
    """Whether the operator's function changes at some arguments."""
    return hasattr(kernel(spec.op), "thresholds")


def other_side(given: Computation) -> Outputs:
    """What is exactly at a threshold is taken for what lies beyond: below or above, where that
    makes more of a difference.
    """
    thresholds = given.kernel.thresholds(given.names)  # type: ignore[attr-defined]
    right = wrong = given.run()
    for toward in (-np.inf, np.inf):
        moved = {
            name: np.where(np.isin(array, thresholds), np.nextafter(array, toward), array)
            for name, array in given.tensors.items()
            if array is not None and name != given.of.gradient
        }
        found = given.run(moved)
        wrong = {
            name: np.where(
                np.abs(found[name] - right[name]) > np.abs(wrong[name] - right[name]),
                found[name],
                wrong[name],
            )
            for name in right
        }
    return wrong


OTHER: Mapping[str, str | int] = {"none": "tanh", "tanh": "none", "0": 1, "1": 0}
"""The other word, or its number, for how a function is computed."""


def from_either_end(spec: Spec) -> bool:
    """Whether ``dim`` may count axes from the last one, too, and names none that is halved: no
    other axis could be.
    """
    return all(rule.id != "dim.min" and not rule.id.endswith("_half") for rule in spec.rules)


def unmasked(given: Computation) -> Outputs:
    """A mask that leaves nothing out: of no bits, or of all, whichever makes fewer zeros."""
    mask = given["mask"]
    most = DTYPES[given.of.batch.tensors["mask"].dtype].limits[1]
    of_each = [given.run({"mask": np.full_like(mask, bits)}) for bits in (0, most)]
    return max(of_each, key=lambda outputs: sum(map(np.count_nonzero, outputs.values())))


MUTANTS = (
    Mutant(
        "approximation_swapped",
        "the error function and its approximation by tanh stand in for each other",
        ("approximate",),
        kernel=on_names(lambda given: {"approximate": OTHER[str(given.names["approximate"])]}),
    ),
    Mutant(
        "threshold_other_side",
        "an argument exactly at a threshold counts as one beyond it",
        kernel=other_side,
        where=has_thresholds,
    ),
    Mutant(
        "axis_ignored",
        "sums run along the last axis, whatever dim says",
        ("dim",),
        kernel=on_names(lambda given: {"dim": -1}),
        where=from_either_end,
    ),
    Mutant(
        "masked_elements_kept",
        "the gradient of a masked element is not 0",
        ("mask", "scale"),
        kernel=unmasked,
    ),
    Mutant(
        "scale_ignored",
        "the gradient is not scaled",
        ("mask", "scale"),
        kernel=on_names(lambda given: {"scale": 1}),
    ),
    Mutant(
        "axis_clamped",
        "a dim below 0 is taken for 0",
        ("dim",),
        kernel=on_names(lambda given: {"dim": max(given.names["dim"], 0)}),
        where=from_either_end,
    ),
)
