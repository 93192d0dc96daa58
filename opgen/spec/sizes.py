"""Sizes at which devices change how they compute, and the calls on either side of them: what
``specs/sizes.yaml`` says of all operators and of single ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from opgen.files import yamlfile
from opgen.files.compound_forms import listed, table
from opgen.files.forms import flag, text, whole, word
from opgen.files.records import key, record
from opgen.files.resources import specs_folder
from opgen.files.yamlfile import Document, Location
from opgen.model import FileError
from opgen.spec.form_values import NAME, PRODUCT, SENTENCE, TERM, Words
from opgen.spec.language.parse import compiled, condition, term
from opgen.spec.language.term import Scope, Term
from opgen.spec.spec import Spec

Values: TypeAlias = Mapping[str, int]
"""Names of a page and what they are in a call."""
Basis: TypeAlias = Literal["run", "ported", "read"]
FILE = "sizes.yaml"
WIDTHS = (4, 2)
"""Bytes of the elements that most tensors have."""
AXES = ("D", "H", "W")
"""Axes of images, as names of pages have them."""
_WORDS = re.compile(r"[A-Za-z_]\w*")
_COUNT = whole("a whole number above 0", 1)
_NAMES = listed(NAME, "a list of names", uniform=True)
_PRODUCTS = listed(PRODUCT, "a list of products", uniform=True)
_POINTS = listed(listed(whole("a whole number"), "a list of numbers"), "lists of numbers")


@dataclass(frozen=True)
class GeneralForm:
    """A size of every product, in elements or in bytes. Free extents stand at it, and one above
    unless it is ``alone``.
    """

    why: str = key(SENTENCE, "", required=True)
    elements: int = key(_COUNT, 0)
    bytes_: int = key(_COUNT, 0)
    alone: bool = key(flag(), False)


@dataclass(frozen=True)
class SizeLimitForm:
    """A condition ``holds`` for the points ``inside`` and for none ``outside``, ``when`` another
    one does. A point has a number for each of its ``names``, or of its operator's; ``also`` says
    what more it has.
    """

    holds: str = key(TERM, "", required=True)
    inside: Sequence[Sequence[int]] = key(_POINTS, (), required=True)
    outside: Sequence[Sequence[int]] = key(_POINTS, (), required=True)
    source: str = key(SENTENCE, "", required=True)
    basis: Basis = key(word("basis", lambda: ("run", "ported", "read")), "read", required=True)
    when: str = key(TERM, "")
    also: Mapping[str, bool] = key(table(NAME, flag(), "names and flags"), {})
    products: Words = key(_PRODUCTS, ())
    names: Words = key(_NAMES, ())


@dataclass(frozen=True)
class OperatorForm:
    """The boundaries of one operator, on some products."""

    names: Words = key(_NAMES, (), required=True)
    products: Words = key(_PRODUCTS, (), required=True)
    boundaries: Mapping[str, SizeLimitForm] = key(
        table(NAME, record(SizeLimitForm), "names of boundaries"), {}, required=True
    )


@dataclass(frozen=True)
class RelationForm:
    """What names are ``equal`` to in a call, ``when`` a condition holds; ``{}`` stands for the
    last of the axes D, H and W that a page has, the last two and all three.
    """

    equal: Mapping[str, str] = key(
        table(text("a name"), TERM, "names and terms"), {}, required=True
    )
    why: str = key(SENTENCE, "", required=True)
    when: str = key(TERM, "")


@dataclass(frozen=True)
class SizesForm:
    """The whole file."""

    relations: Mapping[str, RelationForm] = key(
        table(NAME, record(RelationForm), "names of relations"), {}
    )

    general: Mapping[str, GeneralForm] = key(
        table(NAME, record(GeneralForm), "names of sizes"), {}, required=True
    )
    drawn: Sequence[int] = key(listed(_COUNT, "a list of sizes"), ())
    operators: Mapping[str, OperatorForm] = key(
        table(NAME, record(OperatorForm), "names of operators"), {}, required=True
    )


SIZES = record(SizesForm)


@dataclass(frozen=True)
class SizeLimit:
    """Where an operator may change how it computes on some products: ``points`` are values of
    calls, each with whether ``holds`` is true of it, where ``when`` is.
    """

    name: str
    points: tuple[tuple[Values, bool], ...]
    products: Words
    when: Term | None = None
    holds: Term | None = None


@dataclass(frozen=True)
class SizeRelation:
    """What some names of a page are in a call, ``when`` a condition holds, in ``words``."""

    words: str
    equal: Mapping[str, Term]
    when: Term | None


class Sizes:
    """A table of sizes; raises :class:`opgen.model.FileError` with all problems of its form."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.form = SIZES.whole(document)
        document.raise_problems()

    def check(self, specs: Sequence[Spec]) -> None:
        """Raise FileError with everything that fits no page of its operator."""
        for name, size in self.form.general.items():
            if bool(size.elements) == bool(size.bytes_):
                self.document.problem(("general", name), "expects elements or bytes, one of them")
        operators = {spec.op: None for spec in specs}
        self.document.known(("operators",), self.form.operators, operators, "operator")
        for spec in specs:
            with suppress(FileError):  # every problem stays noted in the document
                self.boundaries(spec)
            with suppress(FileError):
                self.relations(spec)
        self.document.raise_problems()

    @property
    def general(self) -> list[int]:
        """Every extent that matters on all products: its elements, of the usual widths of one."""
        return sorted(
            {
                (size.elements or size.bytes_ // width) + more
                for size in self.form.general.values()
                for width in WIDTHS
                for more in range(1 if size.alone else 2)
            }
        )

    @property
    def drawn(self) -> list[int]:
        """What extents of calls that are drawn at random are rather than other numbers: the general
        sizes, more of them, and the neighbours of these.
        """
        around = (size + side for size in self.form.drawn for side in (-1, 0, 1))
        return sorted({*self.general, *around} - {0})

    def relations(self, spec: Spec) -> list[SizeRelation]:
        """Those of the names that a page has."""
        known, found = set(spec.scope.names()), []
        for name, form in self.form.relations.items():
            said = f"{form.equal} {form.when}"
            axes = [a for a in AXES if set(_WORDS.findall(said.replace("{}", a))) <= known]
            counts = range(1, len(axes) + 1) if "{}" in said else range(1)
            found += [self._relation(spec, name, form, axes[-n:]) for n in counts if axes]
        self.document.raise_problems()
        return found

    def _relation(
        self, spec: Spec, name: str, form: RelationForm, axes: Sequence[str]
    ) -> SizeRelation:
        equal = {left.format(a): form.equal[left].format(a) for a in axes for left in form.equal}
        when = " and ".join(dict.fromkeys(form.when.format(a) for a in axes if form.when))
        terms = {
            left: self._term(spec, ("relations", name), term, right)
            for left, right in equal.items()
        }
        words = ", ".join(f"{left} = {right}" for left, right in equal.items())
        guard = self._term(spec, ("relations", name), condition, when) if when else None
        return SizeRelation(f"{name}: {words}", {k: t for k, t in terms.items() if t}, guard)

    def _term(
        self, spec: Spec, where: Location, parser: Callable[[str, Scope], Term], text: str
    ) -> Term | None:
        """A text in the names of a page; what is wrong with it is noted."""
        return compiled(self.document, where, None, parser, text, spec.scope)

    def boundaries(self, spec: Spec) -> list[SizeLimit]:
        """Those of the operator of a page; raises FileError where they have names that the page
        has not, or points of another length.
        """
        own = self.form.operators.get(spec.op)
        found = [] if own is None else [self._boundary(spec, own, name) for name in own.boundaries]
        self.document.raise_problems()
        return found

    def _boundary(self, spec: Spec, own: OperatorForm, name: str) -> SizeLimit:
        where, form = ("operators", spec.op, "boundaries", name), own.boundaries[name]
        when, holds = (
            self._term(spec, (*where, name), condition, text) if text else None
            for name, text in (("when", form.when), ("holds", form.holds))
        )
        points, names = [], form.names or own.names
        for side, inside in (("inside", True), ("outside", False)):
            for point in getattr(form, side):
                if len(point) != len(names):
                    expected = f"expects a number for each of {', '.join(names)}"
                    self.document.problem((*where, side), f"{expected}; not {list(point)}")
                points.append(({**dict(zip(names, point, strict=False)), **form.also}, inside))
        return SizeLimit(name, tuple(points), tuple(form.products or own.products), when, holds)


@cache
def shipped_sizes() -> Sizes:
    """The table that opgen ships."""
    return Sizes(yamlfile.read(specs_folder() / FILE, f"specs/{FILE}"))
