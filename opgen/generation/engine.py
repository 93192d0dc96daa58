"""Batches -> arrays -> bundle, in this process or in several.

A batch is a pure function of itself and the seed. Workers compute batches and write them into the
places that the layout has given them; the bytes are the same for any number of workers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.write.blocks import Arrays as Written
from opgen.bundle.write.blocks import Blocks
from opgen.bundle.write.output import write_errors
from opgen.bundle.write.writer import Writer
from opgen.generation import cluster, computing, processes, resources, rows
from opgen.generation.forked import Killed
from opgen.generation.inputs import Arrays
from opgen.generation.resources import layout, side_by_side
from opgen.generation.seeding import seeds
from opgen.numerics.arrays import Array
from opgen.suite.batch import Batch
from opgen.suite.suite import Suite

_log = logging.getLogger(__name__)

TOGETHER = 1 << 20
"""Elements of the tensors of batches that are computed together, at most: the more, the less numpy
asks per tensor."""
SHARE = 3
"""A chunk is at most one part in so many of what is left for each of several workers: chunks
shrink, and all end together."""
LEAST = 1 << 16
"""Elements of a chunk that is worth a message, and is cut no smaller."""
BESIDE = 64
"""What a case costs beside its elements, in elements: cases of empty tensors fill a chunk, too."""


def compute(batch: Batch, seed: int) -> Arrays:
    """Everything that is stored of a batch: (name, role) -> (B, ...); inputs as whole storages."""
    return computing.compute([batch], seed)[0]


def together(
    batches: Sequence[Batch], workers: int = 1, most: int = TOGETHER, least: int = LEAST
) -> Iterator[list[Batch]]:
    """Neighbouring batches that are computed and written in one go; a large one stays alone. The
    more ``workers`` and the less is left, the smaller a chunk: from ``most`` down to ``least``
    elements.
    """
    sizes = [_size(batch) for batch in batches]
    left = sum([min(size, most) for size in sizes])

    def limit() -> int:
        return most if workers <= 1 else min(most, max(least, left // (SHARE * workers)))

    chunk: list[Batch] = []
    total, room = 0, limit()
    for batch, size in zip(batches, sizes, strict=True):
        if total + size > room and chunk:
            yield chunk
            left -= min(total, most)
            chunk, total, room = [], 0, limit()
        chunk.append(batch)
        total += size
    if chunk:
        yield chunk


def _size(batch: Batch) -> int:
    return len(batch.ids) * (batch.elements + BESIDE)


# writing ------------------------------------------------------------------------------------------
def write(
    suite: Suite,
    path: str | Path,
    header: Mapping[str, Any],
    *,
    seed: int = 0,
    workers: int = 1,
    dask: str = "",
    force: bool = False,
    resume: bool = False,
    progress: Callable[[int], None] | None = None,
    chunk: int | None = None,
    seeded: bool = False,
    samples: int = 0,
) -> str:
    """Compute every batch and write the bundle; returns its root digest. The bytes do not depend on
    who computes.

    ``workers`` processes, this one among them, compute and write side by side; ``dask`` is the
    address of a cluster that computes instead. ``progress`` is told of cases that are done.
    At most ``chunk`` elements are computed together. ``seeded``: inputs that a few numbers say how
    to draw are not kept; ``samples``: at most so many elements of each output have goldens, or, if
    that is 0, all. Whatever stops this leaves ``<path>.partial``,
    which ``resume`` goes on from.
    """
    drawn = seeds(suite.batches, seed) if seeded else None
    work = partial(rows.compute, seed=seed, samples=samples, seeded=seeded)
    with Writer(
        path,
        header,
        suite.cases,
        layout(suite, drawn, samples),
        seeds=drawn,
        force=force,
        outputs=suite.outputs,
        keep=True,
        resume=resume,
    ) as writer:
        tell = progress or (lambda cases: None)
        waiting = _waiting(suite.batches, writer.written)
        tell(len(suite.cases) - _cases(waiting))
        _log.info("%s: %d cases to compute, in %d batches", path, _cases(waiting), len(waiting))
        if dask:
            for some, arrays in cluster.computed(
                work,
                partial(together, waiting, most=chunk or TOGETHER),
                (_each(waiting, "op"), _each(waiting, "recipe")),
                dask,
            ):
                writer.write(zip([batch.rows for batch in some], arrays, strict=True))
                tell(_cases(some))
        else:
            for some, written, digests in _in_processes(
                writer.port(),
                list(together(waiting, workers, chunk or TOGETHER)),
                work,
                workers,
                partial(resources.memory_of, samples=samples, seeded=seeded),
            ):
                writer.accept(written, digests)
                tell(_cases(some))
    _log.info("%s: written, digest %s", path, writer.digest)
    return str(writer.digest)


def _waiting(batches: Sequence[Batch], there: Array) -> list[Batch]:
    """Batches of which some cases are not ``there`` yet, in the order of the first."""
    if not batches:
        return []
    rows = np.concatenate([batch.rows for batch in batches])
    starts = np.cumsum([0, *[len(batch.ids) for batch in batches[:-1]]])
    whole, order = np.logical_and.reduceat(there[rows], starts), np.argsort(rows[starts])
    return [batches[i] for i in order[~whole[order]].tolist()]


def _cases(batches: Sequence[Batch]) -> int:
    return sum(len(batch.rows) for batch in batches)


def _each(batches: Sequence[Batch], what: str) -> tuple[str, ...]:
    return tuple(sorted({getattr(batch, what) for batch in batches}))


# workers ------------------------------------------------------------------------------------------
def _in_processes(
    port: Blocks,
    chunks: Sequence[list[Batch]],
    computed: Callable[[list[Batch]], Sequence[Written]],
    workers: int,
    memory: Callable[[Batch], int],
) -> Iterator[tuple[list[Batch], Array, Array]]:
    """Chunks that local processes, this one among them, have computed and written, with layout rows
    and digests; no process outlives this.
    """

    def work(place: int) -> tuple[int, Array, Array]:
        some = chunks[place]
        return place, *port.write(zip([batch.rows for batch in some], computed(some), strict=True))

    large_first = sorted(
        range(len(chunks)), key=lambda place: -sum(map(_size, chunks[place])).bit_length()
    )
    try:
        with port, write_errors(port.path):
            for number, places in side_by_side(
                [chunks[place] for place in large_first], workers, memory=memory
            ):
                tasks = [large_first[place] for place in places]
                for place, rows, digests in processes.answers(work, tasks, min(number, len(tasks))):
                    yield chunks[place], rows, digests
    except Killed:
        raise BundleError(
            f"{port.path}: a worker process was killed, perhaps for lack of memory; try fewer"
            " --workers"
        ) from None
