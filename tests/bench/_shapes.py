"""The shapes that the kernels are measured at: each a call of torch's backward operator, and the
same call as a case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from opgen.golden import kernel

OUTPUTS = {
    "convolution_backward": ("gradInput", "gradWeight", "gradBias"),
    "avg_pool2d_backward": ("gradInput",),
    "group_norm_backward": ("gradInput", "gradGammaOut", "gradBetaOut"),
    "reflection_pad2d_backward": ("gradInput",),
}


@dataclass(frozen=True)
class Row:
    """One line of the table: a call of torch, and the same call as a case of a batch; flops where
    it is matrix products.
    """

    goal: str
    label: str
    op: str
    tensors: dict[str, np.ndarray]
    names: dict[str, int]
    torch: Callable[[Any, dict[str, Any]], Any]
    batch: int = 1
    flops: int = 0

    def ours(self) -> Callable[[], Any]:
        tensors = {
            name: np.repeat(array[None], self.batch, 0) for name, array in self.tensors.items()
        }
        golden, wanted = kernel(self.op).golden, OUTPUTS[self.op]
        return lambda: golden(tensors, self.names, wanted)

    def theirs(self, torch: Any) -> Callable[[], Any]:
        call, tensors = (
            self.torch,
            {name: torch.from_numpy(array) for name, array in self.tensors.items()},
        )
        return lambda: call(torch.ops.aten, tensors)


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(-1024, 1024, shape) * 2.0**-10


def convolution(
    goal: str,
    label: str,
    n: int,
    channels: tuple[int, int],
    image: Sequence[int],
    kernel_size: int,
    stride: int = 1,
    pad: tuple[int, int] = (0, 0),
    dilation: int = 1,
    groups: int = 1,
    transposed: bool = False,
    extra: int = 0,
    batch: int = 1,
) -> Row:
    """A convolution of cubes; asymmetric padding is done by hand for torch, which has none."""
    rank, (first, second) = len(image), channels
    span = dilation * (kernel_size - 1) + 1
    if transposed:
        out = tuple((i - 1) * stride - sum(pad) + span + extra for i in image)
        weight = draw(first, second // groups, *[kernel_size] * rank)
    else:
        out = tuple((i + sum(pad) - span) // stride + 1 for i in image)
        weight = draw(second, first // groups, *[kernel_size] * rank)
    tensors = {
        "gradOutput": draw(n, second, *out),
        "input": draw(n, first, *image),
        "weight": weight,
    }
    ends = {
        "D": ("padFront", "padBack"),
        "H": ("padTop", "padBottom"),
        "W": ("padLeft", "padRight"),
    }
    names = {"rank": rank + 2, "transposed": int(transposed), "groups": groups}
    for axis in "DHW"[-rank:]:
        names |= {f"s{axis}": stride, f"d{axis}": dilation} | dict(
            zip(ends[axis], pad, strict=True)
        )

    def call(aten: Any, t: dict[str, Any]) -> Any:
        x, padding = t["input"], [pad[0]] * rank
        if pad[0] != pad[1]:
            x, padding = aten.constant_pad_nd(x, list(pad) * rank), [0] * rank
        grads = aten.convolution_backward(
            t["gradOutput"],
            x,
            t["weight"],
            [second],
            [stride] * rank,
            padding,
            [dilation] * rank,
            transposed,
            [extra] * rank,
            groups,
            [True] * 3,
        )
        if pad[0] != pad[1]:
            inside = grads[0]
            for axis, extent in enumerate(image):
                inside = inside.narrow(axis + 2, pad[0], extent)
            return inside.contiguous(), *grads[1:]
        return grads

    flops = 4 * n * weight.size * prod(image if transposed else out)
    return Row(goal, label, "convolution_backward", tensors, names, call, batch, flops)


def pooling(
    goal: str,
    label: str,
    shape: tuple[int, ...],
    k: int,
    stride: int,
    pad: int = 0,
    ceil: bool = False,
    count: bool = True,
    divisor: int = 0,
    batch: int = 1,
) -> Row:
    """A pooling of squares; gradOutput in multiples of the divisors, as cases draw it by
    default.
    """
    *lead, h, w = shape
    out = [
        -(-(e + 2 * pad - k) // stride) + 1 if ceil else (e + 2 * pad - k) // stride + 1
        for e in (h, w)
    ]
    out = [
        o - 1 if ceil and (o - 1) * stride >= e + pad else o
        for o, e in zip(out, (h, w), strict=True)
    ]
    names = {
        "kH": k,
        "kW": k,
        "sH": stride,
        "sW": stride,
        "padH": pad,
        "padW": pad,
        "Hin": h,
        "Win": w,
        "Hout": out[0],
        "Wout": out[1],
        "ceilMode": int(ceil),
        "countIncludePad": int(count),
        "divisorOverride": divisor,
    }

    def call(aten: Any, t: dict[str, Any]) -> Any:
        return aten.avg_pool2d_backward(
            t["gradOutput"],
            t["self"],
            [k, k],
            [stride] * 2,
            [pad] * 2,
            ceil,
            count,
            divisor or None,
        )

    upstream = draw(*lead, *out) * (divisor or int(np.lcm.reduce(np.arange(1, k + 1))) ** 2)
    return Row(
        goal,
        label,
        "avg_pool2d_backward",
        {"gradOutput": upstream, "self": draw(*shape)},
        names,
        call,
        batch,
    )


def group_norm(
    goal: str, label: str, n: int, c: int, space: int, group: int, batch: int = 1
) -> Row:
    names = {"N": n, "C": c, "HxW": space, "group": group}
    tensors = {
        "gradOut": draw(n, c, space),
        "input": draw(n, c, space),
        "mean": draw(n, group),
        "rstd": np.ones((n, group)),
        "gamma": draw(c),
    }

    def call(aten: Any, t: dict[str, Any]) -> Any:
        return aten.native_group_norm_backward(
            t["gradOut"],
            t["input"],
            t["mean"],
            t["rstd"],
            t["gamma"],
            n,
            c,
            space,
            group,
            [True] * 3,
        )

    return Row(goal, label, "group_norm_backward", tensors, names, call, batch)


def reflection(
    goal: str, label: str, shape: tuple[int, ...], pad: int, complex_: bool = False, batch: int = 1
) -> Row:
    *lead, h, w = shape
    upstream, x = draw(*lead, h + 2 * pad, w + 2 * pad), draw(*shape)
    tensors = {"gradOutput": upstream, "self": x}
    if complex_:
        tensors = {name: array * (1 + 0.5j) for name, array in tensors.items()}

    def call(aten: Any, t: dict[str, Any]) -> Any:
        return aten.reflection_pad2d_backward(t["gradOutput"], t["self"], [pad] * 4)

    ends = dict.fromkeys(("padLeft", "padRight", "padTop", "padBottom"), pad)
    names = {"H": h, "W": w} | ends
    return Row(goal, label, "reflection_pad2d_backward", tensors, names, call, batch)


def tiny(
    single: str, batched: str, maker: Callable[..., Row], label: str, *args: Any, **kwargs: Any
) -> list[Row]:
    """The same small call alone and as one of 64."""
    return [
        maker(single, label, *args, **kwargs),
        maker(batched, f"{label} x64", *args, **kwargs, batch=64),
    ]


def rows() -> list[Row]:
    """The shapes of the table, in the order of its lines."""
    return [*convolutions(), *tiny_convolutions(), *poolings(), *group_norms(), *reflections()]


def convolutions() -> list[Row]:
    conv, one = partial(convolution, "convolution"), (1, 1)
    up = {"transposed": True, "extra": 1}
    return [
        conv("medium N4 C64 56x56 k3", 4, (64, 64), (56, 56), 3, pad=one),
        conv("large N8 C256 28x28 k3", 8, (256, 256), (28, 28), 3, pad=one),
        conv("1d N4 C128 L4096 k7", 4, (128, 128), (4096,), 7, pad=(3, 3)),
        conv("3d N1 C32 16x32x32 k3", 1, (32, 32), (16, 32, 32), 3, pad=one),
        conv("depthwise N4 C128 56x56 k3", 4, (128, 128), (56, 56), 3, pad=one, groups=128),
        conv("groups=4 N4 C64 56x56 k3", 4, (64, 64), (56, 56), 3, pad=one, groups=4),
        conv("dilation 2 N4 C64 56x56 k3", 4, (64, 64), (56, 56), 3, pad=(2, 2), dilation=2),
        conv("stride 2 N4 C64 56x56 k3", 4, (64, 64), (56, 56), 3, 2, pad=one),
        conv("asymmetric pad, stride 2", 4, (64, 64), (56, 56), 3, 2, pad=(0, 1)),
        conv("stem N4 3->64 k7 s2 112x112", 4, (3, 64), (112, 112), 7, 2, pad=(3, 3)),
        conv("1x1 N4 256->64 28x28", 4, (256, 64), (28, 28), 1),
        conv("transposed s2 N4 C64 28->56 k3", 4, (64, 64), (28, 28), 3, 2, pad=one, **up),
        conv("transposed 3d s2 C32 8x16x16", 1, (32, 32), (8, 16, 16), 3, 2, pad=one, **up),
    ]


def tiny_convolutions() -> list[Row]:
    conv, one = partial(tiny, "tiny", "tiny convolution x64", convolution), (1, 1)
    return [
        *conv("conv N1 C16 4x4 k2", 1, (16, 16), (4, 4), 2),
        *conv("conv1d 8->16 L32 k3", 1, (8, 16), (32,), 3, pad=one),
        *conv("conv3d 4->4 4x6x6 k2", 1, (4, 4), (4, 6, 6), 2),
        *conv(
            "transposed C8 4x4 k3 s2", 1, (8, 8), (4, 4), 3, 2, pad=one, transposed=True, extra=1
        ),
        *conv("groups=4 C16 8x8 k3", 1, (16, 16), (8, 8), 3, pad=one, groups=4),
        *conv("depthwise C16 8x8 k3", 1, (16, 16), (8, 8), 3, pad=one, groups=16),
        *tiny(
            "small",
            "small x64",
            convolution,
            "conv N2 C8 16x16 k3",
            2,
            (8, 8),
            (16, 16),
            3,
            pad=one,
        ),
    ]


def poolings() -> list[Row]:
    pool, few = partial(pooling, "pooling"), partial(tiny, "tiny", "tiny pooling x64", pooling)
    return [
        pool("pool 4x64x56x56 k3s2p1", (4, 64, 56, 56), 3, 2, 1),
        pool("pool 4x64x56x56 k3s1p1", (4, 64, 56, 56), 3, 1, 1),
        pool("pool 4x64x56x56 k7s1 divisor", (4, 64, 56, 56), 7, 1, 3, divisor=10),
        pool("pool 4x64x56x56 k2s2", (4, 64, 56, 56), 2, 2),
        pool("pool 8x256x56x56 k8s8", (8, 256, 56, 56), 8, 8),
        pool("pool 8x256x56x56 k3s2p1", (8, 256, 56, 56), 3, 2, 1),
        pooling(
            "small", "pool 2x8x16x16 k3s2p1 ceil", (2, 8, 16, 16), 3, 2, 1, ceil=True, count=False
        ),
        *few("pool 16x8x8 k2", (1, 16, 8, 8), 2, 2),
        *few("pool 16x8x8 k3s2p1", (1, 16, 8, 8), 3, 2, 1),
    ]


def group_norms() -> list[Row]:
    return [
        group_norm("group norm in cache", "group norm 4x64x56x56", 4, 64, 3136, 8),
        group_norm("group norm out of cache", "group norm 8x256x56x56", 8, 256, 3136, 8),
        *tiny("tiny", "tiny group norm x64", group_norm, "group norm 16x8x8", 1, 16, 64, 4),
    ]


def reflections() -> list[Row]:
    shape = (1, 16, 8, 8)
    return [
        reflection("reflection real", "reflection 4x64x56x56 p3", (4, 64, 56, 56), 3),
        reflection("reflection real", "reflection 8x256x56x56 p8", (8, 256, 56, 56), 8),
        reflection(
            "reflection complex", "complex reflection 4x64x56x56 p3", (4, 64, 56, 56), 3, True
        ),
        *tiny("tiny", "tiny reflection x64", reflection, "reflection 16x8x8 p2", shape, 2),
        *tiny(
            "tiny",
            "tiny complex reflection x64",
            reflection,
            "complex reflection 16x8x8 p2",
            shape,
            2,
            True,
        ),
    ]
