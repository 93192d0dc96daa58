"""What the kernels of all pads are tested with: their definition, adjoint, magnitude and depth, and
torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opgen.golden import kernel
from opgen.golden._pads import NAMES
from tests.golden import distance, torch_or_skip

Names = dict[str, int]
Border = Callable[[int, int], int]
"""From a place, negative before an axis, and its extent to the element that stands there."""


def cases(letters: str, seed: int, count: int, largest: int = 8) -> list[Names]:
    """Extents and borders below them."""
    random, made = np.random.default_rng(seed), []
    for _ in range(count):
        names: Names = {}
        for letter in letters:
            extent = int(random.integers(1, largest))
            borders = random.integers(0, extent, 2).tolist()
            names |= dict(zip(NAMES[letter], [extent, *borders], strict=True))
        made.append(names)
    return made


def sources(names: Names, letters: str, border: Border) -> list[list[int]]:
    """Axis -> the element that each element of the padded axis is a copy of."""
    found = []
    for letter in letters:
        extent, before, after = (names[name] for name in NAMES[letter])
        found.append([border(place, extent) for place in range(-before, extent + after)])
    return found


def run(op: str, names: Names, dy: np.ndarray, what: str = "golden") -> np.ndarray:
    function = getattr(kernel(op), what)
    return function({"gradOutput": dy, "self": None}, names, ["gradInput"])["gradInput"]


def against_definition(op: str, letters: str, border: Border) -> None:
    """Copy by copy, with the adjoint identity, and another border, which must differ."""
    random = np.random.default_rng(1)
    other = 0
    for i, names in enumerate(cases(letters, 1, 150)):
        axes = sources(names, letters, border)
        shape = [len(axis) for axis in axes]
        dy = random.standard_normal((2, 2, *shape)) + (i % 2) * 1j * random.random(shape)
        wanted = np.zeros((2, 2, *[names[a] for a in letters]), dy.dtype)
        for place in np.ndindex(*shape):
            target = [axis[at] for axis, at in zip(axes, place, strict=True)]
            wanted[(..., *target)] += dy[(..., *place)]
        got = run(op, names, dy)
        assert distance(got, wanted) < 1e-14, names
        x = random.standard_normal(wanted.shape)
        forward = x[(..., *np.ix_(*axes))]
        assert abs((got * x).sum() - (dy * forward).sum()) < 1e-12 * np.abs(dy).sum()
        swapped = names | {NAMES[a][1]: names[NAMES[a][2]] for a in letters}
        swapped |= {NAMES[a][2]: names[NAMES[a][1]] for a in letters}
        other += distance(run(op, swapped, dy), wanted) > 1e-3
        counts = run(op, names, np.ones(dy.shape))
        assert counts.max() <= kernel(op).depth(names, {}, "gradInput")
        sizes = run(op, names, dy, "magnitude")
        assert distance(sizes.real, run(op, names, np.abs(dy.real))) < 1e-15
    assert other > 75


def against_torch(op: str, letters: str, torch_operator: Callable[[Any], Any]) -> None:
    """``torch_operator`` of torch is a backward operator of gradOutput, self and padding."""
    torch = torch_or_skip()
    operator, random = torch_operator(torch), np.random.default_rng(2)
    for names in cases(letters, 2, 100):
        padded = [sum(names[name] for name in NAMES[a]) for a in letters]
        padding = [names[name] for a in reversed(letters) for name in NAMES[a][1:]]
        x = torch.zeros(2, 3, *[names[a] for a in letters], dtype=torch.float64)
        dy = random.standard_normal((2, 3, *padded))
        wanted = operator(torch.from_numpy(dy), x, padding).numpy()
        assert distance(run(op, names, dy[None])[0], wanted) <= 1e-14, names
