"""Batches -> arrays -> bundle, in this process or in several.

A batch is a pure function of itself and the seed. Workers compute batches and write them into the places that the layout
has given them; the bytes are the same for any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

from opgen.bundle.blocks import Blocks
from opgen.bundle.claim import one_line
from opgen.bundle.dtypes import BundleError
from opgen.bundle.layout import Layout
from opgen.bundle.writer import Writer
from opgen.computation import cluster, computing, processes
from opgen.computation.computing import Arrays
from opgen.numbers.numerics import Array
from opgen.suites.batch import Batch
from opgen.suites.suite import Suite

TOGETHER = 1 << 18
"""Elements of the tensors of batches that are computed together: small enough for the cache, large enough for numpy."""

SENT = 4
"""Chunks that a worker is given and answers for at a time: messages cost as much as small chunks, uneven ends cost time."""


def compute(batch: Batch, seed: int) -> Arrays:
    """Everything that is stored of a batch: (name, role) -> (B, ...); inputs as whole storages."""
    return computing.compute([batch], seed)[0]


def together(batches: Sequence[Batch]) -> Iterator[list[Batch]]:
    """Neighbouring batches that are computed and written in one go; a large one stays alone."""
    some: list[Batch] = []
    total = 0
    for batch in batches:
        size = len(batch.ids) * sum(prod(desc.shape) for desc in batch.tensors.values())
        if some and total + size > TOGETHER:
            yield some
            some, total = [], 0
        some.append(batch)
        total += size
    if some:
        yield some


# writing --------------------------------------------------------------------------------------------------------------
def layout(suite: Suite) -> Layout:
    """Where everything of a suite will lie, before any of it exists."""
    return Layout.plan(suite.cases, suite.stored)


def write(
    suite: Suite, path: str | Path, header: Mapping[str, Any], *, seed: int = 0, workers: int = 1, dask: str = "", force: bool = False,
    resume: bool = False, progress: Callable[[int], None] | None = None,
) -> str:
    """Compute every batch and write the bundle; returns its root digest. The bytes do not depend on who computes.

    ``workers`` processes compute and write side by side; ``dask`` is the address of a cluster that computes instead.
    ``progress`` is told of cases that are done. Whatever stops this leaves ``<path>.partial``, which ``resume`` goes on from.
    """
    with Writer(path, header, suite.cases, layout(suite), force=force, outputs=suite.outputs, keep=True, resume=resume) as writer:
        tell = progress or (lambda cases: None)
        there = writer.written
        waiting = sorted((batch for batch in suite.batches if not there[batch.rows].all()), key=lambda batch: int(batch.rows[0]))
        tell(len(suite.cases) - _cases(waiting))
        chunks = list(together(waiting))
        if dask:
            for some, arrays in cluster.computed(partial(computing.compute, seed=seed), chunks, dask):
                writer.write_batches(zip([batch.rows for batch in some], arrays, strict=True))
                tell(_cases(some))
        elif workers <= 1 or len(chunks) < 2 * workers:
            for some in chunks:
                writer.write_batches(zip([batch.rows for batch in some], computing.compute(some, seed), strict=True))
                tell(_cases(some))
        else:
            for at, rows, digests in _in_processes(writer.port(), chunks, seed, workers):
                writer.accept(rows, digests)
                tell(_cases(chunks[at]))
    return str(writer.digest)


def _cases(batches: Sequence[Batch]) -> int:
    return sum(len(batch.rows) for batch in batches)


# workers --------------------------------------------------------------------------------------------------------------
def _in_processes(port: Blocks, chunks: Sequence[list[Batch]], seed: int, workers: int) -> Iterator[tuple[int, Array, Array]]:
    """Chunks that local processes have computed and written: its number, layout rows, digests. None outlives this."""
    size = max(1, min(SENT, len(chunks) // (8 * workers)))
    tasks = [range(at, min(at + size, len(chunks))) for at in range(0, len(chunks), size)]

    def work(task: range) -> list[tuple[int, Array, Array]]:
        return [(at, *_written(port, chunks[at], seed)) for at in task]

    try:
        with one_line(port.path):
            for done in processes.answers(work, tasks, workers):
                yield from done
    except processes.Killed:
        raise BundleError(f"{port.path}: a worker process was killed, perhaps for want of memory; try fewer --workers") from None


def _written(port: Blocks, some: Sequence[Batch], seed: int) -> tuple[Array, Array]:
    return port.write_all(zip([batch.rows for batch in some], computing.compute(some, seed), strict=True))
