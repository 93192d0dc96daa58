"""The shipped layers of models at batch 1: torch's backward in float64, which makes goldens alone,
against the golden kernel, and against opgen with data, goldens and bounds; one thread each.

Medians of process CPU time of interleaved rounds, in milliseconds; a ratio above 1 means that opgen
is faster than torch. torch is given data that it need not draw.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from math import exp, log

import numpy as np

from opgen.calls.call_json import to_json
from opgen.generation import computing, kernels
from opgen.generation.filling import fill
from opgen.suite.batch import Batch
from opgen.suite.selection import Request
from tests.bench.goldens import seconds

ROUNDS = 3


def ways(batch: Batch, args: dict[str, object], api: str) -> list[Callable[[], object]]:
    """Ways to compute a layer: torch, the kernel, and all that a bundle holds."""
    import torch

    from opgen.devices.torch_operators import ADAPTERS

    (inputs,) = fill([batch], [max(kernels.depths(batch).values())], 0)
    seen, wanted = inputs.seen, frozenset(batch.wanted)
    tensors = {
        name: None if array is None else torch.from_numpy(np.ascontiguousarray(array[0]))
        for name, array in seen.items()
    }
    return [
        lambda: ADAPTERS[api](tensors, args, wanted),
        lambda: inputs.parts.golden(seen, batch.names, batch.wanted),
        lambda: computing.compute([batch], 0),
    ]


def main(words: Sequence[str]) -> None:
    """Prints the table; with words, of the layers alone that contain one of them."""
    import torch

    torch.set_num_threads(1)
    suite = Request(plan="models", patterns=("*.b1.*",)).suite()
    print(f"{'':44}{'torch':>9}{'golden':>9}{'ratio':>7}{'all':>9}{'ratio':>7}")
    ratios: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for batch in suite.batches:
        (name,), case = batch.ids, suite.cases[int(batch.rows[0])]
        if words and not any(word in name for word in words):
            continue
        some = ways(batch, to_json(case.call), case.call.api)
        for way in some:
            way()
        times = [[seconds(way, 1) for way in some] for _ in range(ROUNDS)]
        other, golden, whole = (1e3 * statistics.median(of) for of in zip(*times, strict=True))
        ratios[batch.op == "convolution_backward"].append((other / golden, other / whole))
        print(
            f"{name:44}{other:9.1f}{golden:9.1f}{other / golden:7.2f}{whole:9.1f}"
            f"{other / whole:7.2f}",
            flush=True,
        )
    for convolutions, title in ((True, "convolutions"), (False, "others")):
        if ratios[convolutions]:
            golden, whole = (
                exp(sum(map(log, of)) / len(of)) for of in zip(*ratios[convolutions], strict=True)
            )
            print(f"geometric mean, {title:37}{golden:16.2f}{whole:16.2f}")
