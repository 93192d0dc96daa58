"""The gradient of unfold: slice by slice, by torch, and by the page's example."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.unfold_grad import depth, golden
from tests.golden import distance, torch_or_skip

CALLS = [
    (sizes, dim, size, step)
    for sizes in [(7,), (7, 9), (3, 8, 5), (2, 3, 33, 4)]
    for dim in (len(sizes) - 1, len(sizes) - 2)
    for size, step in [(3, 1), (2, 2), (2, 3), (1, 2)]
    if dim >= 0
]


def names_of(sizes: tuple[int, ...], dim: int, size: int, step: int) -> dict[str, int]:
    extents = {f"extent{i}": extent for i, extent in enumerate(sizes)}
    return {**extents, "dim": dim, "size": size, "step": step}


@pytest.mark.parametrize(("sizes", "dim", "size", "step"), CALLS)
def test_slices_are_added_back(sizes: tuple[int, ...], dim: int, size: int, step: int) -> None:
    number = (sizes[dim] - size) // step + 1
    shape = (*sizes[:dim], number, *sizes[dim + 1 :], size)
    dy = np.random.default_rng(1).standard_normal((2, *shape))
    expected, terms = np.zeros((2, *sizes)), np.zeros(sizes[dim], dtype=int)
    lead = (slice(None),) * (dim + 1)
    for first in range(number):
        for k in range(size):
            expected[(*lead, first * step + k)] += dy[(*lead, first, ..., k)]
            terms[first * step + k] += 1
    names = names_of(sizes, dim, size, step)
    assert distance(golden({"gradOut": dy}, names, ["gradIn"])["gradIn"], expected) <= 1e-14
    assert terms.max() <= depth(names, {}, "gradIn")
    torch = torch_or_skip()
    per_case = [
        torch.ops.aten.unfold_backward(torch.from_numpy(dy[i]), sizes, dim, size, step).numpy()
        for i in (0, 1)
    ]
    assert distance(expected, np.stack(per_case)) <= 1e-14


def test_the_example_of_the_page() -> None:
    dy = np.array([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
    out = golden({"gradOut": dy}, names_of((7,), 0, 2, 2), ["gradIn"])["gradIn"]
    assert out.tolist() == [[1, 2, 3, 4, 5, 6, 0]]
