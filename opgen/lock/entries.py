"""The entries that a lock of a suite has now. The data of a case are computed only where no entry
that is trusted tells of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import astuple, fields, replace

import numpy as np

from opgen.generation.versions import versions
from opgen.lock.computed import Compute, batches_of, digest_of, sums_of, tensors_of
from opgen.lock.lockfile import NOTHING, LockEntry, expectation_text
from opgen.model import TensorDesc
from opgen.suite.batch import Batch
from opgen.suite.identity import joint_digest
from opgen.suite.suite import Suite

ROLES = {"inputs": "input", "goldens": "golden", "bounds": "bound"}
"""What an entry has digests of -> the role of these tensors."""


def entries_of(
    suite: Suite,
    seed: int,
    trusted: Mapping[str, LockEntry],
    compute: Compute,
    progress: Callable[[int], None] | None,
) -> tuple[dict[str, LockEntry], int]:
    """An entry for every case, and how many had to be computed: those with another key than the
    entries that are trusted.
    """
    expected = zip(suite.cases.id, suite.cases.page, suite.cases.library, strict=True)
    entries = {
        case: LockEntry(case, NOTHING, NOTHING, NOTHING, NOTHING, expectation_text(page, library))
        for case, page, library in expected
    }
    stale: set[str] = set()
    for batch in suite.batches:
        for case, key in zip(batch.ids, keys_of(batch, seed), strict=True):
            before = trusted.get(case)
            if before is not None and before.key == key:
                entries[case] = replace(before, expectation=entries[case].expectation)
            else:
                entries[case] = replace(entries[case], key=key)
                stale.add(case)
    for batch in batches_of(suite, stale):
        arrays = compute(batch, seed)
        for place, case in enumerate(batch.ids):
            entries[case] = replace(
                entries[case],
                sums=sums_of(tensors_of(arrays, "golden", place)),
                **{
                    field: digest_of(tensors_of(arrays, role, place))
                    for field, role in ROLES.items()
                },
            )
        if progress is not None:
            progress(len(batch.ids))
    return entries, len(stale)


def keys_of(batch: Batch, seed: int) -> list[str]:
    """For each case of a batch a digest of everything that its data depend on: all that the
    computation is given, whatever that is called, and the versions of what computes.
    """
    given = [
        getattr(batch, field.name) for field in fields(batch) if field.name not in ("rows", "ids")
    ]
    common = [given, seed, versions([batch.op], [batch.recipe])]
    text = json.dumps(common, default=_plain, sort_keys=True)
    return [joint_digest((text, case)) for case in batch.ids]


def _plain(value: object) -> object:
    """What a batch is given, as JSON has it."""
    if isinstance(value, TensorDesc):
        return astuple(value)
    return sorted(value) if isinstance(value, frozenset) else np.asarray(value).tolist()
