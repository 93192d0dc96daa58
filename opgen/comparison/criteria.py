"""Which outputs meet a criterion: opgen's own bound, one of the published standards, or a level of
the double benchmark against another device.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.comparison import standards
from opgen.comparison.metrics import MetricTable
from opgen.comparison.standards import row
from opgen.numerics.arrays import Array


def criteria(table: MetricTable, precisions: Array) -> dict[str, Array]:
    """Criterion -> (rows,) bool. An Inf or NaN where none belongs, or none where one does, fails
    every criterion, except where an infinite bound admits everything; but the older single_bm
    passes whatever stands where the golden is none.
    """
    names, kind = np.unique(precisions.astype(str), return_inverse=True)

    def limit(standard: Mapping[str, object], name: str) -> Array:
        """(rows,) what a standard allows, each output by its precision."""
        return np.array([getattr(row(standard, key), name) for key in names.tolist()])[kind]

    sound, kept = table["nonfinite"] == 0, table["strayed"] == 0
    mean = limit(standards.RELATIVE, "mean")
    largest, balance = table["single"], np.abs(table.mean("balance"))
    balanced = kept & (balance <= limit(standards.SINGLE_OLD, "balance"))
    return {
        "bound": table["beyond"] == 0,
        "mixed": (
            sound
            & (1.0 - table.mean("unlike_mixed") >= limit(standards.MIXED, "share"))
            & (table["over_limit"] == 0)
        ),
        "mere_mare": (
            sound
            & (table.mean("relative_sum") < mean)
            & (table["relative"] < mean * limit(standards.RELATIVE, "ratio"))
        ),
        "single_old": balanced & (largest <= limit(standards.SINGLE_OLD, "error")),
        "single_old_performance": (
            balanced & (largest <= limit(standards.SINGLE_OLD, "performance"))
        ),
        "msprobe": sound & (table["unlike_probe"] == 0),
        "allclose": sound & (table["unlike_close"] == 0),
        "ulp": sound & (table["ulps"] <= standards.ULPS),
    }


def against(mine: MetricTable, other: MetricTable) -> dict[str, Array]:
    """The double benchmark, level by level: (rows,) bool. Where both have no error the ratio is
    1.
    """
    pairs = {
        "maximum": _ratio(mine["normal_relative"], other["normal_relative"]),
        "mean": _ratio(
            mine.mean("normal_relative_sum", "normal"), other.mean("normal_relative_sum", "normal")
        ),
        "rmse": _ratio(np.sqrt(mine.mean("squares")), np.sqrt(other.mean("squares"))),
    }
    small = mine["small_errors"] / np.maximum(other["small_errors"], 1.0)
    sound = (mine["nonfinite"] == 0) | (other["nonfinite"] > 0)
    return {
        f"double_{name}": (
            sound
            & (small <= level.small)
            & (pairs["maximum"] <= level.maximum)
            & (pairs["mean"] <= level.mean)
            & (pairs["rmse"] <= level.rmse)
        )
        for name, level in standards.LEVELS.items()
    }


def _ratio(mine: Array, other: Array) -> Array:
    """How many times ``other`` is ``mine``; two errors below the smallest float32 are one."""
    floor = 2.0**-126
    with np.errstate(invalid="ignore"):
        ratio = np.maximum(mine, floor) / np.maximum(other, floor)
    return np.where(np.isnan(ratio), 1.0, ratio)
