"""Errata: what one release of the published library does instead of what its pages say.

The library is a list of checks; the first that fails gives the answer. An errata file is that list,
in the rule language of the specs, plus what the library lets pass and how its numbers differ. This
module is what errata are; :mod:`opgen.oracle.erratafile` reads them, :mod:`opgen.oracle.library`
answers with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Literal, TypeAlias

import numpy as np

from opgen.model import Code
from opgen.spec.language import parse
from opgen.spec.language.term import Term, View
from opgen.spec.rules import Guard, Rule, true_where
from opgen.spec.spec import Spec, SpecScope

Basis: TypeAlias = Literal["read", "inferred", "observed"]
WRITTEN = ("untouched", "zeros")
"""What an output holds that the library does not compute: what it held before, or zeros."""


@dataclass(frozen=True)
class Evidence:
    """The calls behind an observed entry: the file that holds them and its digest, and that ``n``
    of the ``m`` calls that the entry is about show it.
    """

    file: str
    digest: str
    n: int
    m: int


@dataclass(frozen=True)
class Erratum:
    """What all errata have: an id, the place in the published sources, and whether that was read
    there, inferred or observed. ``accepted``: who takes an observed entry for a fact, and when; one
    that nobody accepted excuses no device.
    """

    id: str
    where: tuple[str, ...]
    basis: Basis
    note: str
    when: Term | None
    evidence: Evidence | None = field(default=None, kw_only=True)
    accepted: str = field(default="", kw_only=True)

    @property
    def excuses(self) -> bool:
        """Whether a device may deviate as the entry says."""
        return self.basis != "observed" or bool(self.accepted)

    def reached(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where ``when`` holds."""
        return true_where(self.when, view, rows)


@dataclass(frozen=True)
class Stage(Erratum):
    """One check of the library: where ``when`` holds and a page rule or a guard of its own is
    broken, it answers ``codes``.

    ``rules`` are rules of the page, held as they stand; ``guards`` are checks that the page does
    not have. A stage without either answers wherever ``when`` holds: an early success, a crash.
    ``instead_of`` names the page rules in whose place the library makes these checks, and which it
    does not hold as they stand. ``beside``: it answers where one of these rules is broken, too, and
    before all others.
    """

    rules: tuple[Rule, ...]
    guards: tuple[Guard, ...]
    codes: tuple[Code, ...]
    instead_of: tuple[str, ...]
    beside: tuple[str, ...] = field(default=(), kw_only=True)

    def fires(self, view: View, rows: int, broken: Mapping[str, np.ndarray]) -> np.ndarray:
        """(rows,) bool: where this stage answers, were it asked. ``broken``: id -> (rows,) bool, of
        the rules that some row breaks.
        """
        reached = self.reached(view, rows)
        if not (self.rules or self.guards) or not np.count_nonzero(reached):
            return reached
        fails = [broken[rule.id] for rule in self.rules if rule.id in broken] + [
            guard.broken(view, rows) for guard in self.guards
        ]
        return (
            np.asarray(reached & reduce(np.logical_or, fails))
            if fails
            else np.zeros(rows, dtype=bool)
        )


@dataclass(frozen=True)
class Fault(Stage):
    """Where published code is wrong: one of the last stages, which accepts the call. ``note`` says
    why the device, or the host, may fault: end, hang, or return wrong numbers.
    """


@dataclass(frozen=True)
class Tolerance(Erratum):
    """Rules of the page that the library does not hold, wherever ``when`` holds."""

    rules: tuple[str, ...]


@dataclass(frozen=True)
class Numeric(Erratum):
    """Where the library's numbers are not those of the page. Exactly one of ``bound``, ``through``,
    ``compute``, ``reference`` and ``written`` says how.

    ``bound``: results are only as good as this dtype; ``roundings``: how often each term is rounded
    to it, where that is not once with each of its factors. ``through``: results are rounded to this
    dtype before they are cast to that of their output, so that they are values of it. ``compute``:
    they are those of this compute dtype, whatever the mode. ``reference``: the golden of the same
    call with other values of these names. ``written``: the outputs hold what :data:`WRITTEN` says.
    ``outputs`` are those concerned.
    """

    outputs: tuple[str, ...]
    bound: str = ""
    roundings: int = 0
    through: str = ""
    compute: str = ""
    reference: Mapping[str, Term] = field(default_factory=dict)
    written: str = ""


@dataclass(frozen=True)
class PageErrata:
    """The errata of an operator in the names of one of its pages. ``as_page``: of a rule that no
    entry names, the library does as the page says; the page's stages stand among the others.
    ``early`` and ``late`` are rules that are checked before, and after, all others.
    """

    spec: Spec
    names: Mapping[str, Term]
    stages: tuple[Stage, ...]
    tolerated: tuple[Tolerance, ...]
    numeric: tuple[Numeric, ...]
    as_page: bool = False
    early: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()

    @cached_property
    def entry(self) -> dict[str, Erratum]:
        """Id -> entry, of all kinds."""
        return {entry.id: entry for entry in (*self.stages, *self.tolerated, *self.numeric)}


@dataclass(frozen=True)
class Errata:
    """What one release of the library does in one operator; ``pages`` by the name of the spec,
    ``digest`` of all that the file says. ``until``: how far through the first phase its answers
    reach, ``graph``, ``tiling`` or ``kernel``; what comes after that may still refuse a call.
    """

    file: str
    api: str
    release: str
    pages: Mapping[str, PageErrata]
    digest: str
    until: str = "graph"


NEVER: tuple[Guard, ...] = (Guard(None, parse.relation("0 == 0", SpecScope({}))),)
"""A check that never fails: what a stage is on a page that has none of its rules."""
