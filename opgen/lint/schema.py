"""JSON Schemas of what people write: specs, plans and calls, for editors that check and complete as
one types.

Words, kinds and limits are those of the tables that the readers use, and tests hold the two
together. A schema tells the form; what only a reader can tell (names that exist, rules that stand
in ``returns``) stays with the reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from sys import float_info
from typing import Any

from opgen.calls.argument_json import MAX_ITEMS, MAX_RANK
from opgen.calls.kinds import INT64, KINDS, Family, prototype
from opgen.calls.typed import TYPES
from opgen.calls.vocabulary import vocabulary
from opgen.spec.catalog import catalog
from opgen.spec.spec_form import SPEC
from opgen.suite.planning.plan_form import PLAN

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(what: str) -> Schema:
    """The schema of ``spec``, ``plan`` or ``call``; KeyError for anything else."""
    return {
        "$schema": DIALECT,
        "title": f"opgen {what}",
        **{"spec": SPEC.schema, "plan": PLAN.schema, "call": call}[what](),
    }


def closed(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    """An object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def or_null(values: Schema) -> Schema:
    """What values are, or null."""
    return {"anyOf": [values, {"type": "null"}]}


def words_of(kind: str) -> Schema:
    """A product, dtype or format that opgen knows."""
    return {"enum": list(vocabulary().names[kind])}


def call() -> Schema:
    """One line of a call file; top-level keys that opgen does not know are ignored."""
    whole = INT64.schema()
    integers: Schema = {"type": "array", "items": whole, "maxItems": MAX_ITEMS}
    axes: Schema = {**integers, "maxItems": MAX_RANK}
    number: Schema = {"type": "number", "minimum": -float_info.max, "maximum": float_info.max}
    tensor = closed(
        {
            "shape": axes,
            "dtype": words_of("dtype"),
            "format": words_of("format"),
            "strides": or_null(axes),
            "offset": or_null(whole),
            "storage_shape": or_null(integers),
            "range": or_null({"type": "array", "items": number, "minItems": 2, "maxItems": 2}),
        },
        ("shape", "dtype"),
    )
    families: Mapping[Family, Callable[[Schema], Schema]] = {
        "tensor": lambda extent: or_null(tensor),
        "array": lambda item: or_null({"type": "array", "items": item, "maxItems": MAX_ITEMS}),
        "list": lambda extent: or_null({"type": "array", "items": or_null(tensor)}),
        "scalar": lambda value: value,
        "typed": lambda value: or_null(
            closed(
                {
                    "value": {"anyOf": [value, {"type": "boolean"}]},
                    "dtype": {"enum": list(TYPES)},
                },
                ("value", "dtype"),
            )
        ),
    }
    kinds = {name: families[kind.family](kind.element.schema()) for name, kind in KINDS.items()}
    kinds["string"] = or_null(kinds["string"])
    common: Schema = {"id": {"type": "string", "minLength": 1}, "product": words_of("product")}
    return {
        "description": (
            "One line of a call file. No schema can say, and opgen judge does: a whole number is"
            " written without a point (2, not 2.0), a tensor has as many strides as axes, its range"
            " begins with the lowest, and no id or key stands twice."
        ),
        "oneOf": [
            {
                "type": "object",
                "properties": {
                    **common,
                    "op": {"const": api},
                    "args": closed(
                        {n: kinds[kind] for n, kind in prototype(names).items()},
                        tuple(prototype(names)),
                    ),
                },
                "required": ["id", "op", "product", "args"],
            }
            for api, names in catalog().kinds.items()
        ],
    }
