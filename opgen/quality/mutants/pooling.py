"""Wrong kernels: by what a pool divides, and where its windows begin by default."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from opgen.quality.mutants.mutant import Computation, Mutant, on_names


def unclipped(given: Computation) -> Mapping[str, int]:
    """Every window counts all of its elements, also those that hang over the padding."""
    elements = prod(given.names["k" + axis] for axis in given.axes("k"))
    divided = given.names["divisorOverride"] or not given.names["countIncludePad"]
    return {} if divided else {"divisorOverride": elements}


def default_stride_of_1(given: Computation) -> Mapping[str, int]:
    """A stride that the call leaves out is 1."""
    return {"s" + axis: 1 for axis in given.axes("s")} if given.of.args["stride"] == () else {}


MUTANTS = (
    Mutant(
        "pad_counted",
        "padding is always counted, whatever countIncludePad says",
        ("countIncludePad",),
        kernel=on_names(lambda given: {"countIncludePad": 1}),
    ),
    Mutant(
        "pad_not_counted",
        "padding is never counted, whatever countIncludePad says",
        ("countIncludePad",),
        kernel=on_names(lambda given: {"countIncludePad": 0}),
    ),
    Mutant(
        "ceil_unclipped",
        "a window that hangs over the edge under ceilMode is divided by its full size",
        ("ceilMode", "countIncludePad", "divisorOverride"),
        kernel=on_names(unclipped),
    ),
    Mutant(
        "divisor_ignored",
        "divisorOverride is ignored",
        ("divisorOverride",),
        kernel=on_names(lambda given: {"divisorOverride": 0}),
    ),
    Mutant(
        "divisor_sign_dropped",
        "the sign of divisorOverride is ignored",
        ("divisorOverride",),
        kernel=on_names(lambda given: {"divisorOverride": abs(given.names["divisorOverride"])}),
    ),
    Mutant(
        "divisor_missing",
        "outputs are sums instead of averages",
        ("divisorOverride",),
        kernel=on_names(lambda given: {"divisorOverride": 1}),
    ),
    Mutant(
        "default_stride_1",
        "a stride that is left out is 1, not the kernel size",
        ("kernelSize", "stride"),
        kernel=on_names(default_stride_of_1),
        where=lambda spec: bool(spec.parameters["stride"].otherwise),
    ),
)
