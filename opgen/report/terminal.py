"""Texts of others on a terminal, and tables of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

_CONTROLS = {
    code: rf"\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"
}
_CONTROLS |= {
    code: rf"\u{code:04x}"
    for code in (
        *(0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),  # directions
        *(0x2028, 0x2029),  # ends of lines
        *range(0xD800, 0xE000),  # halves of pairs, which no encoding has
    )
}


def visible(text: str) -> str:
    r"""A text whose control characters and marks of direction do nothing to a terminal: whoever
    wrote an id may have chosen them.

    >>> print(visible("red \x1b[31m"))
    red \x1b[31m
    >>> print(visible("half \ud800, backwards \u202e"))
    half \ud800, backwards \u202e
    """
    return text.translate(_CONTROLS)


def on_one_line(text: str) -> str:
    r"""The same on one line, where a tab separates fields.

    >>> print(on_one_line("two\nlines"))
    two\x0alines
    """
    return visible(text).replace("\t", r"\x09").replace("\n", r"\x0a")


def literal(text: object) -> str:
    r"""The same within rich's markup, where it means nothing but itself.

    >>> print(literal("[bold] \x1b[31m"))
    \[bold] \x1b[31m
    """
    from rich.markup import escape

    return escape(visible(str(text)))


def argument_text(value: Any) -> str:
    """An argument of a call, in the form of JSON, on one line.

    >>> argument_text({"dtype": "FLOAT", "format": "ND", "shape": [2, 3], "offset": 4})
    'FLOAT ND [2, 3] offset 4'
    >>> argument_text([True, False]), argument_text(None), argument_text(-1)
    ('[true, false]', 'null', '-1')
    """
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    text = f"{value['dtype']} {value['format']} {value['shape']}"
    for key, name in (
        ("strides", "strides"),
        ("offset", "offset"),
        ("storage_shape", "storage"),
        ("range", "range"),
    ):
        if value.get(key) not in (None, 0):
            text += f" {name} {value[key]}"
    return text


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "case"), counted(1026, "case")
    ('1 case', '1026 cases')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def table(
    *columns: str,
    rows: Iterable[Iterable[object]] = (),
    title: str = "",
    right: tuple[str, ...] = (),
    lines: bool = False,
) -> Table:
    """An open table with these headings, of which those in ``right`` hold numbers; ``lines`` stand
    between its rows.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    result = Table(
        box=SIMPLE_HEAD,
        title=title or None,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        show_edge=False,
        show_lines=lines,
    )
    for name in columns:
        result.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        result.add_row(*map(str, row))
    return result
