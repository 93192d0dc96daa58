"""What the kernels of all upsamplings are tested with: their definition, adjoint and bound, and
torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from opgen.golden import kernel
from opgen.numerics.bounds import bound
from tests.golden import distance, torch_or_skip

Names = dict[str, Any]
Taps = list[tuple[int, Any]]
Reading = Callable[[int, int, int, float, bool, type], Taps]
"""From an element of the output, the extents of input and output, the scale and alignCorners, in
numbers of a type, to elements of the input and their weights."""


def step(extent: int, number: int, scale: float, align: bool, real: type) -> Any:
    """How far apart neighbours of the output are on the input."""
    if align:
        return real(extent - 1) / real(number - 1) if number > 1 else real(0)
    return real(1) / real(scale) if scale > 0 else real(extent) / real(number)


def linear(o: int, extent: int, number: int, scale: float, align: bool, real: type) -> Taps:
    by, half = step(extent, number, scale, align, real), real(1) / real(2)
    place = real(o) * by if align else max(real(0), (real(o) + half) * by - half)
    first = min(int(place), extent - 1)
    second = min(first + 1, extent - 1)
    behind = min(place - real(first), real(1))
    return [(first, real(1) - behind), (second, behind)]


def cubic(o: int, extent: int, number: int, scale: float, align: bool, real: type) -> Taps:
    by, half, a = step(extent, number, scale, align, real), real(1) / real(2), real(-3) / real(4)
    place = real(o) * by if align else (real(o) + half) * by - half
    first = int(np.floor(float(place)))
    found = []
    for i in range(first - 1, first + 3):
        d = abs(place - real(i))
        inner = (a + real(2)) * d**3 - (a + real(3)) * d**2 + real(1)
        outer = a * d**3 - real(5) * a * d**2 + real(8) * a * d - real(4) * a
        weight = inner if d <= 1 else outer if d < 2 else real(0)
        found.append((min(max(i, 0), extent - 1), weight))
    return found


def nearest(o: int, extent: int, number: int, scale: float, align: bool, real: type) -> Taps:
    return [(min(int(real(o) * (real(extent) / real(number))), extent - 1), real(1))]


def middle(o: int, extent: int, number: int, scale: float, align: bool, real: type) -> Taps:
    place = (real(o) + real(1) / real(2)) * (real(extent) / real(number))
    return [(min(int(place), extent - 1), real(1))]


def cases(letters: str, seed: int, count: int, align: bool) -> Iterator[Names]:
    """Extents of input and output, and scales: none, their ratio, or others with the same floor."""
    random = np.random.default_rng(seed)
    for i in range(count):
        names: Names = {"alignCorners": i % 2} if align else {}
        for a in letters:
            extent, number = int(random.integers(1, 9)), int(random.integers(1, 15))
            scale = (number + random.choice([0, random.random()])) / extent
            names |= {f"{a}in": extent, f"{a}out": number}
            names[f"scales{a}"] = float(random.choice([0.0, scale, scale]))
        yield names


def taps(names: Names, letters: str, reading: Reading, real: type) -> list[list[Taps]]:
    """Axis -> element of the output -> elements of the input and their weights."""
    return [
        [
            reading(
                o,
                names[f"{a}in"],
                names[f"{a}out"],
                names[f"scales{a}"],
                bool(names.get("alignCorners", 0)),
                real,
            )
            for o in range(names[f"{a}out"])
        ]
        for a in letters
    ]


def naive(dy: np.ndarray, axes: list[list[Taps]], extents: list[int]) -> np.ndarray:
    """The definition: every element of the gradient goes to each element that it was read from."""
    result = np.zeros((*dy.shape[: -len(axes)], *extents))
    for place in np.ndindex(*dy.shape[-len(axes) :]):
        for some in product(*[axis[at] for axis, at in zip(axes, place, strict=True)]):
            weight = np.prod([float(w) for _, w in some])
            result[(..., *[i for i, _ in some])] += weight * dy[(..., *place)]
    return result


def run(op: str, names: Names, dy: np.ndarray, what: str = "golden") -> np.ndarray:
    (gradient,), (output,) = kernel(op).PROBES[0].shapes, kernel(op).PROBES[0].wanted
    outputs: dict[str, np.ndarray] = getattr(kernel(op), what)({gradient: dy}, names, [output])
    return outputs[output]


def against_definition(
    op: str, letters: str, reading: Reading, align: bool = True, count: int = 24
) -> None:
    """In fractions; and a device that computes weights in FLOAT stays within the bound, while one
    that exchanges the ends of the first axis does not.
    """
    random, seen = np.random.default_rng(1), 0
    for names in cases(letters, 1, count, align):
        dy = random.standard_normal((2, 2, *[names[f"{a}out"] for a in letters]))
        extents = [names[f"{a}in"] for a in letters]
        got, size = run(op, names, dy), run(op, names, dy, "magnitude")
        assert distance(got, naive(dy, taps(names, letters, reading, Fraction), extents)) < 1e-13
        limit = bound(got, size, kernel(op).depth(names, {}, "out"), "FLOAT")
        device = naive(dy, taps(names, letters, reading, np.float32), extents)
        assert (np.abs(device - got) <= limit).all(), names
        turned = naive(np.flip(dy, 2), taps(names, letters, reading, np.float32), extents)
        seen += bool((np.abs(turned - got) > limit).any())
    assert seen > count / 2


def against_float_on_wide_images(op: str, letters: str, reading: Reading, extent: int) -> None:
    """Far from the first element, FLOAT rounds places across elements: either side is right."""
    names: Names = {}
    for a in letters:
        names |= {f"{a}in": 1, f"{a}out": 1, f"scales{a}": 0.0}
    names |= {f"{letters[-1]}in": extent, f"{letters[-1]}out": 4925}
    dy = np.random.default_rng(3).standard_normal((1, 1, *[1] * (len(letters) - 1), 4925))
    extents = [names[f"{a}in"] for a in letters]
    got, size = run(op, names, dy), run(op, names, dy, "magnitude")
    limit = bound(got, size, kernel(op).depth(names, {}, "out"), "FLOAT")
    device = naive(dy, taps(names, letters, reading, np.float32), extents)
    assert 0 < (np.abs(device - got) > 1e-3).sum() < 20
    assert (np.abs(device - got) <= limit).all()
    assert np.mean(limit > 1) < 0.02


def against_torch(op: str, letters: str, name: str, align: bool = True) -> None:
    """Where extents agree, torch copies, whatever the scale is; nearest upsampling goes by the
    extents on the pages, and in torch if it gets no scale.
    """
    torch = torch_or_skip()
    operator, random = getattr(torch.ops.aten, name), np.random.default_rng(2)
    for names in cases(letters, 2, 60, align):
        for a in letters:
            names[f"scales{a}"] *= names[f"{a}in"] != names[f"{a}out"]
        numbers, extents = ([names[f"{a}{end}"] for a in letters] for end in ("out", "in"))
        dy = random.standard_normal((2, 3, *numbers))
        flags = [bool(names["alignCorners"])] if align else []
        scales = [(names[f"scales{a}"] if align else 0) or None for a in letters]
        wanted = operator(torch.from_numpy(dy), numbers, [2, 3, *extents], *flags, *scales).numpy()
        got, size = run(op, names, dy[None])[0], run(op, names, dy[None], "magnitude")[0]
        either = np.abs(wanted - got) * 2.0**20 < size  # where a place is rounded across an element
        assert distance(np.where(either, wanted, got), wanted) <= 1e-12, names
