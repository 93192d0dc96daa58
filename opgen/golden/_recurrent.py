"""What gradients of recurrent networks share. A sequence is (B, T, N, features), a state (B, N, H),
a weight (B, gates * H, features) and a bias (B, gates * H).
"""

from __future__ import annotations

import numpy as np

from opgen.golden import Array
from opgen.golden._elementwise import Names
from opgen.golden._running_error import Tracked, contracted, joined


def directions(names: Names) -> int:
    """How many directions a layer has."""
    return 2 if names["bidirectional"] else 1


def parameters(names: Names) -> int:
    """How many weights and biases a direction has."""
    return 4 if names["hasBias"] else 2


def before(initial: Tracked, states: Tracked) -> Tracked:
    """The state that each step starts from."""
    return joined([initial[:, None], states[:, :-1]], 1)


def projected(gates: Tracked, weight: Tracked) -> Tracked:
    """The gradient of what a weight multiplies, of a sequence or of one step."""
    rows = "btnj" if gates.value.ndim == 4 else "bnj"
    return contracted(f"{rows},bjk->{rows[:-1]}k", gates, weight, weight.value.shape[1])


def of_weight(gates: Tracked, inputs: Tracked) -> Tracked:
    """The gradient of a weight."""
    steps, batch = gates.value.shape[1:3]
    return contracted("btnj,btnk->bjk", gates, inputs, steps * batch)


def of_bias(gates: Tracked) -> Tracked:
    """The gradient of a bias."""
    shape = len(gates.value), -1, gates.value.shape[-1]
    return Tracked(gates.value.reshape(shape), gates.error.reshape(shape)).sum(1)[:, 0]


def transformed(x: Array, weight: Array, bias: Array | None) -> Array:
    """Of the forward: what one step adds to the gates."""
    product: Array = np.einsum("bnk,bjk->bnj", x, weight)
    return product if bias is None else product + bias[:, None]
