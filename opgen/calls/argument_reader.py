"""Reading the arguments of many calls: equal ones are checked once, and become one object."""

from __future__ import annotations

import json
import marshal
import re
from collections.abc import KeysView, Mapping
from typing import Any

from opgen.calls.argument_json import MAX_RANK, ArgumentFault, argument
from opgen.calls.kinds import KINDS, members, prototype
from opgen.calls.vocabulary import vocabulary
from opgen.model import Argument, Call, TensorDesc

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
_LISTS = frozenset(name for name, kind in KINDS.items() if kind.family == "list")


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
