"""Wrong kernels: where windows and borders lie."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.golden import Array
from opgen.model import TensorDesc
from opgen.quality.mutants.mutant import (
    Computation,
    DeviceBatch,
    Mutant,
    WrongKernel,
    on_gradient,
    on_names,
)

BORDERS = {"D": ("padFront", "padBack"), "H": ("padTop", "padBottom"), "W": ("padLeft", "padRight")}


def exchanged(prefix: str) -> WrongKernel:
    """The names with this prefix, one axis taken for another: the first for the last."""

    def names(given: Computation) -> Mapping[str, int]:
        letters = given.axes(prefix)
        pairs = zip(letters, reversed(letters), strict=True)
        return {prefix + axis: given.names[prefix + other] for axis, other in pairs}

    return on_names(names)


def fixed(value: int, prefix: str) -> WrongKernel:
    """The names of this prefix and an axis all set to a value."""
    return on_names(
        lambda given: dict.fromkeys([prefix + axis for axis in given.axes(prefix)], value)
    )


def borders(given: Computation) -> list[tuple[str, str]]:
    """The names of the padding before and after each axis, outermost first."""
    return [names for names in BORDERS.values() if names[0] in given.names]


def borders_exchanged(given: Computation) -> Mapping[str, int]:
    """The padding of one axis taken for another's."""
    pairs = borders(given)
    return {
        name: given.names[other]
        for mine, others in zip(pairs, reversed(pairs), strict=True)
        for name, other in zip(mine, others, strict=True)
    }


def sides_exchanged(given: Computation) -> Mapping[str, int]:
    """The padding before an axis taken for the padding after it."""
    return {
        name: given.names[other]
        for before, behind in borders(given)
        for name, other in ((before, behind), (behind, before))
    }


def no_padding(given: Computation) -> Mapping[str, int]:
    """The padding of every axis 0."""
    names = [*("pad" + axis for axis in given.axes("pad")), *sum(borders(given), ())]
    return dict.fromkeys(names, 0)


def end_as_beginning(given: Computation) -> Array:
    """The windows that only exist because the padding behind an axis is larger than the one before
    it are not read.
    """
    n, gradient = given.names, given.gradient
    for place, axis in enumerate(reversed(given.axes("k", "d", "s")), 1):
        begin, reach = n[BORDERS[axis][0]], n["d" + axis] * (n["k" + axis] - 1) + 1
        if n["transposed"]:
            count = (n[f"{axis}in"] - 1) * n["s" + axis] - 2 * begin + reach + n["op" + axis]
        else:
            count = (n[f"{axis}in"] + 2 * begin - reach) // n["s" + axis] + 1
        gradient = cut(gradient, -place, max(count, 0))
    return gradient


def cut(array: Array, axis: int, count: int) -> Array:
    """What lies after the first ``count`` elements of an axis is taken for zero."""
    kept = array.copy()
    np.moveaxis(kept, axis, 0)[count:] = 0
    return kept


def without_last(extent: str, axis: int) -> WrongKernel:
    """The last row or column of the gradient is not read."""
    return on_gradient(
        lambda given: (
            cut(given.gradient, axis, given.names[extent] - 1)
            if extent in given.names
            else given.gradient
        )
    )


def without_first_row(cases: DeviceBatch, name: str, array: Array) -> Array:
    """The first row of the gradient of the input is left zero, or the first column where there are
    no rows.
    """
    changed = array.copy()
    if name in ("gradInput", "gradInputRef", "inputGrad", "out", "output"):
        np.moveaxis(changed, -2 if "Hout" in cases.batch.names else -1, 0)[:1] = 0
    return changed


def beyond_a_block(given: Computation) -> Array:
    """Channels after the last whole block of 16 are lost."""
    parameter, desc = given.of.spec.parameters[given.of.gradient], given.of.args[given.of.gradient]
    assert isinstance(desc, TensorDesc)
    letters = parameter.letters(len(desc.shape), desc.format)
    axis = next(i for i, letter in enumerate(letters, 1) if letter in ("C", "Co"))
    whole = given.gradient.shape[axis] // 16 * 16
    return cut(given.gradient, axis, whole) if whole else given.gradient


MUTANTS = (
    Mutant(
        "stride_swapped",
        "the strides of two axes are exchanged",
        ("sH", "sW", "kW"),
        kernel=exchanged("s"),
    ),
    Mutant("stride_ignored", "every stride is 1", ("sW", "kW"), kernel=fixed(1, "s")),
    Mutant(
        "dilation_swapped",
        "the dilations of two axes are exchanged",
        ("dH", "dW"),
        kernel=exchanged("d"),
    ),
    Mutant("dilation_ignored", "every dilation is 1", ("dW",), kernel=fixed(1, "d")),
    Mutant(
        "padding_swapped",
        "the paddings of two axes are exchanged, where each side has its own",
        ("padTop", "padLeft", "kW"),
        kernel=on_names(borders_exchanged),
    ),
    Mutant(
        "pool_padding_swapped",
        "the paddings of two axes are exchanged, where both sides have the same",
        ("padH", "padW"),
        kernel=exchanged("pad"),
    ),
    Mutant(
        "padding_sides_swapped",
        "the paddings before and after an axis are exchanged",
        ("padRight", "kW"),
        kernel=on_names(sides_exchanged),
    ),
    Mutant(
        "padding_end_ignored",
        "padding after an axis is ignored as far as it exceeds the padding before the axis",
        ("padRight", "dW", "transposed"),
        kernel=on_gradient(end_as_beginning),
    ),
    Mutant(
        "padding_ignored",
        "padding is ignored",
        ("padLeft|padW", "kW"),
        kernel=on_names(no_padding),
    ),
    Mutant(
        "kernel_swapped",
        "the height and width of the window are exchanged",
        ("kernelSize",),
        kernel=exchanged("k"),
    ),
    Mutant(
        "last_row_dropped",
        "the last row of the gradient is not read",
        ("Hout",),
        kernel=without_last("Hout", -2),
    ),
    Mutant(
        "last_column_dropped",
        "the last column of the gradient is not read",
        ("Wout",),
        kernel=without_last("Wout", -1),
    ),
    Mutant(
        "first_row_missing",
        "the first row of the result stays zero",
        ("Hout",),
        output=without_first_row,
    ),
    Mutant(
        "channel_block_lost",
        "channels after the last whole block of 16 are lost",
        ("C|Co", "Wout"),
        kernel=on_gradient(beyond_a_block),
    ),
)
