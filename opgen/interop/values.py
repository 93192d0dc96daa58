"""What a file of another tool says, as Python values: JSON documents and cells of Python literals,
with limits.

Nothing is ever executed; every document that cannot be read gives one message.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from math import isfinite
from pathlib import Path
from typing import Any

from opgen.interop.names import Unreadable, shown
from opgen.model import FileError, Problem

MOST_BYTES = 256 << 20
"""Bytes of a file, at most."""
MOST_CELL = 1 << 16
"""Characters of a cell, at most."""
MOST_NESTED = 32
"""Brackets within each other, at most."""


def text_of(path: str | Path) -> str:
    """The text of a file; raises FileError."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise FileError(
            [Problem(str(path), None, "", f"cannot be read: {error.strerror or error}")]
        ) from None
    if len(data) > MOST_BYTES:
        raise FileError(
            [Problem(str(path), None, "", f"more than {MOST_BYTES >> 20} MiB; split it")]
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            [
                Problem(
                    str(path),
                    None,
                    "",
                    f"is no UTF-8 text: byte {error.start} is {data[error.start]:#04x}",
                )
            ]
        ) from None


def json_document(path: str | Path) -> Any:
    """The JSON document in a file; raises FileError, with the line."""
    text = text_of(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise FileError(
            [
                Problem(
                    str(path), error.lineno, "", f"is no JSON: {error.msg} (column {error.colno})"
                )
            ]
        ) from None
    except RecursionError:
        raise FileError(
            [Problem(str(path), None, "", "is nested too deeply to be a case file")]
        ) from None
    except ValueError as error:  # a number of thousands of digits
        raise FileError(
            [
                Problem(
                    str(path), None, "", f"is no JSON that can be read: {str(error).split(';')[0]}"
                )
            ]
        ) from None


def literal(cell: str) -> Any:
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
            value = ast.literal_eval(text)
        # A hexadecimal number may have more digits than Python prints; no message could show it.
        repr(value)
        return value
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise Unreadable(
            f"is no Python literal: {shown(text)}; expects numbers, strings, None and tuples of"
            " them"
        ) from None


def whole(value: Any) -> Any:
    """A whole number that was written as a float, as a whole number; anything else as it is."""
    return (
        int(value)
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53
        else value
    )


def scalar(kind: str, value: Any) -> Any:
    """A scalar for a parameter of a kind: 0 and 1 are also bools, 2.0 is also 2. What does not fit
    stays as it is.
    """
    value = whole(value)
    if kind.startswith("bool"):
        return bool(value) if type(value) is int and value in (0, 1) else value
    return value


def limits(value: Any) -> list[float] | None:
    """[lowest, highest] where a value is two finite numbers in order, or one; else ``None``."""
    pair = value if isinstance(value, (list, tuple)) else [value, value]
    if (
        len(pair) < 2
        or not all(type(v) in (int, float) and abs(v) < 2**1000 and isfinite(v) for v in pair[:2])
        or pair[0] > pair[1]
    ):
        return None
    return [float(pair[0]), float(pair[1])]


def listed(value: Any) -> Any:
    """Tuples as lists, all the way down: what JSON knows."""
    if isinstance(value, (list, tuple)):
        return [listed(one) for one in value]
    return value
