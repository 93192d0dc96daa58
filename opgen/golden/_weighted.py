"""The gradient of an operator whose weights a device computes itself: how far they may be off adds
to its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from opgen.golden import Array, Differentiable, Tensors, present
from opgen.golden._absolute import GOLDEN, Function, Outputs
from opgen.golden._adjoint import Forward, Names, differentiable
from opgen.golden._gathers import Gather
from opgen.golden._running_error import ROUNDOFF

ANY = 2 / ROUNDOFF
"""An error that lets a weight of 0 be 1, and back."""


@dataclass(frozen=True, eq=False)
class WeightedAxis:
    """A forward along one axis, as in :class:`Gather`, and the largest ``errors`` of its weights on
    a device, in roundoffs of FLOAT: (taps, number) each. A device may add a tap whose weight is 0,
    or leave it out.
    """

    extent: int
    index: Array
    weights: Array
    errors: Array

    @cached_property
    def exact(self) -> Gather:
        """The forward."""
        index = np.where(self.weights != 0, self.index, -1)
        plain = ((self.weights == 1) | (index < 0)).all()
        return Gather(self.extent, index, None if plain else self.weights)

    @cached_property
    def doubtful(self) -> Array:
        """Which elements of the output have such a tap: 0 times Inf may be left out, too."""
        return np.asarray(((self.weights == 0) & (self.index >= 0)).any(axis=0))

    @cached_property
    def sizes(self) -> Gather:
        """Its absolute weights."""
        return Gather(self.extent, self.index, np.abs(self.weights))

    @cached_property
    def deviations(self) -> Gather:
        """The errors of its weights."""
        return Gather(self.extent, self.index, self.errors)

    @cached_property
    def largest(self) -> Gather:
        """The largest absolute weights of a device."""
        return Gather(self.extent, self.index, np.abs(self.weights) + ROUNDOFF * self.errors)

    def either(self, other: WeightedAxis) -> WeightedAxis:
        """The same for a device that may follow the other as well, which has as many taps: where
        these are the same, nothing is in doubt.
        """
        same = ((self.index == other.index) & (self.weights == other.weights)).all(axis=0)
        mine, others = (
            one.errors + np.where(same, 0, np.abs(one.weights) * ANY) for one in (self, other)
        )
        return WeightedAxis(
            self.extent,
            np.concatenate((self.index, np.where(same, -1, other.index))),
            np.concatenate((self.weights, np.zeros_like(other.weights))),
            np.concatenate((np.where(same, np.maximum(mine, others), mine), others)),
        )


@dataclass(frozen=True, eq=False)
class Weighted:
    """A forward along each of the last axes."""

    axes: tuple[WeightedAxis, ...]

    @cached_property
    def forward(self) -> Forward:
        """With the weights that it is meant to have."""
        return Forward(tuple([axis.exact for axis in self.axes]))

    @cached_property
    def largest(self) -> Forward:
        """With the largest weights of a device."""
        return Forward(tuple([axis.largest for axis in self.axes]))

    @cached_property
    def taps(self) -> Forward:
        """With the weight 1, also where it is 0."""
        return Forward(tuple([Gather(axis.extent, axis.index) for axis in self.axes]))

    @cached_property
    def depth(self) -> int:
        """The most elements of the gradient that meet in one, and a product per axis."""
        return self.taps.depth + len(self.axes)

    @cached_property
    def deviations(self) -> tuple[Forward, ...]:
        """By how much a product of weights is off, in roundoffs: the sum of these.

        ``(a + da)(b + db) - ab = da (b + db) + a db``, and so on for more.
        """
        return tuple(
            [
                Forward(
                    (
                        *[before.sizes for before in self.axes[:i]],
                        axis.deviations,
                        *[after.largest for after in self.axes[i + 1 :]],
                    )
                )
                for i, axis in enumerate(self.axes)
                if axis.errors.any()
            ]
        )

    def golden(self, gradient: Array) -> Array:
        """The gradient of the input; 0 where a device may or may not multiply Inf or NaN by 0, with
        a magnitude that allows for any value.
        """
        result = self.forward.adjoint(gradient, GOLDEN)
        foreign = ~np.isfinite(gradient)
        if foreign.any():
            foreign &= reduce(np.logical_or.outer, [axis.doubtful for axis in self.axes])
            result[self.taps.adjoint(foreign.astype(np.float64), GOLDEN) > 0] = 0
        return result

    def magnitude(self, gradient: Array) -> Array:
        """The sum of absolute terms, and the errors of weights in units of what ``depth`` roundings
        of it come to.
        """
        size = np.abs(gradient)
        total = self.largest.adjoint(size, GOLDEN)
        for deviation in self.deviations:
            total += deviation.adjoint(size, GOLDEN) / self.depth
        return total


class Derived(NamedTuple):
    """What a kernel has that is the adjoint of such a forward."""

    golden: Function
    magnitude: Function
    depth: Callable[..., int]
    forward: Differentiable


def derived(
    weighted: Callable[[Names], Weighted], gradient: str = "gradOut", output: str = "out"
) -> Derived:
    """The functions of a kernel, from the forward that a call's names give."""

    def function(of: Callable[[Weighted, Array], Array]) -> Function:
        def computed(tensors: Tensors, names: Names, wanted: Collection[str]) -> Outputs:
            (array,) = present(tensors, gradient)
            return {output: of(weighted(names), array)} if output in wanted else {}

        return computed

    def depth(names: Names, shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
        return weighted(names).depth

    return Derived(
        function(Weighted.golden),
        function(Weighted.magnitude),
        depth,
        differentiable(lambda names: weighted(names).forward, gradient, output),
    )
