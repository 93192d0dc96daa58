"""The rules that follow from the facts of a draft: their ids, and what each is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from opgen.spec.drafting.facts import Facts, Key, Letters


def axes_of(shape: Key) -> list[int | str]:
    """The letters and extents of a key ``shape``, of the greatest rank first."""
    shapes = sorted(cast(Letters, shape.value).items(), reverse=True)
    first = (next(iter(told.values())) if isinstance(told, dict) else told for _, told in shapes)
    return [axis for shape in first for axis in shape]


def bound(facts: Facts, name: str) -> bool:
    """Whether the shape of a tensor is a rule: it has an extent, or a letter of an earlier one, or
    it is that of all tensors of a list.
    """
    told = {n: axes_of(p.keys["shape"]) for n, p in facts.parameters.items() if "shape" in p.keys}
    earlier = {axis for n in list(told)[: list(told).index(name)] for axis in told[n]}
    alike = facts.parameters[name].family == "list"
    return alike or any(isinstance(axis, int) or axis in earlier for axis in told[name])


def written_out(facts: Facts, name: str) -> bool:
    """Whether the shape of a tensor is a rule that the page writes with letters of its own."""
    shape = facts.parameters[name].keys.get("shape")
    made = facts.made.values()
    given = [str(a).endswith(name) and a not in made for a in axes_of(shape)] if shape else [True]
    return not any(given) and bound(facts, name)


def rule_ids(facts: Facts) -> dict[str, tuple[tuple[str, ...], str]]:
    """Rule -> the parameters that it is about, and its key or attribute."""
    result: dict[str, tuple[tuple[str, ...], str]] = {"product": ((), "product")}
    for name, parameter in facts.parameters.items():
        keys: Iterable[str] = parameter.keys
        if parameter.is_pointer and "null" not in parameter.keys:
            keys = ("null", *keys)
        for key in keys:
            value = parameter.keys[key].value if key in parameter.keys else False
            if key == "shape" and not bound(facts, name):
                continue
            if key not in NO_RULE and not (value is True and key in ("null", "empty")):
                result[f"{name}.{key}"] = (name,), key
    for rule, body in facts.rules.items():
        result[rule] = body.about, body.attribute
    return result


NO_RULE = ("strided", "items", "otherwise", "mask")
"""Keys that forbid nothing by themselves."""
