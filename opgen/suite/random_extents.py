"""Extents of tensors, drawn at random beside those that are aimed at."""

from __future__ import annotations

import numpy as np

from opgen.numerics.splitmix import SplitMix

SMALL, WIDE = 64, 256
"""A third of all extents are drawn evenly from 1 to the first, a third from 1 to the second: more
than one block of any alignment."""
FEW = 3
"""Extents beside large ones are at most this."""
LARGEST = 1 << 14
"""The largest product of the extents that are drawn for a call."""


def one_in(random: SplitMix, many: int, *shape: int) -> np.ndarray:
    """Of the shape asked for, bool: true in one place of so many."""
    return np.asarray(random.small(*shape) % many == 0)


def extents_of_tensor(random: SplitMix, usual: np.ndarray, aims: np.ndarray) -> np.ndarray:
    """(rows, n) extents of one tensor each, those that are aimed at, others at random. Of the
    latter as many as fit, in a random order, stay what they are; the rest are few.
    """
    shape = aims.shape
    even = 1 + random.small(*shape) % np.where(one_in(random, 2, *shape), SMALL, WIDE)
    sizes = usual[random.small(*shape) % len(usual)]
    values = np.where(aims >= 0, aims, np.where(one_in(random, 3, *shape), sizes, even))
    order = np.argsort(np.where(aims >= 0, -1, random.small(*shape)), axis=1)
    product = np.cumprod(np.take_along_axis(values, order, axis=1).astype(float), axis=1)
    over = np.zeros(shape, dtype=bool)
    np.put_along_axis(over, order, product > LARGEST, axis=1)
    return np.where(over, 1 + random.small(*shape) % FEW, values)


def changed_names(random: SplitMix, rows: int, names: int) -> np.ndarray:
    """(rows, names) bool: in each row one name in four, two or three."""
    return np.asarray(random.small(rows, names) % 4 <= random.small(rows, 1) % 3)


def one_aimed_at(random: SplitMix, aims: np.ndarray) -> np.ndarray:
    """(rows, 1) one of the values that each row is aimed at."""
    order = np.where(aims >= 0, random.small(*aims.shape), -1)
    return np.take_along_axis(aims, np.argsort(order, axis=1)[:, -1:], axis=1)
