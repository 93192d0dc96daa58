"""The 3-D average pooling kernel against its definition, its adjoint and torch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from opgen.golden.avg_pool3d_backward import depth, golden, magnitude
from tests.golden import distance, torch_or_skip

Names = dict[str, int]
AXES = "DHW"


def pooled(extent: int, kernel: int, stride: int, pad: int, ceil: int) -> int:
    """The size by counting windows: they start inside input and begin padding, and end inside
    unless rounded up.
    """
    starts = [s for s in range(-pad, extent + pad, stride) if s + kernel <= extent + pad]
    if ceil and starts[-1] + kernel < extent + pad and starts[-1] + stride < extent:
        starts.append(starts[-1] + stride)
    return len(starts)


def geometries(seed: int, count: int) -> Iterator[Names]:
    random = np.random.default_rng(seed)
    made = 0
    while made < count:
        names: Names = {
            "ceilMode": int(random.integers(2)),
            "countIncludePad": int(random.integers(2)),
            "divisorOverride": int(random.choice([0, 0, 0, 1, 3, -2])),
        }
        for a in AXES:
            kernel = int(random.integers(1, 5))
            names |= {
                a + "in": int(random.integers(1, 7)),
                "k" + a: kernel,
                "s" + a: int(random.integers(1, 4)),
                "pad" + a: int(random.integers(0, kernel // 2 + 1)),
            }
        if all(names[a + "in"] + 2 * names["pad" + a] >= names["k" + a] for a in AXES):
            for a in AXES:
                sizes = names[a + "in"], names["k" + a], names["s" + a], names["pad" + a]
                names[a + "out"] = pooled(*sizes, names["ceilMode"])
            made += 1
            yield names


def shape(names: Names, end: str) -> tuple[int, ...]:
    return tuple(names[a + end] for a in AXES)


def forward(names: Names, x: np.ndarray) -> np.ndarray:
    """Windows one by one, straight from the definition."""
    result = np.zeros((*x.shape[:-3], *shape(names, "out")))
    for index in product(*(range(names[a + "out"]) for a in AXES)):
        cuts, covered, inside = [], 1, 1
        for a, o in zip(AXES, index, strict=True):
            start = o * names["s" + a] - names["pad" + a]
            end = min(start + names["k" + a], names[a + "in"] + names["pad" + a])
            covered *= end - start
            start, end = max(start, 0), min(end, names[a + "in"])
            inside *= end - start
            cuts.append(slice(start, end))
        by = names["divisorOverride"] or (covered if names["countIncludePad"] else inside)
        result[(..., *index)] = x[(..., *cuts)].sum(axis=(-3, -2, -1)) / by
    return result


def run(names: Names, dy: np.ndarray) -> np.ndarray:
    return golden({"gradOutput": dy, "self": None}, names, ["output"])["output"]


def test_adjoint_identity() -> None:
    random = np.random.default_rng(1)
    for names in geometries(1, 1000):
        dy, v = (
            random.standard_normal((1, *shape(names, "out"))),
            random.standard_normal((1, *shape(names, "in"))),
        )
        left, right = (run(names, dy) * v).sum(), (dy * forward(names, v)).sum()
        assert abs(left - right) <= 1e-12 * max(1.0, np.abs(dy).sum())


def test_a_wrong_divisor_or_axis_is_seen() -> None:
    random = np.random.default_rng(2)
    seen = 0
    for names in geometries(2, 200):
        dy, v = (
            random.standard_normal((1, *shape(names, "out"))),
            random.standard_normal((1, *shape(names, "in"))),
        )
        wrong = run({**names, "divisorOverride": -names["divisorOverride"] or 7}, dy)
        seen += abs((wrong * v).sum() - (dy * forward(names, v)).sum()) > 1e-6
    assert seen > 190


def test_torch() -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(3)
    for names in geometries(3, 400):
        if any(names[a + "in"] < names["k" + a] for a in AXES):
            continue  # torch refuses what fits only with its padding
        dy = random.standard_normal((2, 2, *shape(names, "out")))
        x = torch.zeros(2, 2, *shape(names, "in"), dtype=torch.float64)
        sizes = [[names[key + a] for a in AXES] for key in ("k", "s", "pad")]
        rest = (
            bool(names["ceilMode"]),
            bool(names["countIncludePad"]),
            names["divisorOverride"] or None,
        )
        expected = torch.ops.aten.avg_pool3d_backward(torch.from_numpy(dy), x, *sizes, *rest)
        assert distance(run(names, dy), expected.numpy()) <= 1e-12


def test_magnitude_and_depth() -> None:
    random = np.random.default_rng(4)
    for names in geometries(4, 100):
        dy = random.standard_normal((1, *shape(names, "out")))
        size = magnitude({"gradOutput": dy}, names, ["output"])["output"]
        assert (np.abs(run(names, dy)) <= size * (1 + 1e-12)).all()
        counts = run({**names, "divisorOverride": 1}, np.ones(dy.shape))
        assert counts.max() <= depth(names, {}, "output")
