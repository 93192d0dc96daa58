"""The gradient of a SwiGLU whose halves are clipped: ``x0 * sigmoid(alpha * x0) * (x1 + bias)``."""

from __future__ import annotations

from math import prod

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden._elementwise import Names, Operands, depth, masked, passed
from opgen.golden._normalized import RowLayout, functions
from opgen.golden._running_error import Tracked, either, rounded_across, sigmoid
from opgen.golden._softmax import axis

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude", "thresholds"]

VERSION = 1
PROBES = [
    ProbeCall(
        {"dim": dim, "alpha": 1.702, "limit": limit, "bias": bias, "interleaved": interleaved},
        {"gradY": half, "x": (4, 6, 3), "groupIndexOptional": groups},
        ("gradXOut",),
    )
    for dim, half, limit, bias, interleaved, groups in [
        (-2, (4, 3, 3), 7.0, 1.0, False, None),
        (0, (2, 6, 3), 0.7, 0.0, True, None),
        (1, (4, 3, 3), 2.5, 0.5, True, (2,)),
    ]
]


def thresholds(names: Names) -> tuple[float, ...]:
    """Lines 102 and 106 of the page, aclnnClippedSwigluGrad.md: at a limit a gradient passes."""
    return -names["limit"], names["limit"]


def laid(tensors: Tensors) -> RowLayout:
    """Inputs as they are."""
    given = {name: array for name, array in tensors.items() if array is not None}
    return RowLayout(given, {"gradXOut": given["x"].shape[1:]})


def rows(x: Array, names: Names) -> tuple[int, int, int]:
    """(B, rows, elements of each): the axes before ``dim`` as one, and those from it on."""
    along = axis(x, names)
    return len(x), prod(x.shape[1:along]), prod(x.shape[along:])


def halves(x: Array, names: Names) -> list[Array]:
    """Both halves of x, (B, rows, half)."""
    flat = x.reshape(rows(x, names))
    return [flat[..., ::2], flat[..., 1::2]] if names["interleaved"] else np.split(flat, 2, -1)


def whole(first: Array, second: Array, names: Names) -> Array:
    """Halves as one again."""
    parts = np.stack([first, second], -1 if names["interleaved"] else -2)
    return parts.reshape(*first.shape[:2], 2 * first.shape[2])


def within(x: Array, names: Names, groups: Array | None) -> Array:
    """(B, rows, 1): whether a row is among those of the groups, of which each has so many."""
    number = rows(x, names)[1]
    last = np.full(len(x), number) if groups is None else groups.sum(axis=-1)
    return np.arange(number)[:, None] < last[:, None, None]


def clipped(
    dy: Tracked,
    x0: Tracked,
    x1: Tracked,
    limit: float,
    alpha: float = 1.0,
    bias: float = 0.0,
    strict: bool = False,
) -> tuple[Tracked, Tracked]:
    """The gradients of ``x0 * sigmoid(alpha * x0) * (x1 + bias)`` whose first factor is clipped at
    a limit, the second on both sides; a gradient passes at a limit, unless that is ``strict``.
    """
    inside = np.less if strict else np.less_equal
    high, low = inside(x0.value, limit), inside(np.abs(x1.value), limit)
    over = rounded_across(x0.value, limit)
    beyond = rounded_across(np.abs(x1.value), limit)
    a = x0.where(high, limit, over)
    edge = np.copysign(limit, x1.value)
    b = x1.where(low, Tracked(edge, np.abs(Tracked.of(limit).error) + 0 * edge), beyond) + bias
    s = sigmoid(a * alpha)
    slope = either(s * (1 + a * alpha * (1 - s)), s + a * alpha * s * (1 - s))
    return masked(passed(dy, b * slope), high, over), masked(passed(dy, a * s), low, beyond)


def formula(of: Operands, names: Names) -> dict[str, Tracked]:
    """Lines 46 to 150: what is not of a group has the gradient 0."""
    x, dy = of["x"], of["gradY"]
    x0, x1 = map(Tracked, halves(x.value, names), halves(x.error, names))
    dy = Tracked(dy.value.reshape(x0.value.shape), dy.error.reshape(x0.value.shape))
    kept = within(
        x.value, names, of["groupIndexOptional"].value if "groupIndexOptional" in of else None
    )
    first, second = (
        masked(part, np.broadcast_to(kept, part.value.shape))
        for part in clipped(dy, x0, x1, names["limit"], names["alpha"], names["bias"])
    )
    value = whole(first.value, second.value, names)
    return {"gradXOut": Tracked(value, whole(first.error, second.error, names))}


golden, magnitude, both = functions(laid, formula)


def saved(tensors: Tensors, names: Names) -> dict[str, Array]:
    """Groups of growing size, which leave rows over where they can."""
    (x,), groups = present(tensors, "x"), names["G"]
    sizes = rows(x, names)[1] * np.arange(1, groups + 1) // (groups * (groups + 1))
    return {"groupIndexOptional": np.tile(sizes * 1.0, (len(x), 1))}


def forward(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The clipped unit; rows of no group are 0."""
    (x,), limit = present(tensors, "x"), names["limit"]
    x0, x1 = halves(x, names)
    x0, x1 = np.minimum(x0, limit), np.clip(x1, -limit, limit)
    y = x0 / (1 + np.exp(-names["alpha"] * x0)) * (x1 + names["bias"])
    y = y * within(x, names, tensors["groupIndexOptional"])
    shape = list(x.shape)
    shape[axis(x, names)] //= 2
    return {"gradY": y.reshape(shape)}


FORWARD = Differentiable(forward, {"gradXOut": "x"})
