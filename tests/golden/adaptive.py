"""What the kernels of adaptive pools are tested with: parts of an axis, by definition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, floor

import numpy as np

Names = dict[str, int]


def geometries(letters: str, seed: int, count: int) -> Iterator[Names]:
    """Extents of an image and numbers of parts, fewer or more than its elements."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield {a + end: int(random.integers(1, 9)) for a in letters for end in ("in", "out")}


def part(names: Names, axis: str, number: int) -> range:
    """The elements of one part."""
    share = names[f"{axis}in"] / names[f"{axis}out"]
    return range(floor(number * share + 1e-9), ceil((number + 1) * share - 1e-9))


def windows(names: Names, letters: str) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Each place of the output, and the places of the image that it covers."""
    for place in product(*[range(names[a + "out"]) for a in letters]):
        axes = [part(names, a, number) for a, number in zip(letters, place, strict=True)]
        yield place, list(product(*axes))


def average_gradient(names: Names, letters: str, dy: np.ndarray) -> np.ndarray:
    """Every part's quotient goes to each of its elements."""
    result = np.zeros((*dy.shape[: -len(letters)], *[names[a + "in"] for a in letters]))
    for place, covered in windows(names, letters):
        for element in covered:
            result[(..., *element)] += dy[(..., *place)] / len(covered)
    return result
