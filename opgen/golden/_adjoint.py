"""The gradient of an operator that gathers along its last axes: its forward's adjoint.

Axes are added back one by one, by slices, in a fixed order: the result depends neither on the batch
nor on a BLAS, whatever the data. Small planes are gathered by an index or multiplied by matrices of
zeros and ones instead, but only where no order of additions can matter: where at most two values
meet in a sum, or where all sums are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, reduce
from math import prod
from operator import itemgetter
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden._absolute import Copies, Outputs, functions
from opgen.golden._axes import BLOCK
from opgen.golden._gathers import Gather
from opgen.golden._matrices import kronecker, multiply, orderless

Names: TypeAlias = Mapping[str, int]
Made = TypeVar("Made")
WHOLE = 1 << 10  # elements of the matrix of a plane up to which it is faster than one per axis
FEW = 1 << 15  # elements up to which a matrix per axis is faster than slices


class Forward:
    """An operator's forward: a gather along each of the last axes, and what its results are divided
    by, of an extent or 1 per axis; and what its gradients need, made once.

    ``numbers`` and ``extents`` are those of its output and of its input, ``elements`` the most of a
    plane on the way. ``order`` is that of the axes: the last one, whose slices are slow, while
    planes are small. ``depth``: the elements of the gradient that meet in one, and a rounding of a
    factor per axis. Of a small plane, ``source`` is the flat place of the gradient that each place
    gets as it is, if it is one, and ``matrices`` are that of the plane, or one for each of its
    axes; in the products by these meet as many values as ``terms`` says, where it is more than two.
    """

    def __init__(self, axes: tuple[Gather, ...], divisors: Array | None = None) -> None:
        self.axes, self.divisors = axes, divisors
        self.numbers = tuple([axis.number for axis in axes])
        self.extents = tuple([axis.extent for axis in axes])
        self.elements = prod(map(max, self.numbers, self.extents))
        rank, terms = len(axes), [axis.terms for axis in axes]
        self.order = range(rank) if self.numbers[-1] > self.extents[-1] else range(rank)[::-1]
        factor = divisors is not None or any(axis.weights is not None for axis in axes)
        self.depth = prod(terms) + factor * rank
        self.source: Array | None = None
        self.matrices: tuple[Array, ...] = ()
        if all(axis.small for axis in axes):
            sources = [source for axis in axes if (source := axis.source) is not None]
            if len(sources) == rank:
                self.source = np.ravel_multi_index(np.ix_(*sources), self.numbers).reshape(-1)
            else:
                self.matrices = tuple([axis.matrix for axis in axes])
                if prod([matrix.size for matrix in self.matrices]) <= WHOLE:
                    self.matrices = (reduce(kronecker, self.matrices),)
        self.terms = prod(terms) if len(self.matrices) == 1 or max(terms) > 2 else 2

    def applied(self, image: Array) -> Array:
        """The forward, axis by axis: (B, ..., *extents) -> (B, ..., *numbers)."""
        for i, axis in enumerate(self.axes, image.ndim - len(self.axes)):
            image = np.moveaxis(axis.applied(np.moveaxis(image, i, -1)), -1, i)
        return image if self.divisors is None else image / self.divisors

    def adjoint(self, gradient: Array, copies: Copies, block: int = BLOCK) -> Array:
        """The gradient of the input, of all copies of all cases, about ``block`` elements at a
        time: (B, ..., *numbers) -> (copies * B, ..., *extents).
        """
        rank, number = len(self.axes), copies.number
        lead = gradient.shape[:-rank]
        planes = gradient.reshape(prod(lead), *self.numbers)
        result = np.empty((number, len(planes), *self.extents), gradient.dtype)
        if 0 < number * len(planes) * self.elements <= block:
            self._add(planes, result, copies)
        else:
            step = max(1, block // max(1, number * self.elements))
            whole = (slice(None), slice(None), self)
            cuts = [whole] if self.elements <= 4 * block else _pieces(self, block)
            for first in range(0, len(planes), step):
                for outputs, rows, part in cuts:
                    part._add(
                        planes[first : first + step, outputs],
                        result[:, first : first + step, rows],
                        copies,
                    )
        return result.reshape(number * lead[0], *lead[1:], *self.extents)

    def _add(self, gradient: Array, result: Array, copies: Copies) -> None:
        """Writes the gradients of some planes: (planes, *numbers) -> (copies, planes, *extents)."""
        values = self._quotients(gradient, copies)
        if self.source is not None:
            flat = values.reshape(copies.number, len(gradient), -1)
            out = result.reshape(copies.number, len(gradient), -1)
            flat.take(self.source, axis=2, mode="clip", out=out)
        elif (
            self.matrices
            and values.dtype.kind == "f"
            and (len(self.matrices) == 1 or values.size <= FEW)
            and orderless(values[-1].reshape(-1), self.terms)
        ):
            order = self.order if len(self.matrices) > 1 else range(1)
            multiply(values, self.matrices, order, result)
        else:
            for axis in self.order:
                shape = (*values.shape[: axis + 2], self.extents[axis], *values.shape[axis + 3 :])
                out = result if axis == self.order[-1] else np.empty(shape, values.dtype)
                values = self.axes[axis].scatter(values, axis + 2, out)

    def _quotients(self, gradient: Array, copies: Copies) -> Array:
        """The terms of all copies: (planes, *numbers) -> (copies, planes, *numbers)."""
        if self.divisors is None and not copies.absolute:
            return gradient[None]
        values = np.empty((copies.number, *gradient.shape), gradient.dtype)
        if self.divisors is None:
            values[0] = gradient
        else:
            np.divide(gradient, self.divisors, out=values[0])
        if copies.absolute:
            parts = values.view(np.float64)
            np.abs(parts[0], out=parts[-1])
        return values


@lru_cache(maxsize=64)
def _pieces(forward: Forward, block: int) -> list[tuple[slice, slice, Forward]]:
    """Cuts large planes by rows: rows of the gradient, those that they go to, and how."""
    first, divisors, pieces = forward.axes[0], forward.divisors, []
    rows = max(1, block * max(first.number, first.extent) // forward.elements)
    for begin in range(0, first.extent, rows):
        end = min(begin + rows, first.extent)
        outputs, axis = first.within(begin, end)
        by = divisors if divisors is None or len(divisors) == 1 else divisors[outputs]
        pieces.append((outputs, slice(begin, end), Forward((axis, *forward.axes[1:]), by)))
    return pieces


def forwards(keys: Sequence[str], make: Callable[..., Made]) -> Callable[[Names], Made]:
    """From a call's names to its forward, which is made of some of their numbers."""
    made = lru_cache(maxsize=256)(lambda numbers: make(*numbers))
    numbers = itemgetter(*keys)
    return lambda names: made(numbers(names))


class Derived(NamedTuple):
    """What a kernel has that is the adjoint of a forward."""

    golden: Callable[..., Outputs]
    magnitude: Callable[..., Outputs]
    both: Callable[..., tuple[Outputs, Outputs]]
    depth: Callable[..., int]
    forward: Differentiable


def derived(
    forward: Callable[[Names], Forward],
    gradient: str = "gradOutput",
    output: str = "gradInput",
) -> Derived:
    """The functions of a kernel, from the forward that a call's names give.

    The same bits in every batch and under every BLAS, whatever the data.
    """

    def computed(
        tensors: Tensors, names: Names, wanted: Collection[str], copies: Copies
    ) -> Outputs:
        if output not in wanted:
            return {}
        (array,) = present(tensors, gradient)
        return {output: forward(names).adjoint(array, copies)}

    def depth(names: Names, shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
        return forward(names).depth

    return Derived(*functions(computed), depth, differentiable(forward, gradient, output))


def differentiable(
    forward: Callable[[Names], Forward], gradient: str, output: str
) -> Differentiable:
    """The forward of a kernel that needs no input of it."""

    def function(tensors: Tensors, names: Names) -> Outputs:
        (image,) = present(tensors, output)
        return {gradient: forward(names).applied(image)}

    return Differentiable(function, {output: output})


def probed(
    forward: Forward,
    names: Names,
    lead: int = 1,
    complex_: bool = False,
    gradient: str = "gradOutput",
    output: str = "gradInput",
) -> ProbeCall:
    """A probe of such a kernel."""
    return ProbeCall(names, {gradient: (lead, *forward.numbers)}, (output,), complex_)
