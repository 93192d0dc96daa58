"""Which inputs a bundle need not hold, because a few numbers say how to draw or compute them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opgen.bundle.format.seeds import Maxima, Seed, Seeds
from opgen.calls.argument_json import MAX_ITEMS
from opgen.generation import kernels
from opgen.generation.inputs import is_saved
from opgen.generation.numbers import numbers_of
from opgen.numerics.fill import keys, starts
from opgen.numerics.recipes import RECIPES
from opgen.suite.batch import Batch


def seeds(batches: Sequence[Batch], seed: int) -> Seeds:
    """The inputs of batches that readers can draw or compute again."""
    return Seeds.of([one for batch in batches for one in _of_batch(batch, seed)])


def unheld(batch: Batch) -> set[str]:
    """Their names in a batch."""
    return {*_steps(batch), *_windows(batch)}


def _steps(batch: Batch) -> dict[str, tuple[int, int, int]]:
    """Inputs whose every value follows from its place in a stream, each with the steps that it is
    drawn by: contiguous ones that are neither given nor kept by the forward, of recipes that draw
    steps of a grid.
    """
    depth, steps = max(kernels.depths(batch).values(), default=1), {}
    for name, numbers in numbers_of(batch, kernels.Parts.of(batch.op), depth).items():
        way = RECIPES[batch.recipe].draw(numbers.tensor.role)
        free = name not in batch.given and not is_saved(batch, name)
        if way.steps is not None and free and batch.tensors[name].plain:
            steps[name] = way.steps(numbers.tensor)
    return steps


def _windows(batch: Batch) -> dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """Indices that the forward kept: the input whose largest elements they name, and its windows
    along both axes; of contiguous inputs, and windows that a list holds.
    """
    windows, found = kernels.Parts.of(batch.op).windows, {}
    for name, (of, *axes) in windows(batch.names).items() if windows else ():
        plain = batch.tensors[name].plain and batch.tensors[of].plain
        if plain and is_saved(batch, name) and all(axis.size <= MAX_ITEMS for axis in axes):
            rows, columns = (tuple(axis.reshape(-1).tolist()) for axis in axes)
            found[name] = of, rows, columns
    return found


def _of_batch(batch: Batch, seed: int) -> Iterator[Seed | Maxima]:
    known, windows = keys(seed, batch.ids), _windows(batch)
    for name, steps in _steps(batch).items():
        for row, start in zip(batch.rows.tolist(), starts(known, name).tolist(), strict=True):
            yield Seed(row, name, start, *steps)
    for name, (of, rows, columns) in windows.items():
        for row in batch.rows.tolist():
            yield Maxima(row, name, of, rows, columns)
