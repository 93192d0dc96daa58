"""From an expression to what reads columns: conditions, comparisons, parts and calls."""

from __future__ import annotations

import ast
from functools import partial

from opgen.calls.kinds import NUMERIC
from opgen.model import did_you_mean
from opgen.spec.language import functions, shapes
from opgen.spec.language.arithmetic import arithmetic, number, whole
from opgen.spec.language.constants import constant
from opgen.spec.language.names import all_values, named
from opgen.spec.language.term import (
    INEQUALITIES,
    FixedView,
    Relation,
    Scope,
    Term,
    View,
    applied,
    failure,
    held,
    is_literal,
    owner,
    references,
)
from opgen.spec.language.three_valued import comparison, conjunction, decided, disjunction, negation
from opgen.spec.language.value import Value, constant_value

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
        left = all_values(node.left, sign, self.scope) or self.term(node.left)
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
                return named(node, like, self.scope)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() as value)):
                return constant(node, -value, like)
            case ast.BinOp():
                return arithmetic(node, self.term(node.left), self.term(node.right))
            case ast.UnaryOp(op=ast.USub()):
                return applied(node, "int", functions.negative, self.number(node.operand))
            case ast.Call():
                return self.call(node)
            case ast.Tuple() if like in ("", "shape"):
                dims = [self.index(item) for item in node.elts]
                return applied(node, "shape", shapes.tuple_of, *dims)
        raise failure(node, "is not part of the rule language")

    def number(self, node: ast.expr) -> Term:
        return number(node, self.term(node))

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
            return held("", "int", constant_value(0)), last
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.index(node.operand), True
        return self.index(node), False

    def index(self, node: ast.expr) -> Term:
        whole(node)
        return self.number(node)

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
            whole(*node.args)
        args = [self.term(argument) for argument in node.args]
        for i, argument in enumerate(args):
            wanted = function.takes[min(i, len(function.takes) - 1)]
            if argument.kind != wanted:
                raise failure(node.args[i], f"is {argument.kind}, {name} takes {wanted} there")
        return applied(node, function.gives, function.apply, *args)


def _is_bare(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "len"
    if isinstance(node, ast.Subscript):
        return is_literal(node.slice)
    return isinstance(node, (ast.Name, ast.Attribute))
