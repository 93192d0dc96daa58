"""Texts and numbers as people write and read them."""

from __future__ import annotations

from collections.abc import Iterable


def unkept(text: str) -> str:
    r"""Why no HDF5 file can keep a text; an empty text where it can.

    >>> unkept("a\0"), unkept("\ud800"), unkept("超")
    ('holds a NUL character', 'is not Unicode text', '')
    """
    if "\0" in text:
        return "holds a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "is not Unicode text"
    return ""


def natural(text: str) -> int | None:
    """The number that is written with the digits 0 to 9, at most 18 of them; None for any other
    text.

    >>> natural("012"), natural("-1"), natural("²"), natural("9" * 5000)
    (12, None, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def size(number: int) -> str:
    """Bytes for people.

    >>> size(999), size(15_300), size(2_500_000)
    ('999 B', '15.3 kB', '2.5 MB')
    """
    units = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
    return next(
        (f"{number / step:.1f} {unit}" for unit, step in units if number >= step), f"{number} B"
    )


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """`` (did you mean 'padH'?)`` where one of ``known`` is close, whatever its case, else an empty
    string.

    >>> did_you_mean("float32", ["FLOAT16", "FLOAT"]), did_you_mean("KW", ["padH", "kW"])
    (" (did you mean 'FLOAT'?)", " (did you mean 'kW'?)")
    >>> did_you_mean("zzz", ["padH", "kW"])
    ''
    """
    from difflib import get_close_matches

    names = {str(name).lower(): name for name in known}
    close = get_close_matches(str(word).lower(), names, n=1, cutoff=0.6)
    return f" (did you mean '{names[close[0]]}'?)" if close else ""
