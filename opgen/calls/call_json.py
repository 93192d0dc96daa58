"""A call as plain data, as JSON and YAML give them: made into a :class:`opgen.model.Call`, checked
on the way, and back.
"""

from __future__ import annotations

import json
import marshal
import re
from collections.abc import KeysView, Mapping
from functools import lru_cache
from typing import Any

from opgen.calls import reals
from opgen.calls.argument_json import MAX_RANK, ArgumentFault, argument
from opgen.calls.kinds import KINDS, members, prototype
from opgen.calls.vocabulary import vocabulary
from opgen.model import AclScalar, Argument, Call, TensorDesc, did_you_mean

MOST_FAULTS = 8
"""Faults of one call that its message names."""
_END = "\n"
"""What stands behind the last piece of a line, and on no line."""
_DECODER = json.JSONDecoder()
_NUMBER = r"(?:0|[1-9]\d{0,17})"
_PLAIN = re.compile(
    rf'{{"shape": \[({_NUMBER}(?:, {_NUMBER}){{0,{MAX_RANK - 1}}})\],'
    r' "dtype": "(\w+)", "format": "(\w+)"}'
)
"""A tensor as most lines have it, which is read in fewer steps."""
_OPENING = re.compile(r' ?"op": "(\w+)", "product": "(\w+)", "args": \{"(\w+)": ')


class CallFault(Exception):
    """What is wrong with the form of one call."""


class ForeignCall(CallFault):
    """A call of an operator that has no spec, or one whose arguments are those of another edition:
    ``missing`` names what the spec has besides, ``unknown`` what the call has.
    """

    def __init__(self, op: str, missing: tuple[str, ...], unknown: tuple[str, ...], text: str):
        super().__init__(text)
        self.op, self.missing, self.unknown = op, missing, unknown


class ArgumentReader:
    """Reads the arguments of calls. Equal ones of a file are checked once and become one object;
    ``most`` of a kind are remembered, so that calls that are all unlike do not fill the memory.

    ``texts`` are calls as a file has them, of at most ``room`` characters in all, and what each was
    read as.
    """

    def __init__(self, most: int = 100_000, room: int = 1 << 25) -> None:
        alike: dict[object, dict[bytes | str, Argument]] = {}
        self._known = {
            name: alike.setdefault((kind.family, kind.element, kind.pointer), {})
            for name, kind in KINDS.items()
        }
        self._most = most
        self.texts: dict[str, tuple[Call, Mapping[str, object]]] = {}
        self._room = self._free = room
        self._prototypes: dict[str, tuple[KeysView[str], dict[str, list[str]], dict[str, str]]] = {}

    def remember(self, text: str, call: Call, extra: Mapping[str, object]) -> None:
        """Keep what a text was read as, and forget all others where there is no room."""
        self._free -= len(text)
        if self._free < 0:
            self.texts.clear()
            self._free = self._room - len(text)
        self.texts[text] = call, extra

    def prototype(
        self, op: str, kinds: Mapping[str, str]
    ) -> tuple[KeysView[str], dict[str, list[str]], dict[str, str]]:
        """(the arguments of an operator whose parameters have some ``kinds``, list of tensors ->
        its places, parameter -> what stands behind it in a line).
        """
        if op not in self._prototypes:
            lists = {name: members(kinds, name) for name, kind in kinds.items() if kind in _LISTS}
            behind = [f', "{name}": ' for name in kinds][1:] + [_END]
            cuts = dict(zip(kinds, behind, strict=True))
            self._prototypes[op] = prototype(kinds).keys(), lists, cuts
        return self._prototypes[op]

    def read(
        self, args: Mapping[str, Any], kinds: Mapping[str, str]
    ) -> tuple[dict[str, Argument], list[str]]:
        """(the arguments that ``kinds`` names, everything that is wrong with them)."""
        arguments: dict[str, Argument] = {}
        faults: list[str] = []
        for name, kind in kinds.items():
            known, value = self._known[kind], args.get(name)
            written = marshal.dumps(value)  # 1 is not True there
            try:
                arguments[name] = known[written]
            except KeyError:
                try:
                    arguments[name] = self._kept(written, argument(value, KINDS[kind]), kind)
                except ArgumentFault as fault:
                    if name in args:
                        faults += [f"args.{name}{text}" for text in fault.args]
        return arguments, faults

    def _kept(self, written: bytes | str, read: Argument, kind: str) -> Argument:
        """An argument of a kind, which from now on is known as it was ``written``."""
        if len(self._known[kind]) > self._most:
            self._known[kind].clear()
        self._known[kind][written] = read
        return read

    def by_pieces(self, text: str, prototypes: Mapping[str, Mapping[str, str]]) -> Call | None:
        """The call behind the id of a line that has all arguments in the order of the prototype, as
        opgen and ``json.dumps`` write it; None for other lines, and where something is wrong.

        The line is cut at the names of the arguments. If each piece is one JSON value that has no
        key twice, then so is the line. A piece that many lines have is read once.
        """
        opening = _OPENING.match(text)
        if not opening or opening[1] not in prototypes or text[-2:] != "}}":
            return None
        op, product, first = opening.groups()
        kinds, arguments = prototypes[op], dict[str, Argument]()
        rest = text[opening.end() : -2] + _END
        try:
            for name, cut in self.prototype(op, kinds)[2].items():
                piece, _, rest = rest.partition(cut)
                known = self._known[kinds[name]]
                arguments[name] = (
                    known[piece] if piece in known else self._piece(piece, kinds[name])
                )
        except (ValueError, RecursionError, ArgumentFault):
            return None
        whole = not rest and first == next(iter(kinds)) and product in vocabulary().products
        return Call(op, product, arguments) if whole else None

    def _piece(self, piece: str, kind: str) -> Argument:
        """What a piece of a line is as an argument; raises ValueError if it is not one value."""
        plain, index = _PLAIN.fullmatch(piece), vocabulary().index
        if (
            plain
            and KINDS[kind].family == "tensor"
            and plain[2] in index["dtype"]
            and plain[3] in index["format"]
        ):
            shape = tuple(map(int, plain[1].split(", ")))
            return self._kept(piece, TensorDesc(shape, plain[2], plain[3]), kind)
        value, end = _DECODER.raw_decode(piece)
        if end < len(piece) or piece.count(":") != (len(value) if type(value) is dict else 0):
            raise ValueError(piece)
        return self._kept(piece, argument(value, KINDS[kind]), kind)


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


_LISTS = frozenset(name for name, kind in KINDS.items() if kind.family == "list")


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
