"""From an expression to something that reads columns: the parts of the rule language, one by
one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from opgen.calls.vocabulary import vocabulary
from opgen.files.yamlfile import did_you_mean
from opgen.spec.language import functions
from opgen.spec.language.functions import FUNCTIONS, Value, all_bound
from opgen.spec.language.term import (
    INEQUALITIES,
    NOTHING,
    FixedView,
    Reference,
    Relation,
    Scope,
    Term,
    TermError,
    View,
    failure,
    reference,
)
from opgen.spec.language.three_valued import comparison, conjunction, decided, disjunction, negation

_ARITHMETIC: dict[type, Callable[[Value, Value], Value]] = {
    ast.Add: functions.plus,
    ast.Sub: functions.minus,
    ast.Mult: functions.multiply,
    ast.FloorDiv: functions.floor_divide,
    ast.Mod: functions.remainder,
}
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
_WORD_KINDS = ("product", "dtype", "format")


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
        refs = _references(*parts)
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
        left = self.term(node.left)
        if sign in ("in", "not in"):
            if (
                not isinstance(node.comparators[0], (ast.Tuple, ast.List, ast.Set))
                or not node.comparators[0].elts
            ):
                raise failure(node, "write the members in parentheses: x in (1, 2)")
            right = tuple(self.term(item, like=left.kind) for item in node.comparators[0].elts)
        else:
            right = (self.term(node.comparators[0], like=left.kind),)
            if left.kind == "word":
                left = self.term(node.left, like=right[0].kind)
        for item in right:
            if item.kind != left.kind or left.kind == "word":
                raise failure(node, f"compares {left.kind} with {item.kind}")
        if sign in INEQUALITIES and left.kind != "int":
            raise failure(node, f"{left.kind} has no order")
        refs = _references(left, *right)
        return Relation(
            self.text,
            sign,
            left,
            right,
            refs,
            comparison(sign, left, right),
            _is_bare(node.left) and bool(left.refs),
        )

    # terms ----------------------------------------------------------------------------------------
    def term(self, node: ast.expr, like: str = "") -> Term:
        match node:
            case ast.BoolOp():
                return self.junction(node)
            case ast.UnaryOp(op=ast.Not()):
                inner = self.condition(node.operand)
                return Term("", "bool", inner.refs, lambda view: negation(inner.read(view)))
            case ast.Compare():
                if len(node.ops) != 1:
                    raise failure(node, "compare two things at a time")
                compared = self.relation(node)
                return Term("", "bool", compared.refs, compared.read)
            case ast.Constant():
                return self.constant(node, like)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self.name(node)
            case ast.BinOp():
                return self.arithmetic(node)
            case ast.UnaryOp(op=ast.USub()):
                inner, zero = self.number(node.operand), functions.constant(0)
                return Term(
                    ast.unparse(node),
                    "int",
                    inner.refs,
                    lambda view: functions.minus(zero, inner.read(view)),
                )
            case ast.Call():
                return self.call(node)
            case ast.Tuple() if like in ("", "shape"):
                return self.shape(node)
        raise failure(node, "is not part of the rule language")

    def number(self, node: ast.expr) -> Term:
        result = self.term(node)
        if result.kind != "int":
            raise failure(node, f"is {result.kind}, a number is needed")
        return result

    def constant(self, node: ast.Constant, like: str) -> Term:
        value = node.value
        if isinstance(value, bool):
            return _held(str(value), "bool", functions.constant(value))
        if isinstance(value, int):
            return _held(str(value), "int", functions.constant(value))
        if not isinstance(value, str):
            raise failure(node, "only whole numbers, True, False and quoted words")
        if like not in _WORD_KINDS:
            return _held(value, "word", functions.constant(0))
        index = vocabulary().index[like]
        if value not in index:
            raise TermError(f"no such {like} '{value}'{did_you_mean(value, index)}")
        return _held(value, like, Value(np.asarray(index[value])))

    def name(self, node: ast.expr) -> Term:
        if isinstance(node, ast.Name):
            number = self.scope.constant(node.id)
            if number is not None:
                return _held(node.id, "int", functions.constant(number))
        ref = reference(node)
        kind = self.scope.kind(ref)
        if kind is None:
            base = ref[0]
            if base in self.scope.names():
                what = (
                    "has no such property"
                    if ref[1]
                    else (
                        f"stands for the whole; write {base}.shape of a tensor, {base}[i] of an"
                        " array"
                    )
                )
                raise failure(node, f"{base} {what}")
            raise TermError(f"no such name '{base}'{did_you_mean(base, self.scope.names())}")
        return Term(
            ast.unparse(node), kind, (ref,), lambda view: view.get(ref), ref[1] in ("rank", "numel")
        )

    def arithmetic(self, node: ast.BinOp) -> Term:
        left, right = self.number(node.left), self.number(node.right)
        text, refs = ast.unparse(node), _references(left, right)
        if isinstance(node.op, ast.Div):
            by = node.right.value if isinstance(node.right, ast.Constant) else None
            if not isinstance(by, int) or isinstance(by, bool) or by <= 0:
                raise failure(node, "/ divides by a positive constant; use // for whole numbers")
            return Term(text, "int", refs, lambda view: functions.divided(left.read(view), by))
        apply = _ARITHMETIC.get(type(node.op))
        if apply is None:
            raise failure(node, "compute with + - * / // %")
        divisor = None if right.refs else right.read(NOTHING).data
        if isinstance(node.op, ast.FloorDiv | ast.Mod):
            self.whole(node.left, node.right)
            if divisor is not None and not divisor:
                raise failure(node, "divides by zero")
        counts = isinstance(node.op, ast.Mod) and divisor is not None and bool(divisor > 0)
        return Term(
            text, "int", refs, lambda view: apply(left.read(view), right.read(view)), counts
        )

    def whole(self, *nodes: ast.expr) -> None:
        """Refuse fractions where only whole numbers make sense."""
        for node in nodes:
            if any(isinstance(part, ast.Div) for part in ast.walk(node)):
                raise failure(node, "must be whole here; use // instead of /")

    def call(self, node: ast.Call) -> Term:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if node.keywords:
            raise failure(node, "takes no keywords")
        if name in ("len", "lowest", "highest"):
            if len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
                raise failure(node, f"{name} takes the name of a parameter")
            ref = (node.args[0].id, name)
            if self.scope.kind(ref) is None:
                raise failure(
                    node,
                    f"{name} takes the name of a"
                    f" parameter{did_you_mean(node.args[0].id, self.scope.names())}",
                )
            return Term(ast.unparse(node), "int", (ref,), lambda view: view.get(ref), name == "len")
        function = FUNCTIONS.get(name)
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
        refs = _references(*args)
        return Term(
            ast.unparse(node),
            function.gives,
            refs,
            lambda view: function.apply(*(a.read(view) for a in args)),
        )

    def shape(self, node: ast.Tuple) -> Term:
        dims = [self.number(item) for item in node.elts]
        self.whole(*node.elts)
        refs = _references(*dims)

        def read(view: View) -> Value:
            values = [dim.read(view) for dim in dims]
            rows, exact = (
                next((v.data.size for v in values if v.data.ndim), 1),
                any(v.data.dtype == object for v in values),
            )
            extents = np.empty((rows, len(dims)), dtype=object if exact else np.int64)
            for i, value in enumerate(values):
                extents[:, i] = value.data
            return Value((np.asarray(len(dims)), extents), all_bound(*values) if values else True)

        return Term(ast.unparse(node), "shape", refs, read)


def _held(text: str, kind: str, value: Value) -> Term:
    """A term that reads nothing."""
    return Term(text, kind, (), lambda view: value)


def _references(*parts: Term) -> tuple[Reference, ...]:
    """What some parts of an expression read, once each."""
    return tuple(dict.fromkeys(reference for part in parts for reference in part.refs))


def _is_bare(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "len"
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
