"""Calls as people and programs write them: JSON, one per line.

Reading checks the form, not the call: a name outside the known words is an error in the file, a
call that a page forbids is not. All bad lines are reported at once.
"""

from __future__ import annotations

import gzip
import io
import json
import logging
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any, TextIO

from opgen.calls.argument_reader import ArgumentReader
from opgen.calls.call_json import CallFault, ForeignCall, make_call
from opgen.files.gc_pause import gc_paused
from opgen.files.textfile import MOST, no_text
from opgen.model import Call, FileError, Problem, size

_log = logging.getLogger(__name__)
MOST_PROBLEMS = 50
"""Bad lines that are reported; after so many the rest of a file is not read."""
LONGEST_LINE = 1 << 24
"""Characters of a line, its end among them: no call has so many."""
SHORTEST_CALL = 64
"""No call has fewer characters: so many does a blank line count of those that a compressed file may
expand to."""
SMALLEST_PART, LARGEST_PART = 1 << 22, 1 << 26
"""Bytes of a part of a file: fewer are not worth a process, and more may not fit into memory."""
_DECODER = json.JSONDecoder()
_ID = re.compile(r'\{"id": ?"([^"\\\x00-\x1f]+)",')
"""How a line begins that says the id first, and plainly."""
_BYTE_ORDER_MARK = "\ufeff"
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A call and the id it goes by; ``extra`` holds the top-level keys that opgen does not know,
    ``line`` is where it stands.
    """

    id: str
    call: Call
    extra: Mapping[str, Any]
    line: int | None = field(default=None, compare=False)


_WHOLE = (
    "is JSON over several lines, or an array; a call file has one call on each line, as jq -c"
    " 'if type == \"array\" then .[] else . end' FILE writes them"
)
"""What is wrong with a file of other JSON, once."""


def read_calls(
    source: str | Path,
    prototypes: Mapping[str, Mapping[str, str]],
    skipped: list[Problem] | None = None,
    foreign: list[ForeignCall] | None = None,
    part: range | None = None,
) -> list[NamedCall]:
    """Read a ``.jsonl`` or ``.jsonl.gz`` file, or standard input for ``-``; raises FileError with
    every bad line, unless ``skipped`` takes them; ``foreign`` takes those of other operators and
    editions.

    ``prototypes`` maps each api to its parameters and their kinds. Of one of the :func:`parts` of a
    file, lines are counted from its start.
    """
    name = "<stdin>" if str(source) == "-" else str(source)
    calls: list[NamedCall] = []
    problems: list[Problem] = [] if skipped is None else skipped
    seen: dict[str, int] = {}
    reader = ArgumentReader()
    try:
        with gc_paused():
            for number, raw in enumerate(_lines(source, part), 1):
                opens = number == 1 and not (part and part.start)
                line = (raw.removeprefix(_BYTE_ORDER_MARK) if opens else raw).strip()
                if not line:
                    continue
                try:
                    named = parse_call(line, prototypes, reader, number)
                    if named.id in seen:
                        raise CallFault(
                            f"the id {named.id!r} stands on line {seen[named.id]} already; ids must"
                            " differ"
                        )
                    seen[named.id] = number
                    calls.append(named)
                except CallFault as fault:
                    if not (calls or problems) and (line == "{" or line[0] == "["):
                        raise FileError.of(name, "", _WHOLE) from None
                    if foreign is not None and isinstance(fault, ForeignCall):
                        foreign.append(fault)
                        continue
                    problems.append(Problem(name, number, "", str(fault)))
                    if skipped is None and len(problems) == MOST_PROBLEMS:
                        problems.append(
                            Problem(
                                name, None, "", f"{MOST_PROBLEMS} bad lines; the rest was not read"
                            )
                        )
                        break
    except UnicodeDecodeError as error:
        raise FileError.of(name, "", no_text(error)) from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError.of(name, "", f"cannot be read: {reason}") from None
    if problems and skipped is None:
        raise FileError(problems)
    return calls


def parts(source: str | Path, number: int, smallest: int = SMALLEST_PART) -> list[range]:
    """The places of the bytes of a file, cut at ends of lines into ``number`` parts, or fewer if it
    is small, or more if it is large; none for standard input, a packed file and what is no file.
    """
    if str(source).endswith(".gz") or not Path(source).is_file():
        return []
    cuts = [0]
    with open(source, "rb") as stream:
        whole = stream.seek(0, io.SEEK_END)
        size = min(max(whole // number, smallest), LARGEST_PART)
        while cuts[-1] < whole:
            stream.seek(cuts[-1] + size)
            stream.readline(LONGEST_LINE)
            cuts.append(min(stream.tell(), whole))
    return list(map(range, cuts, cuts[1:]))


def _lines(source: str | Path, part: range | None = None) -> Iterator[str]:
    if part is not None:
        with open(source, "rb") as file:
            file.seek(part.start)
            yield from _short(io.TextIOWrapper(io.BytesIO(file.read(len(part))), encoding="utf-8"))
        return
    if str(source) == "-":
        if sys.stdin is None:
            raise OSError("standard input is closed")
        if not isinstance(sys.stdin, io.TextIOWrapper):
            yield from sys.stdin
            return
        stream = io.TextIOWrapper(
            sys.stdin.buffer, encoding="utf-8"
        )  # whatever the locale: as a file is read
        try:
            yield from _short(stream)
        finally:
            stream.detach()
        return
    packed = str(source).endswith(".gz")
    _log.info("%s: being read", source)
    opened: Any = gzip.open if packed else open
    with opened(source, "rt", encoding="utf-8") as stream:
        yield from _short(stream, MOST if packed else inf)


def _short(stream: TextIO, most: float = inf) -> Iterator[str]:
    """The lines of a text; OSError at one that has no end, before it takes all memory, and where
    all have more than ``most`` characters.
    """
    read = 0
    while line := stream.readline(LONGEST_LINE + 1):
        read += max(len(line), SHORTEST_CALL)
        if len(line) > LONGEST_LINE:
            raise OSError(f"a line of more than {size(LONGEST_LINE)}")
        if read > most:
            raise OSError(f"expands to more than {size(MOST)}; unpack it if you trust it")
        yield line


def parse_call(
    line: str,
    prototypes: Mapping[str, Mapping[str, str]],
    reader: ArgumentReader | None = None,
    number: int | None = None,
) -> NamedCall:
    """One line of a call file, its ``number`` there, without blanks around it; raises
    :class:`CallFault`. What follows the id is read once, where ``reader`` remembers it.
    """
    opening = _ID.match(line) if reader else None
    rest = line[opening.end() :] if opening else ""
    if opening and reader and (known := reader.texts.get(rest)):
        return NamedCall(opening[1], *known, number)
    if opening and reader and (whole := reader.by_pieces(rest, prototypes)):
        reader.remember(rest, whole, _NOTHING)
        return NamedCall(opening[1], whole, _NOTHING, number)
    try:
        data, end = _DECODER.raw_decode(line)
    except (ValueError, RecursionError) as error:
        raise CallFault(f"not JSON: {error}") from None
    if end != len(line):
        raise CallFault(f"not JSON: more than one value on the line: {line[end : end + 20]!r}")
    if not isinstance(data, dict):
        raise CallFault("expects a JSON object with id, op, product and args")
    for key in ("id", "op", "product", "args"):
        if key not in data:
            raise CallFault(f"the key '{key}' is missing")
    if not isinstance(data["id"], str) or not data["id"]:
        raise CallFault(f"the id {data['id']!r} must be a string that is not empty")
    _distinct_keys(line, data)
    extra = (
        _NOTHING
        if len(data) == 4
        else {
            key: value for key, value in data.items() if key not in ("id", "op", "product", "args")
        }
    )
    call = make_call(data["op"], data["product"], data["args"], prototypes, reader)
    if opening and reader:
        reader.remember(rest, call, extra)
    return NamedCall(data["id"], call, extra, number)


def _distinct_keys(line: str, data: dict[str, Any]) -> None:
    """Refuse a key that appears twice in one object, of which JSON readers keep the last.

    Every key has a colon: a line with no more colons than keys holds no key twice, and only others
    are read again, slowly.
    """
    args = data["args"]
    inside = list(args.values()) if type(args) is dict else []
    lists = chain.from_iterable([value for value in inside if type(value) is list])
    if line.count(":") == sum(
        len(each) for each in (data, args, *inside, *lists) if type(each) is dict
    ):
        return

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keyed = dict(pairs)
        if len(keyed) != len(pairs):
            twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
            raise CallFault(
                f"the key {twice!r} appears twice in one object of the call {data['id']!r}"
            )
        return keyed

    json.loads(line, object_pairs_hook=distinct)
