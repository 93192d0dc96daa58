"""Devices that choose wrongly: by an index, a target or a word of a reduction."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from opgen.golden import Array, kernel
from opgen.numerics.formats import DTYPES
from opgen.quality.mutants.mutant import Computation, Mutant, Outputs, lists_dtype, on_names
from opgen.spec.spec import Spec

NOWHERE = -(2**40)
"""An index of no element."""


def whole(given: Computation) -> dict[str, Array]:
    """The inputs of whole numbers."""
    described = given.of.batch.tensors
    return {
        name: values
        for name, values in given.tensors.items()
        if values is not None and DTYPES[described[name].dtype].whole
    }


def has_whole(spec: Spec) -> bool:
    """Whether a page asks for whole numbers in some input whose dtype is no other tensor's, and
    the kernel reads it, as its probes show: lengths of equal sequences choose nothing.
    """
    shared = {
        name
        for rule in spec.rules
        for guard in rule.guards
        if guard.require.operator == "=="
        for name, what in guard.require.refs
        if what == "dtype"
    }
    read = {
        name
        for probe in kernel(spec.op).PROBES
        for name, shape in probe.shapes.items()
        if shape is not None
    }
    choosing = [tensor for tensor in spec.inputs if tensor.name in read - shared]
    return lists_dtype(spec, choosing, lambda dtype: dtype.whole)


def beside_gradient(spec: Spec) -> bool:
    """Whether an index stands beside each element of the gradient, or each row of it, as the
    kernel's probes show.
    """
    first, *others = [tensor.name for tensor in spec.inputs]
    shapes = [
        (probe.shapes[first], probe.shapes[name])
        for probe in kernel(spec.op).PROBES
        for name in others
        if name in probe.shapes
    ]
    return has_whole(spec) and any(
        gradient is not None and index is not None and gradient[: len(index)] == index
        for gradient, index in shapes
    )


def shifted(given: Computation) -> Outputs:
    """Every index one too large; the largest stay."""
    return given.run(
        {name: np.minimum(index + 1, index.max(initial=0)) for name, index in whole(given).items()}
    )


def overwritten(given: Computation) -> Outputs:
    """Where an index stands twice, in a plane or before rows of the gradient, what came first is
    lost.
    """
    gradient = given.gradient.copy()
    for index in whole(given).values():
        in_planes = index.shape == gradient.shape and gradient.ndim > 2
        lists = index.reshape(-1, prod(index.shape[-2:] if in_planes else index.shape[1:]))
        again = np.array([_comes_again(several) for several in lists.tolist()], dtype=bool)
        gradient.reshape(index.size, -1)[again.reshape(-1)] = 0
    return given.run({given.of.gradient: gradient})


def _comes_again(values: list[float]) -> list[bool]:
    """Which values stand once more behind their place."""
    last = {value: place for place, value in enumerate(values)}
    return [last[value] != place for place, value in enumerate(values)]


def exchanged(given: Computation) -> Mapping[str, int]:
    """The sum taken for the mean, and the mean for the sum."""
    words = given.of.spec.scope.words
    other = {words["MEAN"]: words["SUM"], words["SUM"]: words["MEAN"]}
    chosen = given.names["reduction"]
    return {"reduction": int(other.get(chosen, chosen))}


MUTANTS = (
    Mutant("index_off_by_one", "every index is one too large", kernel=shifted, where=has_whole),
    Mutant(
        "duplicates_overwritten",
        "where an index occurs twice, the last gradient replaces the others",
        ("indices",),
        kernel=overwritten,
        where=beside_gradient,
    ),
    Mutant(
        "ignored_index_counted",
        "ignored targets are counted",
        ("ignoreIndex",),
        kernel=on_names(lambda given: {"ignoreIndex": NOWHERE}),
    ),
    Mutant(
        "padding_index_counted",
        "gradients of the padding index are counted",
        ("paddingIdx",),
        kernel=on_names(lambda given: {"paddingIdx": NOWHERE}),
    ),
    Mutant(
        "frequency_ignored",
        "sums are not divided by how often their index occurs",
        ("scaleGradByFreq",),
        kernel=on_names(lambda given: {"scaleGradByFreq": False}),
    ),
    Mutant(
        "mean_and_sum_exchanged",
        "the sum is taken for the mean, and the mean for the sum",
        ("reduction",),
        kernel=on_names(exchanged),
        where=lambda spec: {"MEAN", "SUM"} <= set(spec.scope.words),
    ),
)
"""Wrong kernels of operators that choose."""
