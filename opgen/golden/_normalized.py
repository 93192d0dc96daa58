"""Gradients of normalisations as formulas of tracked numbers, with several outputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._absolute import Both, Function, Outputs
from opgen.golden._elementwise import SECOND_ORDER, Names, Operands
from opgen.golden._running_error import Tracked, either

Gradients: TypeAlias = Callable[[Operands, Names], Mapping[str, Tracked]]


class RowLayout(NamedTuple):
    """The inputs of a formula, (B, ...) so that they broadcast, and the shapes of its outputs."""

    inputs: Mapping[str, Array]
    shapes: Mapping[str, tuple[int, ...]]


def of_rows(h: Tracked, x: Tracked, mean: Tracked, rstd: Tracked) -> Tracked:
    """The gradient of numbers that are normalised along the last axis, from that of the normalised
    ones: by the terms of the definition, with rstd taken out of the mean, or as ``a * h + b * x +
    c``, in which a device adds what does not depend on the element.
    """
    axis = h.value.ndim - 1
    count, centred = max(h.value.shape[axis], 1), x - mean
    normal, total = centred * rstd, h.sum(axis)
    means = (h * normal).sum(axis) / count, ((h * centred).sum(axis) / count) * rstd
    printed = [(h - (total / count + normal * each)) * rstd for each in means]
    slope = (total * mean - (h * x).sum(axis)) * rstd * rstd * rstd / count
    constant = total * rstd / count + slope * mean
    return either(*printed, h * rstd + slope * x - constant)


def statistics(rows: Array, tensors: Tensors, *names: str) -> Outputs:
    """What a forward saves of the last axis of rows (B, rows, elements), as inputs of these names:
    the mean and rstd, or the rstd alone, which then is that of the root mean square;
    with what forwards usually add to a variance.
    """
    count, rows = max(rows.shape[2], 1), np.ascontiguousarray(rows)
    mean = np.add.reduce(rows, 2, keepdims=True) / count if len(names) > 1 else np.zeros(())
    rstd = 1 / np.sqrt(np.add.reduce(np.square(rows - mean), 2, keepdims=True) / count + 1e-5)
    return {
        name: numbers.reshape(like.shape)
        for name, numbers in zip(names, (mean, rstd)[-len(names) :], strict=True)
        if (like := tensors[name]) is not None
    }


def functions(
    laid: Callable[[Tensors], RowLayout], formula: Gradients
) -> tuple[Function, Function, Callable[..., Both]]:
    """The functions ``golden``, ``magnitude`` and ``both`` of a kernel. The magnitude is the error
    of a device in units of its roundoff, so that such a kernel has the depth 1.
    """

    def both(tensors: Tensors, names: Names, wanted: Collection[str]) -> Both:
        if not wanted:
            return {}, {}
        layout = laid(tensors)
        found = formula({name: Tracked.given(a) for name, a in layout.inputs.items()}, names)
        goldens, sizes = {}, {}
        for name in wanted:
            array = found[name].value
            shape = len(array), *layout.shapes[name]
            goldens[name] = array.reshape(shape)
            size = np.fmax(found[name].error * SECOND_ORDER, np.abs(array))
            sizes[name] = size.reshape(shape)
        return goldens, sizes

    def golden(tensors: Tensors, names: Names, wanted: Collection[str]) -> Outputs:
        return both(tensors, names, wanted)[0]

    def magnitude(tensors: Tensors, names: Names, wanted: Collection[str]) -> Outputs:
        return both(tensors, names, wanted)[1]

    return golden, magnitude, both
