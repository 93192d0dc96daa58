"""What a name of the rule language refers to: ``kH``, ``self.dtype``, ``padding[0]``,
``x.shape[-1]``.
"""

from __future__ import annotations

import ast

from opgen.spec.language.expressions import Reference, TermError

_ATTRIBUTES = ("dtype", "format", "rank", "shape", "numel", "null", "strided", "storage_numel")
_MOST_AXES = 4096
"""An index beyond this is that of no axis and no item."""


def reference(node: ast.expr) -> Reference:
    """The reference that a name means, in whatever scope; raises :class:`TermError`."""
    match node:
        case ast.Name():
            return (node.id, "")
        case ast.Attribute(value=ast.Name(id=base), attr=attribute):
            if attribute not in _ATTRIBUTES:
                raise failure(node, f"no such attribute; known: {', '.join(_ATTRIBUTES)}")
            return (base, attribute)
        case ast.Subscript(value=ast.Name(id=base), slice=index):
            return (base, _index(index))
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=base), attr="shape"), slice=index):
            return (base, ("dim", _index(index)))
    raise failure(node, "is not a name of the rule language")


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
