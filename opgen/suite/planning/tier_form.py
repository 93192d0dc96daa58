"""A tier of a plan: how hard to try, and the form in which a plan says so."""

from __future__ import annotations

from dataclasses import dataclass

from opgen.files.compound_forms import listed, then
from opgen.files.forms import measured, power, text, whole
from opgen.files.records import key, record
from opgen.files.yamlfile import Document, Location
from opgen.spec.form_values import Words
from opgen.suite.covering import STRONGEST

MOST = 2**53
"""The largest number of calls, elements or bytes that a tier may ask for."""
COUNT = whole("a whole number from 0 to 2^53", 0, MOST)
UNITS = {
    unit: base**power
    for base, names in ((1000, "kB MB GB TB"), (1024, "KiB MiB GiB TiB"))
    for power, unit in enumerate(names.split(), 1)
}
"""Units of bytes, as plans write them."""
ELEMENTS = power(COUNT)
SIZE = measured(ELEMENTS, UNITS)


@dataclass(frozen=True)
class GroupForm:
    """Axes that are covered together, and how many of them at a time: all, where it is not said."""

    axes: Words = key(listed(text("a name"), "a list of axes", 1, uniform=True), (), required=True)
    strength: int | None = key(
        whole(f"how many axes are combined at a time, 1 to {STRONGEST}", 1, STRONGEST), None
    )


def _group(document: Document, where: Location, form: GroupForm) -> tuple[Words, int]:
    strength, most = form.strength or len(form.axes), min(len(form.axes), STRONGEST)
    axes = document.data.get("axes")
    document.known(
        (*where, "axes"), form.axes, axes if isinstance(axes, dict) else form.axes, "axis"
    )
    if form.axes and strength > most:
        text = f"expects at most {most} of {len(form.axes)} axes at a time, not {strength}"
        document.problem((*where, "strength"), text)
    return form.axes, strength


@dataclass(frozen=True)
class Tier:
    """How hard to try. ``strength`` is the t of the covering array over all axes, ``groups`` more
    for some; 0 makes no calls.

    ``invalid`` cases per rule, guard and product; ``limits`` valid cases per limit and product;
    ``pairs`` calls per product for every two rules with different codes. ``elements`` is the most a
    case may compute with (a larger legal call becomes first-phase-only); ``bytes`` and ``cases``
    bound what is made for one page.
    """

    strength: int = key(whole(f"a whole number from 0 to {STRONGEST}", 0, STRONGEST), 1)
    groups: tuple[tuple[Words, int], ...] = key(
        listed(then(record(GroupForm), _group), "a list of groups of axes"), ()
    )
    invalid: int = key(COUNT, 1)
    limits: int = key(COUNT, 1)
    pairs: int = key(COUNT, 0)
    elements: int = key(ELEMENTS, 2**20)
    bytes: int = key(SIZE, 2**30)
    cases: int = key(COUNT, 100_000)
