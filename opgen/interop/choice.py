"""Which cases of a bundle another tool can take, and what is left out of an export, by reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.model import FileError, Problem
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec


@dataclass
class Exported:
    """What became of a bundle's cases: how many were written, and reason -> ids of those that were
    not.
    """

    written: int = 0
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def leave(self, case: str, reason: str) -> None:
        """Note that a case is left out."""
        self.left_out.setdefault(reason, []).append(case)


def spec_of(case: CaseView) -> Spec:
    """The page of a case's operator: the kinds of its parameters, and which of them are outputs."""
    return catalog().of(case.op)[0]


def unknown(case: CaseView) -> str:
    """Why a case's prototype is not known, or an empty text."""
    pages = catalog().of(case.op)
    return (
        ""
        if pages and list(pages[0].kinds) == list(case.call["args"])
        else f"{case.op} has no page here, or another prototype"
    )


def positive(case: CaseView) -> str:
    """Why a case is no positive one with data, or an empty text."""
    if unknown(case):
        return unknown(case)
    if case.expect.codes != (0,):
        return "the page wants another status than success"
    return "" if case.phase == 2 else "valid, but without data in the bundle"


def choose(
    bundle: Bundle, ids: Iterable[str], refuse: Callable[[CaseView], str], done: Exported
) -> list[CaseView]:
    """The cases that ``refuse`` has no reason against; the others are noted. Raises FileError where
    none is left.
    """
    chosen = []
    for case in map(bundle.__getitem__, ids):
        reason = refuse(case)
        if reason:
            done.leave(case.id, reason)
        else:
            chosen.append(case)
    if not chosen:
        reasons = "; ".join(f"{reason} ({len(some)})" for reason, some in done.left_out.items())
        raise FileError(
            [
                Problem(
                    str(bundle.path),
                    None,
                    "",
                    f"holds no case for this export: {reasons or 'it is empty'}",
                )
            ]
        )
    done.written = len(chosen)
    return chosen


def manifest(bundle: Bundle, kind: str, done: Exported) -> dict[str, Any]:
    """What an exported folder says of itself."""
    return {
        "format": f"opgen export {kind}",
        "opgen_version": bundle.header.get("opgen_version"),
        "bundle": bundle.path.name,
        "digest": bundle.digest,
        "cases": done.written,
        "left_out": done.left_out,
    }
