"""Errors of many outputs at once: flat arrays with a segment per output, reduced segment by
segment.

Shapes do not matter here, so outputs of all cases that share a dtype lie one after the other in
one long array, and no step of Python is taken per case. Complex values are twice as many real ones.
Large outputs come in several pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opgen.comparison import standards
from opgen.comparison.elements import errors
from opgen.comparison.standards import row
from opgen.numerics.arrays import Array
from opgen.numerics.bounds import CONCLUSIVE
from opgen.numerics.formats import FORMATS
from opgen.numerics.rounding import binade

MAXIMA = ("ratio", "error", "ulps", "relative", "single", "over_limit", "normal_relative")
SUMS = (
    "elements",
    "beyond",
    "nonfinite",
    "strayed",
    "unbounded",
    "finite",
    "telling",
    "nonzero",
    "nan_for_inf",
    "unlike_mixed",
    "unlike_close",
    "unlike_probe",
    "relative_sum",
    "squares",
    "balance",
    "small_errors",
    "normal",
    "normal_relative_sum",
)
BINS = (-24, 8)
"""The distribution of error / bound by powers of two; what is below or above is counted at the
ends, zero apart."""


class MetricTable:
    """Metrics of outputs, a row each: maxima, sums, and the position of the worst element."""

    def __init__(self, rows: int) -> None:
        self.maxima = {name: np.zeros(rows) for name in MAXIMA}
        self.sums = {name: np.zeros(rows) for name in SUMS}
        self.worst = np.full(rows, -1, dtype=np.int64)
        self.bins: dict[str, Array] = {}

    def __len__(self) -> int:
        return len(self.worst)

    def __getitem__(self, name: str) -> Array:
        return self.maxima[name] if name in self.maxima else self.sums[name]

    def mean(self, name: str, over: str = "finite") -> Array:
        """A sum divided by a count; 0 where there is nothing to count."""
        return np.asarray(self.sums[name] / np.maximum(self.sums[over], 1.0))

    def add(
        self, rows: Array, starts: Array, offsets: Array, columns: Mapping[str, Array], dtype: str
    ) -> None:
        """Take in pieces: ``rows`` and ``offsets`` say to which output each belongs and where in it
        it begins.
        """
        ratio = columns["ratio"]
        for name in MAXIMA:
            np.maximum.at(self.maxima[name], rows, np.maximum.reduceat(columns[name], starts))
        for name in SUMS:
            if name in columns:
                np.add.at(
                    self.sums[name], rows, np.add.reduceat(columns[name], starts, dtype=np.float64)
                )
        ends = np.append(starts[1:], len(ratio))
        np.add.at(self.sums["elements"], rows, ends - starts)
        peak = np.maximum.reduceat(ratio, starts)
        at_peak = np.flatnonzero(ratio == np.repeat(peak, ends - starts))
        first = at_peak[np.searchsorted(at_peak, starts)] - starts + offsets
        new = (peak >= self.maxima["ratio"][rows]) & (peak > 0)
        self.worst[rows[new]] = first[new]
        self.bins[dtype] = self.bins.get(dtype, 0) + distribution(ratio)


def distribution(ratio: Array) -> Array:
    """Counts: no error at all; then by powers of two from ``BINS[0]`` to ``BINS[1]``, the last one
    for all beyond.
    """
    low, high = BINS
    some = ratio[ratio > 0]
    power = np.frexp(np.minimum(some, 2.0**high))[1] - 1
    counts = np.bincount(np.clip(power, low, high) - low, minlength=high - low + 1)
    return np.concatenate([[len(ratio) - len(some)], counts])


def measure(
    device: Array, golden: Array, bound: Array, precision: str, output: str
) -> dict[str, Array]:
    """Per element what :class:`MetricTable` reduces. All three are float64 and flat; ``output`` is
    a format of :data:`FORMATS`.

    An element is telling if its bound is a small share of it.
    """
    error, ratio, wrong = errors(device, golden, bound)
    with np.errstate(all="ignore"):
        difference, free, finite = device - golden, bound == np.inf, np.isfinite(golden)
        both = finite & np.isfinite(device)
        size = np.where(finite, np.abs(golden), 0.0)
        gap = _gap(size, output)
        stray = error == np.inf
        columns = {
            "ratio": ratio,
            "error": error,
            "beyond": wrong,
            "nonfinite": stray & ~free,
            "strayed": stray & finite & ~free,
            "unbounded": free,
            "finite": finite,
            "telling": ~free & ((bound < CONCLUSIVE * size) | ~finite),
            "nonzero": golden != 0,
            "nan_for_inf": free & np.isinf(golden) & np.isnan(device),
            "ulps": np.where(stray & free, 0.0, error / gap),
        }
        coarse = gap if precision == output else _gap(size, precision)
        near, apart = np.where(both, error, 0.0), np.where(both, difference, 0.0)
        return columns | _vendor(near, apart, size, finite, coarse, precision)


def _gap(size: Array, output: str) -> Array:
    form = FORMATS[output]
    return binade(size, form.low) * 2.0 ** (1 - form.digits)


def _vendor(
    error: Array, difference: Array, size: Array, finite: Array, gap: Array, precision: str
) -> dict[str, Array]:
    """The published measures; they leave out what is not finite on either side, which
    :mod:`opgen.comparison.criteria` looks at by itself.

    ``gap`` is the unit in the last place of the golden in ``precision``.
    """
    mixed, close = row(standards.MIXED, precision), row(standards.ALLCLOSE, precision)
    probe, small = row(standards.PROBE, precision), row(standards.SMALL, precision)
    relative = row(standards.RELATIVE, precision)
    tiny = size < small.value
    relatively = error / (size + relative.epsilon)
    scale = np.maximum(size, 1.0)
    normal = finite & ~tiny
    return {
        "relative": relatively,
        "relative_sum": relatively,
        "squares": error * error,
        "unlike_mixed": error > mixed.atol + mixed.rtol * size,
        "over_limit": error > np.maximum(mixed.limit, mixed.ulps * gap),
        "unlike_close": error > close.atol + close.rtol * size,
        "unlike_probe": np.where(
            size < probe.small, error > probe.small_error, error > probe.rtol * size
        ),
        "single": error / scale,
        "balance": difference / scale,
        "small_errors": finite & tiny & (error > small.error),
        "normal": normal,
        "normal_relative": np.where(normal, relatively, 0.0),
        "normal_relative_sum": np.where(normal, relatively, 0.0),
    }


def plain(
    table: MetricTable, met: Mapping[str, Array], more: Mapping[str, Array], outputs: Array
) -> dict[int, dict[str, Any]]:
    """The metrics of some outputs, by row, for programs; ``met``: which outputs meet a criterion,
    ``more``: what else is known of each.
    """
    finite = np.maximum(table["finite"], 1.0)
    columns = {
        "ratio": table["ratio"],
        "elements": table["elements"].astype(np.int64),
        "beyond": table["beyond"].astype(np.int64),
        "worst": table.worst,
        "nonfinite": table["nonfinite"].astype(np.int64),
        "unbounded": table["unbounded"].astype(np.int64),
        "error": table["error"],
        "ulps": table["ulps"],
        "matched": 1.0 - table["unlike_mixed"] / finite,
        "mere": table["relative_sum"] / finite,
        "mare": table["relative"],
        "rmse": np.sqrt(table["squares"] / finite),
        **more,
    }
    rows = zip(*(column[outputs].tolist() for column in columns.values()), strict=True)
    meets = (
        np.array(list(met.values()), dtype=bool)
        .reshape(len(met), len(table))[:, outputs]
        .T.tolist()
    )
    return {
        i: {
            **dict(zip(columns, row, strict=True)),
            "meets": dict(zip(met, verdicts, strict=True)),
        }
        for i, row, verdicts in zip(outputs.tolist(), rows, meets, strict=True)
    }
