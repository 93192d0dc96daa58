"""Forwards that cut an image into blocks and lay their elements out in an order of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import numpy as np

from opgen.golden import Array, Differentiable, Tensors, present
from opgen.golden._absolute import Copies, Outputs, functions
from opgen.golden._adjoint import Derived, Forward, Names
from opgen.golden._gathers import Gather

Laid: TypeAlias = Callable[[Array, Names], Array]


def blocks(
    extent: int, number: int, size: int, step: int, dilation: int = 1, pad: int = 0
) -> Gather:
    """An axis whose output is ``number`` elements for each of the ``size`` places of a block."""
    index = np.arange(size)[:, None] * dilation + np.arange(number) * step - pad
    return Gather(extent, np.where((index >= 0) & (index < extent), index, -1).reshape(1, -1))


def laid_out(
    forward: Callable[[Names], Forward], back: Laid, out: Laid, gradient: str, output: str
) -> Derived:
    """The functions of a kernel whose forward is a gather, and then ``out`` of what it gathered;
    ``back`` is the opposite.
    """

    def computed(
        tensors: Tensors, names: Names, wanted: Collection[str], copies: Copies
    ) -> Outputs:
        (array,) = present(tensors, gradient)
        if output not in wanted:
            return {}
        return {output: forward(names).adjoint(back(array, names), copies)}

    def depth(names: Names, shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
        return max(forward(names).depth, 1)  # 0 where dilated blocks meet nothing but padding

    def function(tensors: Tensors, names: Names) -> Outputs:
        (image,) = present(tensors, output)
        return {gradient: out(forward(names).applied(image), names)}

    return Derived(*functions(computed), depth, Differentiable(function, {output: output}))
