"""What a library does beside its page, entry by entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from opgen.model import ANY_ERROR, CRASH, admits
from opgen.oracle.as_page import PREFIX
from opgen.oracle.errata import Erratum, Fault, PageErrata, Stage
from opgen.spec.rules import Rule, readable

Kind: TypeAlias = Literal["not enforced", "another check", "another code", "crash", "refused"]
KINDS: tuple[Kind, ...] = ("not enforced", "another check", "another code", "crash", "refused")


@dataclass(frozen=True)
class Deviation:
    """One entry: the rules of the page that it is about, when it applies, what is returned, and how
    that is known.
    """

    kind: Kind
    id: str
    rules: tuple[Rule, ...]
    when: str
    returned: str
    known: str


def library_deviations(page: PageErrata) -> list[Deviation]:
    """The deviations of a page, by kind."""
    return sorted([*_tolerated(page), *_stages(page)], key=lambda each: KINDS.index(each.kind))


def _tolerated(page: PageErrata) -> Iterator[Deviation]:
    for entry in page.tolerated:
        rules = _rules(page, entry.rules)
        rules = tuple(rule for rule in rules if rule.forbids)
        if rules:
            yield Deviation("not enforced", entry.id, rules, _when(entry), "0", _known(entry))


def _stages(page: PageErrata) -> Iterator[Deviation]:
    for stage in page.stages:
        if isinstance(stage, Fault) or stage.id.startswith(PREFIX):
            continue
        returned = " or ".join(map(str, stage.codes))
        odd = tuple(rule for rule in stage.rules if not _as_said(rule, stage))
        replaced = tuple(
            page.spec.rule[each] for each in stage.instead_of if each in page.spec.rule
        )
        if odd or (not stage.rules and CRASH in stage.codes):
            kind: Kind = "crash" if CRASH in stage.codes else "another code"
            yield Deviation(kind, stage.id, odd, _when(stage), returned, _known(stage))
        elif replaced:
            wants = " and ".join(readable(guard.require.text) for guard in stage.guards)
            when = " when ".join(filter(None, (wants, _when(stage))))
            yield Deviation("another check", stage.id, replaced, when, returned, _known(stage))
        elif not stage.rules and stage.codes != (0,):
            yield Deviation("refused", stage.id, (), _asked(stage), returned, _known(stage))


def _as_said(rule: Rule, stage: Stage) -> bool:
    """Whether the page admits every code of a stage to a call that breaks a rule of it."""
    if not rule.forbids:
        return CRASH not in stage.codes
    said = (ANY_ERROR,) if rule.code is None else (rule.code,)
    return all(admits(said, code) for code in stage.codes)


def _rules(page: PageErrata, ids: Iterable[str]) -> tuple[Rule, ...]:
    """Those of this page; another page of the operator may have others."""
    return tuple(page.spec.rule[rule] for rule in ids if rule in page.spec.rule)


def _when(entry: Erratum) -> str:
    when = readable(entry.when.text) if entry.when else ""
    others = ", ".join(entry.beside) if isinstance(entry, Stage) else ""
    return " ".join(filter(None, (when, others and f"beside {others}")))


def _asked(stage: Stage) -> str:
    wants = " and ".join(readable(guard.require.text) for guard in stage.guards)
    return " unless ".join(filter(None, (_when(stage), wants)))


def _known(entry: Erratum) -> str:
    """The evidence, or the place in the published sources."""
    if entry.evidence is not None:
        return f"{entry.evidence.n} of {entry.evidence.m} calls"
    places = [place.rsplit("/", 1)[-1] for place in entry.where]
    return ", ".join(places) + (" (inferred)" if entry.basis == "inferred" else "")
