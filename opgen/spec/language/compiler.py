"""From an expression to what reads columns: the parts of the rule language, one by one."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from opgen.calls.kinds import NUMERIC, REAL
from opgen.model import did_you_mean
from opgen.spec.language import functions, shapes
from opgen.spec.language.constants import constant
from opgen.spec.language.functions import Value
from opgen.spec.language.term import (
    INEQUALITIES,
    NOTHING,
    FixedView,
    Relation,
    Scope,
    Term,
    TermError,
    View,
    applied,
    failure,
    held,
    is_literal,
    owner,
    reference,
    references,
)
from opgen.spec.language.three_valued import comparison, conjunction, decided, disjunction, negation

_ARITHMETIC: dict[type, Callable[[Value, Value], Value]] = {
    ast.Add: functions.plus,
    ast.Sub: functions.minus,
    ast.Mult: functions.multiply,
    ast.FloorDiv: functions.floor_divide,
    ast.Mod: functions.remainder,
}
FUNCTIONS = {**functions.FUNCTIONS, **shapes.FUNCTIONS}
_COMPARE: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}


class Compiler:
    """Compiles the nodes of one term against a scope; raises :class:`TermError` naming the part and
    the remedy.
    """

    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self.scope = scope

    # conditions -----------------------------------------------------------------------------------
    def condition(self, node: ast.expr) -> Term:
        value = self.term(node)
        if value.kind != "bool":
            raise failure(node, f"is {value.kind}, a condition must be true or false")
        return value

    def junction(self, node: ast.BoolOp) -> Term:
        parts = [self.condition(part) for part in node.values]
        refs = references(*parts)
        every = isinstance(node.op, ast.And)
        join = conjunction if every else disjunction

        def read(view: View) -> Value:
            result = parts[0].read(view)
            for part in parts[1:]:
                if isinstance(view, FixedView) and decided(result, not every):
                    break
                result = join(result, part.read(view))
            return result

        return Term("", "bool", refs, read)

    def relation(self, node: ast.Compare) -> Relation:
        sign = _COMPARE.get(type(node.ops[0]))
        if sign is None:
            raise failure(node, "compare with == != < <= > >= in, not in")
        for side in (node.left, *node.comparators):
            if isinstance(side, ast.BoolOp | ast.Compare):
                raise failure(side, "is not part of the rule language")
        left = self.values(node.left, sign) or self.term(node.left)
        if sign in ("in", "not in"):
            if not (members := self.members(node.comparators[0])):
                raise failure(node, "write the members in parentheses: x in (1, 2)")
            right = tuple(self.term(item, like=left.kind) for item in members)
        else:
            right = (self.term(node.comparators[0], like=left.kind),)
            if not left.refs:
                left = self.term(node.left, like=right[0].kind)
        for item in right:
            numbers = item.kind in NUMERIC and left.kind in NUMERIC
            if not numbers and (item.kind != left.kind or left.kind == "word"):
                raise failure(node, f"compares {left.kind} with {item.kind}")
        if sign in INEQUALITIES and left.kind not in NUMERIC:
            raise failure(node, f"{left.kind} has no order")
        return Relation(
            self.text,
            sign,
            left,
            right,
            references(left, *right),
            comparison(sign, left, right),
            _is_bare(node.left) and bool(left.refs),
        )

    def members(self, node: ast.expr) -> list[ast.expr]:
        """What stands in parentheses after ``in``; one member may do without a comma."""
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return node.elts
        before = self.text.strip().encode().splitlines()[node.lineno - 1][: node.col_offset]
        return [node] if before.rstrip().endswith(b"(") else []

    # terms ----------------------------------------------------------------------------------------
    def term(self, node: ast.expr, like: str = "") -> Term:
        match node:
            case ast.BoolOp():
                return self.junction(node)
            case ast.UnaryOp(op=ast.Not()):
                return applied(node, "bool", negation, self.condition(node.operand))
            case ast.Compare():
                if len(node.ops) != 1:
                    raise failure(node, "compare two things at a time")
                compared = self.relation(node)
                return Term("", "bool", compared.refs, compared.read)
            case ast.Constant():
                return constant(node, node.value, like)
            case ast.Subscript() if not is_literal(node.slice):
                return self.part(node)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self.name(node, like)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() as value)):
                return constant(node, -value, like)
            case ast.BinOp():
                return self.arithmetic(node)
            case ast.UnaryOp(op=ast.USub()):
                return applied(node, "int", functions.negative, self.number(node.operand))
            case ast.Call():
                return self.call(node)
            case ast.Tuple() if like in ("", "shape"):
                dims = [self.index(item) for item in node.elts]
                return applied(node, "shape", shapes.tuple_of, *dims)
        raise failure(node, "is not part of the rule language")

    def number(self, node: ast.expr) -> Term:
        return _number(node, self.term(node))

    def name(self, node: ast.expr, like: str) -> Term:
        number = self.scope.constant(node.id) if isinstance(node, ast.Name) else None
        if number is not None:
            return constant(node, number, like)
        ref = reference(node)
        base = ref[0]
        if ref[1] == "" and self.scope.kind((base, "values")) is not None:
            ref = (base, "values")
        kind = self.scope.kind(ref)
        if kind is None:
            if base in self.scope.names():
                whole = (
                    f"stands for the whole; write {base}.shape of a tensor, {base}[i] of an array"
                )
                raise failure(node, f"{base} {'has no such property' if ref[1] else whole}")
            raise TermError(f"no such name '{base}'{did_you_mean(base, self.scope.names())}")
        return Term(node, kind, (ref,), lambda view: view.get(ref), ref[1] in ("rank", "numel"))

    def part(self, node: ast.Subscript) -> Term:
        """One extent of a shape, or those of a slice."""
        shape, of = self.term(node.value), node.slice
        if shape.kind != "shape":
            raise failure(node.value, f"is {shape.kind}, only a shape has parts")
        if not isinstance(of, ast.Slice):
            return applied(node, "int", shapes.axis, shape, self.index(of))
        if of.step is not None:
            raise failure(node, "a slice has no step")
        (start, front), (stop, back) = self.end(of.lower, False), self.end(of.upper, True)
        return applied(
            node, "shape", partial(shapes.cut, backward=(front, back)), shape, start, stop
        )

    def end(self, node: ast.expr | None, last: bool) -> tuple[Term, bool]:
        """An end of a slice, and whether it counts from the last axis: written with a minus, it
        does.
        """
        if node is None:
            return held("", "int", functions.constant(0)), last
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.index(node.operand), True
        return self.index(node), False

    def index(self, node: ast.expr) -> Term:
        self.whole(node)
        return self.number(node)

    def arithmetic(self, node: ast.BinOp) -> Term:
        left, right = self.term(node.left), self.term(node.right)
        of_shapes = shapes.ARITHMETIC.get((type(node.op), left.kind, right.kind))
        if of_shapes is not None:
            return applied(node, "shape", of_shapes, left, right)
        left, right = _number(node.left, left), _number(node.right, right)
        if isinstance(node.op, ast.Div):
            by = node.right.value if isinstance(node.right, ast.Constant) else None
            if not isinstance(by, int) or isinstance(by, bool) or by <= 0:
                raise failure(node, "/ divides by a positive constant; use // for whole numbers")
            return applied(node, "int", partial(functions.divided, by=by), left)
        apply = _ARITHMETIC.get(type(node.op))
        if apply is None:
            raise failure(node, "compute with + - * / // %")
        divisor = None if right.refs else right.read(NOTHING).data
        if isinstance(node.op, ast.FloorDiv | ast.Mod):
            self.whole(node.left, node.right)
            if divisor is not None and not divisor:
                raise failure(node, "divides by zero")
        counts = isinstance(node.op, ast.Mod) and divisor is not None and bool(divisor > 0)
        return applied(node, "int", apply, left, right, counts=counts)

    def whole(self, *nodes: ast.expr) -> None:
        """Refuse fractions where only whole numbers make sense."""
        for node in nodes:
            for part in ast.walk(node):
                decimal = isinstance(part, ast.Constant) and isinstance(part.value, float)
                if decimal or isinstance(part, ast.Div):
                    raise failure(node, "must be whole here; use // instead of /")

    def values(self, node: ast.expr, sign: str) -> Term | None:
        """``values(x)`` on the left of a comparison: all elements of a tensor, of which the least
        or the greatest decides; in ``sum(values(x))`` their sum. None for anything else.
        """
        of, what = node, "least" if ">" in sign else "greatest"
        match node:
            case ast.Call(func=ast.Name(id="sum"), args=[ast.Call() as inner], keywords=[]):
                of, what = inner, "total"
        match of:
            case ast.Call(func=ast.Name(id="values"), args=[whole], keywords=[]) if (
                name := owner(whole)
            ) is not None:
                if what != "total" and sign not in INEQUALITIES:
                    raise failure(node, "compare all values with < <= > >=")
                ref = (name, what)
                if self.scope.kind(ref) is None:
                    raise failure(of, "takes the name of a tensor")
                return Term(node, "int", (ref,), lambda view: view.get(ref))
        return None

    def call(self, node: ast.Call) -> Term:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if node.keywords:
            raise failure(node, "takes no keywords")
        if name in ("len", "lowest", "highest"):
            base = owner(node.args[0]) if len(node.args) == 1 else None
            if base is None:
                raise failure(node, f"{name} takes the name of a parameter")
            ref = (base, name)
            if self.scope.kind(ref) is None:
                raise failure(
                    node,
                    f"{name} takes the name of a parameter{did_you_mean(base, self.scope.names())}",
                )
            return Term(node, "int", (ref,), lambda view: view.get(ref), name == "len")
        function = FUNCTIONS.get(name)
        if name == "values":
            raise failure(node, "stands alone on the left of a comparison")
        if function is None:
            raise failure(node, f"no such function{did_you_mean(name, FUNCTIONS)}")
        if not function.at_least <= len(node.args) <= function.at_most:
            most = "" if function.at_least == function.at_most else f" to {function.at_most}"
            raise failure(node, f"takes {function.at_least}{most} arguments, not {len(node.args)}")
        if not function.fractions:
            self.whole(*node.args)
        args = [self.term(argument) for argument in node.args]
        for i, argument in enumerate(args):
            wanted = function.takes[min(i, len(function.takes) - 1)]
            if argument.kind != wanted:
                raise failure(node.args[i], f"is {argument.kind}, {name} takes {wanted} there")
        return applied(node, function.gives, function.apply, *args)


def _number(node: ast.expr, term: Term) -> Term:
    if term.kind in REAL:
        raise failure(node, "only whole numbers are computed with; a real can be compared")
    if term.kind != "int":
        raise failure(node, f"is {term.kind}, a number is needed")
    return term


def _is_bare(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "len"
    if isinstance(node, ast.Subscript):
        return is_literal(node.slice)
    return isinstance(node, (ast.Name, ast.Attribute))
