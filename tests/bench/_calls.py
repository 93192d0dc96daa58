"""Small legal calls of all four operators, about 10 KB of data each: what the benchmarks of suites
are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from random import Random

from opgen.calls.jsonl import NamedCall
from opgen.model import Argument, Call, TensorDesc

PRODUCT = "ascend910b"


def tensor(*shape: int, layout: str = "NCHW") -> TensorDesc:
    return TensorDesc(shape, "FLOAT", layout)


def pooling(draw: Random) -> dict[str, Argument]:
    n, c, k, s = draw.randint(1, 2), draw.randint(2, 12), draw.randint(2, 3), draw.randint(1, 2)
    p, size = draw.randint(0, 1), (draw.randint(5, 12), draw.randint(5, 12))
    out = [(e + 2 * p - k) // s + 1 for e in size]
    x = tensor(n, c, *size)
    return {
        "gradOutput": tensor(n, c, *out),
        "self": x,
        "kernelSize": (k, k),
        "stride": (s, s),
        "padding": (p, p),
        "ceilMode": False,
        "countIncludePad": draw.random() < 0.5,
        "divisorOverride": 0,
        "cubeMathType": 0,
        "gradInput": x,
    }


def convolution(draw: Random) -> dict[str, Argument]:
    n, c, m, k = draw.randint(1, 2), draw.randint(1, 8), draw.randint(1, 8), draw.randint(1, 3)
    s, p, size = draw.randint(1, 2), draw.randint(0, 1), (draw.randint(4, 10), draw.randint(4, 10))
    out = [(e + 2 * p - k) // s + 1 for e in size]
    x, w = tensor(n, c, *size), tensor(m, c, k, k)
    return {
        "gradOutput": tensor(n, m, *out),
        "input": x,
        "weight": w,
        "biasSizes": (m,),
        "stride": (s, s),
        "padding": (p, p),
        "dilation": (1, 1),
        "transposed": False,
        "outputPadding": (0, 0),
        "groups": 1,
        "outputMask": (True, True, True),
        "cubeMathType": 0,
        "gradInput": x,
        "gradWeight": w,
        "gradBias": tensor(m, layout="ND"),
    }


def group_norm(draw: Random) -> dict[str, Argument]:
    n, group, d, space = (
        draw.randint(1, 3),
        draw.randint(1, 6),
        draw.randint(1, 6),
        draw.randint(4, 72),
    )
    c = group * d
    x, rows, gamma = (
        tensor(n, c, space, layout="ND"),
        tensor(n, group, layout="ND"),
        tensor(c, layout="ND"),
    )
    return {
        "gradOut": x,
        "input": x,
        "mean": rows,
        "rstd": rows,
        "gamma": gamma,
        "N": n,
        "C": c,
        "HxW": space,
        "group": group,
        "outputMask": (True, True, True),
        "gradInput": x,
        "gradGammaOut": gamma,
        "gradBetaOut": gamma,
    }


def reflection(draw: Random) -> dict[str, Argument]:
    n, c, size = draw.randint(1, 2), draw.randint(2, 12), (draw.randint(5, 11), draw.randint(5, 11))
    left, right, top, bottom = (draw.randint(0, 3) for _ in range(4))
    x = tensor(n, c, *size)
    return {
        "gradOutput": tensor(n, c, size[0] + top + bottom, size[1] + left + right),
        "self": x,
        "padding": (left, right, top, bottom),
        "gradInput": x,
    }


OPERATORS: dict[str, Callable[[Random], dict[str, Argument]]] = {
    "aclnnAvgPool2dBackward": pooling,
    "aclnnConvolutionBackward": convolution,
    "aclnnGroupNormBackward": group_norm,
    "aclnnReflectionPad2dBackward": reflection,
}


def signatures(count: int, seed: int = 0) -> Iterator[Call]:
    """``count`` calls, no two alike, the operators in turn; one that has no more is passed over."""
    draw, seen = Random(seed), set[object]()
    for api in cycle(OPERATORS):
        if len(seen) == count:
            return
        args = OPERATORS[api](draw)
        key = (api, *args.values())
        if key not in seen:
            seen.add(key)
            yield Call(api, PRODUCT, args)


def mixed(count: int, repeated: int = 1, seed: int = 0) -> list[NamedCall]:
    """``count`` named calls; every signature comes ``repeated`` times in a row, with data of its
    own each time.
    """
    found = signatures(count // repeated, seed)
    return [
        NamedCall(f"{i:06}-{j:04}", call, {})
        for i, call in enumerate(found)
        for j in range(repeated)
    ]
