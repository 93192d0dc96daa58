"""What a suite takes to compute, said before anything is: bytes in the file, memory, seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from opgen.bundle.format.layout import Layout
from opgen.bundle.format.seeds import Seeds
from opgen.generation import kernels, rows
from opgen.generation.sampling import marked
from opgen.model import FileError, Problem, size
from opgen.numerics.formats import DTYPES
from opgen.numerics.recipes import RECIPES
from opgen.suite.batch import Batch
from opgen.suite.budget import WORKED
from opgen.suite.memory import available
from opgen.suite.suite import Suite

SCRATCH = 144 << 20
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
    return Needs(
        layout(suite, drawn, samples).bytes,
        max([memory_of(batch, samples, drawn is not None) for batch in suite.batches], default=0),
        sum(_seconds(batch, samples) for batch in suite.batches),
    )


def memory_of(batch: Batch, samples: int = 0, seeded: bool = False) -> int:
    """Bytes that a case of a batch takes at most while it is computed, in a worker of its own;
    ``seeded``: without the inputs that the file says how to draw.
    """
    plain = RECIPES[batch.recipe].on_grid and hasattr(kernels.whole(batch.op), "PARTNERS")
    stored, worked = 0, batch.elements
    if samples and (cut := rows.cuttable(batch)):
        worked = rows.part_of(batch, cut).elements
        descs = [batch.tensors[name] for name in rows.held(batch, cut, seeded)]
        stored = sum(prod(desc.shape) * DTYPES[desc.dtype].numpy.itemsize for desc in descs)
    return SCRATCH + stored + worked * (PRODUCTS if plain else OTHERS)


def _seconds(batch: Batch, samples: int = 0) -> float:
    products, kernel = 0, kernels.Parts.of(batch.op)
    if kernel.partners:
        depths = kernels.depths(batch)
        most = samples if samples and kernel.at else 2**62
        products = sum(
            min(prod(batch.tensors[out].shape), most) * depths[out] for out in batch.wanted
        )
    return len(batch.ids) * (PER_ELEMENT * batch.elements + PER_PRODUCT * products)


def fitting(
    suite: Suite,
    file: str,
    skip: bool = False,
    samples: int = 0,
    seeded: bool = False,
    room: int | None = None,
) -> Suite:
    """A suite of the calls of a file, without the data of those that need more memory than there
    is; FileError that names them, unless they are to be skipped.
    """
    room = available() if room is None else room
    why = {case: suite.without_data[case] for lost in suite.left_out for case in lost.cases} | {
        case: f"it takes {size(least)} of memory, and there are {size(room)}"
        for batch in suite.batches
        if (least := min(batch.elements * WORKED, memory_of(batch, samples, seeded))) > room
        for case in batch.ids
    }
    if why and not skip:
        less = "" if samples else "--inputs seeded --golden sampled may need less; "
        raise FileError(
            [
                Problem(
                    file, None, case, f"{why[case]}; {less}--skip-too-large checks the status alone"
                )
                for case in why
            ]
        )
    return suite.without(why)


def side_by_side(
    chunks: Sequence[list[Batch]],
    workers: int,
    room: int | None = None,
    memory: Callable[[Batch], int] = memory_of,
) -> Iterator[tuple[int, list[int]]]:
    """How many workers may compute some chunks at a time without more memory than there is, and the
    places of these chunks; the largest, which share it with the fewest, first.
    """
    room = available() if room is None else room
    needed = np.array([max(map(memory, chunk)) for chunk in chunks])
    together = np.clip(room // np.maximum(needed, 1), 1, workers)
    # in powers of two: where one number ends, workers wait
    together = np.where(together < workers, 2 ** np.log2(together).astype(np.int64), together)
    for number in np.unique(together).tolist():
        yield number, np.flatnonzero(together == number).tolist()
