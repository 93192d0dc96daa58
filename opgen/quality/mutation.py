"""The mutation score: which case of a bundle catches which deliberately wrong device.

Every wrong kernel answers the whole bundle, and :func:`opgen.diff` judges its answers; a wrong
checker's statuses are judged by the same function that judges a device's. Caught is what has a
verdict that makes ``opgen diff`` exit 1. A device that is only lenient, or wrong as the published
library is, is noticed and not caught.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.writer import Results
from opgen.comparison import statuses
from opgen.comparison.firstphase import admissible
from opgen.comparison.verdicts import diff
from opgen.golden import Array
from opgen.model import CRASH, Verdict
from opgen.quality.mutants import ALL
from opgen.quality.mutants.checkers import Family, Member, stricter, vacuous
from opgen.quality.mutants.device import answer
from opgen.quality.mutants.mutant import NOTHING, Mutant, Work
from opgen.quality.mutants.works import Rack, racks, works
from opgen.suite.enumeration.reasons import unreachable

CAUGHT, NOTICED, MASKED, IMPOSSIBLE, MISSED = "caught", "noticed", "masked", "impossible", "missed"
OUTCOMES = (CAUGHT, NOTICED, MASKED, IMPOSSIBLE, MISSED)
"""``masked``: wherever a wrong checker holds its rule wrong, another rule is broken too and gives
an admissible answer; ``impossible``: the page itself lets no call break the rule."""


@dataclass
class Fate:
    """What became of one mutant of one operator, or of one rule's wrong checker.

    ``cases`` catch it, ``noticed`` only notice it; ``differs`` counts the cases whose answer is not
    that of a correct device. ``why`` says why nothing catches it; ``members`` are the wrong
    checkers of a family. What the page does not decide can only be noticed.
    """

    mutant: str
    wrong: str
    op: str
    cases: list[str] = field(default_factory=list)
    noticed: list[str] = field(default_factory=list)
    differs: int = 0
    why: str = ""
    excuse: str = ""
    members: list[Fate] = field(default_factory=list)
    decided: bool = True

    @property
    def outcome(self) -> str:
        """One of :data:`OUTCOMES`; a family is missed if a member that the page decides is, and
        else what most can be said.
        """
        if self.members:
            outcomes = {one.outcome for one in self.members}
            missed = any(one.outcome == MISSED and one.decided for one in self.members)
            return (
                MISSED if missed else next(outcome for outcome in OUTCOMES if outcome in outcomes)
            )
        return CAUGHT if self.cases else NOTICED if self.noticed else self.excuse or MISSED

    @property
    def catching(self) -> list[str]:
        """The cases that catch it, or one of its members, once each."""
        return list(
            dict.fromkeys([*self.cases, *(case for one in self.members for case in one.cases)])
        )

    def counts(self) -> dict[str, int]:
        """Outcome -> members, without those that do not occur."""
        found = [one.outcome for one in self.members]
        return {outcome: found.count(outcome) for outcome in OUTCOMES if outcome in found}


@dataclass
class Score:
    """Fates by operator and mutant; ``control`` are cases that fail a correct device, and must be
    none.
    """

    fates: list[Fate]
    control: list[str]

    def of(self, op: str) -> list[Fate]:
        """The mutants of one operator."""
        return [fate for fate in self.fates if fate.op == op]

    @property
    def operators(self) -> list[str]:
        return list(dict.fromkeys(fate.op for fate in self.fates))

    def counts(self, op: str = "") -> tuple[int, int]:
        """(caught, caught or missed): what can only be noticed, is masked or impossible counts in
        neither.
        """
        mine = [fate.outcome for fate in self.fates if op in ("", fate.op)]
        return mine.count(CAUGHT), mine.count(CAUGHT) + mine.count(MISSED)

    def rules(self) -> dict[str, int]:
        """Outcome -> wrong checkers, one per rule and fault."""
        found = [one.outcome for fate in self.fates for one in fate.members]
        return {outcome: found.count(outcome) for outcome in OUTCOMES}

    @property
    def percent(self) -> float:
        caught, of = self.counts()
        return 100.0 * caught / of if of else 0.0

    def missed(self) -> list[Fate]:
        """What is not caught, noticed ones included."""
        return [fate for fate in self.fates if fate.outcome != CAUGHT]


def score(
    bundle: Bundle, chosen: Sequence[Mutant | Family], progress: Callable[[int], None] | None = None
) -> Score:
    """The fates of some mutants on a bundle: those that apply to one of its operators. ``progress``
    is told of cases that are done.
    """
    held = racks(bundle)
    kernels = [mutant for mutant in chosen if isinstance(mutant, Mutant)]
    fates, control = _kernels(bundle, held, kernels, progress or (lambda cases: None))
    families = [family for family in chosen if isinstance(family, Family)]
    fates += [fate for family in families for fate in _family(bundle, held, family)]
    order = {one.name: i for i, one in enumerate(ALL)}
    return Score(sorted(fates, key=lambda fate: (fate.op, order.get(fate.mutant, -1))), control)


# kernels ------------------------------------------------------------------------------------------
def _kernels(
    bundle: Bundle, held: Sequence[Rack], mutants: Sequence[Mutant], tell: Callable[[int], None]
) -> tuple[list[Fate], list[str]]:
    """One pass over the batches, all mutants per batch; a mutant's file holds the answers that a
    correct device does not give.
    """
    fates = {
        (m.name, rack.spec.op): Fate(m.name, m.wrong, rack.spec.op)
        for m in mutants
        for rack in held
        if m.applies(rack.spec)
    }
    answered: dict[str, list[str]] = {mutant.name: [] for mutant in mutants}
    with TemporaryDirectory(prefix="opgen-mutants-") as folder, ExitStack() as stack:

        def begun(name: str) -> Results:
            made = Results.create(Path(folder) / f"{name}.h5", bundle)
            stack.callback(made.abort)  # where something fails, what is there goes with the folder
            return made

        correct, files = begun("control"), {m.name: begun(f"{m.name}.mutant") for m in mutants}
        for rack in held:
            mine = [mutant for mutant in mutants if mutant.applies(rack.spec)]
            left = dict(zip(rack.ids, rack.status(rack.judged.broken).tolist(), strict=True))
            for work in works(bundle, rack):
                right = answer(work, NOTHING)
                for i, case in enumerate(work.batch.ids):
                    correct.add(
                        case, left.pop(case), {name: array[i] for name, array in right.items()}, 0
                    )
                for mutant in mine:
                    for case, outputs in _differing(work, mutant, right):
                        files[mutant.name].add(case, 0, outputs, CRASH if outputs is None else 0)
                        answered[mutant.name].append(case)
                        fates[mutant.name, rack.spec.op].differs += 1
                tell(len(work.batch.ids))
            for case, status in left.items():
                correct.add(case, status)
            tell(len(left))
        for file in (correct, *files.values()):
            file.close()
        control = [verdict.case for verdict in diff(bundle, correct.path).bad()]
        op_of = {case: rack.spec.op for rack in held for case in rack.ids}
        for mutant in mutants:
            verdicts = (
                diff(bundle, files[mutant.name].path, cases=answered[mutant.name])
                if answered[mutant.name]
                else ()
            )
            for verdict in verdicts:
                _note(fates[mutant.name, op_of[verdict.case]], verdict)
    for fate in fates.values():
        fate.why = "" if fate.cases else _why(fate)
    return list(fates.values()), control


def _differing(
    work: Work, mutant: Mutant, right: Mapping[str, Array]
) -> Iterator[tuple[str, dict[str, Array] | None]]:
    """(case, outputs) where a mutant does not answer what a correct device does; None where the
    host dies of it.
    """
    if mutant.crashes is not None and mutant.crashes(work):
        yield from ((case, None) for case in work.batch.ids)
        return
    wrong = answer(work, mutant)
    differs = np.zeros(len(work.batch.ids), dtype=bool)
    for name, array in wrong.items():
        pairs = [
            np.ascontiguousarray(one).view(np.uint8).reshape(len(differs), -1)
            for one in (array, right[name])
        ]
        differs |= (pairs[0] != pairs[1]).any(axis=1)
    for i in np.flatnonzero(differs).tolist():
        yield work.batch.ids[i], {name: array[i] for name, array in wrong.items()}


def _note(fate: Fate, verdict: Verdict) -> None:
    if verdict.verdict in statuses.BAD:
        fate.cases.append(verdict.case)
    elif verdict.verdict in (statuses.LENIENT, statuses.KNOWN):
        fate.noticed.append(verdict.case)


def _why(fate: Fate) -> str:
    if fate.noticed:
        return f"{len(fate.noticed)} cases differ as the published library does"
    return (
        f"{fate.differs} cases differ, all within their bounds"
        if fate.differs
        else "no case of the suite has another answer"
    )


# checkers -----------------------------------------------------------------------------------------
def _family(bundle: Bundle, held: Sequence[Rack], family: Family) -> Iterator[Fate]:
    ops: dict[str, Fate] = {}
    for rack in held:
        for member in family.members(rack.spec):
            whole = ops.setdefault(rack.spec.op, Fate(family.name, family.wrong, rack.spec.op))
            one = _member(bundle, rack, member)
            whole.members.append(one)
            whole.differs += one.differs
    for whole in ops.values():
        whole.why = ", ".join(f"{count} {outcome}" for outcome, count in whole.counts().items())
        yield whole


def _member(bundle: Bundle, rack: Rack, member: Member) -> Fate:
    fate = Fate(member.name, member.family.wrong, rack.spec.op, decided=member.decided)
    rows, codes = member.statuses(rack)
    fate.differs = len(rows)
    for row, status in zip(rows.tolist(), codes, strict=True):
        verdict, _ = _verdict(admissible(bundle, int(rack.rows[row])), status)
        _note(fate, Verdict(rack.ids[row], verdict))
    if not fate.cases:
        fate.why, fate.excuse = _why_not(rack, member, fate)
    return fate


_verdict = cache(statuses.of_first_phase)


def _why_not(rack: Rack, member: Member, fate: Fate) -> tuple[str, str]:
    """(why no case catches a wrong checker, the outcome that this is)."""
    if fate.noticed:
        return (
            (
                f"accepted in {len(fate.noticed)} cases: lenient, as the page names no code, or"
                " known of the library"
            ),
            NOTICED,
        )
    judged, place = rack.judged, rack.spec.rules.index(member.rule)
    if proof := unreachable(member.rule, rack.spec) or vacuous(rack, member):
        return proof, IMPOSSIBLE
    if other := stricter(rack.spec, member):
        return f"{other} forbids as much", IMPOSSIBLE
    for held in (rack, *(rack.on(product) for product in rack.spec.judges)):
        right, wrong = held.judged.broken[place], member.broken(held)
        rows = np.flatnonzero(right if member.family.code else right != wrong).tolist()
        if rows:
            ids = np.array([rule.id for rule in rack.spec.rules], dtype=object)
            company = min(
                (sorted(set(ids[held.judged.broken[:, row]]) - {member.rule.id}) for row in rows),
                key=len,
            )
            if company:
                return f"wrong in {len(rows)} cases, which also break {', '.join(company)}", MASKED
            return f"{held.ids[rows[0]]} would tell on {held.calls[rows[0]].product}", ""
    return (
        "no case that it judges wrong" if judged.broken[place].any() else "no case breaks the rule"
    ), ""
