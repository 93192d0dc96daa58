"""The gradients of 1-D, 2-D and 3-D convolutions, transposed or not.

A convolution joins a wide tensor, over which windows slide, with a narrow one that has an element per window: input and
gradOutput, or gradOutput and input where the convolution is transposed. The weight is (groups * narrow channels, wide
channels, *kernel) in both. Three forms compute the same sums:

* from columns of gradOutput, one per element of input: two matrix products give both gradients. Small convolutions are
  stacked, their columns come by an index plan; others take blocks, and strides phase by phase;
* from columns of input, one per element of gradOutput, where that has many more channels than input: a product gives
  gradWeight, another the columns of gradInput, which are added back;
* tap by tap, by slices, for data with Inf or NaN, since the columns hold zeros that nobody should multiply them by.

The sums are exact, and so the same in every form, batch and BLAS, for data on a grid with room for ``depth`` terms. The
form depends on the shapes of one call alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import isfinite, prod

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden import _convolution as forms
from opgen.golden._convolution import Operands, Plan, plan_of

PARTNERS = {"gradInput": "weight", "gradWeight": "input"}
PADDING = {"D": "padFront", "H": "padTop", "W": "padLeft"}


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """gradInput (B, *input shape), gradWeight (B, *weight shape) and gradBias (B, channels of gradOutput)."""
    dy, x, w = tensors["gradOutput"], tensors["input"], tensors["weight"]
    assert dy is not None and x is not None and w is not None
    outputs: dict[str, Array] = {}
    if "gradInput" in wanted:
        outputs["gradInput"] = np.empty(x.shape)
    if "gradWeight" in wanted:
        outputs["gradWeight"] = np.empty(w.shape)
    with np.errstate(all="ignore"):
        if outputs:
            plan = planned(names, dy.shape[1:], x.shape[1:], w.shape[1:])
            operands = by_groups(dy, x, w, outputs.get("gradInput"), outputs.get("gradWeight"), plan)
            form(operands, plan)(operands, plan)
        if "gradBias" in wanted:
            outputs["gradBias"] = np.add.reduce(dy.reshape(*dy.shape[:3], prod(dy.shape[3:])), axis=(1, 3))
    return outputs


def by_groups(dy: Array, x: Array, w: Array, gx: Array | None, gw: Array | None, plan: Plan) -> Operands:
    """Splits the channels of all tensors by groups; the weight's axes become (groups, of input, of gradOutput)."""
    groups = plan.groups

    def channels(array: Array) -> Array:
        batch, n, c, *rest = array.shape
        return array.reshape(batch, n, groups, c // groups, *rest)

    def weights(array: Array) -> Array:
        batch, c, *rest = array.shape
        split = array.reshape(batch, groups, c // groups, *rest)
        return split if plan.transposed else split.swapaxes(2, 3)

    return Operands(channels(dy), channels(x), weights(w), None if gx is None else channels(gx),
                    None if gw is None else weights(gw))


def planned(names: Mapping[str, int], upstream: tuple[int, ...], source: tuple[int, ...],
            weight: tuple[int, ...]) -> Plan:
    """The plan of a call, from the shapes of one case."""
    wide, narrow = (upstream, source) if names["transposed"] else (source, upstream)
    letters = "DHW"[5 - len(wide):]
    return plan_of(names["transposed"], names["groups"], tuple([
        (wide[i + 2], narrow[i + 2], weight[i + 2], names["s" + a], names["d" + a], names[PADDING[a]])
        for i, a in enumerate(letters)]))


def form(t: Operands, plan: Plan) -> Callable[[Operands, Plan], None]:
    """Chooses how to compute, from the data's finiteness and the shapes of one case."""
    if not (t.dy.size and t.x.size and t.w.size):
        return forms.nothing
    if not all(isfinite(flat.dot(flat)) for flat in (t.dy.reshape(-1), t.x.reshape(-1), t.w.reshape(-1))):
        return forms.by_taps
    kernel = prod(t.w.shape[4:])
    columns = prod(t.dy.shape[1:4]) * kernel * max(t.x.shape[3], prod(t.x.shape[4:]))
    if columns <= forms.SMALL:
        return forms.stacked
    if plan.transposed:
        return forms.from_output
    return forms.from_input if t.dy.shape[3] > 3 * t.x.shape[3] else forms.from_phases


def magnitude(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """The gradients of absolute values."""
    return golden({name: None if array is None else np.abs(array) for name, array in tensors.items()}, names, wanted)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The terms of one element's sum."""
    upstream, source, weight = shapes["gradOutput"], shapes["input"], shapes["weight"]
    if output == "gradBias":
        return upstream[0] * prod(upstream[2:])
    narrow = source if names["transposed"] else upstream
    if output == "gradWeight":
        return narrow[0] * prod(narrow[2:])
    if names["transposed"]:
        return weight[1] * prod(weight[2:])
    plan = planned(names, upstream, source, weight)
    return weight[0] // names["groups"] * prod(w.overlap for w in plan.down)


def places(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]) -> Array:
    """Flat positions of gradOutput that may hold Inf or NaN: those whose windows touch no padding.

    A device that lays zeros around the input multiplies by them, one that skips them does not; 0 times Inf tells the two apart.
    """
    upstream, source, weight = shapes["gradOutput"], shapes["input"], shapes["weight"]
    inside = np.ones(upstream, dtype=bool)
    for axis, letter in enumerate("DHW"[5 - len(upstream) :], 2):
        if not names["transposed"]:
            first = np.arange(upstream[axis]) * names["s" + letter] - names[PADDING[letter]]
            last = first + (weight[axis] - 1) * names["d" + letter]
            within = (first >= 0) & (last < source[axis])
            inside &= within.reshape(-1, *(1,) * (len(upstream) - axis - 1))
    return np.flatnonzero(inside)
