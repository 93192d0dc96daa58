"""Show text from files on a terminal, without the control characters that it may contain."""

from __future__ import annotations

import json
import re
from typing import Any
from unicodedata import category

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that show nothing and may do something: controls, marks of direction,
halves of pairs, ends of lines."""


class _Visible(dict[int, str]):
    """Code of a character -> what is shown for it."""

    def __missing__(self, code: int) -> str:
        unseen = category(chr(code)) in UNSEEN
        form = r"\x{:02x}" if code < 0x100 else r"\u{:04x}" if code < 0x10000 else r"\U{:08x}"
        self[code] = form.format(code) if unseen else chr(code)
        return self[code]


_VISIBLE = _Visible()


def visible(text: object) -> str:
    r"""A text of others on one line, which does nothing to a terminal nor to the log of a
    continuous integration system: whoever wrote an id may have chosen its characters.

    >>> print(visible("red \x1b[31m, backwards \u202e, half \ud800, two\nlines"))
    red \x1b[31m, backwards \u202e, half \ud800, two\x0alines
    >>> print(visible("::error::not from here"))
    \x3a:error::not from here
    """
    shown = str(text).translate(_VISIBLE)
    return rf"\x{ord(shown[0]):02x}{shown[1:]}" if shown.startswith(("::", "##[")) else shown


def literal(text: object) -> str:
    r"""The same within rich's markup, where it means nothing but itself.

    >>> print(literal("[bold] \x1b[31m"))
    \[bold] \x1b[31m
    """
    from rich.markup import escape

    return escape(visible(text))


def markdown(text: object) -> str:
    """The same as code in Markdown.

    >>> print(markdown("a*b"), markdown("`</details>`"))
    `a*b` `` `</details>` ``
    """
    shown = visible(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    space = " " if len(fence) > 1 else ""
    return f"{fence}{space}{shown}{space}{fence}"


def argument_text(value: Any) -> str:
    """An argument of a call, in the form of JSON, on one line.

    >>> argument_text({"dtype": "FLOAT", "format": "ND", "shape": [2, 3], "offset": 4})
    'FLOAT ND [2, 3] offset 4'
    >>> argument_text([True, False]), argument_text(None), argument_text(-1)
    ('[true, false]', 'null', '-1')
    >>> argument_text({"value": 0.5, "dtype": "FLOAT"})
    '{"value": 0.5, "dtype": "FLOAT"}'
    """
    if not isinstance(value, dict) or "format" not in value:
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
