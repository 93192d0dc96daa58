"""Keys of parameters: short ways to write relations.

:data:`KEYS` holds the longhand of each (``null dtype format rank shape dims empty length min max
range enum``).

>>> relations("x", ParameterForm("int64", range=(-255, 255)))
{'range': [(None, 'x >= -255'), (None, 'x <= 255')]}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from opgen.calls.kinds import KINDS
from opgen.spec.spec_form import Limits, ParameterForm

Pair: TypeAlias = tuple[str | None, str]
"""(condition or ``None``, comparison), as text."""


def relations(name: str, parameter: ParameterForm) -> dict[str, list[Pair]]:
    """Key -> what it stands for, of the keys that a parameter has, and of those that follow."""
    follow = {"null": KINDS[parameter.kind].family != "scalar", "rank": bool(parameter.shape)}
    return {
        key: list(longhand(name, parameter))
        for key, longhand in KEYS.items()
        if getattr(parameter, key) is not None or follow.get(key)
    }


def _words(values: Iterable[str]) -> str:
    return "(" + ", ".join(f"'{value}'" for value in values) + ",)"


def _numbers(values: Iterable[int | str]) -> str:
    return "(" + ", ".join(map(str, values)) + ",)"


def _null(x: str, of: ParameterForm) -> Iterator[Pair]:
    if of.null is not True:
        yield f"not ({of.null})" if of.null else None, f"{x}.null == False"


def _dtype(x: str, of: ParameterForm) -> Iterator[Pair]:
    if not isinstance(of.dtype, dict):
        yield None, f"{x}.dtype in {_words(of.dtype or ())}"
        return
    named = [product for product in of.dtype if product != "any"]
    for product, dtypes in of.dtype.items():
        others = f"product not in {_words(named)}" if named else None
        when = others if product == "any" else f"product == '{product}'"
        yield when, f"{x}.dtype in {_words(dtypes)}"


def _format(x: str, of: ParameterForm) -> Iterator[Pair]:
    if not isinstance(of.format, dict):
        yield None, f"{x}.format in {_words(of.format or ())}"
        return
    for rank, formats in of.format.items():
        yield f"{x}.rank == {rank}", f"{x}.format in {_words(formats)}"


def _rank(x: str, of: ParameterForm) -> Iterator[Pair]:
    yield None, f"{x}.rank in {_numbers(of.rank or of.shape or ())}"


def _shape(x: str, of: ParameterForm) -> Iterator[Pair]:
    for rank, letters in (of.shape or {}).items():
        yield f"{x}.rank == {rank}", f"{x}.shape == {_numbers(letters)}"


def _empty(x: str, of: ParameterForm) -> Iterator[Pair]:
    if not of.empty:
        yield None, f"{x}.numel != 0"


def _length(x: str, of: ParameterForm) -> Iterator[Pair]:
    if not isinstance(of.length, dict):
        yield None, f"len({x}) in {_numbers(of.length or ())}"
        return
    for term, cases in of.length.items():
        for number, lengths in cases.items():
            yield f"{term} == {number}", f"len({x}) in {_numbers(lengths)}"


def _between(x: str, of: ParameterForm, limits: Limits) -> Iterator[Pair]:
    scalar = KINDS[of.kind].family == "scalar"
    low, high = limits
    if low is not None:
        yield None, f"{x if scalar else f'lowest({x})'} >= {low}"
    if high is not None:
        yield None, f"{x if scalar else f'highest({x})'} <= {high}"


def _enum(x: str, of: ParameterForm) -> Iterator[Pair]:
    yield None, f"{x} in {_numbers(of.enum or ())}"


_UNLIMITED: Limits = (None, None)
KEYS: Mapping[str, Callable[[str, ParameterForm], Iterator[Pair]]] = {
    "null": _null,
    "dtype": _dtype,
    "format": _format,
    "rank": _rank,
    "shape": _shape,
    "dims": lambda x, of: _between(x, of, of.dims or _UNLIMITED),
    "empty": _empty,
    "length": _length,
    "min": lambda x, of: _between(x, of, (of.min, None)),
    "max": lambda x, of: _between(x, of, (None, of.max)),
    "range": lambda x, of: _between(x, of, of.range or _UNLIMITED),
    "enum": _enum,
}
"""Key -> its longhand for the parameter ``x``."""
