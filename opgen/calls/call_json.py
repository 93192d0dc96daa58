"""A call as plain data, as JSON and YAML give them: made into a :class:`opgen.model.Call`, checked
on the way, and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from opgen.calls import reals
from opgen.calls.argument_reader import ArgumentReader
from opgen.calls.kinds import members, prototype
from opgen.calls.vocabulary import vocabulary
from opgen.model import AclScalar, Argument, Call, TensorDesc, did_you_mean

MOST_FAULTS = 8
"""Faults of one call that its message names."""


class CallFault(Exception):
    """What is wrong with the form of one call."""


class ForeignCall(CallFault):
    """A call of an operator that has no spec, or one whose arguments are those of another edition:
    ``missing`` names what the spec has besides, ``unknown`` what the call has.
    """

    def __init__(self, op: str, missing: tuple[str, ...], unknown: tuple[str, ...], text: str):
        super().__init__(text)
        self.op, self.missing, self.unknown = op, missing, unknown


def make_call(
    op: object,
    product: object,
    args: object,
    prototypes: Mapping[str, Mapping[str, str]],
    reader: ArgumentReader | None = None,
) -> Call:
    """A :class:`Call` from plain data; raises :class:`CallFault` that says all that is wrong with
    its arguments.

    ``prototypes`` maps each api to its parameters and their kinds; the calls of one file share
    ``reader``.
    """
    if not isinstance(op, str) or op not in prototypes:
        text = _no_such("op", op, prototypes)
        if isinstance(op, str) and isinstance(args, dict):
            raise ForeignCall(op, (), (), text)
        raise CallFault(text)
    products = vocabulary().products
    if not isinstance(product, str) or product not in products:
        raise CallFault(_no_such("product", product, products))
    if not isinstance(args, dict):
        raise CallFault("args must be an object")
    reader, kinds = reader or ArgumentReader(), prototypes[op]
    names, lists, _ = reader.prototype(op, kinds)
    told, of_lists = _unfolded(args, lists) if lists else (args, [])
    arguments, faults = reader.read(told, kinds)
    faults, unknown = of_lists + faults, list[str]()
    if args.keys() != names:
        missing = [
            f"args.{name} is missing; a null pointer is null" for name in names if name not in args
        ]
        unknown = [
            f"args.{name}: {op} has no such parameter{did_you_mean(name, names)}"
            for name in args
            if name not in names
        ]
        faults = missing + unknown + faults
    if faults:
        text = "; ".join(faults[:MOST_FAULTS]) + ("; and more" if len(faults) > MOST_FAULTS else "")
        if unknown:
            raise ForeignCall(
                op,
                tuple(name for name in names if name not in args),
                tuple(name for name in args if name not in names),
                text,
            )
        raise CallFault(text)
    return Call(op, product, arguments)


def _unfolded(
    args: Mapping[str, object], lists: Mapping[str, list[str]]
) -> tuple[dict[str, object], list[str]]:
    """(arguments in which a list of tensors is their number, and each of them one of its own,
    null where there is none; what is wrong with the ``lists``, which have their places).
    """
    result, faults = dict(args), list[str]()
    for name, places in lists.items():
        tensors = args.get(name)
        if tensors is not None and not isinstance(tensors, list):
            faults.append(f"args.{name}: expects a list of tensors or null, not {tensors!r}")
            tensors = None
        elif tensors is not None and len(tensors) > len(places):
            faults.append(f"args.{name}: {len(tensors)} tensors; opgen reads at most {len(places)}")
        told = (tensors or [])[: len(places)]
        result |= dict.fromkeys(places) | dict(zip(places, told, strict=False))
        if name in args:
            result[name] = None if tensors is None else len(told)
    return result, faults


def _no_such(what: str, word: object, known: Mapping[str, object]) -> str:
    return f"no such {what} {word!r}{_hint(str(word), tuple(known))}; known: {', '.join(known)}"


_hint = lru_cache(maxsize=256)(did_you_mean)
"""A file may name the same unknown word on every line."""


def to_json(call: Call) -> dict[str, Any]:
    """The args of a call as plain data, in the form that :func:`make_call` reads."""
    return folded({name: plain(value) for name, value in call.args.items()})


def folded(args: Mapping[str, object]) -> dict[str, object]:
    """Arguments with each list of tensors as one, in place of their number and of each by itself.

    >>> folded({"hx": 1, "hx[0]": "a tensor", "hx[1]": None, "dim": 2})
    {'hx': ['a tensor'], 'dim': 2}
    """
    whole = prototype(args)
    if len(whole) < len(args):
        for name, number in whole.items():
            inside = members(args, name)
            if inside and isinstance(number, int):
                whole[name] = [args[each] for each in inside[:number]]
    return whole


def plain(value: Argument, layout: bool = False) -> Any:
    """An argument as JSON writes it; of a tensor the ``layout``, or only one that is not plain."""
    if isinstance(value, TensorDesc):
        told: dict[str, Any] = {
            "shape": list(value.shape),
            "dtype": value.dtype,
            "format": value.format,
        }
        if layout or not value.plain:
            told |= {
                "strides": None if value.strides is None else list(value.strides),
                "offset": value.offset,
                "storage_shape": None if value.storage_shape is None else list(value.storage_shape),
            }
        if value.range is not None:
            told["range"] = list(value.range)
        return told
    if isinstance(value, AclScalar):
        return {"value": plain(value.value), "dtype": value.dtype}
    if isinstance(value, tuple):
        return list(map(plain, value))
    return reals.plain(value) if isinstance(value, float) else value
