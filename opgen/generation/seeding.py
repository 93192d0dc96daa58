"""Which inputs a bundle need not hold, because a few numbers say how to draw them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opgen.bundle.format.seeds import Seed, Seeds
from opgen.generation import kernels
from opgen.generation.inputs import is_saved
from opgen.generation.numbers import numbers_of
from opgen.numerics.fill import keys, starts
from opgen.numerics.recipes import RECIPES
from opgen.suite.batch import Batch


def seeds(batches: Sequence[Batch], seed: int) -> Seeds:
    """The inputs of batches whose every value follows from its place in a stream: contiguous ones
    that are neither given nor kept by the forward, of recipes that draw steps of a grid.
    """
    return Seeds.of([one for batch in batches for one in _of_batch(batch, seed)])


def drawn(batch: Batch) -> dict[str, tuple[int, int, int]]:
    """Such inputs of a batch, each with the steps that it is drawn by."""
    depth, steps = max(kernels.depths(batch).values(), default=1), {}
    for name, numbers in numbers_of(batch, kernels.Parts.of(batch.op), depth).items():
        way = RECIPES[batch.recipe].draw(numbers.tensor.role)
        free = name not in batch.given and not is_saved(batch, name)
        if way.steps is not None and free and batch.tensors[name].plain:
            steps[name] = way.steps(numbers.tensor)
    return steps


def _of_batch(batch: Batch, seed: int) -> Iterator[Seed]:
    known = keys(seed, batch.ids)
    for name, steps in drawn(batch).items():
        for row, start in zip(batch.rows.tolist(), starts(known, name).tolist(), strict=True):
            yield Seed(row, name, start, *steps)
