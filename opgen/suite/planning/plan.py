"""A plan: what we choose to try of one operator, and why. It says nothing about what is legal; that
is the spec's.

An axis sets one name, or several together, to one of its values. What no axis sets follows from a
``let``, from the page's own equalities, or from a default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from opgen.files.resources import cases_folder
from opgen.files.yamlfile import Document, Location, did_you_mean, read
from opgen.model import TIERS, FileError, Problem
from opgen.numerics.slot import Role
from opgen.suite.covering import STRONGEST as STRONGEST
from opgen.suite.planning.handwritten import HANDWRITTEN_KEYS as HANDWRITTEN_KEYS
from opgen.suite.planning.handwritten import VACUOUS_KEYS as VACUOUS_KEYS
from opgen.suite.planning.handwritten import Handwritten as Handwritten
from opgen.suite.planning.handwritten import Vacuous as Vacuous
from opgen.suite.planning.handwritten import handwritten_call, vacuous

MOST_FACTORS = 16
"""Tensors that one term may multiply; group norm multiplies four."""
TOP = ("op", "axes", "let", "roles", "factors", "vacuous", "tiers", "handwritten")
"""The keys of a plan file."""
ROLES: tuple[Role, ...] = get_args(Role)
GROUP_KEYS = ("axes", "strength")
TIER_KEYS = ("strength", "groups", "invalid", "limits", "pairs", "elements", "bytes", "cases")


@dataclass(frozen=True)
class Axis:
    """Names that are set together, and the values to try; ``values[i]`` holds one value per name in
    ``sets``.
    """

    name: str
    sets: tuple[str, ...]
    values: tuple[tuple[object, ...], ...]
    why: str
    narrowed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def of_tier(self, tier: str) -> tuple[tuple[object, ...], ...]:
        """The values that a tier tries: all, or those it narrows the axis to."""
        return tuple(self.values[i] for i in self.narrowed.get(tier, range(len(self.values))))


@dataclass(frozen=True)
class Tier:
    """How hard to try. ``strength`` is the t of the covering array over all axes, ``groups`` more
    for some; 0 makes no calls.

    ``invalid`` cases per rule, guard and product; ``limits`` valid cases per limit and product;
    ``pairs`` calls per product for every two rules with different codes. ``elements`` is the most a
    case may compute with (a larger legal call becomes first-phase-only); ``bytes`` and ``cases``
    bound what is made for one page.
    """

    name: str
    strength: int
    groups: tuple[tuple[tuple[str, ...], int], ...] = ()
    invalid: int = 1
    limits: int = 1
    pairs: int = 0
    elements: int = 2**20
    bytes: int = 2**30
    cases: int = 100_000


@dataclass(frozen=True)
class Plan:
    """Everything chosen for one operator. ``roles`` say what each tensor is to the data recipes;
    ``factors`` how many tensors one term of a sum multiplies.
    """

    file: str
    op: str
    axes: tuple[Axis, ...]
    lets: Mapping[str, object]
    roles: Mapping[str, str]
    factors: int
    vacuous: tuple[Vacuous, ...]
    tiers: Mapping[str, Tier]
    handwritten: tuple[Handwritten, ...]
    document: Document
    digest: str

    def speaks_of(self, products: Iterable[str]) -> bool:
        """Whether the plan tries any of some products; one without such an axis tries all."""
        tried = {
            level[0] for axis in self.axes if axis.sets == ("product",) for level in axis.values
        }
        return not tried or bool(tried & set(products))


def load_plan(path: Path, shown: str | None = None) -> Plan:
    """Read a plan; raises :class:`opgen.model.FileError` with all its problems of form. Names are
    checked where a plan meets the pages of its operator (:mod:`opgen.suite.planning.plan_check`).
    """
    plan = read_plan(path, shown)
    plan.document.raise_problems()
    return plan


def read_plan(path: Path, shown: str | None = None) -> Plan:
    """Read a plan whose problems of form stand in its document, with what can be held against pages
    all the same; FileError where its operator or its names are not known.
    """
    return _Loader(read(path, shown)).plan()


def plan_for(op: str, folder: Path | None = None) -> Plan:
    """The plan that opgen ships for an operator: ``cases/<op>.yaml``;
    :func:`opgen.suite.planning.plan_check.shipped_plan` is sure that it fits.
    """
    path = (folder or cases_folder()) / f"{op}.yaml"
    if not path.exists():
        raise FileError(
            [
                Problem(
                    f"cases/{path.name}",
                    None,
                    op,
                    "has no plan; write one, or give a plan file with --plan",
                )
            ]
        )
    return load_plan(path, f"cases/{path.name}")


class _Loader:
    def __init__(self, document: Document) -> None:
        self.doc = document
        self.data: dict[Any, Any] = document.data if isinstance(document.data, dict) else {}
        if not self.data:
            document.problem((), "a plan is a mapping with the keys " + ", ".join(TOP))
            document.raise_problems()

    def plan(self) -> Plan:
        self.doc.known((), self.data, TOP, "key")
        op = self.doc.text((), self.data, "op")
        for key in ("axes", "tiers"):
            if key not in self.data:
                self.doc.problem((), f"the key '{key}' is missing")
            elif self.data[key] in (None, {}):
                self.doc.problem((key,), "expects a mapping with at least one entry")
        axes = tuple(self.axis(name, body) for name, body in self.mapping("axes").items())
        roles = self.mapping("roles")
        for name, role in roles.items():
            if role not in ROLES:
                self.doc.problem(
                    ("roles", name),
                    f"no such role {role!r}{did_you_mean(role, ROLES)}; known are"
                    f" {', '.join(ROLES)}",
                )
        names = {axis.name for axis in axes}
        tiers = {name: self.tier(name, body, names) for name, body in self.mapping("tiers").items()}
        handwritten = tuple(
            handwritten_call(self.doc, i, body)
            for i, body in enumerate(self.entries("handwritten"))
        )
        for id_ in {pin.id for pin in handwritten if [p.id for p in handwritten].count(pin.id) > 1}:
            self.doc.problem(
                ("handwritten",), "is the id of two handwritten cases; rename one", id_
            )
        factors = self.data.get("factors", 2)
        if type(factors) is not int or not 1 <= factors <= MOST_FACTORS:
            self.doc.problem(
                ("factors",),
                f"expects how many tensors one term multiplies, 1 to {MOST_FACTORS}, not"
                f" {str(factors)[:40]}",
            )
        told = tuple(vacuous(self.doc, i, body) for i, body in enumerate(self.entries("vacuous")))
        lets = self.mapping("let")
        misspelt = any(
            did_you_mean(key, ("op", "axes", "let")) for key in self.data if key not in TOP
        )
        if misspelt or not op or not axes or self.data.get("let") and not lets:
            self.doc.raise_problems()
        return Plan(
            self.doc.file,
            op,
            axes,
            lets,
            {name: str(role) for name, role in roles.items()},
            factors,
            told,
            tiers,
            handwritten,
            self.doc,
            self.doc.digest,
        )

    def mapping(self, key: str) -> dict[str, object]:
        """A section whose keys are names."""
        value = self.doc.mapping((key,), self.data.get(key))
        for name in value:
            if not isinstance(name, str):
                self.doc.problem((key, name), f"expects a name, not {name!r}")
        return {name: body for name, body in value.items() if isinstance(name, str)}

    def entries(self, key: str) -> list[object]:
        value = self.data.get(key)
        return [] if value is None else self.doc.need((key,), value, list, "a list") or []

    def axis(self, name: str, body: object) -> Axis:
        where = ("axes", name)
        if isinstance(body, list):
            body = {"values": body}
        body = self.doc.mapping(where, body, keys=("sets", "values", "why", *TIERS))
        why = self.doc.need((*where, "why"), body.get("why", ""), str, "a text") or ""
        sets = body.get("sets", [name])
        sets = sets if isinstance(sets, list) else [sets]
        values = body.get("values")
        if not isinstance(values, list) or not values:
            self.doc.problem((*where, "values"), f"expects a list of values to try, not {values!r}")
            values = []
        levels = [
            level for value in values if (level := self.level(where, value, sets)) is not None
        ]
        if len(set(map(repr, values))) < len(values):
            self.doc.problem((*where, "values"), "a value stands twice; keep one")
        narrowed = {
            tier: self.narrow((*where, tier), body[tier], values) for tier in TIERS if tier in body
        }
        return Axis(
            name,
            tuple(map(str, sets)),
            tuple(levels),
            why,
            narrowed if len(levels) == len(values) else {},
        )

    def level(
        self, where: Location, value: object, sets: list[object]
    ) -> tuple[object, ...] | None:
        if len(sets) == 1:
            return (value,)
        if not isinstance(value, list) or len(value) != len(sets):
            text = (
                f"expects lists of {len(sets)} values, one for each of {', '.join(map(str, sets))};"
                f" not {value!r}"
            )
            self.doc.problem((*where, "values"), text)
            return None
        return tuple(value)

    def narrow(self, where: Location, chosen: object, values: list[object]) -> tuple[int, ...]:
        others = (
            [value for value in chosen if value not in values] if isinstance(chosen, list) else []
        )
        for value in others:
            self.doc.problem(
                where, f"{value!r} is none of the axis's values{did_you_mean(value, values)}"
            )
        if not isinstance(chosen, list) or not chosen:
            self.doc.problem(where, f"expects some of the axis's values, not {chosen!r}")
        if others or not isinstance(chosen, list) or not chosen:
            return tuple(range(len(values)))
        return tuple(values.index(value) for value in chosen)

    def tier(self, name: str, body: object, axes: set[str]) -> Tier:
        where = ("tiers", name)
        if name not in TIERS:
            self.doc.problem(
                where, f"no such tier{did_you_mean(name, TIERS)}; known are {', '.join(TIERS)}"
            )
        body = self.doc.mapping(where, body, keys=TIER_KEYS)
        given = (
            self.doc.need(
                (*where, "groups"), body.get("groups", []), list, "a list of groups of axes"
            )
            or []
        )
        groups = tuple(
            self.group((*where, "groups", i), group, axes) for i, group in enumerate(given)
        )
        numbers = {
            "strength": 1,
            **{key: body[key] for key in TIER_KEYS if key in body and key != "groups"},
        }
        for key, value in numbers.items():
            if type(value) is not int or value < 0:
                self.doc.problem((*where, key), f"expects a whole number, not {value!r}")
            elif key == "strength" and value > STRONGEST:
                self.doc.problem((*where, key), f"expects at most {STRONGEST}, not {value}")
        return Tier(name=name, groups=groups, **numbers)

    def group(self, where: Location, body: object, axes: set[str]) -> tuple[tuple[str, ...], int]:
        """Axes that are covered together, and how many of them at a time."""
        body = self.doc.mapping(where, body, keys=GROUP_KEYS)
        names = [str(name) for name in body["axes"]] if isinstance(body.get("axes"), list) else []
        for axis in names:
            if axes and axis not in axes:
                self.doc.problem(where, f"no such axis '{axis}'{did_you_mean(axis, axes)}")
        strength = body.get("strength", len(names))
        if (
            not names
            or type(strength) is not int
            or not 1 <= strength <= min(len(names), STRONGEST)
        ):
            text = "expects {axes: [...], strength: how many of them at a time}"
            self.doc.problem(where, f"{text}, 1 to {min(max(len(names), 1), STRONGEST)}")
        return tuple(names), strength
