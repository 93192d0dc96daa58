"""The parameters of a draft: what the prototype of a page declares."""

from __future__ import annotations

from opgen.calls.kinds import KINDS
from opgen.model import FileError, Problem
from opgen.spec.drafting.facts import DraftedParameter
from opgen.spec.pages.page import Declared, PageText


def kind_of(c_type: str) -> str | None:
    """The kind of a parameter by its type in the prototype; None where there is none.

    >>> kind_of("const aclTensor*"), kind_of("aclTensor*"), kind_of("const bool"), kind_of("short")
    ('tensor', 'output', 'bool', None)
    """
    types = {of.c_type: name for name, of in KINDS.items() if not (of.read and of.written)}
    bare = {kind.removeprefix("const "): name for kind, name in types.items()} | {"int": "int32"}
    return types.get(c_type) or bare.get(c_type.removeprefix("const "))


def parameters(page: PageText, file: str) -> dict[str, DraftedParameter]:
    """Parameters of the kinds that specs have; FileError where one is of another kind."""
    kinds = {declared: kind_of(declared.c_type) for declared in page.prototype}
    lines = {parameter.name: parameter.line for parameter in page.parameters}
    problems = [
        Problem(file, declared.line, declared.name, f"no kind of parameter for {declared.c_type}")
        for declared, kind in kinds.items()
        if kind is None
    ]
    if problems:
        raise FileError(problems)

    def drafted(declared: Declared) -> DraftedParameter:
        return DraftedParameter(
            declared.name, kinds[declared] or "", lines.get(declared.name, declared.line)
        )

    return {declared.name: drafted(declared) for declared in page.prototype}
