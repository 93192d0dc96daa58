"""The rule language: a term is parsed once and then read off whole columns.

A term is written as a Python expression over the names of a spec: letters of shapes, slots of arrays, scalars, enum words,
``product``; ``x.dtype .format .rank .shape .numel .null .strided``, ``x.shape[i]``, ``x[i]``, ``len(x)``, ``lowest(x)``,
``highest(x)``; ``+ - * / // %``; the functions of :mod:`opgen.formulas`; comparisons ``== != < <= > >= in not in``; and in a
condition ``and or not``. Values are three-valued: a comparison whose names are unbound neither holds nor fails.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from opgen import formulas, wide
from opgen.formulas import FORMULAS, Value, both, combine
from opgen.words import words
from opgen.yamlfile import did_you_mean

Reference: TypeAlias = tuple[str, Any]
"""A name and what is asked of it: ``("N", "")``, ``("self", "dtype")``, ``("padding", 2)``, ``("self", ("dim", -1))``."""


class Scope(Protocol):
    """What names mean: the kind of a reference, or ``None`` where there is no such name."""

    def kind(self, reference: Reference) -> str | None: ...
    def constant(self, name: str) -> int | None: ...
    def names(self) -> list[str]: ...


class View(Protocol):
    """Columns to read names from: a table, or the assignments a call is being made of."""

    def get(self, reference: Reference) -> Value: ...


class TermError(Exception):
    """A term that cannot be compiled; the message names the part and the remedy."""


@dataclass(frozen=True)
class Term:
    """A compiled term. ``kind`` is int, bool, dtype, format, product or shape; ``refs`` are the names it reads."""

    text: str
    kind: str
    refs: tuple[Reference, ...]
    read: Callable[[View], Value]


@dataclass(frozen=True)
class Relation:
    """One comparison. ``bare`` says that its left side is a single name: then ``==`` and ``in`` also say what it is."""

    text: str
    operator: str
    left: Term
    right: tuple[Term, ...]
    refs: tuple[Reference, ...]
    read: Callable[[View], Value]
    bare: bool


_ATTRIBUTES = ("dtype", "format", "rank", "shape", "numel", "null", "strided")
_ARITHMETIC: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}
_COMPARE: dict[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_WORD_KINDS = ("product", "dtype", "format")
_MOST_AXES = 4096
T = TypeVar("T")


def condition(text: str, scope: Scope) -> Term:
    """Compile what may stand behind ``when:``; raises :class:`TermError`."""
    node = _parse(text)
    term = _shallow(text, lambda: _Compiler(text, scope).condition(node))
    return Term(text, "bool", term.refs, term.read)


def term(text: str, scope: Scope) -> Term:
    """Compile a term that is not a comparison; raises :class:`TermError`."""
    node = _parse(text)
    return _shallow(text, lambda: _Compiler(text, scope).term(node))


def relation(text: str, scope: Scope) -> Relation:
    """Compile what may stand behind ``require:``, one comparison; raises :class:`TermError`."""
    node = _parse(text)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        raise TermError(f"'{text}' must be one comparison; two facts are two rules")
    return _shallow(text, lambda: _Compiler(text, scope).relation(node))


def reference(text: str) -> Reference:
    """Read a bare name: ``kH``, ``self.dtype``, ``len(padding)``, ``x.shape[0]``; raises :class:`TermError`. Knows no scope,
    so that any attribute may stand behind the dot."""
    match _parse(text):
        case ast.Name(id=name):
            return (name, "")
        case ast.Attribute(value=ast.Name(id=base), attr=attribute):
            return (base, attribute)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=base)]):
            return (base, "len")
        case node if isinstance(node, ast.expr):
            return _Compiler(text, _NO_SCOPE).reference(node)
    raise TermError(f"'{text}' is not a name of the rule language")


def _shallow(text: str, compile: Callable[[], T]) -> T:
    try:
        return compile()
    except RecursionError:
        raise TermError(f"'{text[:40]}...' is nested too deeply") from None


def _parse(text: str) -> ast.expr:
    if not isinstance(text, str):
        raise TermError(f"{text!r} is no expression; quote it")
    if len(text) > 2000:
        raise TermError("longer than 2000 characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TermError(f"'{text}' is no expression: {getattr(error, 'msg', error)}") from None


class _NoScope:
    def kind(self, reference: Reference) -> str | None:
        return None

    def constant(self, name: str) -> int | None:
        return None

    def names(self) -> list[str]:
        return []


_NO_SCOPE = _NoScope()


class _Compiler:
    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self.scope = scope

    def fail(self, node: ast.AST, why: str) -> TermError:
        return TermError(f"'{ast.unparse(node)}': {why}")

    # conditions -------------------------------------------------------------------------------------------------------
    def condition(self, node: ast.expr) -> Term:
        if isinstance(node, ast.BoolOp):
            return self.junction(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            return Term("", "bool", inner.refs, lambda view: _not(inner.read(view)))
        if isinstance(node, ast.Compare):
            if len(node.ops) != 1:
                raise self.fail(node, "compare two things at a time")
            compared = self.relation(node)
            return Term("", "bool", compared.refs, compared.read)
        value = self.term(node)
        if value.kind != "bool":
            raise self.fail(node, f"is {value.kind}, a condition must be true or false")
        return value

    def junction(self, node: ast.BoolOp) -> Term:
        parts = [self.condition(part) for part in node.values]
        refs = tuple(dict.fromkeys(r for part in parts for r in part.refs))
        join = _and if isinstance(node.op, ast.And) else _or

        def read(view: View) -> Value:
            result = parts[0].read(view)
            for part in parts[1:]:
                result = join(result, part.read(view))
            return result

        return Term("", "bool", refs, read)

    def relation(self, node: ast.Compare) -> Relation:
        sign = _COMPARE.get(type(node.ops[0]))
        if sign is None:
            raise self.fail(node, "compare with == != < <= > >= in, not in")
        left = self.term(node.left)
        if sign in ("in", "not in"):
            if not isinstance(node.comparators[0], (ast.Tuple, ast.List, ast.Set)) or not node.comparators[0].elts:
                raise self.fail(node, "write the members in parentheses: x in (1, 2)")
            right = tuple(self.term(item, like=left.kind) for item in node.comparators[0].elts)
        else:
            right = (self.term(node.comparators[0], like=left.kind),)
            if left.kind == "word":
                left = self.term(node.left, like=right[0].kind)
        for item in right:
            if item.kind != left.kind or left.kind == "word":
                raise self.fail(node, f"compares {left.kind} with {item.kind}")
        if sign not in ("==", "!=", "in", "not in") and left.kind != "int":
            raise self.fail(node, f"{left.kind} has no order")
        refs = tuple(dict.fromkeys(r for part in (left, *right) for r in part.refs))
        return Relation(self.text, sign, left, right, refs, _comparison(sign, left, right), _is_bare(node.left) and bool(left.refs))

    # terms ------------------------------------------------------------------------------------------------------------
    def term(self, node: ast.expr, like: str = "") -> Term:
        match node:
            case ast.Constant():
                return self.constant(node, like)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self.name(node)
            case ast.BinOp():
                return self.arithmetic(node)
            case ast.UnaryOp(op=ast.USub()):
                inner = self.number(node.operand)
                zero = formulas.constant(0)
                return Term(ast.unparse(node), "int", inner.refs, lambda v: combine(wide.subtract, zero, inner.read(v)))
            case ast.Call():
                return self.call(node)
            case ast.Tuple() if like in ("", "shape"):
                return self.shape(node)
        raise self.fail(node, "is not part of the rule language")

    def number(self, node: ast.expr) -> Term:
        result = self.term(node)
        if result.kind != "int":
            raise self.fail(node, f"is {result.kind}, a number is needed")
        return result

    def constant(self, node: ast.Constant, like: str) -> Term:
        value = node.value
        if isinstance(value, (bool, int)):
            held = formulas.constant(value)
            return Term(str(value), "bool" if isinstance(value, bool) else "int", (), lambda view: held)
        if isinstance(value, str):
            if like not in _WORD_KINDS:
                return Term(value, "word", (), lambda view: formulas.constant(0))
            index = words().index[like]
            if value not in index:
                raise TermError(f"no such {like} '{value}'{did_you_mean(value, index)}")
            held = Value(np.asarray(index[value]))
            return Term(value, like, (), lambda view: held)
        raise self.fail(node, "only whole numbers, True, False and quoted words")

    def name(self, node: ast.expr) -> Term:
        if isinstance(node, ast.Name):
            number = self.scope.constant(node.id)
            if number is not None:
                held = formulas.constant(number)
                return Term(node.id, "int", (), lambda view: held)
        reference = self.reference(node)
        kind = self.scope.kind(reference)
        if kind is None:
            base = reference[0]
            if base in self.scope.names():
                raise self.fail(node, f"{base} has no such property")
            raise TermError(f"no such name '{base}'{did_you_mean(base, self.scope.names())}")
        return Term(ast.unparse(node), kind, (reference,), lambda view: view.get(reference))

    def reference(self, node: ast.expr) -> Reference:
        match node:
            case ast.Name():
                return (node.id, "")
            case ast.Attribute(value=ast.Name(id=base), attr=attribute):
                if attribute not in _ATTRIBUTES:
                    raise self.fail(node, f"no such attribute; known are {', '.join(_ATTRIBUTES)}")
                return (base, attribute)
            case ast.Subscript(value=ast.Name(id=base), slice=index):
                return (base, self.index(index))
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=base), attr="shape"), slice=index):
                return (base, ("dim", self.index(index)))
        raise self.fail(node, "is not a name of the rule language")

    def index(self, node: ast.expr) -> int:
        try:
            value = ast.literal_eval(node)
        except ValueError:
            value = None
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _MOST_AXES:
            raise self.fail(node, "an index must be a whole number, negative from the end")
        return value

    def arithmetic(self, node: ast.BinOp) -> Term:
        sign = _ARITHMETIC.get(type(node.op))
        if sign is None:
            raise self.fail(node, "compute with + - * / // %")
        left, right = self.number(node.left), self.number(node.right)
        refs = tuple(dict.fromkeys(left.refs + right.refs))
        if sign == "/":
            by = node.right.value if isinstance(node.right, ast.Constant) else None
            if not isinstance(by, int) or isinstance(by, bool) or by <= 0:
                raise self.fail(node, "/ divides by a positive constant; use // for whole numbers")
            return Term(ast.unparse(node), "int", refs, lambda view: formulas.divided(left.read(view), by))
        operate: dict[str, Callable[[Value, Value], Value]] = {
            "+": lambda a, b: combine(wide.add, a, b),
            "-": lambda a, b: combine(wide.subtract, a, b),
            "*": formulas.multiply,
            "//": formulas.floor_divide,
            "%": formulas.remainder,
        }
        if sign in ("//", "%"):
            self.whole(node.left, node.right)
        apply = operate[sign]
        return Term(ast.unparse(node), "int", refs, lambda view: apply(left.read(view), right.read(view)))

    def whole(self, *nodes: ast.expr) -> None:
        """Refuse fractions where only whole numbers make sense."""
        for node in nodes:
            if any(isinstance(part, ast.Div) for part in ast.walk(node)):
                raise self.fail(node, "must be whole here; use // instead of /")

    def call(self, node: ast.Call) -> Term:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if node.keywords:
            raise self.fail(node, "takes no keywords")
        if name in ("len", "lowest", "highest"):
            if len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
                raise self.fail(node, f"{name} takes the name of a parameter")
            reference = (node.args[0].id, name)
            if self.scope.kind(reference) is None:
                raise self.fail(node, f"{name} takes the name of a parameter{did_you_mean(node.args[0].id, self.scope.names())}")
            return Term(ast.unparse(node), "int", (reference,), lambda view: view.get(reference))
        formula = FORMULAS.get(name)
        if formula is None:
            raise self.fail(node, f"no such function{did_you_mean(name, FORMULAS)}")
        if not formula.at_least <= len(node.args) <= formula.at_most:
            most = "" if formula.at_least == formula.at_most else f" to {formula.at_most}"
            raise self.fail(node, f"takes {formula.at_least}{most} arguments, not {len(node.args)}")
        if name not in ("min", "max", "abs"):
            self.whole(*node.args)
        args = [self.term(argument) for argument in node.args]
        for i, argument in enumerate(args):
            wanted = formula.takes[min(i, len(formula.takes) - 1)]
            if argument.kind != wanted:
                raise self.fail(node.args[i], f"is {argument.kind}, {name} takes {wanted} there")
        refs = tuple(dict.fromkeys(r for argument in args for r in argument.refs))
        return Term(ast.unparse(node), formula.gives, refs, lambda view: formula.apply(*(a.read(view) for a in args)))

    def shape(self, node: ast.Tuple) -> Term:
        dims = [self.number(item) for item in node.elts]
        self.whole(*node.elts)
        refs = tuple(dict.fromkeys(r for dim in dims for r in dim.refs))

        def read(view: View) -> Value:
            values = [dim.read(view) for dim in dims]
            columns = np.broadcast_arrays(*(v.data for v in values))
            extents = np.stack(columns, axis=-1) if columns else np.zeros((1, 0), dtype=np.int64)
            return Value((np.asarray(len(dims)), np.atleast_2d(extents)), both(*values) if values else True)

        return Term(ast.unparse(node), "shape", refs, read)


def _is_bare(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "len"
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))


def _not(a: Value) -> Value:
    return Value(~np.asarray(a.data, dtype=bool), a.bound)


def _and(a: Value, b: Value) -> Value:
    """False as soon as one side is bound and false, whatever the other."""
    x, y = np.asarray(a.data, dtype=bool), np.asarray(b.data, dtype=bool)
    return Value(x & y, (a.bound & b.bound) | (a.bound & ~x) | (b.bound & ~y))


def _or(a: Value, b: Value) -> Value:
    x, y = np.asarray(a.data, dtype=bool), np.asarray(b.data, dtype=bool)
    return Value((x & a.bound) | (y & b.bound), (a.bound & b.bound) | (a.bound & x) | (b.bound & y))


def _equal_shapes(a: Value, b: Value) -> Any:
    (rank_a, extents_a), (rank_b, extents_b) = a.data, b.data
    width = max(extents_a.shape[-1], extents_b.shape[-1])
    same = np.asarray(rank_a == rank_b)
    for i in range(width):
        left = extents_a[:, i] if i < extents_a.shape[-1] else 1
        right = extents_b[:, i] if i < extents_b.shape[-1] else 1
        same = same & ((left == right) | (i >= rank_a))
    return same


def _comparison(sign: str, left: Term, right: tuple[Term, ...]) -> Callable[[View], Value]:
    def equal(a: Value, b: Value) -> Any:
        if left.kind == "shape":
            return _equal_shapes(a, b)
        x, y = formulas.over_one_divisor(a, b) if left.kind == "int" else (a.data, b.data)
        return np.asarray(x == y)

    def read(view: View) -> Value:
        a = left.read(view)
        others = [item.read(view) for item in right]
        bound = both(a, *others)
        if sign in ("in", "not in"):
            found = np.zeros((), dtype=bool)
            for other in others:
                found = found | equal(a, other)
            return Value(found if sign == "in" else ~found, bound)
        if sign in ("==", "!="):
            same = equal(a, others[0])
            return Value(same if sign == "==" else ~same, bound)
        x, y = formulas.over_one_divisor(a, others[0])
        return Value(np.asarray(_PYTHON[sign](x, y), dtype=bool), bound)

    return read
