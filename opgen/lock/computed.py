"""The computed tensors of the cases of a lock: their digests, and how far goldens are from those of
an older bundle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.generation.inputs import Arrays
from opgen.lock.lockfile import NOTHING
from opgen.numerics.arrays import Array
from opgen.numerics.rounding import ulp_distance
from opgen.suite.batch import Batch
from opgen.suite.identity import DIGEST
from opgen.suite.suite import Suite

Compute: TypeAlias = Callable[[Batch, int], Arrays]
"""The data of a batch with a seed."""


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


def ulps_off(
    before: Mapping[str, str],
    suite: Suite,
    seed: int,
    bundle: Bundle,
    compute: Compute,
) -> dict[str, int]:
    """Case -> the largest distance of its changed golden from the one in an older bundle, where
    that has the digest ``before``.
    """
    held = set(bundle.ids)
    measured = {
        case
        for case, digest in before.items()
        if case in held and digest_of(bundle[case].golden) == digest
    }
    ulps: dict[str, int] = {}
    for batch in batches_of(suite, measured):
        arrays = compute(batch, seed)
        for place, case in enumerate(batch.ids):
            old, new = bundle[case].golden, tensors_of(arrays, "golden", place)
            if all(name in new and new[name].shape == array.shape for name, array in old.items()):
                ulps[case] = max(
                    (_ulps(new[name], array) for name, array in old.items()), default=0
                )
    return ulps


def _ulps(new: Array, old: Array) -> int:
    parts = [(new.real, old.real), (new.imag, old.imag)] if np.iscomplexobj(new) else [(new, old)]
    name = "FLOAT" if parts[0][0].dtype == np.float32 else "DOUBLE"
    return max((int(ulp_distance(a, b, name).max(initial=0)) for a, b in parts), default=0)
