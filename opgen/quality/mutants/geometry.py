"""Wrong kernels: where windows, borders and groups lie."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.golden import Array
from opgen.model import TensorDesc
from opgen.quality.mutants.mutant import (
    Computation,
    DeviceBatch,
    Mutant,
    Outputs,
    WrongKernel,
    on_gradient,
    on_names,
    with_output,
)

BORDERS = {"D": ("padFront", "padBack"), "H": ("padTop", "padBottom"), "W": ("padLeft", "padRight")}
DENSE = 1 << 22
"""Elements of a weight that joins all channels, beyond which it is not made."""


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


def without_output_padding(given: Computation) -> Array:
    """The rows that outputPadding adds are not read."""
    gradient = given.gradient
    for place, axis in enumerate(reversed(given.axes("op")), 1):
        gradient = cut(gradient, -place, given.names[f"{axis}out"] - given.names["op" + axis])
    return gradient


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


# convolution --------------------------------------------------------------------------------------
def flipped(given: Computation) -> Outputs:
    """Convolution where correlation is meant: the kernel upside down."""
    spatial = tuple(range(3, given["weight"].ndim))
    outputs = given.run({"weight": np.flip(given["weight"], spatial)})
    return with_output(outputs, "gradWeight", lambda array: np.flip(array, spatial))


def ungrouped(given: Computation) -> Outputs:
    """Every channel joined with every other by the weight of one group."""
    groups, weight = given.names["groups"], given["weight"]
    if weight.size * groups > DENSE:
        return given.run()
    dense = np.tile(weight, (1, 1, groups, *(1,) * (weight.ndim - 3)))
    outputs = given.run({"weight": dense}, {"groups": 1})
    return with_output(outputs, "gradWeight", lambda array: array[:, :, : weight.shape[2]])


def interleaved(given: Computation) -> Outputs:
    """Channel c taken for one of group c modulo groups."""
    groups = given.names["groups"]

    def dealt(array: Array, back: bool = False) -> Array:
        b, n, c, *rest = array.shape
        parts = (groups, c // groups) if back else (c // groups, groups)
        return np.ascontiguousarray(array.reshape(b, n, *parts, *rest).swapaxes(2, 3)).reshape(
            array.shape
        )

    outputs = given.run({name: dealt(given[name]) for name in (given.of.gradient, "input")})
    return with_output(outputs, "gradInput", lambda array: dealt(array, back=True))


def not_transposed(given: Computation) -> Outputs:
    """Windows slide over the input where they should slide over its gradient."""
    if not given.names["transposed"]:
        return given.run()
    groups, weight = given.names["groups"], given["weight"]

    def turned(array: Array, per: int) -> Array:
        b, c, m, *rest = array.shape
        return np.ascontiguousarray(array.reshape(b, groups, per, m, *rest).swapaxes(2, 3)).reshape(
            b, groups * m, per, *rest
        )

    outputs = given.run({"weight": turned(weight, weight.shape[1] // groups)}, {"transposed": 0})
    return with_output(outputs, "gradWeight", lambda array: turned(array, weight.shape[2]))


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
        "kernel_flipped",
        "the kernel is flipped: convolution instead of correlation",
        ("weight", "groups"),
        kernel=flipped,
    ),
    Mutant(
        "kernel_swapped",
        "the height and width of the window are exchanged",
        ("kernelSize",),
        kernel=exchanged("k"),
    ),
    Mutant(
        "groups_ignored",
        "groups is ignored: every channel is connected to every other",
        ("groups",),
        kernel=ungrouped,
    ),
    Mutant(
        "groups_interleaved",
        "channel c belongs to group c % groups, not to a block of channels",
        ("groups",),
        kernel=interleaved,
    ),
    Mutant(
        "transposed_ignored",
        "a transposed convolution is computed as an ordinary one",
        ("transposed", "groups"),
        kernel=not_transposed,
    ),
    Mutant(
        "output_padding_dropped",
        "the rows that outputPadding adds are not read",
        ("outputPadding",),
        kernel=on_gradient(without_output_padding),
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
