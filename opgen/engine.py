"""Batches -> arrays -> bundle: inputs, goldens and bounds, in this process or in several.

A batch is a pure function of itself and the seed. Workers compute batches and write them into the places that the layout
has given them; the bytes are the same for any number of workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, partial
from math import prod
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from opgen import cluster
from opgen.batch import Batch
from opgen.bounds import bound, certain_overflow, flushed_magnitude
from opgen.bundle.blocks import Blocks
from opgen.bundle.layout import Layout
from opgen.bundle.writer import Writer
from opgen.exact import GRADIENT, golden_exact, magnitude_exact
from opgen.fill import Source, draw
from opgen.golden import kernel
from opgen.model import TensorDesc
from opgen.numerics import DTYPES, Array, golden_dtype, rounded, stored
from opgen.recipes import RECIPES, quantum
from opgen.slot import Slot
from opgen.suite import Suite, storage_elements

PLANTED = ("nonfinite", "overflow")
"""Recipes that plant values which are or become Inf or NaN."""
GAP = -512.0
"""What lies in a storage where no element of the view is: a wrong stride shows."""
Arrays = dict[tuple[str, str], Array]
_CHUNK = 16


def compute(batch: Batch, seed: int) -> Arrays:
    """Everything that is stored of a batch: (name, role) -> (B, ...); inputs as whole storages."""
    module = kernel(batch.op)
    shapes = {name: desc.shape for name, desc in batch.tensors.items()}
    depths = {out: module.depth(batch.names, shapes, out) for out in batch.wanted}
    deepest = max(depths.values(), default=1)
    source = Source(seed)
    arrays: Arrays = {}
    values: dict[str, Array | None] = dict.fromkeys(batch.tensors)
    slots: dict[str, Slot] = {}
    for name in batch.inputs:
        desc = batch.tensors[name]
        slots[name] = _slot(batch, name, deepest)
        drawn = _given(batch, name) if name in batch.given else draw(batch.recipe, source, batch.ids, slots[name])
        arrays[name, "input"], values[name] = _lay(drawn, desc)
    inputs = {name: values.get(name) for name in batch.roles}
    for outputs, seen in _readings(batch, inputs):
        goldens, sizes = _evaluate(batch, seen, outputs, deepest)
        formats = {name: batch.compute if name in batch.tensors else "FLOAT" for name in seen}
        flushed = flushed_magnitude(module.magnitude, seen, batch.names, outputs, formats) if GRADIENT in seen else None
        for out in outputs:
            dtype = batch.tensors[out].dtype
            golden, size = goldens[out], sizes[out]
            halved = out not in batch.exact and batch.compute in ("FLOAT16", "BFLOAT16") and dtype != batch.compute
            through = batch.compute if halved else None
            limit = bound(
                golden,
                size,
                depths[out],
                dtype,
                through=through,
                quantum=_quantum(batch, slots, out),
                flushed=None if flushed is None else flushed[out],
                gain=_gain(seen),
            )
            if "FLOAT16" in (dtype, through) and (np.abs(golden) > 60000).any():
                over = certain_overflow(golden, size, depths[out], dtype, through=through)
                golden = np.where(over, np.copysign(np.inf, golden), golden)
                limit = np.where(over, np.float32(0), limit)
            if out in getattr(module, "DIFFERENCES", ()):
                limit = np.where(np.isfinite(golden), limit, np.float32(np.inf))
            with np.errstate(over="ignore"):
                arrays[out, "golden"] = stored(golden, golden_dtype(dtype))
            arrays[out, "bound"] = limit
    return arrays


def _slot(batch: Batch, name: str, deepest: int) -> Slot:
    desc = batch.tensors[name]
    role: Any = batch.roles.get(name, "operand")
    return Slot(
        tensor=name,
        shape=desc.shape,
        dtype=desc.dtype,
        compute=batch.compute if batch.compute in ("FLOAT16", "BFLOAT16", "HFLOAT32", "FLOAT") else DTYPES[desc.dtype].part.name,
        depth=max(deepest, 1),
        role=role,
        factors=batch.factors,
        range=desc.range,
        places=_places(batch) if role == "gradient" and batch.recipe in PLANTED else None,
    )


def _places(batch: Batch) -> tuple[int, ...] | None:
    """Where the gradient may hold what is not finite, as the kernel says: nowhere that padding may be multiplied by it."""
    places = getattr(kernel(batch.op), "places", None)
    if places is None:
        return None
    return tuple(places(batch.names, {name: desc.shape for name, desc in batch.tensors.items()}).tolist())


def _given(batch: Batch, name: str) -> Array:
    """Values that a plan or a user gives, rounded once to storage, the same for every case: (B, *shape)."""
    desc = batch.tensors[name]
    wide = np.complex128 if DTYPES[desc.dtype].complex else np.float64
    values = stored(np.array(batch.given[name], dtype=wide).reshape(desc.shape), desc.dtype).astype(wide)
    return np.repeat(values[None], len(batch.ids), axis=0)


def _lay(values: Array, desc: TensorDesc) -> tuple[Array, Array]:
    """(storage (B, elements) in the storage dtype, the values as they are read back through the view)."""
    flat = stored(values, desc.dtype).reshape(len(values), -1)
    wide = np.complex128 if np.iscomplexobj(values) else np.float64
    if desc.strides is None and not desc.offset:
        return flat, flat.astype(wide).reshape(values.shape)  # a value too large for storage is Inf there
    index = _index(desc.shape, desc.strides, desc.offset)
    storage = np.full((len(values), storage_elements(desc)), GAP, dtype=flat.dtype)
    storage[:, index] = flat
    return storage, storage[:, index].astype(wide).reshape(values.shape)


@cache
def _index(shape: tuple[int, ...], strides: tuple[int, ...] | None, offset: int) -> Array:
    """Position in storage of every element of a view, in row-major order of the view."""
    steps = strides if strides is not None else tuple(prod(shape[i + 1 :]) for i in range(len(shape)))
    index = np.full((1,) * max(len(shape), 1), offset, dtype=np.int64)
    for axis, (extent, stride) in enumerate(zip(shape, steps, strict=True)):
        index = index + (np.arange(extent) * stride).reshape(-1, *(1,) * (len(shape) - axis - 1))
    return index.reshape(-1)


def _readings(batch: Batch, inputs: Mapping[str, Array | None]) -> Iterator[tuple[tuple[str, ...], dict[str, Array | None]]]:
    """Which outputs are computed from which values: most from inputs rounded to the compute dtype, some from stored ones."""
    cube = tuple(out for out in batch.wanted if out not in batch.exact)
    exact = tuple(out for out in batch.wanted if out in batch.exact)
    if cube:
        yield cube, {n: None if v is None else _in_compute(v, batch.tensors[n].dtype, batch.compute) for n, v in inputs.items()}
    if exact:
        yield exact, dict(inputs)


def _in_compute(values: Array, storage: str, to: str) -> Array:
    """One rounding to the compute dtype; none where it is the storage dtype or wider."""
    if to == storage or DTYPES[storage].complex or storage == "DOUBLE" or to == "FLOAT":
        return values
    with np.errstate(over="ignore"):
        return rounded(values, to)


def _evaluate(
    batch: Batch, seen: Mapping[str, Array | None], outputs: tuple[str, ...], depth: int
) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """(goldens, sums of absolute terms), with the same bits on every machine."""
    module = kernel(batch.op)
    partners = getattr(module, "PARTNERS", None)
    with np.errstate(invalid="ignore", over="ignore"):
        if partners is None or (RECIPES[batch.recipe].on_grid and not batch.given):
            golden = {out: value + 0.0 for out, value in module.golden(seen, batch.names, outputs).items()}
            return golden, module.magnitude(seen, batch.names, outputs)
        return (
            golden_exact(module.golden, seen, batch.names, outputs, depth, partners),
            magnitude_exact(module.golden, seen, batch.names, outputs, depth, partners),
        )


def _quantum(batch: Batch, slots: Mapping[str, Slot], out: str) -> float | None:
    """What all terms of an output's sums are multiples of; None where nothing is known."""
    partners = getattr(kernel(batch.op), "PARTNERS", None)
    if partners is None or batch.compute == "HFLOAT32" or batch.given:
        return None
    product = 1.0
    for name in (GRADIENT, partners.get(out)):
        if name is not None and name in slots:
            step = quantum(batch.recipe, slots[name])
            if step is None:
                return None
            product *= step
    return product


def _gain(seen: Mapping[str, Array | None]) -> float:
    """The largest factor that an intermediate is multiplied by after the sums: rstd in a normalisation."""
    rstd = seen.get("rstd")
    return max(1.0, float(np.abs(rstd).max())) if rstd is not None and rstd.size else 1.0


# writing --------------------------------------------------------------------------------------------------------------
def layout(suite: Suite) -> Layout:
    """Where everything of a suite will lie, before any of it exists."""
    return Layout.plan(suite.cases, suite.stored, suite.order)


def write(
    suite: Suite, path: str | Path, header: Mapping[str, Any], *, seed: int = 0, workers: int = 1, dask: str = "", force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> str:
    """Compute every batch and write the bundle; returns its root digest. The bytes do not depend on who computes.

    ``workers`` processes compute and write side by side; ``dask`` is the address of a cluster that computes instead.
    ``progress`` is told of cases that are done.
    """
    with Writer(path, header, suite.cases, layout(suite), force=force, outputs=suite.outputs) as writer:
        tell = progress or (lambda cases: None)
        tell(len(suite.cases) - sum(len(batch.rows) for batch in suite.batches))
        if dask:
            for chunk in cluster.computed(partial(_computed, seed=seed), suite.batches, dask):
                for batch, arrays in chunk:
                    writer.write_batch(batch.rows, arrays)
                    tell(len(batch.rows))
        elif workers <= 1 or len(suite.batches) < 4 * workers:
            for batch in suite.batches:
                writer.write_batch(batch.rows, compute(batch, seed))
                tell(len(batch.rows))
        else:
            _in_processes(suite, writer, seed, workers, tell)
    return str(writer.digest)


def _in_processes(suite: Suite, writer: Writer, seed: int, workers: int, tell: Callable[[int], None]) -> None:
    chunks = [suite.batches[i : i + _CHUNK] for i in range(0, len(suite.batches), _CHUNK)]
    with ProcessPoolExecutor(workers, get_context("fork"), initializer=_adopt, initargs=(writer.port(), seed)) as pool:
        jobs = {pool.submit(_work, chunk): chunk for chunk in chunks}
        try:
            for job in as_completed(jobs):
                for rows, digests in job.result():
                    writer.accept(rows, digests)
                tell(sum(len(batch.rows) for batch in jobs[job]))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _computed(batches: list[Batch], seed: int) -> list[Any]:
    """What a worker that does not write does: the arrays of some batches."""
    return [compute(batch, seed) for batch in batches]


_mine: dict[str, Any] = {}


def _adopt(port: Blocks, seed: int) -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _mine.update(port=port, seed=seed)


def _work(batches: list[Batch]) -> list[tuple[Array, Array]]:
    return [_mine["port"].write(batch.rows, compute(batch, _mine["seed"])) for batch in batches]

