"""The 1-D reflection padding kernel against its definition, its adjoint and torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from opgen.golden.reflection_pad1d_backward import depth, golden, magnitude
from tests.golden import distance, torch_or_skip

Names = dict[str, int]


def geometries(seed: int, count: int) -> Iterator[tuple[Names, int]]:
    random = np.random.default_rng(seed)
    for _ in range(count):
        width = int(random.integers(1, 14))
        left, right = (int(random.integers(width)) for _ in range(2))
        yield {"W": width, "padLeft": left, "padRight": right}, width


def values(random: np.random.Generator, *shape: int, parts: int = 1) -> np.ndarray:
    real = random.standard_normal(shape)
    return real if parts == 1 else real + 1j * random.standard_normal(shape)


def mirrored(names: Names, width: int) -> list[int]:
    """The index that each element of the padded row was copied from, by walking back and forth."""
    walk = [*range(width), *range(width - 2, 0, -1)] if width > 1 else [0]
    return [walk[o % len(walk)] for o in range(-names["padLeft"], width + names["padRight"])]


def run(names: Names, dy: np.ndarray) -> np.ndarray:
    return golden({"gradOutput": dy, "self": None}, names, ["gradInput"])["gradInput"]


def test_adjoint_identity() -> None:
    random = np.random.default_rng(1)
    for i, (names, width) in enumerate(geometries(1, 1200)):
        source = mirrored(names, width)
        dy = values(random, 2, 3, len(source), parts=1 + i % 2)
        v = values(random, 2, 3, width, parts=1 + i % 2)
        left, right = (run(names, dy) * v).sum(), (dy * v[..., source]).sum()
        assert abs(left - right) <= 1e-12 * max(1.0, np.abs(dy).sum())


def test_definition() -> None:
    random = np.random.default_rng(2)
    for names, width in geometries(2, 200):
        source = mirrored(names, width)
        dy = values(random, 1, 2, len(source))
        expected = np.zeros((1, 2, width))
        for o, i in enumerate(source):
            expected[..., i] += dy[..., o]
        assert distance(run(names, dy), expected) <= 1e-14
        left, right = names["padLeft"], names["padRight"]
        if left != right:
            swapped = run(names | {"padLeft": right, "padRight": left}, dy)
            assert distance(swapped, expected) > 1e-3


def test_torch() -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(3)
    for names, width in geometries(3, 200):
        dy = values(random, 2, 2, len(mirrored(names, width)))
        x = torch.zeros(2, 2, width, dtype=torch.float64)
        pads = [names["padLeft"], names["padRight"]]
        expected = torch.ops.aten.reflection_pad1d_backward(torch.from_numpy(dy), x, pads).numpy()
        assert distance(run(names, dy), expected) <= 1e-14


@pytest.mark.parametrize("parts", [1, 2])
def test_magnitude_and_depth(parts: int) -> None:
    random = np.random.default_rng(4)
    for names, width in geometries(4, 100):
        dy = values(random, 2, len(mirrored(names, width)), parts=parts)
        size = magnitude({"gradOutput": dy}, names, ["gradInput"])["gradInput"]
        assert (np.abs(run(names, dy).real) <= size.real + 1e-15).all()
        counts = run(names, np.ones(dy.shape))
        assert counts.max() <= depth(names, {}, "gradInput")
