"""What a page says of dtypes: lists for all products or some, in place of those of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opgen.spec.drafting.facts import DraftedParameter, Facts, Key, per_product, reached
from opgen.spec.drafting.placed_claim import PlacedClaim
from opgen.spec.pages.products import product_of


def dtypes(facts: Facts, said: PlacedClaim) -> bool:
    """A list in place of that of the cell, for all tensors that share dtypes with it where the
    sentence names none.
    """
    listed = list(said.claim.of("dtypes"))
    subjects = [facts.parameters[name] for name in said.subjects]
    if subjects and not any(one.is_tensor or "dtype" in one.keys for one in subjects):
        return True  # what numbers and items of arrays are is in the prototype
    if subjects and not any(_general(facts, subject.name) for subject in subjects):
        return _first_dtypes(facts, said, listed)

    def instead(known: list[str]) -> list[str] | None:
        return listed if set(listed) <= set(known) or set(known) <= set(listed) else None

    return _restrict(facts, said, instead, facts.of_family("tensor"))


def _first_dtypes(facts: Facts, said: PlacedClaim, listed: list[str]) -> bool:
    """The dtypes of tensors that had none, or had those of other products alone."""
    for name in said.subjects:
        known = facts.parameters[name].keys.get("dtype", Key({}, []))
        value = {**per_product(known.value), **dict.fromkeys(said.products or ("any",), listed)}
        facts.parameters[name].keys["dtype"] = Key(
            listed if [*value] == ["any"] else value, [*known.at, said.line]
        )
    return facts.tensors(said.subjects)


def dtypes_of(facts: Facts, said: PlacedClaim) -> bool:
    """Dtypes of which the last is for one product alone."""
    listed, more = list(said.claim.of("dtypes")), list(said.claim.of("more"))
    value = {"any": listed, product_of(said.claim.of("product")[0]): [*listed, *more]}
    return facts.tensors(said.subjects) and all(
        facts.set(name, "dtype", value, said.line) for name in said.subjects
    )


def no_dtypes(facts: Facts, said: PlacedClaim) -> bool:
    """The dtypes of the table without some."""
    excluded = said.claim.of("dtypes")
    return _restrict(
        facts,
        said,
        lambda known: [d for d in known if d not in excluded] or None,
        facts.parameters.values(),
    )


def no_formats(facts: Facts, said: PlacedClaim) -> bool:
    """The formats of the table without some."""
    excluded = said.claim.of("formats")
    known = {name: facts.parameters[name].keys.get("format") for name in said.subjects}
    if not said.subjects or not all(known.values()):
        return False
    for key in filter(None, known.values()):
        left = [name for name in _any(key.value) if name not in excluded]
        if not left or not (said.products or key.value == left):
            return False
        key.value = {**per_product(key.value), **dict.fromkeys(said.products, left)}
        key.at.append(said.line)
    return True


def _restrict(
    facts: Facts,
    said: PlacedClaim,
    change: Callable[[list[str]], list[str] | None],
    every: Iterable[DraftedParameter],
) -> bool:
    """``every``: those of which a sentence speaks that names none, where they may be floating."""
    names = _joined(facts, said) or tuple(
        p.name
        for p in every
        if any("FLOAT" in d or d in ("DOUBLE", "COMPLEX64") for d in _general(facts, p.name))
    )
    general = {name: _general(facts, name) for name in names}
    changed = {name: change(known) if known else None for name, known in general.items()}
    if not changed or None in changed.values():
        return False
    for name, value in changed.items():
        known = facts.parameters[name].keys["dtype"]
        if said.products and value != general[name]:
            known.value = {**per_product(known.value), **dict.fromkeys(said.products, value)}
        elif not said.products and known.value != value:
            return False
        known.at += [said.line] if said.line not in known.at else []
    return True


def _joined(facts: Facts, said: PlacedClaim) -> tuple[str, ...]:
    """Those of which a sentence speaks; what holds for some products holds there for all tensors of
    the same dtype.
    """
    if not said.products:
        return said.subjects
    pairs = [
        frozenset(r.about) for r in facts.sharing("dtype", facts.parameters).values() if not r.when
    ]
    more = set().union(*(reached(name, pairs) for name in said.subjects)) - {*said.subjects}
    known = [facts.parameters[name].keys.get("dtype") for name in said.subjects]
    lists = [key.value for key in known if key]
    alike = (n for n in facts.in_order(more) if _general(facts, n) in map(_any, lists))
    return (*said.subjects, *alike)


def _any(value: object) -> list[str]:
    return per_product(value).get("any", [])


def _general(facts: Facts, name: str) -> list[str]:
    """The dtypes of a tensor for products that no sentence names."""
    key = facts.parameters[name].keys.get("dtype")
    return _any(key.value) if key else []
