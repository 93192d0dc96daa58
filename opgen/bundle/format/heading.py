"""What a file says of itself, as attributes of its root: what opgen writes there, and what a caller
gives.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from opgen.bundle.format.dtypes import BundleError, checked, text
from opgen.model import unkept
from opgen.model.version import VERSION

FORMAT_VERSION = 9
Header: TypeAlias = dict[str, Any]
"""What a file says of itself, by name: texts, numbers, lists of texts, mappings that JSON holds."""
RESERVED = ("format", "format_version", "opgen_version", "complete", "digest")
"""Attributes that no caller may give."""
REQUIRED = {"bundle": RESERVED, "results": (*RESERVED, "bundle")}
"""Those that every file of a kind has."""
KINDS: dict[str, type] = {
    "format": str,
    "format_version": int,
    "opgen_version": str,
    "complete": int,
    "digest": str,
    "bundle": str,
    "operators": list,
    "products": list,
    "shard": str,
    "seed": int,
}
"""What opgen takes attributes for that it reads itself; others may be anything that a header can
hold."""


def own(kind: str) -> Header:
    """What opgen itself says in the header of every file of a kind."""
    return {
        "format": f"opgen {kind}",
        "format_version": FORMAT_VERSION,
        "opgen_version": VERSION,
    }


def header(attributes: Mapping[str, object], own: Header) -> Header:
    """``own`` attributes, then those a caller gives: texts, numbers, lists of texts, mappings that
    JSON can hold.

    Returned as they will be read again; BundleError for anything else.
    """
    if not isinstance(attributes, Mapping):
        raise BundleError(f"header {attributes!r} is not a mapping of names to values")
    result = dict(own)
    for name, value in attributes.items():
        if not isinstance(name, str) or not name or unkept(name):
            raise BundleError(f"{name!r}: a header cannot hold this name")
        if name in (*RESERVED, *own):
            raise BundleError(f"{name}: is written by opgen itself; leave it out of the header")
        try:
            if not isinstance(value, KINDS.get(name, object)):
                raise TypeError
            if isinstance(value, Mapping):
                result[name] = json.loads(checked(json.dumps(value, ensure_ascii=False)))
            elif isinstance(value, (list, tuple)):
                result[name] = [checked(str(item)) for item in value]
            elif isinstance(value, str) and not value.startswith("{"):
                result[name] = checked(value)
            elif isinstance(value, float) or (
                isinstance(value, (int, np.integer)) and -(1 << 63) <= value < 1 << 64
            ):
                result[name] = value.item() if isinstance(value, np.generic) else value
            else:
                raise TypeError
        except (TypeError, ValueError):
            raise BundleError(f"{name}: {value!r} is nothing that a header can hold") from None
    return result


def stored(value: object) -> object:
    """A value as HDF5 takes it: numbers as they are, texts and arrays of them in fixed width, since
    nothing tells how much a text of variable length takes; mappings as JSON.
    """
    if isinstance(value, dict):
        value = checked(json.dumps(value, sort_keys=True, ensure_ascii=False))
    if isinstance(value, (str, list)):
        texts = np.char.encode(np.array(value, dtype=str), "utf-8")
        return texts.astype(text(texts.dtype.itemsize))
    return value


def restored(name: str, value: Any) -> Any:
    """The value of an attribute that :func:`stored` made; BundleError for what it never makes."""
    if isinstance(value, np.ndarray | np.generic):
        cells = np.asarray(value)
        value = cells.tolist()
        if cells.dtype.kind == "S" and cells.ndim < 2:
            value = [*map(bytes.decode, value)] if cells.ndim else value.decode()
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    items = value if isinstance(value, list) else ()
    kind = KINDS.get(name, (str, int, float, dict, list))
    if not isinstance(value, kind) or not all(isinstance(item, str) for item in items):
        raise BundleError(f"the attribute {name} is {value!r}")
    checked(json.dumps(value, ensure_ascii=False))
    return value


def canonical(attributes: Mapping[str, object]) -> bytes:
    """The bytes of a header that are digested."""
    return json.dumps(
        attributes, sort_keys=True, ensure_ascii=False, separators=(",", ":")
    ).encode()
