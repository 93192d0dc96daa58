"""What gradients of losses share: how many elements a mean is taken of."""

from __future__ import annotations

from opgen.golden._elementwise import Names
from opgen.golden._tracked import Tracked

NONE, MEAN, SUM = 0, 1, 2


def reduced(gradient: Tracked, count: int, names: Names) -> Tracked:
    """The gradient of one element: of a mean of ``count`` elements a part, by a quotient or by a
    product with a rounded 1 / count.
    """
    if names["reduction"] != MEAN:
        return gradient
    return gradient / float(max(count, 1))
