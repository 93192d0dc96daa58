"""The names of a plan and its spec, and how texts and values of the plan are compiled in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from opgen.calls.kinds import INT64, KINDS, REAL, Element
from opgen.calls.vocabulary import vocabulary
from opgen.files.yamlfile import Location
from opgen.model import did_you_mean
from opgen.numerics.recipes import RECIPES
from opgen.spec.language import parse
from opgen.spec.language.parse import compiled
from opgen.spec.language.term import Reference, Scope, Term, TermError
from opgen.spec.language.value import Value
from opgen.spec.spec import Spec
from opgen.suite.planning.call_builder import CallBuilder, kind_of
from opgen.suite.planning.constraints import RECIPE
from opgen.suite.planning.overlay import SHARED
from opgen.suite.planning.plan import Plan
from opgen.suite.planning.strides import VIEWS

AxisValue: TypeAlias = "float | str | tuple[float, ...] | Callable[[CallBuilder], Value]"
"""A value of an axis, compiled: a number or a list of them, or what reads it off a builder."""


class PlanScope:
    """The names of a spec and the plan's own."""

    def __init__(self, spec: Spec, plan: Plan) -> None:
        self.spec, self.plan = spec, plan
        named = {name for axis in plan.axes for name in axis.sets} | set(plan.let)
        shared = {name for name, _ in SHARED.values()}
        self.own = {name for name in named if name.isidentifier()} | shared

    def constant(self, name: str) -> int | float | None:
        return self.spec.scope.constant(name)

    def names(self) -> list[str]:
        return [*self.spec.scope.names(), *self.own]

    def kind(self, reference: Reference) -> str | None:
        known = self.spec.scope.kind(reference)
        if known is not None:
            return known
        return (
            kind_of(self.spec, reference)
            if reference[1] == "" and reference[0] in self.own
            else None
        )

    def reference(self, where: Location, text: str) -> Reference | None:
        """The name that a text of the plan means; None where that is a problem."""
        try:
            name, what = parse.reference(text)
        except TermError as error:
            self._problem(where, str(error))
            return None
        parameter = self.spec.parameters.get(name)
        if parameter is not None and parameter.is_array and what == "":
            return (name, "values")
        if (name, what) == ("rank", "") and not any(
            p.shapes for p in self.spec.parameters.values()
        ):
            text = f"no shape of {self.spec.file} has letters by rank; set the shape of a tensor"
            self._problem(where, text)
            return None
        if what not in ("", "view", "values") and self.spec.scope.kind((name, what)) is None:
            self._problem(
                where,
                f"'{text}' is not a name of"
                f" {self.spec.file}{did_you_mean(name, self.spec.scope.names())}",
            )
            return None
        return (name, what)

    def level(self, where: Location, ref: Reference, value: object) -> AxisValue:
        """A constant number, or a callable that reads the value off a builder."""
        kind = "recipe" if ref == RECIPE else kind_of(self.spec, ref)
        allowed = {"view": VIEWS, "recipe": tuple(RECIPES), **vocabulary().names}.get(kind)
        if value == "inconsistent" and "saved" not in self.plan.roles.values():
            self._problem(where, "the recipe 'inconsistent' is for an input of the role 'saved'")
        if allowed is not None:
            if value in allowed:
                return allowed.index(value)
            self._problem(
                where,
                f"no such {kind} {value!r}{did_you_mean(value, allowed)}; known:"
                f" {', '.join(allowed)}",
            )
        elif (element := self._element(ref)) and (read := element.read(value)) is not None:
            return cast(AxisValue, read)
        elif element and isinstance(value, list) and None not in map(element.read, value):
            return tuple(map(element.read, value))
        elif (
            kind == "values" and isinstance(value, list) and all(isinstance(v, int) for v in value)
        ):
            return tuple(value)
        elif isinstance(value, int) and kind == type(value).__name__:
            parameter = self.spec.parameters.get(ref[0])
            holds = KINDS[parameter.kind].element if parameter and ref[1] == "" else INT64
            if holds.lowest <= value <= holds.highest:
                return value
            self._problem(where, f"{value} does not fit {holds.lowest} to {holds.highest}")
        elif kind in ("int", "shape", "values") and isinstance(value, str):
            term = self.compiled(where, parse.term, value)
            needed = "shape" if kind == "values" else kind
            if term is not None and term.kind == needed:
                return term.value
            if term is not None:
                self._problem(where, f"'{value}' is {term.kind}, needed is {needed}")
        else:
            self._problem(where, f"{value!r} is not of kind {kind}")
        return 0

    def compiled(
        self,
        where: Location,
        compiler: Callable[[str, Scope], Term],
        text: str,
        scope: Scope | None = None,
    ) -> Term | None:
        """A text compiled in the scope of the plan, or another; None where that is a problem."""
        return compiled(self.plan.document, where, None, compiler, text, scope or self)

    def _element(self, ref: Reference) -> Element | None:
        """What a reference to a real, a text or a whole array of them has for values."""
        parameter = self.spec.parameters.get(ref[0])
        if parameter is None or ref[1] != ("values" if parameter.is_array else ""):
            return None
        element = KINDS[parameter.kind].element
        return element if element.term in (*REAL, "string") else None

    def _problem(self, where: Location, text: str) -> None:
        self.plan.document.problem(where, text)
