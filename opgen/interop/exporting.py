"""Which cases of a bundle another tool can take, what is left out of an export, and the folder that
it is written to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.calls.call_json import CallFault, make_call
from opgen.interop.folder import new_folder
from opgen.model import FileError
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec


@dataclass
class Export:
    """The cases of a bundle that a tool takes, and reason -> ids of those that it does not."""

    bundle: Bundle
    cases: list[CaseView] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)

    @contextmanager
    def folder(self, tool: str, target: str | Path, force: bool) -> Iterator[Path]:
        """A folder to fill, which gets its name and says what it is when the block ends well."""
        manifest = {
            "format": f"opgen export {tool}",
            "opgen_version": self.bundle.header.get("opgen_version"),
            "bundle": self.bundle.path.name,
            "digest": self.bundle.digest,
            "cases": len(self.cases),
            "left_out": self.left_out,
        }
        with new_folder(target, manifest, force) as folder:
            yield folder


def choose(bundle: Bundle, ids: Iterable[str], refuse: Callable[[CaseView], str]) -> Export:
    """The cases that ``refuse`` has no reason against; the others are left out. Raises FileError
    where none remains.
    """
    export = Export(bundle)
    for case in map(bundle.__getitem__, ids):
        reason = refuse(case)
        if reason:
            export.left_out.setdefault(reason, []).append(case.id)
        else:
            export.cases.append(case)
    if not export.cases:
        reasons = "; ".join(f"{reason} ({len(left)})" for reason, left in export.left_out.items())
        raise FileError.of(
            str(bundle.path), "", f"holds no case for this export: {reasons or 'it is empty'}"
        )
    return export


def spec_of(case: CaseView) -> Spec:
    """The page of a case's operator: the kinds of its parameters, and which of them are outputs."""
    return catalog().of(case.op)[0]


def unknown(case: CaseView) -> str:
    """Why a case is no call of an operator that has a page here, in words that opgen knows; or an
    empty text. What a bundle says is foreign text until then.
    """
    try:
        make_call(case.op, case.product, case.call["args"], catalog().kinds)
    except CallFault as fault:
        return f"no call that opgen knows: {fault}"
    return ""


def with_list(case: CaseView) -> str:
    """Why a file of cases that knows tensors alone cannot hold one, or an empty text."""
    lists = [p.name for p in spec_of(case).parameters.values() if p.is_list]
    return "a list of tensors, for which its files have no form" if lists else ""


def without_golden(case: CaseView) -> str:
    """Why a case has no goldens to compare with, or an empty text."""
    if reason := unknown(case):
        return reason
    if case.expect.codes != (0,):
        return "the page wants another status than success"
    return "" if case.phase == 2 else "valid, but without data in the bundle"
