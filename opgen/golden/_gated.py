"""Gated units: one half of the input along an axis is multiplied by a function of the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from opgen.golden import Tensors
from opgen.golden._absolute import Both, Function
from opgen.golden._elementwise import Names, Operands
from opgen.golden._normalized import RowLayout
from opgen.golden._normalized import functions as of_layout
from opgen.golden._running_error import Tracked
from opgen.golden._softmax import axis

Gate = Callable[[Operands, Tracked, Tracked, Names], tuple[Tracked, Tracked]]
"""The gradients of both halves, from all operands, the first and the second half."""


def functions(
    gate: Gate, source: str, output: str
) -> tuple[Function, Function, Callable[..., Both]]:
    """``golden``, ``magnitude`` and ``both`` of the gradient of an input that is halved along the
    axis ``dim``.
    """

    def laid(tensors: Tensors) -> RowLayout:
        given = {name: array for name, array in tensors.items() if array is not None}
        return RowLayout(given, {output: given[source].shape[1:]})

    def formula(of: Operands, names: Names) -> dict[str, Tracked]:
        x = of[source]
        along = axis(x.value, names)
        parts = zip(np.split(x.value, 2, along), np.split(x.error, 2, along), strict=True)
        first, second = (Tracked(*part) for part in parts)
        gradients = gate(of, first, second, names)
        value = np.concatenate([part.value for part in gradients], along)
        error = np.concatenate([part.error for part in gradients], along)
        return {output: Tracked(value, error)}

    return of_layout(laid, formula)
