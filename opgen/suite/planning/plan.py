"""A plan: what we choose to try of one operator, and why. It says nothing about what is legal; that
is the spec's.

An axis sets one name, or several together, to one of its values. What no axis sets follows from a
``let``, from the page's own equalities, or from a default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opgen.files.resources import cases_folder
from opgen.files.yamlfile import Document, did_you_mean, read
from opgen.model import FileError
from opgen.suite.planning.plan_form import PLAN, TOP, PlanForm


@dataclass(frozen=True, kw_only=True)
class Plan(PlanForm):
    """A plan and the document that it was read from."""

    document: Document
    digest: str

    @property
    def file(self) -> str:
        """The file of the plan, as messages name it."""
        return self.document.file

    def speaks_of(self, products: Iterable[str]) -> bool:
        """Whether the plan tries any of some products; one without such an axis tries all."""
        tried = {
            level[0] for axis in self.axes if axis.sets == ("product",) for level in axis.values
        }
        return not tried or bool(tried & set(products))


def load_plan(path: Path, shown: str | None = None) -> Plan:
    """Read a plan; raises :class:`opgen.model.FileError` with all its problems of form. Names are
    checked where a plan meets the pages of its operator (:mod:`opgen.suite.planning.plan_check`).
    """
    plan = read_plan(path, shown)
    plan.document.raise_problems()
    return plan


def read_plan(path: Path, shown: str | None = None) -> Plan:
    """Read a plan whose problems of form stand in its document, with what can be held against pages
    all the same; FileError where its operator or its names are not known.
    """
    document = read(path, shown)
    form = PLAN.whole(document)
    if _names_are_lost(document, form):
        document.raise_problems()
    ids = Counter(pin.id for pin in form.handwritten)
    for name in [name for name, count in ids.items() if name and count > 1]:
        document.problem(("handwritten",), "is the id of two handwritten cases; rename one", name)
    return Plan(**vars(form), document=document, digest=document.digest)


def _names_are_lost(document: Document, form: PlanForm) -> bool:
    """Whether what is wrong hides names, and what reads them would be told as well."""
    names = ("op", "axes", "let")
    misspelt = any(did_you_mean(key, names) for key in document.data if key not in TOP)
    hidden = any(p.where.startswith("let") or p.where.endswith(".sets") for p in document.problems)
    whole = form.op and form.axes and all(axis.values for axis in form.axes)
    return misspelt or hidden or not whole


def plan_for(op: str, folder: Path | None = None) -> Plan:
    """The plan that opgen ships for an operator: ``cases/<op>.yaml``;
    :func:`opgen.suite.planning.plan_check.shipped_plan` is sure that it fits.
    """
    path = (folder or cases_folder()) / f"{op}.yaml"
    if not path.exists():
        text = "has no plan; write one, or give a plan file with --plan"
        raise FileError.of(f"cases/{path.name}", op, text)
    return load_plan(path, f"cases/{path.name}")
