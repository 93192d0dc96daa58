"""The inputs of a batch: as they are stored, as they are read, and as they are computed with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from opgen.generation.kernels import Parts
from opgen.generation.numbers import Numbers
from opgen.numerics.arrays import Array
from opgen.numerics.recipes import RECIPES
from opgen.suite.batch import Batch

Arrays: TypeAlias = dict[tuple[str, str], Array]
"""Everything that is stored of a batch: (name, role) -> (B, ...); inputs as whole storages."""
SMALL = 1 << 14
"""Elements of a tensor from which on it gains nothing from being drawn with others."""


@dataclass(slots=True)
class Inputs:
    """The inputs of a batch: ``arrays`` (B, elements) as they lie in storage, ``values`` (B,
    *shape) as they are read, None for null pointers, and those that are ``rounded`` before they are
    computed with, or may be. ``parts`` are those of the kernel, ``keys`` (B,) those of the cases'
    streams.

    ``on_grid``: all data are, so that all sums are exact as they are. ``small``: no tensor has more
    than ``SMALL`` elements, all cases together. ``subnormal``: some may be subnormal in the compute
    dtype. ``unsaved``: those that the kernel computes of the others. ``places``: the flat places
    of outputs that are looked at, of those of which not all are. ``first``: the numbers of inputs
    that stand before those of a batch that is a part of another.
    """

    batch: Batch
    parts: Parts
    keys: Array
    values: dict[str, Array | None]
    on_grid: bool
    numbers: dict[str, Numbers] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    rounded: dict[str, Array | None] = field(default_factory=dict)
    small: bool = True
    subnormal: bool = False
    unsaved: list[str] = field(default_factory=list)
    places: dict[str, Array] = field(default_factory=dict)
    first: Mapping[str, int] = field(default_factory=dict)

    @property
    def seen(self) -> dict[str, Array | None]:
        """What is computed with; values as they are where rounding is optional."""
        return (
            {**self.values, **self.rounded}
            if self.rounded and not self.batch.optional
            else self.values
        )


def is_saved(batch: Batch, name: str) -> bool:
    """Whether the kernel computes an input of the others."""
    return (
        batch.roles[name] == "saved"
        and RECIPES[batch.recipe].consistent
        and name not in batch.given
        and batch.tensors[name].range is None
    )
