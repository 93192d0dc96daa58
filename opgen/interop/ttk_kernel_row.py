"""A row of TTK's kernel mode, by tensor and by attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from opgen.interop import names, values
from opgen.interop.names import Unreadable, shown
from opgen.interop.values import Row

Arguments: TypeAlias = dict[str, Any]
"""Arguments of a call, or the facts of one, as JSON has them."""


@dataclass(frozen=True)
class KernelRow:
    """A row by tensor and by attribute; its cells are read where they are asked for."""

    row: Row

    def items(self, *columns: str) -> list[Any]:
        """The items of the first of some columns that is filled."""
        filled = [column for column in columns if self.row.get(column)]
        return values.items(self.row, (*filled, *columns)[0])

    def tensor(self, side: str, place: int, axes: str = "") -> Arguments:
        """An ``input`` or ``output`` as a call has it: its extents in the order of ``axes``, where
        those of other axes must be 1; without ``axes`` as they are.
        """
        shape = nth(self.items(f"{side}_ori_shapes", f"{side}_shapes"), place)
        if shape is None:
            raise Unreadable(f"{side}_ori_shapes: tensor {place} is missing")
        extents = whole(f"{side}_ori_shapes", shape)
        letters = _of_each(self.items(f"{side}_ori_formats", f"{side}_formats"), place) or "ND"
        with values.about("input_dtypes"):
            dtype = names.dtype(_of_each(self.items("input_dtypes"), place))
        return {
            "shape": pick(extents, str(letters), axes, "extents") if axes else extents,
            "dtype": dtype,
            "format": axes or "ND",
        }

    def attribute(self, key: str, default: object = ...) -> Any:
        """An attribute of the row, or what it is where it is left out."""
        attributes = values.attributes(self.row)
        if key not in attributes and default is ...:
            raise Unreadable(f"attributes: {key} is missing")
        return attributes.get(key, default)

    def per_axis(self, key: str, axes: str, letters: str) -> list[int]:
        """An attribute per axis; ``letters`` are those that it is written for, or the spatial ones
        among them, of which those that are not among ``axes`` must be 1.
        """
        value = self.attribute(key)
        numbers = whole(key, [value] if isinstance(value, int) else value)
        spatial = _spatial(letters)
        if len(numbers) == 1:
            numbers *= len(spatial)
        return pick(numbers, spatial if len(numbers) == len(spatial) else letters, axes, key)

    def pads(self, axes: str, letters: str) -> list[int]:
        """Padding per axis, which is written once, or at begin and end alike; that of other spatial
        axes must be 0.
        """
        pads, spatial = whole("pads", self.attribute("pads")), _spatial(letters)
        begin, end = (pads[::2], pads[1::2]) if len(pads) == 2 * len(spatial) else (pads, pads)
        if begin != end:
            raise Unreadable(f"pads {shown(pads)} differ at begin and end; a call pads both alike")
        return pick(begin, spatial, axes, "pads", 0)


def nth(items: list[object], place: int) -> object:
    """An item; None where there are fewer."""
    return items[place] if place < len(items) else None


def _of_each(words: list[object], place: int) -> object:
    """The word of a tensor; a single one is that of all."""
    return nth(words, place if len(words) > 1 else 0)


def whole(key: str, value: object) -> list[int]:
    """A list of whole numbers; raises :class:`Unreadable`."""
    if not isinstance(value, list) or not all(type(number) is int for number in value):
        raise Unreadable(f"{key}: {shown(value)} is not a list of whole numbers")
    return list(value)


def _spatial(letters: str) -> str:
    return "".join(letter for letter in letters if letter in "DHW")


def pick(numbers: list[int], letters: str, axes: str, what: str, neutral: int = 1) -> list[int]:
    """The numbers of ``axes``; raises :class:`Unreadable`, with ``what`` they are, where an axis is
    missing, or the number of a letter that is left out is not ``neutral``.

    >>> pick([2, 1, 5, 7, 16], "NDHWC", "NCHW", "extents")
    [2, 16, 5, 7]
    """
    if letters == "ND" and len(numbers) == len(axes):
        return numbers
    named = dict(zip(letters, numbers, strict=False))
    others = {number for letter, number in named.items() if letter not in axes}
    if len(letters) != len(numbers) or not set(axes) <= set(letters) or others - {neutral}:
        raise Unreadable(f"{what} {numbers} of {letters} are none of {axes}")
    return [named[axis] for axis in axes]
