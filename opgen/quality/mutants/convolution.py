"""Wrong kernels: how a convolution reads its weight, its groups and its output padding."""

from __future__ import annotations

import numpy as np

from opgen.golden import Array
from opgen.quality.mutants.geometry import cut
from opgen.quality.mutants.mutant import (
    Computation,
    Mutant,
    Outputs,
    on_gradient,
    with_output,
)

DENSE = 1 << 22
"""Elements of a weight that joins all channels, beyond which it is not made."""


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


def without_output_padding(given: Computation) -> Array:
    """The rows that outputPadding adds are not read."""
    gradient = given.gradient
    for place, axis in enumerate(reversed(given.axes("op")), 1):
        gradient = cut(gradient, -place, given.names[f"{axis}out"] - given.names["op" + axis])
    return gradient


MUTANTS = (
    Mutant(
        "kernel_flipped",
        "the kernel is flipped: convolution instead of correlation",
        ("weight", "groups"),
        kernel=flipped,
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
)
