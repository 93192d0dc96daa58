"""Where a plan meets a spec: the axes of one tier, and what builds calls from their values. Nothing
about an operator stands here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, reduce

import numpy as np

from opgen.calls import bigint
from opgen.numerics.recipes import DEFAULT, RECIPES
from opgen.spec.language import parse
from opgen.spec.language.term import Reference, Term, View
from opgen.spec.language.value import Value
from opgen.spec.rules import true_where
from opgen.spec.spec import Spec
from opgen.suite.planning.call_builder import NOTHING, AxisColumn, CallBuilder
from opgen.suite.planning.constraints import RECIPE, Constraints, constraints
from opgen.suite.planning.overlay import Overlay
from opgen.suite.planning.plan import Plan
from opgen.suite.planning.plan_form import Axis, Definition
from opgen.suite.planning.plan_scope import AxisValue, PlanScope


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
        self.scope = PlanScope(spec, plan)
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
            and (
                when := self.scope.compiled(("vacuous", i), parse.condition, entry.when, spec.scope)
            )
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
    def _axis(self, axis: Axis) -> None:
        where = ("axes", axis.name)
        refs = [ref for text in axis.sets if (ref := self.scope.reference(where, text)) is not None]
        if len(refs) < len(axis.sets):
            return
        levels = axis.of_tier(self.tier)
        if refs == [("product", "")]:
            for level in levels:
                self.scope.level((*where, "values"), ("product", ""), level[0])
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
                self.scope.level((*where, "values"), ref, value)
                for ref, value in zip(refs, level, strict=True)
            )
            for level in levels
        ]
        self.values.append(tuple(compiled))

    def _let(
        self, name: str, definitions: Iterable[Definition]
    ) -> list[tuple[Reference, tuple[tuple[Term | None, Term], ...]]]:
        where = ("let", name)
        ref = self.scope.reference(where, name)
        guarded = []
        for definition in definitions:
            condition = definition.when
            when = (
                None
                if condition is None
                else self.scope.compiled(where, parse.condition, condition)
            )
            term = self.scope.compiled(where, parse.term, str(definition.is_))
            if term is not None:
                guarded.append((when, term))
        return [] if ref is None else [(ref, tuple(guarded))]

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
