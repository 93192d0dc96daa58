"""Pictures of errors: how error / bound is distributed, and where in an output it lies. Drawn by
matplotlib, without a display.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO, StringIO
from itertools import pairwise

import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

from opgen.comparison.explain import ComparedOutput
from opgen.comparison.metrics import BINS
from opgen.numerics.arrays import Array

_EDGES = (0.0, 1e-300, 0.1, 0.5, 1.0000001, 2.0, 10.0, 100.0, 1e4, 1e300, np.inf)
_NAMES = ("0", "to 0.1", "to 0.5", "to 1", "to 2", "to 10", "to 100", "to 10⁴", "more", "Inf")
_COLOURS = (
    "#ffffff",
    "#e8eef4",
    "#cfdde9",
    "#a9c3d9",
    "#fdd0a2",
    "#fdae6b",
    "#f16913",
    "#d94801",
    "#a50f15",
    "#3f007d",
)
_INK = "#333333"
Panel = tuple[Array, str, str, Sequence[int]]
"""A picture's values, the names of its two axes, and where lines part the columns."""


def distribution(counts: Mapping[str, Sequence[int]]) -> str:
    """Elements by error / bound, a row per dtype, as SVG."""
    figure = Figure(figsize=(9, 0.4 + 0.95 * max(len(counts), 1)))
    low, high = BINS
    places = [low - 2, *range(low, high + 1)]
    axes = figure.subplots(max(len(counts), 1), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (dtype, values) in zip(axes, counts.items(), strict=False):
        colours = [
            "#9e9e9e",
            *("#5b8db8" if power < 0 else "#d94801" for power in range(low, high + 1)),
        ]
        axis.bar(places, np.maximum(values, 0.0), width=0.9, color=colours, align="edge")
        axis.set_yscale("symlog", linthresh=1)
        axis.axvline(0, color=_INK, linewidth=1)
        axis.set_ylabel(dtype, rotation=0, ha="right", va="center", fontsize=9)
        axis.set_yticks([])
        axis.spines[["top", "right", "left"]].set_visible(False)
    axes[-1].set_xticks(
        [low - 1.5, *range(low, high + 1, 4)],
        ["equal", *(_power(p) for p in range(low, high + 1, 4))],
        fontsize=8,
    )
    axes[-1].set_xlabel(
        "error / bound; right of the line a device is wrong (heights are logarithmic)", fontsize=9
    )
    figure.tight_layout(pad=0.4, h_pad=0.2)
    return _svg(figure)


def error_map(output: ComparedOutput) -> str:
    """Where an output is wrong, as a PNG in a data URI: samples by channels, then the spatial axes,
    each the largest over the rest.
    """
    every = list(panels(output))
    drawn = [panel for panel in every if panel[0].size > 1] or every[-1:]
    widths = [min(max(values.shape[1], 4), 40) for values, *_ in drawn]
    height = max(min(max(values.shape[0], 6), 24) for values, *_ in drawn)
    scale = min(0.28, 9.0 / sum(widths))
    figure = Figure(
        figsize=(
            max(sum(widths) * scale + 0.9 * len(drawn) + 1.2, 4.5),
            min(height * scale, 4.5) + 0.9,
        ),
        layout="constrained",
    )
    axes = figure.subplots(1, len(drawn), squeeze=False, width_ratios=widths)[0]
    colours = ListedColormap(list(_COLOURS))
    norm = BoundaryNorm(range(len(_COLOURS) + 1), len(_COLOURS))
    for axis, (values, rows, columns, lines) in zip(axes, drawn, strict=True):
        shown = axis.imshow(
            levels(values), cmap=colours, norm=norm, aspect="auto", interpolation="nearest"
        )
        axis.set_xlabel(columns, fontsize=9)
        axis.set_ylabel(rows, fontsize=9)
        for side, extent in (("x", values.shape[1]), ("y", values.shape[0])):
            ticks = np.arange(0, extent, -(-extent // 12))
            getattr(axis, f"set_{side}ticks")(ticks, ticks, fontsize=8)
            if extent <= 64:
                getattr(axis, f"set_{side}ticks")(np.arange(extent + 1) - 0.5, minor=True)
        if max(values.shape) <= 64:
            axis.grid(which="minor", color="#bbbbbb", linewidth=0.5)
        axis.tick_params(which="both", length=0)
        for line in lines:
            axis.axvline(line - 0.5, color=_INK, linewidth=2)
    bar = figure.colorbar(
        shown, ax=list(axes), fraction=0.05, pad=0.03, ticks=np.arange(len(_NAMES)) + 0.5
    )
    bar.ax.set_yticklabels(_NAMES, fontsize=7)
    bar.ax.set_title("error/\nbound", fontsize=7)
    sink = BytesIO()
    figure.savefig(sink, format="png", dpi=110, metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(sink.getvalue()).decode()


def panels(output: ComparedOutput) -> Iterator[Panel]:
    """Pairs of axes with the largest error / bound over all others. Groups of channels are one
    axis, parted by lines.
    """
    ratio, names = output.errors.ratio.reshape(output.form), list(output.axes)
    lines: list[int] = []
    parted = -1
    if "group" in names:
        axis = names.index("group")
        groups, each = ratio.shape[axis : axis + 2]
        ratio = ratio.reshape(*ratio.shape[:axis], groups * each, *ratio.shape[axis + 2 :])
        names.pop(axis)
        lines = [each * i for i in range(1, groups)]
        parted = axis if lines else -1
    if ratio.ndim < 2:
        yield ratio.reshape(1, -1), "", names[0] if names else "", lines
        return
    spatial = list(range(1 if ratio.ndim == 3 else 2, ratio.ndim)) or [0, 1]
    pairs = [(0, 1)] if ratio.ndim > 2 else []
    for a, b in (*pairs, *pairwise(spatial)):
        rest = tuple(axis for axis in range(ratio.ndim) if axis not in (a, b))
        values = ratio.max(axis=rest)
        if a == parted:
            yield values.T, names[b], names[a], lines
        else:
            yield values, names[a], names[b], lines if b == parted else []


def levels(ratio: Array) -> Array:
    """The step of the colour scale that each error / bound falls on.

    >>> levels(np.array([0.0, 0.3, 5.0, np.nan])).tolist()
    [0, 2, 5, 9]
    """
    step = np.searchsorted(_EDGES, np.nan_to_num(ratio, nan=np.inf), side="right") - 1
    return np.clip(step, 0, len(_COLOURS) - 1)


def _power(exponent: int) -> str:
    return "1" if exponent == 0 else f"2$^{{{exponent}}}$"


def _svg(figure: Figure) -> str:
    sink = StringIO()
    figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None})
    whole = sink.getvalue()
    return whole[whole.index("<svg") :]
