"""The gradients of 1-D, 2-D and 3-D convolutions, transposed or not.

A convolution joins a wide tensor, over which windows slide, with a narrow one that has an element
per window: input and gradOutput, or gradOutput and input where the convolution is transposed. The
weight is (groups * narrow channels, wide channels, *kernel) in both. Three forms compute the same
sums:

* small convolutions are stacked: columns of gradOutput, one per element of input, come by an index
  geometry, and two batched products give both gradients;
* others take columns of gradOutput, of input or of both, whatever has the fewest, in blocks of
  bounded memory;
* tap by tap, by slices, for data with Inf or NaN, since the columns hold zeros that nobody should
  multiply them by.

The sums are exact, and so the same in every form, batch and BLAS, for data on a grid with room for
``depth`` terms. The form depends on the shapes of one call alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite, prod

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden import _convolution as forms
from opgen.golden._absolute import Copies, functions, stacked
from opgen.golden._convolution import (
    PADDING,
    ConvolutionGeometry,
    Operands,
    by_groups,
    geometry_of_call,
)
from opgen.golden._convolution_samples import call_of, elements
from opgen.golden._convolution_sums import sums
from opgen.golden._convolved import Slid, convolved
from opgen.golden._products import large
from opgen.numerics.signs import signed_sums

VERSION = 2
PARTNERS = {"gradInput": "weight", "gradWeight": "input"}
FEW = 8
"""Elements of the weight of one channel, for each tap of an axis, up to which all of its gradient
takes less than sums over channels: there is little to add.
"""


def probe(
    transposed: int,
    groups: int,
    n: int,
    inputs: int,
    outputs: int,
    extents: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    pad: tuple[int, ...],
) -> ProbeCall:
    """A probe of a convolution, as many elements padded behind an axis as before."""
    upstream = [
        (e - 1) * s + (k - 1) * d + 1 - 2 * p
        if transposed
        else (e + 2 * p - (k - 1) * d - 1) // s + 1
        for e, k, s, d, p in zip(extents, kernel, stride, dilation, pad, strict=True)
    ]
    weight = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
    names = {"transposed": transposed, "groups": groups}
    for a, s, d, p in zip("DHW"[3 - len(extents) :], stride, dilation, pad, strict=True):
        names |= {f"s{a}": s, f"d{a}": d, PADDING[a]: p}
    shapes = {
        "gradOutput": (n, outputs, *upstream),
        "input": (n, inputs, *extents),
        "weight": (*weight, *kernel),
    }
    return ProbeCall(names, shapes, ("gradInput", "gradWeight", "gradBias"))


def computed(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], copies: Copies
) -> dict[str, Array]:
    """GradInput (B, *input shape), gradWeight (B, *weight shape) and gradBias (B, channels of
    gradOutput), of all copies.
    """
    dy, x, w = tensors["gradOutput"], tensors["input"], tensors["weight"]
    assert dy is not None
    outputs: dict[str, Array] = {}
    stack = stacked(dy, copies)
    if "gradInput" in wanted or "gradWeight" in wanted:
        assert x is not None and w is not None
        for name, array in (("gradInput", x), ("gradWeight", w)):
            if name in wanted:
                outputs[name] = np.empty((copies.number * len(array), *array.shape[1:]))
        geometry = geometry_of_call(names, dy.shape[1:], x.shape[1:], w.shape[1:])
        operands = Operands(dy, x, w, outputs.get("gradInput"), outputs.get("gradWeight"))
        chosen = form(operands, geometry)
        if chosen is forms.stacked:
            forms.stacked(operands, geometry, copies)
        else:
            operands = Operands(
                stack, stacked(x, copies), stacked(w, copies), operands.gx, operands.gw
            )
            chosen(by_groups(operands, geometry.groups, geometry.transposed), geometry)
    if "gradBias" in wanted:
        outputs["gradBias"] = np.add.reduce(
            stack.reshape(*stack.shape[:3], prod(stack.shape[3:])), axis=(1, 3)
        )
    return outputs


golden, magnitude, both = functions(computed)


def at(tensors: Tensors, names: Mapping[str, int], places: Mapping[str, Array]) -> dict[str, Array]:
    """(B, places) single elements of outputs, at flat places."""
    call = call_of(tensors, names)
    return {
        out: golden(tensors, names, (out,))[out][:, flat]
        if out == "gradBias"
        else elements(*call, out, flat)
        for out, flat in places.items()
    }


def signed(
    tensors: Tensors, names: Mapping[str, int], signs: Mapping[str, Sequence[Array]]
) -> dict[str, Array]:
    """(B, draws) sums over outputs, whose elements are multiplied by a sign per axis."""
    call = call_of(tensors, names)
    weight = call[0]["weight"].shape[1:]
    whole = {"gradBias"}
    if prod(weight[1:]) <= FEW * sum(weight[2:]):
        whole.add("gradWeight")
    return {
        out: np.stack([signed_sums(one, each) for one in golden(tensors, names, (out,))[out]])
        if out in whole
        else sums(*call, out, each)
        for out, each in signs.items()
    }


def form(t: Operands, geometry: ConvolutionGeometry) -> Callable[..., None]:
    """Chooses how to compute, from the shapes of one case and, where it is small, the data's
    finiteness.
    """
    flats = [t.dy.reshape(-1), t.x.reshape(-1), t.w.reshape(-1)]
    if not all(flat.size for flat in flats):
        return forms.nothing
    (n, c, *outputs), (m, *inputs), kernel = t.dy.shape[1:], t.x.shape[2:], prod(t.w.shape[3:])
    m //= geometry.groups
    if n * c * max(kernel * max(m, prod(inputs)), prod(outputs)) > forms.SMALL:
        return large
    return forms.stacked if isfinite(sum([flat.dot(flat) for flat in flats])) else forms.by_taps


def forward(tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """The convolution, by its definition."""
    dy, x, w, bias = present(tensors, "gradOutput", "input", "weight", "bias")
    transposed = bool(names["transposed"])
    wide, narrow = (dy, x) if transposed else (x, dy)
    extents = zip(wide.shape[3:], narrow.shape[3:], w.shape[3:], strict=True)
    axes = [
        Slid(*sizes, names[f"s{a}"], names[f"d{a}"], names[PADDING[a]])
        for sizes, a in zip(extents, "DHW"[6 - x.ndim :], strict=True)
    ]
    result = convolved(x, w, names["groups"], transposed, axes)
    return {"gradOutput": result + bias.reshape(len(x), 1, -1, *(1,) * len(axes))}


FORWARD = Differentiable(
    forward, {"gradInput": "input", "gradWeight": "weight", "gradBias": "bias"}
)


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
    geometry = geometry_of_call(names, upstream, source, weight)
    return weight[0] // names["groups"] * prod(w.overlap for w in geometry.down)


def by_rows(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, ...]:
    """Samples, which share the weight."""
    return "gradOutput", "input", "gradInput"


def places(
    names: Mapping[str, int],
    shapes: Mapping[str, tuple[int, ...]],
    wanted: Collection[str],
    foreign: bool,
) -> Array:
    """Flat positions of gradOutput that meet an element of input; of ``foreign`` values only those
    that meet no padding instead where gradWeight is wanted.

    A device that lays zeros around the input multiplies by them, one that skips them does not; 0
    times Inf tells the two apart.
    """
    upstream = shapes["gradOutput"]
    allowed = np.ones(upstream, dtype=bool)
    if "gradInput" in wanted or "gradWeight" in wanted:
        for axis, windows in enumerate(
            geometry_of_call(names, upstream, shapes["input"], shapes["weight"]).down, 2
        ):
            met = np.zeros(upstream[axis], dtype=np.int64)
            for tap in range(windows.kernel):
                outer, inner = windows.tap(tap)
                met[inner if names["transposed"] else outer] += 1
            whole = foreign and "gradWeight" in wanted and not names["transposed"]
            allowed &= (met >= (windows.kernel if whole else 1)).reshape(
                -1, *(1,) * (len(upstream) - axis - 1)
            )
    return np.flatnonzero(allowed)


PROBES = [
    probe(*call)
    for call in [
        # transposed, groups, N, channels of input and gradOutput, extents, kernel, stride,
        # dilation, padding
        (0, 1, 2, 3, 4, (6, 7), (3, 2), (1, 2), (1, 1), (1, 0)),
        (0, 3, 1, 6, 3, (9,), (3,), (2,), (2,), (1,)),
        (1, 2, 2, 4, 6, (3, 4, 3), (2, 3, 1), (2, 1, 3), (1, 2, 1), (0, 1, 0)),
        (0, 1, 1, 16, 24, (14, 14), (3, 3), (1, 1), (1, 1), (1, 1)),
        (0, 2, 2, 16, 8, (21, 18), (3, 5), (2, 1), (1, 2), (2, 3)),
        (1, 1, 1, 12, 10, (13, 15), (4, 3), (2, 2), (1, 1), (1, 0)),
        (0, 8, 1, 8, 8, (40, 41), (3, 3), (2, 1), (1, 1), (1, 1)),
        (0, 1, 1, 16, 16, (30, 30), (1, 1), (1, 1), (1, 1), (0, 0)),
    ]
]
