"""The computed tensors of the cases of a lock: their digests, and sums that say how far goldens are
from those of an older lock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from math import fsum
from typing import TypeAlias

import numpy as np

from opgen.generation.inputs import Arrays
from opgen.lock.lockfile import NOTHING
from opgen.numerics.arrays import Array, reals
from opgen.numerics.splitmix import STEP, hashed
from opgen.suite.batch import Batch
from opgen.suite.identity import DIGEST
from opgen.suite.suite import Suite

Compute: TypeAlias = Callable[[Batch, int], Arrays]
"""The data of a batch with a seed."""
DRAWS = 2
"""Sums of a tensor with signs: changes that cancel in one seldom do in both."""
SCALE = 2.0**64
"""What elements are divided by while they are summed, so that no sum overflows."""


def batches_of(suite: Suite, cases: Collection[str]) -> Iterator[Batch]:
    """The batches of a suite, each with some of its cases; no empty ones."""
    for batch in suite.batches:
        kept = [place for place, case in enumerate(batch.ids) if case in cases]
        if kept:
            yield batch.subset(kept)


def tensors_of(arrays: Arrays, role: str, place: int) -> dict[str, Array]:
    """The tensors that the case at a place of a batch has in a role."""
    return {name: stack[place] for (name, other), stack in arrays.items() if other == role}


def digest_of(tensors: Mapping[str, Array]) -> str:
    """One digest over the tensors that a case has of a kind, in the order of their names."""
    digest = hashlib.blake2b()
    for name, array in sorted(tensors.items()):
        digest.update(
            name.encode()
            + b"\0"
            + str(array.dtype).encode()
            + np.ascontiguousarray(array).tobytes()
        )
    return digest.hexdigest()[:DIGEST] if tensors else NOTHING


def sums_of(tensors: Mapping[str, Array]) -> str:
    """Of each tensor the sum of its magnitudes, and sums of its elements with signs that depend on
    their places alone, in the order of names. All are correctly rounded; what is not finite is
    left out.
    """
    in_order = sorted(tensors.items())
    return ",".join(":".join([name, *map(repr, _sums(a))]) for name, a in in_order) or NOTHING


def _sums(array: Array) -> list[float]:
    numbers = reals(np.ascontiguousarray(array).reshape(-1)).astype(np.float64)
    numbers[~np.isfinite(numbers)] = 0
    words = hashed(np.arange(1, len(numbers) + 1, dtype=np.uint64) * np.uint64(STEP))
    signs = [1.0 - 2.0 * (words >> np.uint64(draw) & np.uint64(1)) for draw in range(DRAWS)]
    return [SCALE * fsum((terms / SCALE).tolist()) for terms in (abs(numbers), *(numbers * signs))]


def apart(before: str, after: str) -> float | None:
    """How far two tensors of a case are apart about, as a part of their magnitudes, by the texts of
    :func:`sums_of`; None where these are not of the same tensors.
    """
    old, new = (
        {
            name: np.array(sums, dtype=float)
            for name, *sums in (t.split(":") for t in text.split(","))
        }
        for text in (before, after)
    )
    if old.keys() != new.keys() or NOTHING in old:
        return None
    return max(
        float(np.abs(old[name] - new[name]).max() / (max(old[name][0], new[name][0]) or 1))
        for name in old
    )
