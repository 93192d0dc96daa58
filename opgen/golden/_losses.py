"""What losses share: how many elements a mean is taken of."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from opgen.golden import Array, Differentiable, Tensors, present
from opgen.golden._absolute import Outputs
from opgen.golden._elementwise import Names
from opgen.golden._running_error import Tracked

NONE, MEAN, SUM, BATCHMEAN = 0, 1, 2, 3


def reduced(gradient: Tracked, shape: tuple[int, ...], names: Names) -> Tracked:
    """The gradient of one element: of a mean of a loss of a shape a part, by a quotient or by a
    product with a rounded 1 / count. A BATCHMEAN counts the first axis alone.
    """
    counted = {MEAN: shape, BATCHMEAN: shape[:1]}.get(names["reduction"])
    return gradient if counted is None else gradient / float(max(prod(counted), 1))


def differentiable(loss: Callable[[Array, Array, Names], Array], output: str) -> Differentiable:
    """The forward of a loss of ``self`` and ``target``: its terms, each a part of a mean."""

    def forward(tensors: Tensors, names: Names) -> Outputs:
        x, y = present(tensors, "self", "target")
        terms = Tracked.given(loss(x, y, names))
        return {"gradOutput": reduced(terms, x.shape[1:], names).value}

    return Differentiable(forward, {output: "self"})
