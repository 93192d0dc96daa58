"""Where a plan meets a spec: the axes of one tier, and what builds calls from their values. Nothing
about an operator stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, reduce
from typing import TypeAlias, cast

import numpy as np

from opgen.calls import bigint
from opgen.calls.kinds import INT64, KINDS, REAL, Element
from opgen.calls.vocabulary import vocabulary
from opgen.files.yamlfile import Location
from opgen.model import did_you_mean
from opgen.numerics.recipes import DEFAULT, RECIPES
from opgen.spec.language import parse
from opgen.spec.language.parse import compiled
from opgen.spec.language.term import Reference, Scope, Term, TermError, View
from opgen.spec.language.value import Value
from opgen.spec.rules import true_where
from opgen.spec.spec import Spec
from opgen.suite.planning.call_builder import NOTHING, AxisColumn, CallBuilder, kind_of
from opgen.suite.planning.constraints import RECIPE, Constraints, constraints
from opgen.suite.planning.overlay import Overlay
from opgen.suite.planning.plan import Plan
from opgen.suite.planning.plan_form import Axis, Definition
from opgen.suite.planning.strides import VIEWS

AxisValue: TypeAlias = "float | str | tuple[float, ...] | Callable[[CallBuilder], Value]"
"""A value of an axis, compiled: a number or a list of them, or what reads it off a builder."""


class PlanScope:
    """The names of a spec and the plan's own."""

    def __init__(self, spec: Spec, own: set[str]) -> None:
        self.spec = spec
        self.own = own

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


class CompiledPlan:
    """The axes of one tier of a plan, compiled against one spec; raises FileError with everything
    that does not fit.
    """

    def __init__(self, spec: Spec, plan: Plan, tier: str) -> None:
        self.spec = spec
        self.plan = plan
        self.tier = tier
        self.refs: list[tuple[Reference, ...]] = []
        self.values: list[tuple[tuple[AxisValue, ...], ...]] = []
        self.axes: list[Axis] = []
        self.scope = PlanScope(spec, self._own_names())
        for axis in plan.axes:
            self._axis(axis)
        self.lets = {
            ref: guarded
            for name, definitions in plan.let.items()
            for ref, guarded in self._let(name, definitions)
        }
        self.vacuities = [
            (entry, when)
            for i, entry in enumerate(plan.vacuous)
            if entry.when
            and (when := self._compiled(("vacuous", i), parse.condition, entry.when, spec.scope))
            is not None
        ]
        plan.document.raise_problems()

    @cached_property
    def constraints(self) -> Constraints:
        """Which values go together."""
        return constraints(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(len(level) for level in self.values)

    def position(self, name: str) -> int:
        """The position of an axis by its name."""
        return next(i for i, axis in enumerate(self.axes) if axis.name == name)

    def shown(self, axis: int, level: int) -> str:
        """A value of an axis as the plan writes it."""
        values = self.axes[axis].of_tier(self.tier)[level]
        return str(values[0] if len(values) == 1 else list(values))

    @cached_property
    def offered(self) -> tuple[int, list[str]]:
        """The axis of the data recipes, and those of the tier; none where the plan has no such
        axis.
        """
        for i, refs in enumerate(self.refs):
            if RECIPE in refs:
                k = refs.index(RECIPE)
                return i, [str(values[k]) for values in self.axes[i].of_tier(self.tier)]
        return 0, []

    def recipes(self, rows: np.ndarray) -> list[str]:
        """The data recipe of each row; the default where the plan has no such axis."""
        axis, offered = self.offered
        return [offered[level] if offered else DEFAULT for level in rows[:, axis]]

    def recipes_of_edits(self, rows: np.ndarray) -> list[str]:
        """The same of calls that edits of the rows make, for the sake of a limit: where Inf or NaN
        are planted, or most is zero, the rest is seldom seen.
        """
        ways = [(recipe, RECIPES[recipe].gradient) for recipe in self.recipes(rows)]
        return [DEFAULT if way.planted or way.sparse else recipe for recipe, way in ways]

    def vacuous(self, view: View, rows: int, rule: str = "") -> np.ndarray:
        """(rows,) bool: where the plan says that a pass proves nothing, or nothing of one rule's
        limit.
        """
        proves_nothing = np.zeros(rows, dtype=bool)
        for entry, when in self.vacuities:
            if not entry.rules or rule in entry.rules:
                proves_nothing |= true_where(when, view, rows)
        return proves_nothing

    # compiling ------------------------------------------------------------------------------------
    def _own_names(self) -> set[str]:
        named = {name for axis in self.plan.axes for name in axis.sets} | set(self.plan.let)
        return {name for name in named if name.isidentifier()} | {"view", "dtype", "rank", "format"}

    def _problem(self, where: Location, text: str) -> None:
        self.plan.document.problem(where, text)

    def _reference(self, where: Location, text: str) -> Reference | None:
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

    def _axis(self, axis: Axis) -> None:
        where = ("axes", axis.name)
        refs = [ref for text in axis.sets if (ref := self._reference(where, text)) is not None]
        if len(refs) < len(axis.sets):
            return
        levels = axis.of_tier(self.tier)
        if refs == [("product", "")]:
            for level in levels:
                self._level((*where, "values"), ("product", ""), level[0])
            levels = tuple(
                level
                for level in levels
                if level[0] in self.spec.judges and level[0] in self.spec.products
            )
            axis = Axis(axis.name, axis.sets, levels, axis.why)
        self.axes.append(axis)
        self.refs.append(tuple(refs))
        compiled = [
            tuple(
                self._level((*where, "values"), ref, value)
                for ref, value in zip(refs, level, strict=True)
            )
            for level in levels
        ]
        self.values.append(tuple(compiled))

    def _level(self, where: Location, ref: Reference, value: object) -> AxisValue:
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
            term = self._compiled(where, parse.term, value)
            needed = "shape" if kind == "values" else kind
            if term is not None and term.kind == needed:
                return term.value
            if term is not None:
                self._problem(where, f"'{value}' is {term.kind}, needed is {needed}")
        else:
            self._problem(where, f"{value!r} is not of kind {kind}")
        return 0

    def _element(self, ref: Reference) -> Element | None:
        """What a reference to a real, a text or a whole array of them has for values."""
        parameter = self.spec.parameters.get(ref[0])
        if parameter is None or ref[1] != ("values" if parameter.is_array else ""):
            return None
        element = KINDS[parameter.kind].element
        return element if element.term in (*REAL, "string") else None

    def _let(
        self, name: str, definitions: Iterable[Definition]
    ) -> list[tuple[Reference, tuple[tuple[Term | None, Term], ...]]]:
        where = ("let", name)
        ref = self._reference(where, name)
        guarded = []
        for definition in definitions:
            condition = definition.when
            when = None if condition is None else self._compiled(where, parse.condition, condition)
            term = self._compiled(where, parse.term, str(definition.is_))
            if term is not None:
                guarded.append((when, term))
        return [] if ref is None else [(ref, tuple(guarded))]

    def _compiled(
        self,
        where: Location,
        compiler: Callable[[str, Scope], Term],
        text: str,
        scope: Scope | None = None,
    ) -> Term | None:
        """A text compiled in the scope of the plan, or another; None where that is a problem."""
        return compiled(self.plan.document, where, None, compiler, text, scope or self.scope)

    # building -------------------------------------------------------------------------------------
    def builder(self, rows: np.ndarray, edits: Overlay = NOTHING) -> CallBuilder:
        """What builds one call per row of value numbers (rows, axes), with edits on top of an
        earlier one.
        """
        chosen = {
            ref: _column([level[k] for level in self.values[i]], rows[:, i])
            for i, refs in enumerate(self.refs)
            for k, ref in enumerate(refs)
        }
        return CallBuilder(self.spec, len(rows), chosen, self.lets, edits)


def _column(values: list[AxisValue], picks: np.ndarray) -> AxisColumn:
    """What an axis sets: a column of constants, or a callable where some values are terms."""
    if lists := [value for value in values if isinstance(value, tuple)]:
        lengths = np.array([len(items) for items in lists])
        matrix = np.array([[*items, *[0] * (lengths.max() - len(items))] for items in lists])
        return Value((lengths[picks], matrix.reshape(len(lists), -1)[picks]))
    if not any(callable(v) for v in values):
        whole = all(type(value) is int for value in values)
        return Value((bigint.as_column(values) if whole else np.array(values))[picks])

    def read(builder: CallBuilder) -> Value:
        parts = [v(builder) if callable(v) else Value(np.asarray(v)) for v in values]
        return reduce(builder.stack, [Value(part.data, picks == i) for i, part in enumerate(parts)])

    return read
