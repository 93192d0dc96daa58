"""A spec: one vendor page, transcribed. This module is what a spec is; :mod:`opgen.spec.specfile`
reads one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from opgen.calls.factorize import by_key
from opgen.calls.kinds import KINDS, REAL, Family
from opgen.spec.language.term import Reference, Term
from opgen.spec.parameter import Parameter
from opgen.spec.rules import Guard, Rule

ENDS = ("least", "greatest")
"""What rules ask of a tensor's elements one by one."""
TOTAL = "total"
"""What a term asks of the elements of a tensor: their sum."""
_ATTRIBUTES: Mapping[Family, Mapping[str, str]] = {
    "tensor": {
        "dtype": "dtype",
        "format": "format",
        "rank": "int",
        "shape": "shape",
        "numel": "int",
        "strided": "bool",
        "storage_numel": "int",
        "lowest": "int",
        "highest": "int",
        "least": "int",
        "greatest": "int",
        TOTAL: "int",
    },
    "array": {"len": "int", "values": "shape"},
    "scalar": {},
    "typed": {"dtype": "dtype"},
    "list": {"len": "int"},
}
"""What a term may ask of a parameter, and the kind of the answer."""


@dataclass(frozen=True)
class Page:
    """The vendor's document: its file name, its sha256, and a digest of every line that a fact
    cites.
    """

    file: str
    sha256: str
    lines: Mapping[int, str]


@dataclass(frozen=True)
class Occurrence:
    """One place where a letter or slot name can be read: position ``index`` where the parameter has
    ``size`` axes or items, of a tensor in the order of one ``format``, or of all.
    """

    parameter: str
    size: int
    index: int
    format: str = ""


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
    calls are judged by this page. ``clauses``: the numbered clauses of the page's return codes
    (``161002.7``) and their lines. ``remarks``: what is wrong with a line that constrains nothing.
    ``edition`` is that of the page; empty where it has none. ``status_only``: why nobody can say
    what the outputs should hold, so that cases have no data and the operator has no kernel.
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
    remarks: Mapping[int, str] = field(default_factory=dict)
    digest: str = ""
    edition: str = ""
    status_only: str = ""

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
    def sums(self) -> list[tuple[str, Guard]]:
        """The guards that speak of the sum of a tensor's elements, each with the tensor."""
        guards = [guard for rule in self.rules for guard in rule.guards]
        named = [(reference, guard) for guard in guards for reference in guard.require.left.refs]
        return [(name, guard) for (name, what), guard in named if what == TOTAL]

    @cached_property
    def memberships(self) -> dict[Reference, list[Guard]]:
        """Reference -> the relations ``reference in (term, ...)``, which say what it may be, in the
        order of the rules.
        """
        return self._defining("in")

    def _defining(self, operator: str) -> dict[Reference, list[Guard]]:
        return by_key(
            (guard.require.left.refs[0], guard)
            for rule in self.rules
            for guard in rule.guards
            if guard.require.operator == operator and guard.require.bare
        )

    @cached_property
    def scope(self) -> SpecScope:
        """What the names in this spec's terms mean."""
        return SpecScope(self.parameters)

    @cached_property
    def masks(self) -> frozenset[str]:
        """The parameters that say which outputs are asked for."""
        asked = [p.mask for p in self.parameters.values() if p.mask is not None]
        return frozenset(str(name) for mask in asked for name, _ in mask.refs)

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters.values() if p.is_tensor and KINDS[p.kind].read)

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters.values() if p.is_tensor and KINDS[p.kind].written)


class SpecScope:
    """The names of a spec: its parameters, the letters of its shapes, the slots of its arrays, the
    words of its enums; and terms with names of their own, which errata have ``added``.
    """

    def __init__(
        self, parameters: Mapping[str, Parameter], added: Mapping[str, Term] = MappingProxyType({})
    ) -> None:
        self.parameters, self.added = parameters, added
        self.words = {word: number for p in parameters.values() for number, word in p.enum.items()}
        self.occurrences: dict[str, list[Occurrence]] = {}
        for p in parameters.values():
            axes = [
                (rank, layout, [(axis,) for axis in order])
                for rank, layout, order in p.layouts
                if layout or rank not in p.orders
            ]
            items = [(size, "", slots) for size, slots in p.items.items()]
            for size, layout, places in (*axes, *items):
                for i, names in enumerate(places):
                    for name in names:
                        if isinstance(name, str):
                            self.occurrences.setdefault(name, []).append(
                                Occurrence(p.name, size, i, layout)
                            )

    def constant(self, name: str) -> int | float | None:
        return self.words.get(name)

    def names(self) -> list[str]:
        return [*self.added, *self.parameters, *self.occurrences, *self.words, "product"]

    def kind(self, reference: Reference) -> str | None:
        """int, double, float, bool, string, dtype, format, product or shape; ``None`` where there
        is no such name.
        """
        name, what = reference
        if what == "" and name in self.added:
            return self.added[name].kind
        if what == "" and (name == "product" or name in self.occurrences):
            return "product" if name == "product" else "int"
        if name not in self.parameters:
            return None
        kind = KINDS[self.parameters[name].kind]
        reads_element = {
            "tensor": isinstance(what, tuple),
            "array": isinstance(what, int),
            "scalar": what == "",
            "typed": what == "",
            "list": False,
        }[kind.family]
        if what == "null":
            return "bool" if kind.pointer else None
        if what == "values" and kind.element.term != "int":
            return None
        if kind.family == "array" and what in ("lowest", "highest"):
            return kind.element.term if kind.element.term in REAL else "int"
        return kind.element.term if reads_element else _ATTRIBUTES[kind.family].get(str(what))
