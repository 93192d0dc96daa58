"""The rule language: a term is parsed once and then read off whole columns.

A term is written as a Python expression over the names of a spec: letters of shapes, slots of
arrays, scalars, enum words, ``product``; ``x.dtype .format .rank .shape .numel .null .strided
.storage_numel``, ``x.shape[i]``, ``x[i]``, ``len(x)``, ``lowest(x)``, ``highest(x)``; ``+ - * / //
%``; the functions of :mod:`opgen.spec.language.formulas`; comparisons ``== != < <= > >= in not
in``; and in a condition ``and or not``. Values are three-valued: a comparison whose names are
unbound neither holds nor fails.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from opgen.files.yamlfile import Document, Location
from opgen.spec.language import references
from opgen.spec.language.compiler import Compiler
from opgen.spec.language.expressions import (
    Asked,
    FixedView,
    Reference,
    Relation,
    Scope,
    Term,
    TermError,
    View,
)

__all__ = [
    "Asked",
    "FixedView",
    "Reference",
    "Relation",
    "Scope",
    "Term",
    "TermError",
    "View",
    "compiled",
    "condition",
    "expression",
    "reference",
    "relation",
    "term",
]
T = TypeVar("T")

MOST_CHARACTERS = 2000
"""Characters of a term, at most."""


def condition(text: str, scope: Scope) -> Term:
    """Compile what may stand behind ``when:``; raises :class:`TermError`."""
    node = _parse(text)
    term = _shallow(text, lambda: Compiler(text, scope).condition(node))
    return Term(text, "bool", term.refs, term.read)


def term(text: str, scope: Scope) -> Term:
    """Compile a term that is not a comparison; raises :class:`TermError`."""
    node = _parse(text)
    return _shallow(text, lambda: Compiler(text, scope).term(node))


def expression(text: str, scope: Scope) -> Term:
    """Compile a condition, or what is none, a term; raises :class:`TermError`."""
    return (condition if Compiler.is_condition(_parse(text)) else term)(text, scope)


def relation(text: str, scope: Scope) -> Relation:
    """Compile what may stand behind ``require:``, one comparison; raises :class:`TermError`."""
    node = _parse(text)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        raise TermError(f"'{text}' must be one comparison; two facts are two rules")
    return _shallow(text, lambda: Compiler(text, scope).relation(node))


def reference(text: str) -> Reference:
    """Read a bare name: ``kH``, ``self.dtype``, ``len(padding)``, ``x.shape[0]``; raises
    :class:`TermError`. Knows no scope, so that any attribute may stand behind the dot.
    """
    match _parse(text):
        case ast.Name(id=name):
            return (name, "")
        case ast.Attribute(value=ast.Name(id=base), attr=attribute):
            return (base, attribute)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=base)]):
            return (base, "len")
        case node if isinstance(node, ast.expr):
            return _shallow(text, lambda: references.reference(node))
    raise TermError(f"'{text}' is not a name of the rule language")


def compiled(
    document: Document,
    where: Location,
    name: str | None,
    compiler: Callable[[str, Scope], T],
    text: str,
    scope: Scope,
) -> T | None:
    """A text that stands ``where`` in a document; None, and a problem noted under ``name``, or
    that place, where it cannot be compiled.
    """
    try:
        return compiler(text, scope)
    except TermError as error:
        document.problem(where, str(error), name)
        return None


def _shallow(text: str, compiled: Callable[[], T]) -> T:
    """What compiling gives; TermError where it runs out of the stack."""
    try:
        return compiled()
    except RecursionError:
        raise TermError(f"'{text[:40]}...' is nested too deeply") from None


def _parse(text: str) -> ast.expr:
    if not isinstance(text, str):
        raise TermError(f"{text!r} is not an expression; quote it")
    if len(text) > MOST_CHARACTERS:
        raise TermError(f"longer than {MOST_CHARACTERS} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TermError(f"'{text}' is not an expression: {getattr(error, 'msg', error)}") from None
