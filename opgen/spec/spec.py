"""A spec: one vendor page, transcribed. This module is what a spec is; :mod:`opgen.spec.specfile`
reads one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from opgen.calls.table import SCALARS
from opgen.spec.language.terms import Reference, Term
from opgen.spec.rules import Guard, Rule

C_TYPES = {
    "tensor": "const aclTensor*",
    "output": "aclTensor*",
    "int_array": "const aclIntArray*",
    "bool_array": "const aclBoolArray*",
    **{kind: kind if kind == "bool" else f"{kind}_t" for kind in SCALARS},
}
"""What a parameter can be, and what that is in C; an ``output`` is a tensor that the operator
writes."""
KINDS = tuple(C_TYPES)

_TENSOR_KINDS = {
    "dtype": "dtype",
    "format": "format",
    "rank": "int",
    "shape": "shape",
    "numel": "int",
    "null": "bool",
    "strided": "bool",
    "lowest": "int",
    "highest": "int",
}
_ARRAY_KINDS = {"null": "bool", "len": "int", "lowest": "int", "highest": "int"}


LINE_DIGEST = 12
"""Hexadecimal digits of the digest of a line."""


@dataclass(frozen=True)
class Page:
    """The vendor's document: its file name, its sha256, and a digest of every line that a fact
    cites.
    """

    file: str
    sha256: str
    lines: Mapping[int, str]


@dataclass(frozen=True)
class Parameter:
    """One parameter of the first phase, as the prototype spells it.

    ``shapes``: rank -> letter (or number) of each axis. ``items``: length of an array -> the names
    that each slot binds. ``otherwise``: length -> name -> the name it falls back to. ``mask``: the
    condition under which an output is written.
    """

    name: str
    kind: str
    at: tuple[int, ...]
    shapes: Mapping[int, tuple[str | int, ...]] = field(default_factory=dict)
    items: Mapping[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    otherwise: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    enum: Mapping[int, str] = field(default_factory=dict)
    strided: bool | None = None
    mask: Term | None = None

    @property
    def is_tensor(self) -> bool:
        return self.kind in ("tensor", "output")

    @property
    def is_array(self) -> bool:
        return self.kind in ("int_array", "bool_array")


@dataclass(frozen=True)
class Occurrence:
    """One place where a letter or slot name can be read: position ``index`` where the parameter has
    ``size`` axes or items.
    """

    parameter: str
    size: int
    index: int


@dataclass(frozen=True)
class Mode:
    """Inputs are rounded to ``dtype`` before the sum wherever ``when`` holds; the first mode that
    holds wins.

    ``optional``: the page allows it and does not ask for it, so a device that leaves inputs as they
    are is right too.
    """

    at: tuple[int, ...]
    when: Term
    dtype: str
    optional: bool = False


@dataclass(frozen=True)
class Spec:
    """Everything one page says about one operator.

    ``products`` are those the page lists, on the lines that ``listed`` says, ``judges`` those whose
    calls are held against this page. ``clauses``: the numbered clauses of the page's return codes
    (``161002.7``) and their lines.
    """

    name: str
    file: str
    api: str
    op: str
    page: Page | None
    products: tuple[str, ...]
    judges: tuple[str, ...]
    parameters: Mapping[str, Parameter]
    rules: tuple[Rule, ...]
    modes: tuple[Mode, ...] = ()
    exact: tuple[str, ...] = ()
    clauses: Mapping[str, int] = field(default_factory=dict)
    listed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    digest: str = ""

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Parameter -> kind of its column."""
        return {p.name: "tensor" if p.is_tensor else p.kind for p in self.parameters.values()}

    @cached_property
    def rule(self) -> dict[str, Rule]:
        """Rule id -> rule."""
        return {rule.id: rule for rule in self.rules}

    @cached_property
    def codes(self) -> tuple[int, ...]:
        """Every code that the page names for a rule, ascending."""
        return tuple(sorted({rule.code for rule in self.rules if rule.code is not None}))

    @cached_property
    def equalities(self) -> dict[Reference, list[Guard]]:
        """Reference -> the relations ``reference == term``, which say what it is, in the order of
        the rules.
        """
        return self._defining("==")

    @cached_property
    def memberships(self) -> dict[Reference, list[Guard]]:
        """Reference -> the relations ``reference in (term, ...)``, which say what it may be, in the
        order of the rules.
        """
        return self._defining("in")

    def _defining(self, operator: str) -> dict[Reference, list[Guard]]:
        found: dict[Reference, list[Guard]] = {}
        for rule in self.rules:
            for guard in rule.guards:
                if guard.require.operator == operator and guard.require.bare:
                    found.setdefault(guard.require.left.refs[0], []).append(guard)
        return found

    @cached_property
    def scope(self) -> SpecScope:
        """What the names in this spec's terms mean."""
        return SpecScope(self.parameters)

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters.values() if p.kind == "tensor")

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters.values() if p.kind == "output")


class SpecScope:
    """The names of a spec: its parameters, the letters of its shapes, the slots of its arrays, the
    words of its enums.
    """

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        self.parameters = parameters
        self.words = {word: number for p in parameters.values() for number, word in p.enum.items()}
        self.occurrences: dict[str, list[Occurrence]] = {}
        for p in parameters.values():
            for rank, letters in p.shapes.items():
                for i, letter in enumerate(letters):
                    if isinstance(letter, str):
                        self.occurrences.setdefault(letter, []).append(Occurrence(p.name, rank, i))
            for length, slots in p.items.items():
                for i, names in enumerate(slots):
                    for name in names:
                        self.occurrences.setdefault(name, []).append(Occurrence(p.name, length, i))

    def constant(self, name: str) -> int | None:
        return self.words.get(name)

    def names(self) -> list[str]:
        return [*self.parameters, *self.occurrences, *self.words, "product"]

    def kind(self, reference: Reference) -> str | None:
        """int, bool, dtype, format, product or shape; ``None`` where there is no such name."""
        name, what = reference
        parameter = self.parameters.get(name)
        if what == "":
            if name == "product":
                return "product"
            if parameter is not None and parameter.kind in SCALARS:
                return "bool" if parameter.kind == "bool" else "int"
            return "int" if name in self.occurrences else None
        if parameter is None:
            return None
        if parameter.is_tensor:
            return "int" if isinstance(what, tuple) else _TENSOR_KINDS.get(what)
        if parameter.is_array:
            if isinstance(what, int):
                return "bool" if parameter.kind == "bool_array" else "int"
            return _ARRAY_KINDS.get(what)
        return None
