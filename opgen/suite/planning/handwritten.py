"""What a plan says one by one: calls that are handwritten, and conditions under which a pass proves
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from opgen.calls.vocabulary import vocabulary
from opgen.files.yamlfile import Document, Location, did_you_mean
from opgen.model import TIERS, USUAL
from opgen.numerics.recipes import DEFAULT, RECIPES

VACUOUS_KEYS = ("when", "why", "rules")
HANDWRITTEN_KEYS = ("id", "why", "products", "args", "recipe", "tiers", "data")


@dataclass(frozen=True)
class Handwritten:
    """A call written by hand, and why it is worth keeping. ``data`` are given values of some
    inputs, row-major; the recipe draws the others.
    """

    id: str
    why: str
    products: tuple[str, ...]
    args: Mapping[str, object]
    recipe: str
    tiers: tuple[str, ...]
    data: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Vacuous:
    """A condition under which a pass proves nothing, and why: of every case, or of those at the
    limit of some ``rules``.
    """

    when: str
    why: str
    rules: tuple[str, ...] = ()


def words_of(
    doc: Document,
    where: Location,
    body: dict[object, object],
    key: str,
    known: Iterable[str],
    what: str,
) -> tuple[str, ...]:
    """The known words of the list under a key that is there; problems are noted."""
    place, value, known = (*where, key), body[key], tuple(known)
    if not isinstance(value, list) or not value:
        doc.problem(place, f"expects a list of {key}, not {value!r}")
        return ()
    doc.known(place, value, known, what)
    if any(value.count(word) > 1 for word in value):
        doc.problem(place, f"a {what} stands twice; keep one")
    return tuple(word for word in value if word in known)


def vacuous(doc: Document, i: int, body: object) -> Vacuous:
    """One entry of ``vacuous``; problems are noted."""
    where = ("vacuous", i)
    body = doc.mapping(where, body, keys=VACUOUS_KEYS)
    when, why = doc.text(where, body, "when"), doc.text(where, body, "why")
    rules = body.get("rules", [])
    if (
        not isinstance(rules, list)
        or not all(isinstance(rule, str) for rule in rules)
        or "rules" in body
        and not rules
    ):
        doc.problem((*where, "rules"), f"expects a list of rule ids, not {rules!r}")
        rules = []
    return Vacuous(when, why, tuple(rules))


def handwritten_call(doc: Document, i: int, body: object) -> Handwritten:
    """One entry of ``handwritten``; problems are noted, and without arguments it belongs to no
    tier.
    """
    where = ("handwritten", i)
    body = doc.mapping(where, body, keys=HANDWRITTEN_KEYS)
    name, why = doc.text(where, body, "id"), doc.text(where, body, "why")
    if "args" not in body:
        doc.problem(where, "the key 'args' is missing")
    args = doc.need((*where, "args"), body.get("args", {}), dict, "a mapping of arguments")
    recipe = body.get("recipe", DEFAULT)
    if recipe not in tuple(RECIPES):
        doc.problem(where, f"no such recipe '{recipe}'{did_you_mean(recipe, RECIPES)}")
    data = body.get("data", {})
    if not isinstance(data, dict) or not all(
        isinstance(v, list) and all(type(n) is int for n in v) for v in data.values()
    ):
        doc.problem((*where, "data"), "expects inputs and for each a flat list of whole numbers")
        data = {}
    tiers = words_of(doc, where, body, "tiers", TIERS, "tier") if "tiers" in body else ()
    return Handwritten(
        id=name,
        why=why,
        products=(
            words_of(doc, where, body, "products", vocabulary().products, "product")
            if "products" in body
            else ()
        ),
        args=args or {},
        recipe=recipe,
        tiers=(tiers or USUAL) if isinstance(body.get("args"), dict) else (),
        data={tensor: tuple(values) for tensor, values in data.items()},
    )
