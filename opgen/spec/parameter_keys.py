"""Keys of parameters: short ways to write relations.

:data:`KEYS` holds the longhand of each (``null dtype format rank shape dims empty length min max
range enum``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

Pair: TypeAlias = tuple[str | None, str]
"""(condition or ``None``, comparison), as text."""


class KeyFault(Exception):
    """A key of a parameter whose value has the wrong form; the message says what is expected."""


def _words(values: Any, what: str = "names") -> str:
    if not isinstance(values, list) or not values or not all(isinstance(v, str) for v in values):
        raise KeyFault(f"expects a list of {what}")
    return "(" + ", ".join(f"'{v}'" for v in values) + ",)"


def _numbers(values: Any) -> str:
    values = values if isinstance(values, list) else [values]
    if not values or not all(isinstance(v, (int, str)) and not isinstance(v, bool) for v in values):
        raise KeyFault("expects a number, a term, or a list of them")
    return "(" + ", ".join(map(str, values)) + ",)"


def _null(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if value is True:
        return
    if value is not False and not isinstance(value, str):
        raise KeyFault(
            "expects false (never), true (always allowed), or the condition under which null is"
            " allowed"
        )
    yield (f"not ({value})" if isinstance(value, str) else None), f"{name}.null == False"


def _dtype(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if isinstance(value, list):
        yield None, f"{name}.dtype in {_words(value, 'dtypes')}"
        return
    if not isinstance(value, dict) or not value:
        raise KeyFault("expects a list of dtypes, or a mapping of product (or any) to such a list")
    named = [product for product in value if product != "any"]
    for product, dtypes in value.items():
        others = f"product not in {_words(named)}" if named else None
        when = others if product == "any" else f"product == '{product}'"
        yield when, f"{name}.dtype in {_words(dtypes, 'dtypes')}"


def _format(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if isinstance(value, list):
        yield None, f"{name}.format in {_words(value, 'formats')}"
        return
    if not isinstance(value, dict) or not all(isinstance(rank, int) for rank in value):
        raise KeyFault("expects a list of formats, or a mapping of rank to such a list")
    for rank, formats in value.items():
        yield f"{name}.rank == {rank}", f"{name}.format in {_words(formats, 'formats')}"


def _rank(name: str, kind: str, value: Any) -> Iterator[Pair]:
    yield None, f"{name}.rank in {_numbers(value)}"


def _shape(name: str, kind: str, value: Any) -> Iterator[Pair]:
    for rank, letters in value.items():
        yield f"{name}.rank == {rank}", f"{name}.shape == ({', '.join(map(str, letters))},)"


def _empty(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if value is True:
        return
    if value is not False:
        raise KeyFault("expects false (no extent may be 0) or true (the page allows empty tensors)")
    yield None, f"{name}.numel != 0"


def _length(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if not isinstance(value, dict):
        yield None, f"len({name}) in {_numbers(value)}"
        return
    for of, cases in value.items():
        if not isinstance(cases, dict):
            raise KeyFault("expects lengths, or a term and for each of its values the lengths")
        for number, lengths in cases.items():
            yield f"{of} == {number}", f"len({name}) in {_numbers(lengths)}"


def _bounds(name: str, kind: str) -> tuple[str, str]:
    return (
        (name, name)
        if kind in ("int8", "int32", "int64")
        else (f"lowest({name})", f"highest({name})")
    )


def _min(name: str, kind: str, value: Any) -> Iterator[Pair]:
    yield None, f"{_bounds(name, kind)[0]} >= {value}"


def _max(name: str, kind: str, value: Any) -> Iterator[Pair]:
    yield None, f"{_bounds(name, kind)[1]} <= {value}"


def _range(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if not isinstance(value, list) or len(value) != 2 or value == [None, None]:
        raise KeyFault("expects [lowest, highest]; null stands for no limit")
    if all(type(limit) is int for limit in value) and value[0] > value[1]:
        raise KeyFault(f"lets nothing pass: {value[0]} is more than {value[1]}")
    if value[0] is not None:
        yield from _min(name, kind, value[0])
    if value[1] is not None:
        yield from _max(name, kind, value[1])


def _enum(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if (
        not isinstance(value, dict)
        or not value
        or not all(type(n) is int and isinstance(word, str) for n, word in value.items())
    ):
        raise KeyFault("expects a mapping of number to name")
    yield None, f"{name} in {_numbers(list(value))}"


KEYS: Mapping[str, tuple[frozenset[str], Callable[[str, str, Any], Iterator[Pair]]]] = {
    "null": (frozenset({"tensor", "output", "int_array", "bool_array"}), _null),
    "dtype": (frozenset({"tensor", "output"}), _dtype),
    "format": (frozenset({"tensor", "output"}), _format),
    "rank": (frozenset({"tensor", "output"}), _rank),
    "shape": (frozenset({"tensor", "output"}), _shape),
    "dims": (frozenset({"tensor", "output"}), _range),
    "empty": (frozenset({"tensor", "output"}), _empty),
    "length": (frozenset({"int_array", "bool_array"}), _length),
    "min": (frozenset({"int_array", "int8", "int32", "int64"}), _min),
    "max": (frozenset({"int_array", "int8", "int32", "int64"}), _max),
    "range": (frozenset({"int_array", "int8", "int32", "int64"}), _range),
    "enum": (frozenset({"int8", "int32", "int64"}), _enum),
}
"""Key -> the kinds of parameter that have it, and its longhand."""


def longhand(key: str, name: str, kind: str, value: Any) -> list[Pair]:
    """What a key of a parameter stands for. KeyFault where it has no such value."""
    return list(KEYS[key][1](name, kind, value))
