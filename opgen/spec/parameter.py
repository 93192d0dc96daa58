"""One parameter of the first phase, as the prototype spells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opgen.calls.kinds import KINDS
from opgen.spec.language.term import Term


@dataclass(frozen=True)
class Parameter:
    """One parameter of the first phase, as the prototype spells it.

    ``shapes``: rank -> letter (or number) of each axis. ``orders``: rank -> format -> the same in
    the order of that format, where formats differ. ``items``: length of an array -> the names that
    each slot binds. ``otherwise``: length -> name -> the name it falls back to. ``mask``: the
    condition under which an output is written. ``of``: the list that a tensor is in, at ``place``.
    """

    name: str
    kind: str
    at: tuple[int, ...]
    shapes: Mapping[int, tuple[str | int, ...]] = field(default_factory=dict)
    orders: Mapping[int, Mapping[str, tuple[str | int, ...]]] = field(default_factory=dict)
    items: Mapping[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    otherwise: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    enum: Mapping[int | float, str] = field(default_factory=dict)
    strided: bool | None = None
    mask: Term | None = None
    of: str = ""
    place: int = 0

    def letters(self, rank: int, layout: str) -> tuple[str | int, ...]:
        """The letter of each axis at a rank that the page knows, in the order of a format."""
        return self.orders.get(rank, {}).get(layout, self.shapes[rank])

    def turned(self, rank: int, layout: str) -> tuple[int, ...] | None:
        """Where the letters have each axis of a format that orders them otherwise; None for others.

        >>> p = Parameter("x", "tensor", (), {3: ("C", "H", "W")}, {3: {"NHWC": ("H", "W", "C")}})
        >>> p.turned(3, "NHWC"), p.turned(3, "NCHW")
        ((1, 2, 0), None)
        """
        if layout not in self.orders.get(rank, {}):
            return None
        axes = tuple(map(self.shapes[rank].index, self.letters(rank, layout)))
        return None if axes == tuple(range(rank)) else axes

    @property
    def layouts(self) -> list[tuple[int, str, tuple[str | int, ...]]]:
        """(rank, format, letters): of each rank those that hold for every format, under none; and
        behind them those of one.
        """
        return [
            (rank, layout, order)
            for rank, letters in self.shapes.items()
            for layout, order in {"": letters, **self.orders.get(rank, {})}.items()
        ]

    @property
    def is_tensor(self) -> bool:
        return KINDS[self.kind].family == "tensor"

    @property
    def is_pointer(self) -> bool:
        return KINDS[self.kind].pointer

    @property
    def is_array(self) -> bool:
        return KINDS[self.kind].family == "array"

    @property
    def is_list(self) -> bool:
        return KINDS[self.kind].family == "list"
