"""Arithmetic on terms: ``+ - * / // %``, and what numbers they take."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from opgen.calls.kinds import REAL
from opgen.spec.language import functions, shapes
from opgen.spec.language.term import NOTHING, Term, applied, failure
from opgen.spec.language.value import Value

OPERATORS: dict[type, Callable[[Value, Value], Value]] = {
    ast.Add: functions.plus,
    ast.Sub: functions.minus,
    ast.Mult: functions.multiply,
    ast.FloorDiv: functions.floor_divide,
    ast.Mod: functions.remainder,
}


def arithmetic(node: ast.BinOp, left: Term, right: Term) -> Term:
    """The sum, difference, product, quotient or remainder of two terms, the sides of ``node``."""
    of_shapes = shapes.ARITHMETIC.get((type(node.op), left.kind, right.kind))
    if of_shapes is not None:
        return applied(node, "shape", of_shapes, left, right)
    left, right = number(node.left, left), number(node.right, right)
    if isinstance(node.op, ast.Div):
        by = node.right.value if isinstance(node.right, ast.Constant) else None
        if not isinstance(by, int) or isinstance(by, bool) or by <= 0:
            raise failure(node, "/ divides by a positive constant; use // for whole numbers")
        return applied(node, "int", partial(functions.divided, by=by), left)
    apply = OPERATORS.get(type(node.op))
    if apply is None:
        raise failure(node, "compute with + - * / // %")
    divisor = None if right.refs else right.read(NOTHING).data
    if isinstance(node.op, ast.FloorDiv | ast.Mod):
        whole(node.left, node.right)
        if divisor is not None and not divisor:
            raise failure(node, "divides by zero")
    counts = isinstance(node.op, ast.Mod) and divisor is not None and bool(divisor > 0)
    return applied(node, "int", apply, left, right, counts=counts)


def whole(*nodes: ast.expr) -> None:
    """Refuse fractions where only whole numbers make sense."""
    for node in nodes:
        for part in ast.walk(node):
            decimal = isinstance(part, ast.Constant) and isinstance(part.value, float)
            if decimal or isinstance(part, ast.Div):
                raise failure(node, "must be whole here; use // instead of /")


def number(node: ast.expr, term: Term) -> Term:
    """A term that is a number."""
    if term.kind in REAL:
        raise failure(node, "only whole numbers are computed with; a real can be compared")
    if term.kind != "int":
        raise failure(node, f"is {term.kind}, a number is needed")
    return term
