"""Which inputs a bundle need not hold, because a few numbers say how to draw them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opgen.bundle.format.seeds import Seed, Seeds
from opgen.generation import kernels
from opgen.generation.inputs import is_saved, numbers_of
from opgen.numerics.fill import keys, starts
from opgen.numerics.recipes import RECIPES
from opgen.suite.batch import Batch


def seeds(batches: Sequence[Batch], seed: int) -> Seeds:
    """The inputs of batches whose every value follows from its place in a stream: contiguous ones
    that are neither given nor kept by the forward, of recipes that draw steps of a grid.
    """
    return Seeds.of([one for batch in batches for one in _of_batch(batch, seed)])


def _of_batch(batch: Batch, seed: int) -> Iterator[Seed]:
    depth = max(kernels.depths(batch).values(), default=1)
    known = keys(seed, batch.ids)
    for name, numbers in numbers_of(batch, kernels.Parts.of(batch.op), depth).items():
        way = RECIPES[batch.recipe].draw(numbers.tensor.role)
        held = name in batch.given or is_saved(batch, name) or not batch.tensors[name].plain
        if way.steps is None or held:
            continue
        steps = way.steps(numbers.tensor)
        for row, start in zip(batch.rows.tolist(), starts(known, name).tolist(), strict=True):
            yield Seed(row, name, start, *steps)
