"""Calls with the statuses that a library returned, judged by their pages."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import NoneType

import numpy as np

from opgen.calls.call_json import ForeignCall, to_json
from opgen.calls.factorize import by_key
from opgen.calls.jsonl import NamedCall, read_calls
from opgen.calls.table import CallTable, from_calls
from opgen.model import CRASH, Code, FileError, Problem, of_a_check
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.catalog import Catalog
from opgen.spec.spec import Spec

DIED = -1
"""The status of a call on which the host died, in a column."""


def code(status: int) -> Code:
    """A status of a column, as codes are written."""
    return CRASH if status == DIED else status


@dataclass(frozen=True)
class Returned:
    """The calls that one page judges. ``status`` is (rows,) int64, :data:`DIED` where the host
    died; ``firm`` (rows,) bool: the status does not depend on what the run did not model.
    ``origins``: the id of the call that each was made from, empty where nobody said.
    """

    judgement: Judgement
    ids: tuple[str, ...]
    status: np.ndarray
    firm: np.ndarray
    origins: tuple[str, ...]

    @property
    def spec(self) -> Spec:
        return self.judgement.spec

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: np.ndarray) -> Returned:
        """The calls at ``rows``, in that order."""
        ids, origins = (
            tuple(each[row] for row in rows.tolist()) for each in (self.ids, self.origins)
        )
        judgement = self.judgement.take(rows)
        return Returned(judgement, ids, self.status[rows], self.firm[rows], origins)

    def line(self, row: int, shows: bool) -> dict[str, object]:
        """A call and its status as a line of a call file; ``shows``: whether it shows an entry."""
        call, status = self.judgement.table.call(row), int(self.status[row])
        line = {"id": self.ids[row], "op": call.api, "product": call.product, "args": to_json(call)}
        if self.origins[row]:
            line["from"] = self.origins[row]
        return {**line, "status": None if status == DIED else status, "shows": shows}

    @cached_property
    def admitted(self) -> np.ndarray:
        """(rows,) bool: the page admits the status."""
        result = np.zeros(len(self), dtype=bool)
        for status in np.unique(self.status).tolist():
            here = self.status == status
            result[here] = self.judgement.admits(code(status))[here]
        return result


@dataclass
class Statuses:
    """What some files say. ``foreign`` counts calls of operators without a spec, and those whose
    parameters are another edition's, by (operator, the page's names, the call's own); ``runtime``
    are calls whose status teaches nothing, ``contradictory`` those that returned two.
    """

    files: tuple[str, ...] = ()
    digest: str = ""
    release: str = ""
    pages: tuple[Returned, ...] = ()
    foreign: Counter[tuple[str, tuple[str, ...], tuple[str, ...]]] = field(default_factory=Counter)
    runtime: int = 0
    contradictory: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self.pages))

    def of(self, apis: Iterable[str]) -> Statuses:
        """The same of some operators alone."""
        chosen = set(apis)
        return replace(self, pages=tuple(page for page in self.pages if page.spec.api in chosen))


def read(
    sources: Sequence[str | Path],
    pages: Catalog,
    force: bool = False,
    release: str = "",
    skipped: list[Problem] | None = None,
) -> Statuses:
    """Read files of calls with statuses; ``skipped`` takes the lines that are no call.

    Raises FileError where a line is no call, or says no status; where files are of several
    releases, or of another than ``release``; where nothing can be learnt, or, unless ``force``, no
    call that its page allows was accepted: a lost device answers so.
    """
    named: list[NamedCall] = []
    foreign: list[ForeignCall] = []
    problems: list[Problem] = []
    digest = hashlib.sha256()
    releases: dict[str, str] = {}
    for source in sources:
        others: list[ForeignCall] = []
        calls = read_calls(source, pages.kinds, skipped, others)
        problems += _faults(str(source), calls, releases, release)
        if not calls and not others:
            problems.append(Problem(str(source), None, "", "holds no call"))
        named += calls
        foreign += others
        digest.update(Path(source).read_bytes() if str(source) != "-" else b"-")
    if problems:
        raise FileError(problems)
    result = Statuses(
        tuple(map(str, sources)), digest.hexdigest(), release or next(iter(releases), "")
    )
    result.foreign = Counter((each.op, each.missing, each.unknown) for each in foreign)
    result.pages = tuple(_judged(named, pages, result))
    return check(result, force)


def _faults(
    file: str, calls: Sequence[NamedCall], releases: dict[str, str], release: str
) -> list[Problem]:
    problems = []
    for named in calls:
        status, own = named.extra.get("status", ...), named.extra.get("release", release)
        if type(status) not in (int, NoneType):
            text = "the key 'status' must be a status code, or null where the host died"
            problems.append(Problem(file, named.line, named.id, text))
        if not isinstance(named.extra.get("firm", True), bool):
            text = f"the key 'firm' must be true or false, not {named.extra['firm']!r}"
            problems.append(Problem(file, named.line, named.id, text))
        if not isinstance(named.extra.get("from", ""), str):
            text = f"the key 'from' must be the id of a call, not {named.extra['from']!r}"
            problems.append(Problem(file, named.line, named.id, text))
        if not isinstance(own, str):
            text = f"the key 'release' must be a text, not {own!r}"
            problems.append(Problem(file, named.line, named.id, text))
        elif own and own not in releases:
            releases[own] = named.id
            others = [known for known in (release, *releases) if known and known != own]
            if others:
                text = f"is of release {own!r}, others are of {others[0]!r}; learn them apart"
                problems.append(Problem(file, named.line, named.id, text))
    return problems


def _judged(named: Sequence[NamedCall], pages: Catalog, result: Statuses) -> Iterable[Returned]:
    """The calls that teach something, page by page; counts the others."""
    by_page = by_key((pages.by_page[each.call.api, each.call.product].name, each) for each in named)
    for spec in pages.pages({each.call.api for each in named}):
        if calls := by_page.get(spec.name):
            table = from_calls(spec.api, spec.kinds, [each.call for each in calls])
            statuses = [each.extra["status"] for each in calls]
            firm = np.array([bool(each.extra.get("firm", True)) for each in calls])
            ids, origins = (
                [each.id for each in calls],
                [each.extra.get("from", "") for each in calls],
            )
            yield from judged(spec, table, ids, statuses, firm, result, origins)


def judged(
    spec: Spec,
    table: CallTable,
    ids: Sequence[str],
    statuses: Sequence[int | None],
    firm: np.ndarray,
    result: Statuses,
    origins: Sequence[str],
) -> Iterator[Returned]:
    """The calls of one page that teach something, each once; counts the others in ``result``. A
    status is None where the host died.
    """
    status = np.array([DIED if s is None else s for s in statuses], dtype=np.int64)
    taught = np.array([s is None or s == 0 or of_a_check(s) for s in statuses], dtype=bool)
    result.runtime += int((~taught).sum())
    rows = np.flatnonzero(taught)
    kind = table.alike()[0][rows].astype(np.int64) * 64 + table.product[rows]
    _, first, number = np.unique(kind, return_index=True, return_inverse=True)
    unlike = np.zeros(len(first), dtype=bool)
    unlike[number[status[rows] != status[rows][first][number]]] = True
    result.contradictory += [ids[rows[i]] for i in np.flatnonzero(unlike[number]).tolist()]
    kept = np.sort(rows[first[~unlike]])
    if len(kept):
        chosen, made_from = (tuple(each[i] for i in kept.tolist()) for each in (ids, origins))
        judgement = judge(spec, table.take(kept))
        yield Returned(judgement, chosen, status[kept], firm[kept], made_from)


def check(known: Statuses, force: bool) -> Statuses:
    """The same; raises FileError where no call that its page allows was accepted, unless
    ``force``.
    """
    if not force and known.pages and not any(map(_any_accepted, known.pages)):
        text = "no call that its page allows was accepted, as if the device were lost; give --force"
        raise FileError.of(known.files[0], "", text)
    return known


def _any_accepted(page: Returned) -> bool:
    return bool((page.judgement.valid & (page.status == 0)).any())
