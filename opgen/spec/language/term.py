"""What the rule language is made of: references, terms and relations, and the two things they are
read against, a scope of names and a view of columns.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np

from opgen.calls.kinds import REAL, member
from opgen.spec.language.functions import whole
from opgen.spec.language.value import Value

Asked: TypeAlias = str | int | tuple[str, int]
"""What is asked of a name: nothing, an attribute, an item, an extent."""
Reference: TypeAlias = tuple[str, Asked]
"""A name and what is asked of it: ``("N", "")``, ``("self", "dtype")``, ``("padding", 2)``,
``("self", ("dim", -1))``."""


class Scope(Protocol):
    """What names mean: the kind of a reference, or ``None`` where there is no such name."""

    def kind(self, reference: Reference) -> str | None: ...
    def constant(self, name: str) -> int | float | None: ...
    def names(self) -> list[str]: ...


class View(Protocol):
    """Columns to read names from: a table, or the assignments a call is being made of."""

    def get(self, reference: Reference) -> Value: ...


class TermError(Exception):
    """A term that cannot be compiled; the message names the part and the remedy."""


class FixedView:
    """A view whose columns never change: a condition is read once. ``held``: its text -> (rows,)
    bool, where it is bound and true.
    """

    def __init__(self) -> None:
        self.held: dict[str, np.ndarray] = {}

    def get(self, reference: Reference) -> Value:
        raise NotImplementedError


INEQUALITIES = ("<", "<=", ">", ">=")
"""The comparisons of numbers by order."""


@dataclass(frozen=True)
class Term:
    """A compiled term. ``kind`` is int, double, float, bool, dtype, format, product or shape;
    ``refs`` are the names it reads; ``counts``: it counts or is what a division by a positive
    constant leaves, and so never below 0.

    To compare, :attr:`read` gives what it says, perhaps with a divisor; to say what a name is,
    :meth:`value` gives a whole number. ``source`` is its text, or what that was parsed to.
    """

    source: str | ast.expr
    kind: str
    refs: tuple[Reference, ...]
    read: Callable[[View], Value]
    counts: bool = False

    @cached_property
    def text(self) -> str:
        """The term as a person would write it."""
        return self.source if isinstance(self.source, str) else ast.unparse(self.source)

    def value(self, view: View) -> Value:
        """The same without a divisor; unbound where that is no whole number."""
        return whole(self.read(view))


@dataclass(frozen=True)
class Relation:
    """One comparison. ``bare`` says that its left side is a single name: then ``==`` and ``in``
    also say what it is.
    """

    text: str
    operator: str
    left: Term
    right: tuple[Term, ...]
    refs: tuple[Reference, ...]
    read: Callable[[View], Value]
    bare: bool

    @property
    def unit(self) -> str:
        """The kind in whose steps its sides are apart: that of the first real one, else of all."""
        kinds = [term.kind for term in (self.left, *self.right)]
        return next((kind for kind in kinds if kind in REAL), kinds[0])

    @property
    def is_inequality(self) -> bool:
        """Whether it compares by order, so that it has a limit."""
        return self.operator in INEQUALITIES


_ATTRIBUTES = ("dtype", "format", "rank", "shape", "numel", "null", "strided", "storage_numel")
_MOST_AXES = 4096
"""An index beyond this is that of no axis and no item."""


def reference(node: ast.expr) -> Reference:
    """The reference that a name means, in whatever scope; raises :class:`TermError`."""
    match node:
        case ast.Name():
            return (node.id, "")
        case ast.Attribute(value=whole, attr=attribute) if (base := owner(whole)) is not None:
            if attribute not in _ATTRIBUTES:
                raise failure(node, f"no such attribute; known: {', '.join(_ATTRIBUTES)}")
            return (base, attribute)
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            return (name, _index(index))
        case ast.Subscript(value=ast.Attribute(value=whole, attr="shape"), slice=index) if (
            base := owner(whole)
        ) is not None:
            return (base, ("dim", _index(index)))
    raise failure(node, "is not a name of the rule language")


def owner(node: ast.expr) -> str | None:
    """What an attribute is asked of: a parameter, or a tensor of a list; None for anything else."""
    match node:
        case ast.Name(id=base):
            return base
        case ast.Subscript(value=ast.Name(id=base), slice=ast.Constant(value=int() as place)):
            return member(base, place)
    return None


def is_literal(index: ast.expr) -> bool:
    """Whether an index is written as a number; any other is a term, or a slice."""
    return isinstance(index.operand if isinstance(index, ast.UnaryOp) else index, ast.Constant)


def _index(node: ast.expr) -> int:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        value = None
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _MOST_AXES:
        raise failure(node, "an index must be a whole number, negative from the end")
    return value


def failure(node: ast.AST, why: str) -> TermError:
    """What is wrong with a part of a term, which it names."""
    return TermError(f"'{ast.unparse(node)}': {why}")


def held(source: str | ast.expr, kind: str, value: Value) -> Term:
    """A term that reads nothing."""
    return Term(source, kind, (), lambda view: value)


def applied(
    node: ast.expr, kind: str, apply: Callable[..., Value], *args: Term, counts: bool = False
) -> Term:
    """What a function says of some terms."""
    return Term(
        node, kind, references(*args), lambda view: apply(*(a.read(view) for a in args)), counts
    )


def references(*parts: Term) -> tuple[Reference, ...]:
    """What some parts of an expression read, once each."""
    return tuple(dict.fromkeys(reference for part in parts for reference in part.refs))


class _Nothing:
    def get(self, reference: Reference) -> Value:
        raise KeyError(reference)


NOTHING: View = _Nothing()
"""A view without names: what constants are read against."""
