"""A plan against its lock: which cases came, went or changed, by how much, and why.

The cases of every page are enumerated that was not checked before. Where the same code computed the
lines of a page, a case whose key is what it was keeps its digests. All other cases are computed: a
change of the code may change results although nobody raised a version.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from opgen.files.resources import specs_folder
from opgen.files.textfile import read_text
from opgen.generation import engine
from opgen.generation.kernels import Parts
from opgen.generation.versions import versions
from opgen.lock.check_cache import mark
from opgen.lock.computed import Compute, apart
from opgen.lock.entries import entries_of
from opgen.lock.lockfile import Lock, LockEntry
from opgen.numerics.recipes import RECIPES
from opgen.suite.identity import DIGEST, errata_digest, joint_digest, spec_digest
from opgen.suite.planned_suite import Each, plan_suite
from opgen.suite.suite import PlannedPage

_NUMBERS = ("spec", "plan", "kernel", "data", "seed")
CAUSES = {
    "inputs": ("data", _NUMBERS),
    "goldens": ("golden", _NUMBERS),
    "bounds": ("bound", _NUMBERS),
    "expectation": ("expectation", ("spec", "errata")),
}
"""What an entry of a lock says -> what its change is called, and the sources that it can come from.
Where none of these changed it comes from the code, or from the machine."""


@dataclass(frozen=True, slots=True)
class Change:
    """One case that is not as the lock has it. ``what`` is added, removed, data, golden, bound or
    expectation; ``apart``: by how much a golden changed about, as a part of its magnitude.
    """

    case: str
    what: str
    why: tuple[str, ...]
    before: str = ""
    after: str = ""
    apart: float | None = None


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The new lock, what is different from the old one, and how many of its cases were
    computed.
    """

    lock: Lock
    changes: list[Change]
    computed: int

    @property
    def cases(self) -> int:
        """How many cases the lock has."""
        return sum(map(len, self.lock.entries.values()))

    @property
    def marks(self) -> set[str]:
        """What the pages of the lock, and their lines alone, are known by, now that they are
        checked.
        """
        return {
            _mark(known, self.lock.entries[page])
            for page, sources in self.lock.sources.items()
            for known in (sources, {})
        }

    @property
    def _pages(self) -> dict[str, str]:
        return {case: page for page, held in self.lock.entries.items() for case in held}

    def without_a_version(self) -> Counter[str]:
        """The pages whose results changed although no version did: how many of their cases."""
        results = {what for what, causes in CAUSES.values() if causes is _NUMBERS}
        pages, changes = self._pages, [c for c in self.changes if c.why == ("code",)]
        return Counter(pages[case] for case in {c.case for c in changes if c.what in results})

    def rules_that_differ(self) -> list[tuple[str, str, int]]:
        """The rules that cases broke before or break now, not both: the place in the spec, the
        name, and how many cases; the most cases first.
        """
        pages, counts = self._pages, Counter[tuple[str, str]]()
        for change in self.changes:
            if change.what == "expectation":
                page = pages[change.case]
                now = self.lock.entries[page][change.case]
                differ = now.rules ^ replace(now, expectation=change.before).rules
                counts.update((page, rule) for rule in differ - {""})
        return [(_place(*key), key[1], cases) for key, cases in counts.most_common()]


def refresh(
    pages: Sequence[PlannedPage],
    tier: str,
    old: Lock,
    *,
    seed: int = 0,
    everything: bool = False,
    progress: Callable[[int], None] | None = None,
    each: Each = map,
    compute: Compute = engine.compute,
    checked: Collection[str] = (),
) -> Refreshed:
    """Hold a tier of some pages against a lock. ``checked`` are :attr:`Refreshed.marks` of pages
    that are known to be as they were, and of lines that the same code computed; ``everything``
    trusts none of them.

    ``each`` enumerates pages, ``compute`` gives the data of a batch.
    """
    now = {page[0].name: sources(page, tier, seed) for page in pages}
    known = () if everything else checked
    settled = {
        page: old.entries[page]
        for page in now
        if page in old.entries and page not in old.altered
        if _mark(now[page], old.entries[page]) in known
    }
    suite = plan_suite([page for page in pages if page[0].name not in settled], tier, each=each)
    trusted = {
        case: entry
        for page, entries in old.entries.items()
        if _mark({}, entries) in known
        for case, entry in entries.items()
    }
    entries, computed = entries_of(suite, seed, trusted, compute, progress)
    lock, changes = Lock(now, {page: settled.get(page, {}) for page in now}), list[Change]()
    for page in suite.specs:
        cases = [suite.cases.id[row] for row in suite.rows_of(page).tolist()]
        before, after = old.entries.get(page, {}), {case: entries[case] for case in cases}
        lock.entries[page] = after
        changes += _changes(before, after, _differ(page, lock, old))
    changes += [
        Change(case, "removed", ("page",))
        for page in sorted(set(old.sources) - set(lock.sources))
        for case in sorted(old.entries[page])
    ]
    return Refreshed(lock, changes, computed)


def _place(page: str, rule: str) -> str:
    """The file of a page's spec, and the line at which a rule stands there."""
    name = re.compile(rf"\s+{re.escape(rule.split('.', maxsplit=1)[0])}:")
    lines = enumerate(read_text(specs_folder() / f"{page}.yaml").splitlines(), 1)
    line = next((f":{number}" for number, text in lines if name.match(text)), "")
    return f"specs/{page}.yaml{line}"


def _mark(sources: Mapping[str, str], entries: Mapping[str, LockEntry]) -> str:
    return mark(sources, (entry.line for entry in entries.values()))


def _differ(page: str, new: Lock, old: Lock) -> tuple[str, ...]:
    """What the cases of a page can be different by: its sources that are, and lines of its lock
    that somebody wrote.
    """
    now, before = new.sources[page], old.sources.get(page, {})
    differ = (
        [what for what, digest in now.items() if before.get(what) != digest] if before else ["page"]
    )
    return (*differ, *(["lock"] if page in old.altered else []))


def sources(page: PlannedPage, tier: str, seed: int) -> dict[str, str]:
    """What the cases of a page are made from: digests of spec, plan and errata, the tier, the
    version of the kernel, a digest of those of all recipes and of arithmetic, the seed.
    """
    spec, plan = page
    return {
        "spec": spec_digest(spec),
        "plan": plan.digest[:DIGEST],
        "tier": tier,
        "errata": errata_digest(spec),
        "kernel": "none" if spec.status_only else str(Parts.of(spec.op).version),
        "data": joint_digest(versions((), RECIPES).items()),
        "seed": str(seed),
    }


def _changes(
    before: Mapping[str, LockEntry], after: Mapping[str, LockEntry], differ: tuple[str, ...]
) -> list[Change]:
    why = differ or ("code",)
    changes = [Change(case, "removed", why) for case in sorted(set(before) - set(after))]
    changes += [Change(case, "added", why) for case in sorted(set(after) - set(before))]
    for case in sorted(set(after) & set(before)):
        for field, (what, causes) in CAUSES.items():
            old, new = getattr(before[case], field), getattr(after[case], field)
            if old != new:
                likely = tuple(cause for cause in differ if cause in causes)
                off = apart(before[case].sums, after[case].sums) if what == "golden" else None
                changes.append(Change(case, what, likely or why, old, new, off))
    return changes
