"""What a suite takes to compute, said before anything is: bytes in the file, memory, seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from opgen.bundle.format.layout import Layout
from opgen.bundle.format.seeds import Seeds
from opgen.generation import kernels
from opgen.generation.sampling import marked
from opgen.model import FileError, Problem, size
from opgen.numerics.recipes import RECIPES
from opgen.suite.batch import Batch
from opgen.suite.memory import available
from opgen.suite.suite import Suite

SCRATCH = 64 << 20
"""Bytes that a worker takes beside what grows with a case."""
PRODUCTS, OTHERS = 24, 64
"""Bytes that an element takes at most while it is computed: of sums of products that are exact as
they are, and of anything else."""
PER_ELEMENT, PER_PRODUCT = 5e-8, 5e-10
"""Seconds, about, of one core of a current machine."""


class Needs(NamedTuple):
    """``bytes`` of the file, bytes of ``memory`` of the largest case, ``seconds`` of one core."""

    bytes: int
    memory: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"takes {size(self.bytes)} of disk, up to {size(self.memory)} of memory for a case, and"
            f" about {self.seconds:.0f} s of one core"
        )


def layout(suite: Suite, drawn: Seeds | None = None, samples: int = 0) -> Layout:
    """Where everything of a suite lies, of whose inputs some are ``drawn`` where they are read, and
    of whose outputs at most ``samples`` elements are looked at, unless that is 0.
    """
    stored = marked(suite.stored, suite.batches, samples) if samples else suite.stored
    return Layout.of(stored, drawn)


def needs(suite: Suite, drawn: Seeds | None = None, samples: int = 0) -> Needs:
    """What a suite takes, with the arguments of :func:`layout`."""
    memory = [memory_of(batch) for batch in suite.batches]
    return Needs(
        layout(suite, drawn, samples).bytes,
        max(memory, default=0),
        sum(map(_seconds, suite.batches)),
    )


def memory_of(batch: Batch) -> int:
    """Bytes that a case of a batch takes at most while it is computed, in a worker of its own."""
    plain = RECIPES[batch.recipe].on_grid and kernels.Parts.of(batch.op).partners is not None
    return SCRATCH + batch.elements * (PRODUCTS if plain else OTHERS)


def _seconds(batch: Batch) -> float:
    products = 0
    if kernels.Parts.of(batch.op).partners:
        depths = kernels.depths(batch)
        products = sum(prod(batch.tensors[out].shape) * depths[out] for out in batch.wanted)
    return len(batch.ids) * (PER_ELEMENT * batch.elements + PER_PRODUCT * products)


def refuse_too_large(suite: Suite, file: str) -> None:
    """FileError that names the calls of a file whose data memory cannot hold."""
    large = [one for one in suite.left_out if one.key == "memory"]
    problems = [
        Problem(
            file,
            None,
            case,
            f"{suite.without_data[case]}; --skip-too-large checks the status alone",
        )
        for one in large
        for case in one.cases
    ]
    if problems:
        raise FileError(problems)


def side_by_side(
    chunks: Sequence[list[Batch]], workers: int, room: int | None = None
) -> Iterator[tuple[int, list[int]]]:
    """How many workers may compute some chunks at a time without more memory than there is, and the
    places of these chunks; the largest, which share it with the fewest, first.
    """
    room = available() if room is None else room
    memory = np.array([max(map(memory_of, chunk)) for chunk in chunks])
    together = np.clip(room // np.maximum(memory, 1), 1, workers)
    for number in np.unique(together).tolist():
        yield number, np.flatnonzero(together == number).tolist()
