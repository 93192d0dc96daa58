"""Sizes at which devices change how they compute, and the calls on either side of them: what
``specs/sizes.yaml`` says of all operators and of single ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from opgen.files import yamlfile
from opgen.files.forms import flag, listed, table, whole, word
from opgen.files.records import key, record
from opgen.files.resources import specs_folder
from opgen.files.yamlfile import Document
from opgen.spec.form_values import NAME, PRODUCT, SENTENCE, TERM, Words
from opgen.spec.language.parse import compiled, condition
from opgen.spec.language.term import Term
from opgen.spec.spec import Spec

Values: TypeAlias = Mapping[str, int]
"""Names of a page and what they are in a call."""
Basis: TypeAlias = Literal["run", "ported", "read"]
FILE = "sizes.yaml"
WIDTHS = (4, 2)
"""Bytes of the elements that most tensors have."""
_COUNT = whole("a whole number above 0", 1)
_NAMES = listed(NAME, "a list of names", uniform=True)
_PRODUCTS = listed(PRODUCT, "a list of products", uniform=True)
_POINTS = listed(listed(whole("a whole number"), "a list of numbers"), "lists of numbers")


@dataclass(frozen=True)
class GeneralForm:
    """A size of every product, in elements or in bytes."""

    why: str = key(SENTENCE, "", required=True)
    elements: int = key(_COUNT, 0)
    bytes_: int = key(_COUNT, 0)


@dataclass(frozen=True)
class SizeLimitForm:
    """A condition ``holds`` for the points ``inside`` and for none ``outside``, ``when`` another
    one does. A point has a number for each name of its operator; ``also`` says what more it has.
    """

    holds: str = key(TERM, "", required=True)
    inside: Sequence[Sequence[int]] = key(_POINTS, (), required=True)
    outside: Sequence[Sequence[int]] = key(_POINTS, (), required=True)
    source: str = key(SENTENCE, "", required=True)
    basis: Basis = key(word("basis", lambda: ("run", "ported", "read")), "read", required=True)
    when: str = key(TERM, "")
    also: Mapping[str, bool] = key(table(NAME, flag(), "names and flags"), {})
    products: Words = key(_PRODUCTS, ())


@dataclass(frozen=True)
class OperatorForm:
    """The boundaries of one operator, on some products."""

    names: Words = key(_NAMES, (), required=True)
    products: Words = key(_PRODUCTS, (), required=True)
    boundaries: Mapping[str, SizeLimitForm] = key(
        table(NAME, record(SizeLimitForm), "names of boundaries"), {}, required=True
    )


@dataclass(frozen=True)
class SizesForm:
    """The whole file."""

    general: Mapping[str, GeneralForm] = key(
        table(NAME, record(GeneralForm), "names of sizes"), {}, required=True
    )
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


class Sizes:
    """A table of sizes; raises :class:`opgen.model.FileError` with all problems of its form."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.form = SIZES.whole(document)
        document.raise_problems()

    @property
    def general(self) -> list[int]:
        """Every size of all products in elements, of the usual widths of one."""
        sizes = self.form.general.values()
        return sorted({s.elements or s.bytes_ // width for s in sizes for width in WIDTHS})

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
            compiled(self.document, (*where, name), None, condition, text, spec.scope)
            if text
            else None
            for name, text in (("when", form.when), ("holds", form.holds))
        )
        points = []
        for side, inside in (("inside", True), ("outside", False)):
            for point in getattr(form, side):
                if len(point) != len(own.names):
                    expected = f"expects a number for each of {', '.join(own.names)}"
                    self.document.problem((*where, side), f"{expected}; not {list(point)}")
                values = {**dict(zip(own.names, point, strict=False)), **form.also}
                points.append((values, inside))
        return SizeLimit(name, tuple(points), tuple(form.products or own.products), when, holds)


@cache
def shipped_sizes() -> Sizes:
    """The table that opgen ships."""
    return Sizes(yamlfile.read(specs_folder() / FILE, f"specs/{FILE}"))
