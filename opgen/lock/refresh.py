"""A plan against its lock: which cases came, went or changed, by how much, and why.

All cases are enumerated, and only what changed is computed again: a case whose key is what it was
keeps its digests. Of a page whose lines were altered since, everything is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from typing import Any, TypeAlias

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.generation import engine
from opgen.generation.computing import Arrays
from opgen.generation.kernels import Parts
from opgen.generation.versions import versions
from opgen.lock.lockfile import NOTHING, Lock, LockEntry, expectation_text
from opgen.model import TensorDesc
from opgen.numerics.recipes import RECIPES
from opgen.numerics.rounding import ulp_distance
from opgen.spec.spec import Spec
from opgen.suite.batch import Batch
from opgen.suite.identity import DIGEST, errata_digest, joint_digest, spec_digest
from opgen.suite.planning.plan import Plan
from opgen.suite.suite import Each, Suite, plan_suite

_NUMBERS = ("spec", "plan", "kernel", "data", "seed")
CAUSES = {
    "inputs": ("data", _NUMBERS, "environment"),
    "goldens": ("golden", _NUMBERS, "environment"),
    "bounds": ("bound", _NUMBERS, "environment"),
    "expectation": ("expectation", ("spec", "errata"), "code"),
}
"""What an entry of a lock says -> what its change is called, the sources that it can come from, and
what it comes from where none of these changed."""


Compute: TypeAlias = Callable[[Batch, int], Arrays]
"""The data of a batch with a seed."""


@dataclass(frozen=True, slots=True)
class Change:
    """One case that is not as the lock has it. ``what`` is added, removed, data, golden, bound or
    expectation.
    """

    case: str
    what: str
    why: tuple[str, ...]
    before: str = ""
    after: str = ""
    ulp: int | None = None


@dataclass
class Refreshed:
    """The new lock, and what is different from the old one."""

    lock: Lock
    changes: list[Change] = field(default_factory=list)
    computed: int = 0
    cases: int = 0


def refresh(
    pages: Sequence[tuple[Spec, Plan]],
    tier: str,
    old: Lock,
    *,
    seed: int = 0,
    everything: bool = False,
    bundle: Bundle | None = None,
    progress: Callable[[int], None] | None = None,
    each: Each = map,
    compute: Compute = engine.compute,
) -> Refreshed:
    """Hold a tier of some pages against a lock. ``everything`` trusts no key and computes all cases
    again.

    ``bundle`` is one that was written before: then a changed golden is given in units in the last
    place. ``each`` enumerates pages, ``compute`` gives the data of a batch.
    """
    result = Refreshed(Lock())
    suite = plan_suite(pages, tier, each=each)
    trusted = {
        case: entry
        for page, known in old.entries.items()
        if not everything and page not in old.altered
        for case, entry in known.items()
    }
    entries = _entries(suite, seed, trusted, result, progress, compute)
    for spec, plan in pages:
        mine = [suite.cases.id[row] for row in suite.rows_of(spec.name).tolist()]
        result.lock.sources[spec.name] = sources(spec, plan, tier, seed)
        known, now = old.entries.get(spec.name, {}), {case: entries[case] for case in mine}
        result.lock.entries[spec.name] = now
        result.changes += _changes(known, now, _differ(spec.name, result.lock, old))
    result.cases = sum(map(len, result.lock.entries.values()))
    gone = set(old.sources) - set(result.lock.sources)
    result.changes += [
        Change(one, "removed", ("page",))
        for page in sorted(gone)
        for one in sorted(old.entries[page])
    ]
    if bundle is not None:
        result.changes = _measured(result, suite, seed, bundle, compute)
    return result


def _differ(page: str, new: Lock, old: Lock) -> tuple[str, ...]:
    """What the cases of a page can be different by: its sources that are, and lines of its lock
    that somebody wrote.
    """
    now, before = new.sources[page], old.sources.get(page, {})
    differ = (
        [what for what, digest in now.items() if before.get(what) != digest] if before else ["page"]
    )
    return (*differ, *(["lock"] if page in old.altered else []))


def sources(spec: Spec, plan: Plan, tier: str, seed: int) -> dict[str, str]:
    """What the cases of a page are made from: digests of spec, plan and errata, the tier, the
    version of the kernel, a digest of those of all recipes and of arithmetic, the seed.
    """
    return {
        "spec": spec_digest(spec),
        "plan": plan.digest[:DIGEST],
        "tier": tier,
        "errata": errata_digest(spec),
        "kernel": str(Parts.of(spec.op).version),
        "data": joint_digest(versions((), RECIPES).items()),
        "seed": str(seed),
    }


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


def _entries(
    suite: Suite,
    seed: int,
    known: Mapping[str, LockEntry],
    result: Refreshed,
    progress: Callable[[int], None] | None,
    compute: Compute,
) -> dict[str, LockEntry]:
    expected = zip(suite.cases.id, suite.cases.page, suite.cases.library, strict=True)
    entries = {
        name: LockEntry(name, NOTHING, NOTHING, NOTHING, NOTHING, expectation_text(page, library))
        for name, page, library in expected
    }
    stale: set[int] = set()
    for batch in suite.batches:
        for row, one, key in zip(batch.rows.tolist(), batch.ids, keys_of(batch, seed), strict=True):
            before = known.get(one)
            if before is not None and before.key == key:
                entries[one] = replace(before, expectation=entries[one].expectation)
            else:
                entries[one] = replace(entries[one], key=key)
                stale.add(row)
    for some in _of(suite, stale):
        for one, digests in zip(
            some.ids, _digests(compute(some, seed), len(some.ids)), strict=True
        ):
            entries[one] = replace(entries[one], **digests)
        result.computed += len(some.ids)
        if progress is not None:
            progress(len(some.ids))
    return entries


def _of(suite: Suite, rows: Collection[int]) -> Iterator[Batch]:
    """The batches of a suite, each with those of its cases that stand at such rows; no empty
    ones.
    """
    for batch in suite.batches:
        kept = [i for i, row in enumerate(batch.rows.tolist()) if row in rows]
        if kept:
            yield batch.subset(kept)


def _digests(arrays: Arrays, count: int) -> list[dict[str, str]]:
    """Per case of a batch: inputs, goldens and bounds, each as one digest over its tensors in a
    fixed order.
    """
    found: list[dict[str, str]] = []
    for i in range(count):
        one = {}
        for what, role in (("inputs", "input"), ("goldens", "golden"), ("bounds", "bound")):
            one[what] = digest_of(
                {name: stack[i] for (name, kind), stack in arrays.items() if kind == role}
            )
        found.append(one)
    return found


def digest_of(tensors: Mapping[str, Any]) -> str:
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


def _changes(
    before: Mapping[str, LockEntry], after: Mapping[str, LockEntry], why: tuple[str, ...]
) -> list[Change]:
    found = [Change(one, "removed", why or ("code",)) for one in sorted(set(before) - set(after))]
    found += [Change(one, "added", why or ("code",)) for one in sorted(set(after) - set(before))]
    for one in sorted(set(after) & set(before)):
        a, b = before[one], after[one]
        for what, (name, causes, otherwise) in CAUSES.items():
            if getattr(a, what) != getattr(b, what):
                likely = tuple(cause for cause in why if cause in causes) or why or (otherwise,)
                found.append(Change(one, name, likely, getattr(a, what), getattr(b, what)))
    return found


def _measured(
    result: Refreshed, suite: Suite, seed: int, bundle: Bundle, compute: Compute
) -> list[Change]:
    """The same changes, with the largest distance of a changed golden from the one in an older
    bundle, where that is the lock's.
    """
    held = set(bundle.ids)
    wanted = {
        change.case
        for change in result.changes
        if change.what == "golden"
        and change.case in held
        and digest_of(bundle[change.case].golden) == change.before
    }
    far: dict[str, int] = {}
    if wanted:
        rows = {row for row, name in enumerate(suite.cases.id) if name in wanted}
        for some in _of(suite, rows):
            arrays = compute(some, seed)
            for i, one in enumerate(some.ids):
                old = bundle[one].golden
                pairs = [
                    (stack[i], old[name])
                    for (name, role), stack in arrays.items()
                    if role == "golden" and name in old
                ]
                if len(pairs) == len(old) and all(new.shape == was.shape for new, was in pairs):
                    far[one] = max((_ulps(new, was) for new, was in pairs), default=0)
    return [replace(c, ulp=far.get(c.case)) if c.what == "golden" else c for c in result.changes]


def _ulps(new: Any, old: Any) -> int:
    parts = [(new.real, old.real), (new.imag, old.imag)] if np.iscomplexobj(new) else [(new, old)]
    name = "FLOAT" if parts[0][0].dtype == np.float32 else "DOUBLE"
    return max((int(ulp_distance(a, b, name).max(initial=0)) for a, b in parts), default=0)
