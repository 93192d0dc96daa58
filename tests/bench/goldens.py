"""The golden kernels against torch's backward operators in float64, one thread each.

Rounds of both are interleaved and the medians of process CPU time compared, so that other processes
disturb little. A ratio above 1 means that the kernel is faster than torch. Scratch is what a kernel
allocates beyond its outputs. Peak is the speed of a convolution, the multiplications and additions
of its definition alone, as a share of numpy's for square matrices; above 100 % where an algorithm
needs fewer.

Then single calls of the suites' benchmark, no two of one shape: what a golden and its magnitude
cost when the shape is met for the first time, and when it comes again.
"""

from __future__ import annotations

import os
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp, log
from typing import Any

import numpy as np

from opgen.files.gc_pause import gc_paused
from opgen.golden import (
    _adjoint,
    _columns,
    _convolution,
    _filters,
    _pads,
    _phases,
    _pools,
    _tiles,
    kernel,
)
from tests.bench._calls import mixed
from tests.bench._shapes import Row, draw, rows
from tests.bench.suite import enumerated

ROUNDS = 7
SLICE = 0.03  # seconds of each in a round


@dataclass
class Result:
    """The CPU seconds of one case by torch and by the kernel, and the kernel's scratch memory in
    MiB.
    """

    row: Row
    torch: float
    ours: float
    scratch: float
    ratio: float = field(init=False)

    def __post_init__(self) -> None:
        self.ratio = self.torch / self.ours


def repeats(call: Callable[[], Any]) -> int:
    """How often a call fits into a slice of a round."""
    call()
    start = time.perf_counter()
    call()
    return max(1, min(2000, int(SLICE / max(time.perf_counter() - start, 1e-6))))


def seconds(call: Callable[[], Any], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def scratch(call: Callable[[], Any]) -> float:
    """The most memory beyond the outputs that a call of the kernel holds, in MiB; a warm call, so
    plans are cached, but no memory.
    """
    call()
    tracemalloc.start()
    outputs = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return max(0.0, peak - sum(array.nbytes for array in outputs.values())) / 2**20


def peaks(torch: Any) -> tuple[float, float]:
    """The flops per second of numpy and of torch in a product of square matrices: what no
    convolution can exceed.
    """
    size = 2048
    ours = np.ones((size, size))
    theirs = torch.from_numpy(ours)
    times = [
        (seconds(lambda: ours @ ours, 1), seconds(lambda: theirs @ theirs, 1)) for _ in range(5)
    ]
    return 2 * size**3 / min(mine for mine, _ in times), 2 * size**3 / min(
        other for _, other in times
    )


def measure(row: Row, torch: Any) -> Result:
    ours, theirs = row.ours(), row.theirs(torch)
    counts = repeats(theirs), repeats(ours)
    times: tuple[list[float], list[float]] = [], []
    for _ in range(ROUNDS):
        times[0].append(seconds(theirs, counts[0]))
        times[1].append(seconds(ours, counts[1]) / row.batch)
    return Result(row, statistics.median(times[0]), statistics.median(times[1]), scratch(ours))


GOALS = {
    "convolution": 1.6,
    "pooling": 1.2,
    "group norm in cache": 0.5,
    "group norm out of cache": 1.0,
    "reflection real": 1.0,
    "reflection complex": 0.75,
    "tiny convolution x64": 3.0,
    "tiny pooling x64": 5.0,
    "tiny group norm x64": 2.0,
    "tiny reflection x64": 1.7,
    "tiny complex reflection x64": None,
    "tiny": 0.29,
    "small": None,
    "small x64": None,
}


def forget() -> None:
    """Drops all plans."""
    for module in (_adjoint, _columns, _convolution, _filters, _pads, _phases, _pools, _tiles):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def new_shapes(words: Sequence[str], count: int = 2000) -> list[str]:
    """A line per operator: microseconds of a call whose shape is new, and of the same call once
    more.
    """
    lines = [f"{'single calls, a shape each':34}{'new us':>10}{'again us':>10}"]
    calls: dict[str, list[Callable[[], Any]]] = {}
    for batch in enumerated(mixed(count)).batches:
        tensors = {name: draw(1, *batch.tensors[name].shape) for name in batch.inputs}
        calls.setdefault(batch.op, []).append(
            partial(kernel(batch.op).both, tensors, batch.names, batch.wanted)
        )
    for op, some in calls.items():
        if words and not any(word in op for word in words):
            continue
        rounds = []
        for _ in range(ROUNDS):
            forget()
            with gc_paused():
                rounds.append(
                    np.array([(seconds(call, 1), seconds(call, 1)) for call in some]).mean(0) * 1e6
                )
        new, again = np.median(rounds, axis=0)
        lines.append(f"{op:34}{new:10.1f}{again:10.1f}")
    return lines


def summary(results: Sequence[Result]) -> list[str]:
    """A line per goal: the geometric mean, the worst ratio, and what they should reach."""
    lines = [f"{'':34}{'geo mean':>9}{'worst':>8}{'goal':>8}"]
    for goal, target in GOALS.items():
        ratios = [result.ratio for result in results if result.row.goal == goal]
        if ratios:
            mean = exp(sum(map(log, ratios)) / len(ratios))
            wanted = "" if target is None else f"{target:8.2f}"
            lines.append(f"{goal:34}{mean:9.2f}{min(ratios):8.2f}{wanted}")
    return lines


def main(words: Sequence[str]) -> None:
    """Prints the tables; with words, of the lines alone that contain one of them."""
    try:
        import torch
    except ImportError:
        raise SystemExit("this benchmark compares with torch: pip install torch") from None
    torch.set_num_threads(1)
    core = os.environ.get("OPENBLAS_CORETYPE", "default")
    print(
        f"numpy {np.__version__} ({core} kernel), torch {torch.__version__}; CPU time per case, one"
        " thread; ratio = torch / opgen"
    )
    peak, other = peaks(torch)
    print(
        f"products of float64 matrices of 2048 x 2048: numpy {peak / 1e9:.1f} GF/s, torch"
        f" {other / 1e9:.1f}; ratio {peak / other:.2f}"
    )
    print(f"{'':34}{'torch us':>10}{'opgen us':>10}{'ratio':>8}{'scratch MiB':>13}{'peak':>7}")
    results = []
    for row in rows():
        if words and not any(word in row.label for word in words):
            continue
        result = measure(row, torch)
        results.append(result)
        times = f"{result.torch * 1e6:10.1f}{result.ours * 1e6:10.1f}"
        share = f"{row.flops / result.ours / peak:7.0%}" if row.goal == "convolution" else ""
        print(f"{row.label:34}{times}{result.ratio:8.2f}{result.scratch:13.1f}{share}", flush=True)
    print("", *summary(results), "", *new_shapes(words), sep="\n")
