"""What a file of another tool says, as Python values: JSON documents and cells of Python literals,
with limits.

Nothing is ever executed; every document that cannot be read gives one message.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from opgen.calls.kinds import KINDS, REAL
from opgen.files.textfile import read_text
from opgen.interop.names import Unreadable, shown
from opgen.model import FileError

MOST_CELL = 1 << 16
"""Characters of a cell, at most."""
T = TypeVar("T")
Row: TypeAlias = Mapping[str, str]
"""A row of a table: column -> cell."""


def text_of(path: str | Path) -> str:
    """The text of a file without its byte order mark; raises FileError."""
    return read_text(path).removeprefix("\ufeff")


def json_document(path: str | Path) -> object:
    """The JSON document in a file; raises FileError, with the line."""
    line = None
    try:
        document: object = json.loads(text_of(path))
        return document
    except json.JSONDecodeError as error:
        line, reason = error.lineno, f"is not JSON: {error.msg} (column {error.colno})"
    except RecursionError:
        reason = "is nested too deeply to be a case file"
    except ValueError as error:  # a number of thousands of digits
        reason = f"is not JSON that can be read: {str(error).split(';')[0]}"
    raise FileError.of(str(path), "", reason, line)


def literal(cell: str) -> Any:
    """The Python literal in a cell, as JSON has it: tuples are lists; raises :class:`Unreadable`,
    also where Python's own limits of nesting end it.

    >>> literal("((2, 3), None)")
    [[2, 3], None]
    """
    text = cell.strip()
    if len(text) > MOST_CELL:
        raise Unreadable(f"{len(text)} characters in one cell; at most {MOST_CELL}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return json.loads(json.dumps(ast.literal_eval(text)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise Unreadable(
            f"is not a Python literal: {shown(text)}; expects numbers, strings, None and tuples of"
            " them"
        ) from None


def items(row: Row, column: str) -> list[Any]:
    """The items in a cell of a row, none of an empty one; a value that is no list is one item."""
    with about(column):
        value = literal(row.get(column) or "()")
    return value if isinstance(value, list) else [value]


def attributes(row: Row) -> dict[str, Any]:
    """The dictionary in the cell ``attributes`` of a row."""
    with about("attributes"):
        return of_kind(dict, literal(row.get("attributes") or "{}"), "a dictionary")


def of_kind(kind: type[T], value: object, expects: str) -> T:
    """A value that must be of a kind; raises :class:`Unreadable`."""
    if not isinstance(value, kind):
        raise Unreadable(f"expects {expects}, not {shown(value)}")
    return value


@contextmanager
def about(key: str) -> Iterator[None]:
    """Where a key is read: it stands before what is said of a value that cannot be."""
    try:
        yield
    except Unreadable as reason:
        raise Unreadable(f"{key}: {reason}") from None


def argument(kind: str, value: object) -> object:
    """A value for a parameter of a kind: 0 and 1 are also bools, 2.0 is also 2; of a list each
    item. What does not fit stays as it is.

    >>> argument("int64", 2.0), argument("bool_array", [0, 1, 2]), argument("double", 2.0)
    (2, [False, True, 2], 2.0)
    """
    if isinstance(value, list):
        return [argument(kind, item) for item in value]
    if KINDS[kind].element.term in (*REAL, "string"):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if kind.startswith("bool") and type(value) is int and value in (0, 1):
        return bool(value)
    return value


def limits(name: str, values: Any, notes: list[str]) -> list[float] | None:
    """[lowest, highest] of the values that a file wants for a tensor; None, and a note, where they
    are not two finite numbers in order.
    """
    if values is None or values == [None, None]:
        return None
    pair = values[:2] if isinstance(values, list) else []
    if (
        len(pair) < 2
        or not all(type(v) in (int, float) and abs(v) < 2**1000 and isfinite(v) for v in pair)
        or pair[0] > pair[1]
    ):
        notes.append(
            f"{name}: values {shown(values)} are not [lowest, highest]; opgen draws its own"
        )
        return None
    if must := values[2:]:
        notes.append(f"{name}: the values {shown(must)} that must appear are not carried over")
    return list(map(float, pair))
