"""What a call is: the operator, the product, and every argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TensorDesc:
    """An aclTensor without its data.

    ``strides`` and ``offset`` count elements; ``None`` means contiguous, and storage equal to the
    view.
    """

    shape: tuple[int, ...]
    dtype: str
    format: str = "ND"
    strides: tuple[int, ...] | None = None
    offset: int = 0
    storage_shape: tuple[int, ...] | None = None
    range: tuple[float, float] | None = None

    @property
    def plain(self) -> bool:
        """Whether nothing is said of the layout: contiguous, and storage equal to the view."""
        return self.strides is None and self.storage_shape is None and not self.offset

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides, of a contiguous tensor too."""
        return row_major(self.shape) if self.strides is None else self.strides

    @property
    def storage_elements(self) -> int:
        """Elements of the storage: of the extents that are given, or up to the last one of the
        view.
        """
        if self.storage_shape is not None:
            held = prod(self.storage_shape)
        elif self.strides is None or 0 in self.shape:
            held = self.offset + prod(self.shape)
        else:
            held = (
                self.offset
                + sum(
                    (extent - 1) * step
                    for extent, step in zip(self.shape, self.strides, strict=True)
                    if step > 0
                )
                + 1
            )
        return held if held > 0 else 0  # quicker than max, and asked of every input

    @property
    def storage_extents(self) -> tuple[int, ...]:
        """Extents of the storage: those that are given, or those of the view, or one axis where the
        two differ.
        """
        if self.storage_shape is not None:
            return self.storage_shape
        return self.shape if self.plain else (self.storage_elements,)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a contiguous tensor."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


@dataclass(frozen=True, slots=True)
class AclScalar:
    """An aclScalar: a number or a truth, and the dtype that it has."""

    value: float
    dtype: str


Argument: TypeAlias = TensorDesc | AclScalar | tuple[float, ...] | int | bool | float | str | None
"""A tensor, an array, a scalar, a text, or a null pointer."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the first phase: the vendor's name, a product, and every argument in prototype
    order.
    """

    api: str
    product: str
    args: Mapping[str, Argument]
