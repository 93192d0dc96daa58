"""A plan: what we choose to try of one operator, and why. It says nothing about what is legal; that
is the spec's.

An axis sets one name, or several together, to one of its values. What no axis sets follows from a
``let``, from the page's own equalities, or from a default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opgen.files.resources import cases_folder
from opgen.files.yamlfile import Document, read
from opgen.model import FileError, did_you_mean
from opgen.spec.catalog import catalog
from opgen.spec.language.parse import reference
from opgen.spec.language.term import Reference, TermError
from opgen.spec.parameter import Parameter
from opgen.spec.spec import Spec
from opgen.suite.planning.default_plan import default_plan
from opgen.suite.planning.plan_form import PLAN, TOP, PlanForm


@dataclass(frozen=True, kw_only=True)
class Plan(PlanForm):
    """A plan and the document that it was read from. ``routes`` is where calls of known routes may
    lie, beside a shipped plan.
    """

    document: Document
    digest: str
    routes: Path | None = None

    @property
    def file(self) -> str:
        """The file of the plan, as messages name it."""
        return self.document.file

    def chooses(self, axis: str) -> bool:
        """Whether the file itself has an axis, which follows from the pages otherwise."""
        return ("axes", axis) in self.document.lines

    def role(self, tensor: Parameter) -> str:
        """What an input is to the recipes: as the plan says of it, or of the list that it is in."""
        return self.roles.get(tensor.name, self.roles.get(tensor.of, "operand"))

    def speaks_of(self, products: Iterable[str]) -> bool:
        """Whether the plan tries any of some products; one without such an axis tries all."""
        tried = {
            level[0] for axis in self.axes if axis.sets == ("product",) for level in axis.values
        }
        return not tried or bool(tried & set(products))


def load_plan(path: Path, shown: str | None = None, specs: Sequence[Spec] = ()) -> Plan:
    """Read a plan; raises :class:`opgen.model.FileError` with all its problems of form. Names are
    checked where a plan meets the pages of its operator (:mod:`opgen.suite.planning.plan_check`).
    """
    plan = read_plan(path, shown, specs)
    plan.document.raise_problems()
    return plan


def read_plan(path: Path, shown: str | None = None, specs: Sequence[Spec] = ()) -> Plan:
    """Read a plan. Its document lists problems of form; the rest can still be checked against the
    pages. Raises FileError if its operator or its names are not known. ``specs``: those
    whose default plan it may extend, the shipped ones if there are none.
    """
    return _of_document(read(path, shown), specs)


def plan_for(op: str, folder: Path | None = None, specs: Sequence[Spec] = ()) -> Plan:
    """The plan of an operator: ``cases/<op>.yaml``, or the one that follows from its pages where
    there is no such file; :func:`opgen.suite.planning.plan_check.shipped_plan` is sure that it
    fits.
    """
    folder = folder or cases_folder()
    path, routes = folder / f"{op}.yaml", folder / "routes" / f"{op}.jsonl"
    if path.exists():
        return replace(load_plan(path, f"cases/{path.name}", specs), routes=routes)
    if op not in ({spec.op for spec in specs} or catalog().operators):
        raise FileError.of(f"cases/{path.name}", op, "has no plan, and no spec to make one from")
    document = Document(f"the default plan of {op}", {"op": op, "extends": "default"}, {}, [])
    plan = _of_document(document, specs)
    document.raise_problems()
    return replace(plan, routes=routes)


def _of_document(document: Document, specs: Sequence[Spec]) -> Plan:
    if isinstance(document.data, dict):
        op = document.data.get("op")
        known = specs or catalog().of(catalog().operators.get(str(op), str(op)))
        pages = [spec for spec in known if op in (spec.op, spec.api)]
        if not pages and "default" in _mapping(document.data.get("axes")).values():
            names = {name for spec in specs or catalog().specs for name in (spec.op, spec.api)}
            document.problem(("op",), f"no such operator {op!r}{did_you_mean(op, names)}")
            document.raise_problems()
        _fill(document.data, pages)
        if document.data.get("extends") == "default":
            _extend(document, pages)
    form = PLAN.whole(document)
    for key in ("axes", "tiers"):
        if key not in document.data:
            document.problem((), f"the key '{key}' is missing (or write extends: default)")
    if _names_are_lost(document, form):
        document.raise_problems()
    ids = Counter(pin.id for pin in form.handwritten)
    for name in [name for name, count in ids.items() if name and count > 1]:
        document.problem(("handwritten",), "is the id of two handwritten cases; rename one", name)
    return Plan(**vars(form), document=document, digest=document.digest)


def _fill(own: dict[str, Any], pages: Sequence[Spec]) -> None:
    """Give an axis that is called ``default`` the values that it has in the default plan, and the
    tiers likewise.
    """
    axes = _mapping(own.get("axes"))
    if pages and "default" in [own.get("tiers"), *axes.values()]:
        usual = default_plan(pages, (), _saved(own))
        for name in [name for name, axis in axes.items() if axis == "default"]:
            axes[name] = usual["axes"].get(name, "default")
        if own.get("tiers") == "default":
            own["tiers"] = usual["tiers"]


def _saved(own: dict[str, Any]) -> list[str]:
    return [name for name, role in _mapping(own.get("roles")).items() if role == "saved"]


def _extend(document: Document, pages: Sequence[Spec]) -> None:
    """Let a document say what the default plan says where it says nothing itself. A part that has
    another form than it should is left as it is, for the sake of the message.
    """
    own: dict[str, Any] = document.data
    axes, lets = (_mapping(own.get(key)) for key in ("axes", "let"))
    default = default_plan(pages, _names_set(axes, lets), _saved(own)) if pages else {}
    merged = {**default, **own}
    for key, values in (("axes", axes), ("let", lets), ("tiers", _mapping(own.get("tiers")))):
        if default and isinstance(own.get(key, {}), dict):
            merged[key] = {**default.get(key, {}), **values}
    for name, axis in axes.items():
        if isinstance(axis, dict) and "values" not in axis and name in default.get("axes", {}):
            merged["axes"][name] = {**default["axes"][name], **axis}
    document.data = merged


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _names_set(axes: dict[str, Any], lets: dict[str, Any]) -> set[Reference]:
    """What the axes of a file that have values, and its lets, set."""
    names = [*lets]
    for name, axis in axes.items():
        if not isinstance(axis, dict):
            names.append(name)
        elif "values" in axis:
            sets = axis.get("sets", name)
            names += sets if isinstance(sets, list) else [sets]
    found = set()
    for name in names:
        with suppress(TermError):  # noted where it is compiled
            found.add(reference(str(name)))
    return found


def _names_are_lost(document: Document, form: PlanForm) -> bool:
    """Whether what is wrong hides names, and what reads them would be told as well."""
    names = ("op", "axes", "let")
    misspelt = any(did_you_mean(key, names) for key in document.data if key not in TOP)
    hidden = any(p.where.startswith("let") or p.where.endswith(".sets") for p in document.problems)
    whole = form.op and form.axes and all(axis.values for axis in form.axes)
    return misspelt or hidden or not whole
