"""What a file of another tool says, as Python values: JSON documents and cells of Python literals,
with limits.

Nothing is ever executed; every document that cannot be read gives one message.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from opgen.files.textfile import read_text
from opgen.interop.names import Unreadable, shown
from opgen.model import FileError

MOST_CELL = 1 << 16
"""Characters of a cell, at most."""
MOST_NESTED = 32
"""Brackets within each other, at most."""


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


def literal(cell: str) -> object:
    """The Python literal in a cell: numbers, strings, True, False, None, tuples, lists, dicts;
    raises :class:`Unreadable`.

    >>> literal("((2, 3), None)")
    ((2, 3), None)
    """
    text = cell.strip()
    if len(text) > MOST_CELL:
        raise Unreadable(f"{len(text)} characters in one cell; at most {MOST_CELL}")
    deepest = depth = 0
    for bracket in re.findall(r"[][(){}]", text):
        depth += 1 if bracket in "([{" else -1
        deepest = max(deepest, depth)
    if deepest > MOST_NESTED or re.search(r"[-+~]{9}", text):
        raise Unreadable(f"nested too deeply: {shown(text)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value: object = ast.literal_eval(text)
        # A hexadecimal number may have more digits than Python prints; no message could show it.
        repr(value)
        return value
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise Unreadable(
            f"is not a Python literal: {shown(text)}; expects numbers, strings, None and tuples of"
            " them"
        ) from None


def cell(row: Mapping[str, str], column: str) -> object:
    """The literal in a cell of a row; None for an empty one, and for one that is not there."""
    if not row.get(column):
        return None
    try:
        return literal(row[column])
    except Unreadable as reason:
        raise Unreadable(f"{column}: {reason}") from None


def attributes(row: Mapping[str, str]) -> Mapping[object, object]:
    """The dictionary in the cell ``attributes`` of a row."""
    value = cell(row, "attributes")
    value = {} if value is None else value
    if not isinstance(value, dict):
        raise Unreadable(f"attributes: expects a dictionary, not {shown(value)}")
    return value


def argument(kind: str, value: object) -> object:
    """A value for a parameter of a kind: 0 and 1 are also bools, 2.0 is also 2; of a list each
    item. What does not fit stays as it is.

    >>> argument("int64", 2.0), argument("bool_array", [0, 1, 2])
    (2, [False, True, 2])
    """
    return (
        [_scalar(kind, item) for item in value] if isinstance(value, list) else _scalar(kind, value)
    )


def _scalar(kind: str, value: object) -> object:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if kind.startswith("bool") and type(value) is int and value in (0, 1):
        return bool(value)
    return value


def limits(value: Any) -> list[float] | None:
    """[lowest, highest] where a value is two finite numbers in order, or one; else ``None``."""
    pair = value if isinstance(value, list | tuple) else [value, value]
    if (
        len(pair) < 2
        or not all(type(v) in (int, float) and abs(v) < 2**1000 and isfinite(v) for v in pair[:2])
        or pair[0] > pair[1]
    ):
        return None
    return [float(pair[0]), float(pair[1])]


def listed(value: Any) -> Any:
    """Tuples as lists, all the way down: what JSON knows."""
    return [listed(item) for item in value] if isinstance(value, list | tuple) else value
