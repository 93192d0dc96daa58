"""Masks of bits, eight in a byte: no page says in which order."""

from __future__ import annotations

import numpy as np

from opgen.golden import Array

SAME_EITHER_WAY = np.array(
    [0xFF, 0x18, 0x81, 0xDB, 0x00, 0xE7, 0x3C, 0x99, 0xBD, 0x42, 0x7E, 0x24, 0xC3, 0x66, 0xA5, 0x5A]
)
"""Bytes that are the same when they are read backwards."""


def mask_of(count: int, batch: int) -> Array:
    """(batch, bytes) for ``count`` elements, up to a multiple of 128: no pattern repeats with the
    16 bytes of 128 elements.
    """
    places = np.arange(-(-count // 128) * 16)
    chosen = SAME_EITHER_WAY[(places * 5 + places // 16 * 3) % len(SAME_EITHER_WAY)]
    return np.broadcast_to(chosen, (batch, len(places))).astype(np.float64)


def kept(mask: Array, shape: tuple[int, ...]) -> Array:
    """Which elements of a stack (B, *shape) the bits of a mask (B, ...) keep."""
    bits = np.unpackbits(mask.reshape(len(mask), -1).astype(np.uint8), axis=1, bitorder="little")
    return bits[:, : int(np.prod(shape[1:]))].reshape(shape).astype(bool)
