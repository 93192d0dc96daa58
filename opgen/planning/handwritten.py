"""What a plan says one by one: calls that are pinned, and conditions under which a pass proves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opgen.numbers.recipes import RECIPES
from opgen.yamlfile import Document, Location, did_you_mean

TIERS = ("smoke", "standard", "full", "crash")
"""``crash`` holds calls that are known to end the host process; nothing takes it by default."""
PIN_KEYS = ("id", "why", "products", "args", "recipe", "tiers", "data")


@dataclass(frozen=True)
class Pinned:
    """A call written by hand, and why it is worth keeping. ``data`` are given values of some inputs, row-major; the recipe
    draws the others."""

    id: str
    why: str
    products: tuple[str, ...]
    args: Mapping[str, Any]
    recipe: str
    tiers: tuple[str, ...]
    data: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Vacuous:
    """A condition under which a pass proves nothing, and why: of every case, or of those at the limit of some ``rules``."""

    when: str
    why: str
    rules: tuple[str, ...] = ()


def known_keys(doc: Document, where: Location, value: Any, keys: Any) -> None:
    """Note what is no mapping, and every key that nobody knows."""
    if not isinstance(value, dict):
        doc.problem(where, f"expects a mapping, not {value!r}")
        return
    for key in value:
        if key not in keys:
            doc.problem((*where, key), f"no such key{did_you_mean(key, keys)}; known are {', '.join(map(str, keys))}")


def vacuous(doc: Document, i: int, body: Any) -> Vacuous:
    """One entry of ``vacuous``; problems are noted."""
    where = ("vacuous", i)
    known_keys(doc, where, body, ("when", "why", "rules"))
    body = body if isinstance(body, dict) else {}
    for key in ("when", "why"):
        if not isinstance(body.get(key), str):
            doc.problem(where, f"the key '{key}' is missing or no text")
    rules = body.get("rules", [])
    if not isinstance(rules, list):
        doc.problem((*where, "rules"), f"expects a list of rule ids, not {rules!r}")
        rules = []
    return Vacuous(str(body.get("when", "False")), str(body.get("why", "")), tuple(map(str, rules)))


def pinned_call(doc: Document, i: int, body: Any) -> Pinned:
    """One entry of ``pinned``; problems are noted."""
    where = ("pinned", i)
    known_keys(doc, where, body, PIN_KEYS)
    body = body if isinstance(body, dict) else {}
    for key in ("id", "why", "args"):
        if key not in body:
            doc.problem(where, f"the key '{key}' is missing")
    recipe = body.get("recipe", "grid")
    if recipe not in tuple(RECIPES):
        doc.problem(where, f"no such recipe '{recipe}'{did_you_mean(recipe, RECIPES)}")
    args = body.get("args") if isinstance(body.get("args"), dict) else {}
    tiers = body.get("tiers", list(TIERS[:3]))
    for tier in tiers if isinstance(tiers, list) else [tiers]:
        if tier not in TIERS:
            doc.problem((*where, "tiers"), f"no such tier {tier!r}{did_you_mean(tier, TIERS)}; known are {', '.join(TIERS)}")
    data = body.get("data") or {}
    if not isinstance(data, dict) or not all(isinstance(v, list) and all(type(n) is int for n in v) for v in data.values()):
        doc.problem((*where, "data"), "expects inputs and for each a flat list of whole numbers")
        data = {}
    products = body.get("products", [])
    if not isinstance(products, list):
        doc.problem((*where, "products"), f"expects a list of products, not {products!r}")
        products = []
    return Pinned(
        id=str(body.get("id", i)),
        why=str(body.get("why", "")),
        products=tuple(products),
        args=args or {},
        recipe=recipe,
        tiers=tuple(tiers) if isinstance(tiers, list) else (),
        data={name: tuple(values) for name, values in data.items()},
    )
