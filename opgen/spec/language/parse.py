"""From text to terms of the rule language, which are parsed once and then read off whole columns.

A term is written as a Python expression over the names of a spec: letters of shapes, slots of
arrays, scalars, enum words, ``product``; ``x.dtype .format .rank .shape .numel .null .strided
.storage_numel``, ``x.shape[i]``, ``x.shape[i:j]``, ``x[i]``, ``len(x)``, ``lowest(x)``,
``highest(x)``; ``+ - * / // %``, of shapes ``+ *`` as of Python's tuples; functions of
:mod:`opgen.spec.language.functions` and :mod:`opgen.spec.language.shapes`; comparisons ``== != < <=
> >= in not in``; ``and or not``. ``values(x) < n`` speaks of every element of a tensor, and is
bound where the call says between which numbers these lie; ``sum(values(x))`` of their sum, and is
bound where the call says that all are the same number. Values are three-valued: a comparison
whose names are unbound neither holds nor fails.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from opgen.files.yamlfile import Document, Location
from opgen.spec.language.compiler import Compiler
from opgen.spec.language.term import Reference, Relation, Scope, Term, TermError, owner
from opgen.spec.language.term import reference as named

T = TypeVar("T")

MOST_CHARACTERS = 2000
"""Characters of a term, at most."""


def term(text: str, scope: Scope) -> Term:
    """Compile a term, a condition too; raises :class:`TermError`."""
    return _compiled(text, lambda node: Compiler(text, scope).term(node))


def condition(text: str, scope: Scope) -> Term:
    """Compile what may stand after ``when:``; raises :class:`TermError`."""
    compiled = _compiled(text, lambda node: Compiler(text, scope).condition(node))
    return Term(text, "bool", compiled.refs, compiled.read)


def relation(text: str, scope: Scope) -> Relation:
    """Compile what may stand after ``require:``, one comparison; of a function that says true or
    false, that it is true. Raises :class:`TermError`.
    """

    def compare(node: ast.expr) -> Relation:
        if isinstance(node, ast.Call) and Compiler(text, scope).term(node).kind == "bool":
            return relation(f"{text.strip()} == True", scope)
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            raise TermError(f"'{text}' must be one comparison; two facts are two rules")
        return Compiler(text, scope).relation(node)

    return _compiled(text, compare)


def reference(text: str) -> Reference:
    """Read a bare name: ``kH``, ``self.dtype``, ``len(padding)``, ``x.shape[0]``; raises
    :class:`TermError`. Knows no scope, so that any attribute may stand after the dot.
    """

    def read(node: ast.expr) -> Reference:
        match node:
            case ast.Attribute(value=whole, attr=attribute) if (base := owner(whole)) is not None:
                return (base, attribute)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=base)]):
                return (base, "len")
        return named(node)

    return _compiled(text, read)


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


def _compiled(text: str, compiler: Callable[[ast.expr], T]) -> T:
    """What a text compiles to; TermError where it is no expression, or runs out of the stack."""
    if not isinstance(text, str):
        raise TermError(f"{text!r} is not an expression; quote it")
    if len(text) > MOST_CHARACTERS:
        raise TermError(f"longer than {MOST_CHARACTERS} characters")
    try:
        node = _parsed(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TermError(f"'{text}' is not an expression: {getattr(error, 'msg', error)}") from None
    try:
        return compiler(node)
    except RecursionError:
        raise TermError(f"'{text[:40]}...' is nested too deeply") from None


@lru_cache(maxsize=1 << 14)
def _parsed(text: str) -> ast.expr:
    """The node of an expression; pages of an operator, and its errata, repeat many."""
    return ast.parse(text, mode="eval").body
