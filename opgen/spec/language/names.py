"""Names in terms: of parameters, their attributes, parts and elements."""

from __future__ import annotations

import ast

from opgen.model import did_you_mean
from opgen.spec.language.constants import constant
from opgen.spec.language.term import (
    INEQUALITIES,
    Scope,
    Term,
    TermError,
    View,
    failure,
    owner,
    reference,
)
from opgen.spec.language.value import Value


def named(node: ast.expr, like: str, scope: Scope) -> Term:
    """What a name stands for, alone, with an attribute or with an index."""
    number = scope.constant(node.id) if isinstance(node, ast.Name) else None
    if number is not None:
        return constant(node, number, like)
    ref = reference(node)
    base = ref[0]
    if ref[1] == "" and scope.kind((base, "values")) is not None:
        ref = (base, "values")
    kind = scope.kind(ref)
    if kind is None:
        if base in scope.names():
            whole = f"stands for the whole; write {base}.shape of a tensor, {base}[i] of an array"
            raise failure(node, f"{base} {'has no such property' if ref[1] else whole}")
        raise TermError(f"no such name '{base}'{did_you_mean(base, scope.names())}")
    return Term(node, kind, (ref,), lambda view: view.get(ref), ref[1] in ("rank", "numel"))


def all_values(node: ast.expr, sign: str, scope: Scope) -> Term | None:
    """``values(x)`` on the left of a comparison: all elements of a tensor, of which the least
    or the greatest decides; in ``values(x, n)`` those other than a number; in ``sum(values(x))``
    their sum. None for anything else.
    """
    of, what = node, "least" if ">" in sign else "greatest"
    match node:
        case ast.Call(func=ast.Name(id="sum"), args=[ast.Call() as inner], keywords=[]):
            of, what = inner, "total"
    match of:
        case ast.Call(func=ast.Name(id="values"), args=[whole, *others], keywords=[]) if (
            name := owner(whole)
        ) is not None and len(others) <= (what != "total"):
            if what != "total" and sign not in INEQUALITIES:
                raise failure(node, "compare all values with < <= > >=")
            ref = (name, what)
            if scope.kind(ref) is None:
                raise failure(of, "takes the name of a tensor")
            if others:
                return _others(node, name, what, named(others[0], "", scope))
            return Term(node, "int", (ref,), lambda view: view.get(ref))
    return None


def _others(node: ast.expr, name: str, what: str, left_out: Term) -> Term:
    """The least or the greatest element other than a number, of whole numbers."""
    ends = ((name, "least"), (name, "greatest"))

    def read(view: View) -> Value:
        (least, low), (greatest, high) = (view.get(end)[:2] for end in ends)
        number = left_out.read(view)
        alone = (least == greatest) & (least == number.data)
        data = (
            least + (least == number.data)
            if what == "least"
            else (greatest - (greatest == number.data))
        )
        return Value(data, low & high & number.bound & ~alone)

    return Term(node, "int", ((name, what), *left_out.refs), read)
