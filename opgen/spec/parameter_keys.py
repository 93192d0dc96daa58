"""Keys of parameters: short ways to write relations.

:data:`KEYS` holds the longhand of each (``null dtype format rank shape dims empty length min max
range enum``).

>>> relations("x", ParameterForm("int64", range=(-255, 255)))
{'range': [(None, 'x >= -255'), (None, 'x <= 255')]}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from opgen.calls.kinds import KINDS, member
from opgen.spec.form_values import Limits, Words
from opgen.spec.parameter_form import ParameterForm

Pair: TypeAlias = tuple[str | None, str]
"""(condition or ``None``, comparison), as text."""


def relations(name: str, parameter: ParameterForm) -> dict[str, list[Pair]]:
    """Key -> what it stands for, of the keys that a parameter has, and of those that follow."""
    follow = {"null": KINDS[parameter.kind].pointer, "rank": bool(parameter.shape)}
    return {
        key: list(longhand(name, parameter))
        for key, longhand in KEYS.items()
        if getattr(parameter, key) is not None or follow.get(key)
    }


def of_list(name: str, form: ParameterForm) -> dict[str, list[Pair]]:
    """The same of a list of tensors: ``null`` and ``length`` are its own, and ``null``, too, what
    holds of each tensor in it, as all other keys.
    """
    own = relations(name, form)
    result: dict[str, list[Pair]] = {key: own[key] for key in own if key in ("null", "length")}
    for place in range(form.most):
        tensor, there = member(name, place), f"len({name}) > {place}"
        of_each: dict[str, list[Pair]] = relations(tensor, form)
        of_each["null"] = [(None, f"{tensor}.null == False")]
        for key, pairs in of_each.items():
            if key != "length":
                result.setdefault(key, []).extend(
                    (f"{there} and ({when})" if when else there, what) for when, what in pairs
                )
    return result


def of_each(name: str, most: int, pair: Pair) -> list[Pair]:
    """What a relation about ``each`` tensor of a list says of every one that is read.

    >>> of_each("hx", 2, (None, "hx[each].dtype == self.dtype"))
    [('len(hx) > 0', 'hx[0].dtype == self.dtype'), ('len(hx) > 1', 'hx[1].dtype == self.dtype')]
    """
    when, require = pair
    asked = f"len({name}) > each" + (f" and ({when})" if when else "")

    def placed(place: int, text: str) -> str:
        return re.sub(r"\beach\b", str(place), text)

    return [(placed(place, asked), placed(place, require)) for place in range(most)]


def _words(values: Iterable[str]) -> str:
    return "(" + ", ".join(f"{value!r}" for value in values) + ",)"


def _numbers(values: Iterable[float | str]) -> str:
    return f"({''.join(f'{value}, ' for value in values)})".replace(", )", ",)")


def _by_product(lists: Mapping[str, Words]) -> Iterator[tuple[str | None, Words]]:
    """(the condition under which each list holds, the list); ``any`` is every other product."""
    named = [product for product in lists if product != "any"]
    others = f"product not in {_words(named)}" if named else None
    for product, words in lists.items():
        yield others if product == "any" else f"product == '{product}'", words


def _null(x: str, of: ParameterForm) -> Iterator[Pair]:
    if of.null is not True:
        yield f"not ({of.null})" if of.null else None, f"{x}.null == False"


def _dtype(x: str, of: ParameterForm) -> Iterator[Pair]:
    if not isinstance(of.dtype, dict):
        # where no name of the list is known, that is told, and the rule has its place all the same
        yield None, f"{x}.dtype in {_words(of.dtype)}" if of.dtype else f"{x}.dtype == {x}.dtype"
        return
    for when, dtypes in _by_product(of.dtype):
        yield when, f"{x}.dtype in {_words(dtypes)}"


def _format(x: str, of: ParameterForm) -> Iterator[Pair]:
    if not isinstance(of.format, dict):
        yield None, f"{x}.format in {_words(of.format or ())}"
        return
    by_product = {key: formats for key, formats in of.format.items() if isinstance(key, str)}
    for when, formats in _by_product(by_product):
        yield when, f"{x}.format in {_words(formats)}"
    yield from (
        (f"{x}.rank == {rank}", f"{x}.format in {_words(formats)}")
        for rank, formats in of.format.items()
        if isinstance(rank, int)
    )


def _rank(x: str, of: ParameterForm) -> Iterator[Pair]:
    yield None, f"{x}.rank in {_numbers(of.rank or of.shape or ())}"


def _shape(x: str, of: ParameterForm) -> Iterator[Pair]:
    """At rank 0 nothing is left to say."""
    for rank, letters in (of.shape or {}).items():
        if not letters:
            continue
        if not isinstance(letters, dict):
            yield f"{x}.rank == {rank}", f"{x}.shape == {_numbers(letters)}"
            continue
        for layout, order in letters.items():
            when = f"{x}.rank == {rank} and {x}.format == '{layout}'"
            yield when, f"{x}.shape == {_numbers(order)}"


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
    scalar = KINDS[of.kind].family in ("scalar", "typed")
    low, high = limits
    if low is not None:
        yield None, f"{x if scalar else f'lowest({x})'} >= {low}"
    if high is not None:
        yield None, f"{x if scalar else f'highest({x})'} <= {high}"


def _enum(x: str, of: ParameterForm) -> Iterator[Pair]:
    members = _words(of.enum) if isinstance(of.enum, tuple) else _numbers(of.enum or ())
    yield None, f"{x} in {members}"


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
