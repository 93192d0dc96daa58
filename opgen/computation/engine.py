"""Batches -> arrays -> bundle, in this process or in several.

A batch is a pure function of itself and the seed. Workers compute batches and write them into the places that the layout
has given them; the bytes are the same for any number of workers.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from math import prod
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

from opgen.bundle.blocks import Blocks
from opgen.bundle.dtypes import BundleError
from opgen.bundle.layout import Layout
from opgen.bundle.writer import Writer
from opgen.computation import cluster, computing
from opgen.computation.computing import Arrays
from opgen.computation.storage import GAP as GAP
from opgen.numbers.numerics import Array
from opgen.suites.batch import Batch
from opgen.suites.suite import Suite

TOGETHER = 1 << 18
"""Elements of the tensors of batches that are computed together: small enough for the cache, large enough for numpy."""

SENT = 8
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
    mine = set(active_children())
    gc.freeze()  # else the workers' collectors touch, and so copy, every page that they share
    pool = ProcessPoolExecutor(workers, get_context("fork"), initializer=_adopt, initargs=(port, chunks, seed, os.getpid()))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a process that is being forked would take it for its own
    try:
        try:
            answers = pool.map(_work, range(len(chunks)), chunksize=max(1, min(SENT, len(chunks) // (8 * workers))))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield from answers
    except BrokenProcessPool:
        raise BundleError(f"{port.path}: a worker process was killed, perhaps for want of memory; try fewer --workers") from None
    except BaseException:
        for child in set(active_children()) - mine:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        gc.unfreeze()


_adopted: dict[str, Any] = {}


def _adopt(port: Blocks, chunks: Sequence[list[Batch]], seed: int, parent: int) -> None:
    """What a worker begins with: Ctrl-C is for the process that it works for, and without that one, now or later, it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    _adopted.update(port=port, chunks=chunks, seed=seed)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def _work(at: int) -> tuple[int, Array, Array]:
    some = _adopted["chunks"][at]
    return at, *_adopted["port"].write_all(zip([batch.rows for batch in some], computing.compute(some, _adopted["seed"]), strict=True))
