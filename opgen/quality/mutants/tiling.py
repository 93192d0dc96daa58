"""Wrong kernels that take a tensor block by block: right within every block, and wrong at a seam.

Blocks lie along all elements as they are stored, or along the first or the last axis. A fault needs
more than one block: below that size such a device is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from opgen.golden import Array
from opgen.model import natural
from opgen.numerics.splitmix import SplitMix
from opgen.quality.mutants.mutant import DeviceBatch, Mutant, on_gradient

Axis: TypeAlias = Literal["all", "first", "last"]
AXES: tuple[Axis, ...] = get_args(Axis)


class Seam(NamedTuple):
    """What is ``wrong``: the ``places`` of n elements in blocks of so many hold what stands some
    blocks and elements before them; 0 where these are none.
    """

    wrong: str
    places: Callable[[int, int], range]
    blocks: int = 0
    elements: int = 0


LARGEST = 8192
"""The most elements of a block that is drawn."""


SEAMS: Mapping[str, Seam] = {
    "part_lost": Seam(
        "elements after the last whole block stay zero",
        lambda n, block: range(n // block * block or n, n),
    ),
    "part_stale": Seam(
        "elements after the last whole block hold the first values of that block",
        lambda n, block: range(n // block * block or n, n),
        blocks=1,
    ),
    "second_early": Seam(
        "the second core begins one element early",
        lambda n, block: range(block, min(2 * block, n)),
        elements=1,
    ),
    "buffer_reused": Seam(
        "a block begins with the first element of the one before it",
        lambda n, block: range(block, n, block),
        blocks=1,
    ),
    "one_buffer_late": Seam(
        "the third block holds the first one's elements",
        lambda n, block: range(2 * block, min(3 * block, n)),
        blocks=2,
    ),
    "partial_forgotten": Seam(
        "a sum leaves out what its last block adds",
        lambda n, block: range((n - 1) // block * block or n, n),
    ),
}
"""Name -> what is wrong. The last fault is one of what flows in, the others of every output."""


def tiled(fault: str, block: int, axis: Axis) -> Mutant:
    """The device with a fault at the seams of blocks of so many elements along an axis."""
    seam = SEAMS[fault]
    back = seam.blocks * block + seam.elements

    def cut(array: Array) -> Array:
        shape = array.shape[1:] or (1,)
        place = {"all": 0, "first": 0, "last": len(shape) - 1}[axis]
        extents = (array[0].size,) if axis == "all" else shape
        outer = int(np.prod(extents[:place]))
        blocks = array.reshape(len(array), outer, extents[place], -1) if array.size else array
        result = blocks.copy()
        if array.size:
            places = np.array(seam.places(extents[place], block), dtype=np.int64)
            result[:, :, places] = blocks[:, :, places - back] if back else 0
        return result.reshape(array.shape)

    def output(cases: DeviceBatch, name: str, array: Array) -> Array:
        return cut(array)

    name, text = f"{fault}.{axis}.{block}", f"{seam.wrong}: blocks of {block} along {axis}"
    if fault == "partial_forgotten":
        return Mutant(name, text, kernel=on_gradient(lambda given: cut(given.gradient)))
    return Mutant(name, text, output=output)


def named(name: str) -> Mutant | None:
    """The device of a name ``FAULT.AXIS.BLOCK``, such as ``part_lost.last.48``; None for others."""
    fault, _, rest = name.partition(".")
    axis, _, block = rest.partition(".")
    if fault in SEAMS and axis in AXES and (natural(block) or 0) > 1:
        return tiled(fault, int(block), axis)
    return None


def drawn(number: int, seed: int) -> Sequence[Mutant]:
    """So many different ones: every fault as often, with blocks of 2 to :data:`LARGEST` elements
    whose logarithms are drawn evenly.
    """
    random, made = SplitMix(seed), dict[str, Mutant]()
    while len(made) < number:
        share = random.small(3) / 2**16
        block = int(round(2 * (LARGEST / 2) ** share[0]))
        mutant = tiled([*SEAMS][len(made) % len(SEAMS)], block, AXES[int(share[1] * len(AXES))])
        made[mutant.name] = mutant
    return list(made.values())
