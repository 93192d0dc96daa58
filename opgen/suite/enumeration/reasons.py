"""Why no call can break a rule, what must hold before one can, and why no legal call has a value of
a plan.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import numpy as np

from opgen.calls.vocabulary import vocabulary
from opgen.spec.language.term import NOTHING, Reference, Term, View
from opgen.spec.language.value import Value, is_true
from opgen.spec.rules import Guard, Rule, true_where
from opgen.spec.spec import ENDS, Spec
from opgen.suite.covering import Model, explain
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.constraints import defaults

_NULL = -1
"""What stands for the word of a null pointer."""


class _ProductOnly:
    """A call of which nothing but the product is known; ``false`` is a bound value that no
    condition holds for.
    """

    def __init__(self, spec: Spec, product: str) -> None:
        self.spec = spec
        self.product = vocabulary().index["product"][product]

    def get(self, reference: Reference) -> Value:
        if reference == ("product", ""):
            return Value(np.asarray(self.product), np.asarray(True))
        kind = self.spec.scope.kind(reference)
        if kind == "shape":
            return Value((np.asarray(0), np.ones((1, 1), dtype=np.int64)), np.asarray(False))
        return Value(np.asarray(False) if kind == "bool" else np.asarray(0), np.asarray(False))


FATAL = "a library is known to end the host process on every call that breaks it"
"""Why a rule has no calls outside the tier of such calls."""


def never(condition: Term, spec: Spec, product: str) -> bool:
    """Whether a condition holds for no call of a product."""
    asked = condition.read(_ProductOnly(spec, product))
    return bool(np.all(asked.bound)) and not bool(np.all(asked.data))


def excluded(guard: Guard, spec: Spec, product: str) -> bool:
    """Whether a guard cannot apply to, or cannot break on, any call of a product."""
    if guard.when is not None and never(guard.when, spec, product):
        return True
    held = guard.require.read(_ProductOnly(spec, product))
    return bool(np.all(held.bound)) and bool(np.all(held.data))


def unreachable(rule: Rule, spec: Spec) -> str:
    """Why no call that a page judges can break a rule; empty where nothing proves that none can."""
    if not all(excluded(guard, spec, product) for guard in rule.guards for product in spec.judges):
        return ""
    judged = ", ".join(spec.judges)
    if rule.parameter is None and rule.id == "product":
        return f"every product whose calls this page judges is listed: {judged}"
    return (
        f"it speaks of products that another page of this operator judges; this one judges {judged}"
    )


def applies_once_asked(guard: Guard, view: View, rows: int) -> np.ndarray:
    """(rows,) bool: where a guard applies; one that speaks of the elements of a tensor, also where
    it would if the call said what these are.
    """
    (name, what), *_ = guard.require.refs
    if what not in ENDS:
        return guard.applies(view, rows)
    elements, limit = view.get((name, "numel")), guard.require.right[0].read(view)
    return np.asarray(true_where(guard.when, view, rows) & limit.bound & is_true(elements))


class _EveryWord(_ProductOnly):
    """Every call of every product, as far as one attribute of its tensors and null outputs go: each
    tensor has each word that the rules of the page know, and one that they do not.
    """

    def __init__(self, spec: Spec, key: str) -> None:
        super().__init__(spec, spec.judges[0])
        self.key = key
        known = {
            word
            for rule in spec.rules
            if rule.key == key
            for guard in rule.guards
            for word in constants(guard)
        }
        words = (
            sorted(known) + [n for n in range(len(vocabulary().names[key])) if n not in known][:1]
        )
        tensors = [p for p in spec.parameters.values() if p.is_tensor]
        choices = [[*words, *([_NULL] if p in spec.outputs else [])] for p in tensors]
        judged = [vocabulary().index["product"][product] for product in spec.judges]
        grids = [grid.ravel() for grid in np.meshgrid(judged, *choices, indexing="ij")]
        self.every = grids[0]
        self.words = dict(zip([p.name for p in tensors], grids[1:], strict=True))

    def get(self, reference: Reference) -> Value:
        name, what = reference
        if reference == ("product", ""):
            return Value(self.every)
        if name in self.words and what == self.key:
            return Value(self.words[name], self.words[name] != _NULL)
        if name in self.words and what == "null":
            return Value(self.words[name] == _NULL)
        return super().get(reference)


def accompanied(rule: Rule, spec: Spec) -> str:
    """Why no call can break a rule about a dtype or a format, and have its code for an answer and
    no other: the rules of which one is always broken too. Empty where nothing proves that.
    """
    if rule.key not in ("dtype", "format"):
        return ""
    view = _EveryWord(spec, rule.key)
    rows = len(view.every)
    alone, names = rule.broken(view, rows), []
    if not alone.any():
        return ""
    others = {
        other.id: other.broken(view, rows) & alone
        for other in spec.rules
        if other.forbids and other.code != rule.code
    }
    for name, both in sorted(others.items(), key=lambda item: -int(item[1].sum())):
        if (alone & both).any():
            alone &= ~both
            names.append(name)
    return (
        "" if alone.any() else f"every call that breaks {rule.id} breaks one of {', '.join(names)}"
    )


def untried(
    compiled: CompiledPlan, model: Model, rows: np.ndarray, dropped: np.ndarray, broken: np.ndarray
) -> Iterator[tuple[str, str]]:
    """The values that a person chose and no legal call has, and the rules that forbid it.

    ``rows`` are the values of legal calls; ``dropped`` those of calls that broke rules after all,
    and ``broken`` which: (rules, dropped) bool.
    """
    for i, levels in enumerate(compiled.shape):
        if not compiled.plan.chooses(compiled.axes[i].name):
            continue
        for level in sorted(set(range(levels)) - set(rows[:, i].tolist())):
            tables = [compiled.constraints.tables[place] for place in explain(model, ((i, level),))]
            rules, where = list(dict.fromkeys(rule for *_, names in tables for rule in names)), ""
            if not rules and (tried := dropped[:, i] == level).any():
                numbers = np.flatnonzero(broken[:, tried].any(axis=1)).tolist()
                rules = [compiled.spec.rules[number].id for number in numbers] or [
                    "the 64 bits of a number"
                ]
                where = " in every call that was tried"
            if rules:
                yield (
                    f"{compiled.axes[i].name} = {compiled.shown(i, level)}",
                    f"{', '.join(rules)}{where}{by_default(compiled, rules)}",
                )


def by_default(compiled: CompiledPlan, rules: Iterable[str]) -> str:
    """What some rules compare that neither the plan nor the page sets."""
    values = defaults(compiled, set(rules))
    return (
        "; by default "
        + ", ".join(f"{name} is {str(value).lower()}" for name, value in values.items())
        if values
        else ""
    )


def constants(guard: Guard) -> list[int]:
    """The constants that a guard compares with."""
    read = [right.read(NOTHING) for right in guard.require.right if not right.refs]
    return [int(np.asarray(value.data).reshape(-1)[0]) for value in read]


def conjuncts(guard: Guard) -> list[str]:
    """The conditions that must all hold before a guard applies."""
    return (
        []
        if guard.when is None
        else [ast.unparse(part) for part in _split(ast.parse(guard.when.text, mode="eval").body)]
    )


def _split(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            return [piece for part in parts for piece in _split(part)]
        case ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=inner)):
            return _split(inner)
    return [node]
