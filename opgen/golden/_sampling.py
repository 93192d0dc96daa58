"""Where a sampler reads an image along one axis: elements, weights, and how these change with the
coordinate.

A device computes places and weights in FLOAT. Where a place may fall on either side of an element,
of the middle between two, or of the image's end, both answers are admitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from opgen.golden import Array
from opgen.golden._running_error import ROUNDOFF

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2
STEPS = 6
"""More than the roundings of a device on the way to a place or a weight."""
FAR = 2.0**31
"""A place beyond is outside whatever the image."""


@dataclass(frozen=True)
class Taps:
    """The elements that are read, (taps, ...) each: ``index``, -1 for none, ``weight``, and
    ``slope``, by which the weight grows with the coordinate.
    """

    index: Array
    weight: Array
    slope: Array

    def map(self, function: Callable[[Array], Array]) -> Taps:
        """With other weights and slopes."""
        return Taps(self.index, function(self.weight), function(self.slope))


@dataclass(frozen=True)
class SampledAxis:
    """The taps along an axis, and the largest errors of their weights and slopes on a device, in
    roundoffs of FLOAT.
    """

    taps: Taps
    errors: Taps

    @property
    def sizes(self) -> Taps:
        """Absolute weights and slopes."""
        return self.taps.map(np.abs)

    @property
    def largest(self) -> Taps:
        """The largest absolute weights and slopes of a device."""
        return Taps(
            self.taps.index,
            np.abs(self.taps.weight) + ROUNDOFF * self.errors.weight,
            np.abs(self.taps.slope) + ROUNDOFF * self.errors.slope,
        )


def place(coordinate: Array, extent: int, align: bool) -> Array:
    """Where coordinates, -1 to 1 over the image, lie among its elements."""
    moved = coordinate + 1
    return moved / 2 * (extent - 1) if align else (moved * extent - 1) / 2


def _far(at: Array, extent: int) -> Array:
    """The largest errors of places on a device, in roundoffs of FLOAT."""
    return STEPS * (np.abs(at) + extent)


def unknown(coordinate: Array, extent: int, padding: int, align: bool) -> Array:
    """Where nobody knows what a device reads: at no number, and where a place is so far outside
    that no digit is left of where it is reflected to.
    """
    far = _far(place(coordinate, extent, align), extent) * ROUNDOFF > 0.25
    return ~np.isfinite(coordinate) | far & (padding == REFLECTION)


def sampled(coordinate: Array, extent: int, mode: int, padding: int, align: bool) -> SampledAxis:
    """The axis of an image of some extent, at coordinates of any shape."""
    at = place(coordinate, extent, align).clip(-FAR, FAR)
    off = _far(at, extent)
    rate = np.full(at.shape, (extent - 1 if align else extent) / 2)
    if mode == BICUBIC:
        return _cubic(at, off, rate, extent, padding, align)
    inner, turned, unsure = _padded(at, off * ROUNDOFF, extent, padding, align)
    if mode == NEAREST:
        return _nearest(inner, off, extent)
    return _linear(inner, off, rate, turned, unsure, extent)


def _padded(
    at: Array, near: Array, extent: int, padding: int, align: bool
) -> tuple[Array, Array, Array]:
    """(places inside the image, by what they move if the coordinate does: 1, -1 or 0, where a
    device may see that otherwise); places beyond zeros stay where they are.
    """
    moves, unsure = np.ones_like(at), np.zeros(at.shape, dtype=bool)
    if padding == REFLECTION:
        low, span = (0.0, extent - 1) if align else (-0.5, extent)
        if span == 0:
            return np.zeros_like(at), np.zeros_like(at), unsure
        turns, rest = np.divmod(at - low, span)
        unsure |= np.minimum(rest, span - rest) <= near
        odd = turns % 2 == 1
        at, moves = low + np.where(odd, span - rest, rest), np.where(odd, -1.0, 1.0)
    if padding != ZEROS:
        unsure |= np.minimum(np.abs(at), np.abs(at - (extent - 1))) <= near
        moves = moves * ((at >= 0) & (at <= extent - 1))
        at = at.clip(0, extent - 1)
    return at, moves, unsure


def _axis(extent: int, index: Array, *parts: Array) -> SampledAxis:
    index = np.where((index >= 0) & (index < extent), index, -1).astype(np.int64)
    there = index >= 0
    weight, slope, weight_error, slope_error = (np.where(there, part, 0.0) for part in parts)
    return SampledAxis(Taps(index, weight, slope), Taps(index, weight_error, slope_error))


def _linear(
    at: Array, off: Array, rate: Array, moves: Array, unsure: Array, extent: int
) -> SampledAxis:
    """The elements on both sides, and the one beyond the nearer of these if a device may be on its
    other side.
    """
    below = np.floor(at)
    part, near = at - below, off * ROUNDOFF
    doubtful = (part < near) | (part > 1 - near)
    beyond = np.where(part < near, below - 1, np.where(doubtful, below + 2, -1))
    nothing, one = np.zeros_like(at), np.ones_like(at)
    weights, slopes = np.stack([1 - part, part, nothing]), np.stack([-one, one, nothing])
    wrong = 2 * rate * (unsure | (doubtful & (moves != 0))) / ROUNDOFF
    return _axis(
        extent,
        np.stack([below, below + 1, beyond]),
        weights,
        slopes * rate * moves,
        np.broadcast_to(off, weights.shape),
        np.broadcast_to(wrong, weights.shape),
    )


def _nearest(at: Array, off: Array, extent: int) -> SampledAxis:
    """The nearest element; of two that are as near, the even one, and either is admitted."""
    index = np.rint(at)
    doubtful = np.abs(at - index) > 0.5 - off * ROUNDOFF
    other = np.where(doubtful, index + np.where(at > index, 1, -1), -1)
    nothing = np.zeros_like(at)
    error = np.stack([doubtful, doubtful]) / ROUNDOFF
    weights = np.stack([nothing + 1, nothing])
    return _axis(extent, np.stack([index, other]), weights, 0 * weights, error, 0 * weights)


def _cubic(
    at: Array, off: Array, rate: Array, extent: int, padding: int, align: bool
) -> SampledAxis:
    """The four elements around, weighted by the cubic convolution of Keys with a = -0.75; each that
    is beyond an end is padded by itself. Weights change by 1.35 times the place at most, and slopes
    by 4.5 times.
    """
    below = np.floor(at)
    part, near = at - below, off * ROUNDOFF
    unclear = (part < near) | (part > 1 - near)
    steps = [np.full(at.shape, float(step)) for step in (-1, 0, 1, 2)]
    taps = np.stack([*steps, np.where(part < near, -2.0, 3.0)])
    far, side = np.abs(part - taps), np.sign(part - taps)
    cube = far * far * far  # a power has other bits on other processors
    inner, outer = far <= 1, far < 2
    one, none = np.ones_like(far), np.zeros_like(far)
    weights = np.where(
        inner,
        [1.25 * cube, -2.25 * far**2, one, none],
        [-0.75 * cube, 3.75 * far**2, -6 * far, 3 * one],
    )
    slopes = np.where(
        inner,
        [3.75 * far**2, -4.5 * far, none],
        [-2.25 * far**2, 7.5 * far, -6 * one],
    )
    counted = outer & (np.arange(5) < 4).reshape(5, *(1 for _ in at.shape))
    index, _, _ = _padded(below + taps, near, extent, padding, align)
    index[4] = np.where(unclear, index[4], -1)
    return _axis(
        extent,
        np.rint(index),
        np.where(counted, weights.sum(axis=0), 0.0),
        np.where(counted, slopes.sum(axis=0) * side * rate, 0.0),
        1.35 * off + STEPS * np.abs(weights).sum(axis=0),
        (4.5 * off + STEPS * np.abs(slopes).sum(axis=0)) * rate,
    )


def bilinear(places: Array, off: Array, extent: int) -> SampledAxis:
    """The elements on both sides of places that a device has with errors of ``off`` roundoffs;
    beyond an end lies its last element.
    """
    inner = places.clip(0, max(extent - 1, 0))
    one = np.ones_like(places)
    return _linear(inner, off, one, one, np.zeros(places.shape, dtype=bool), extent)
