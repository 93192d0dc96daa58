"""Linear gathers along one axis, and their adjoints: pads, pools, upsampling, unfolding.

An operator gives, for every axis, which elements each element of its forward's output is a sum of,
and with which weights. How its gradient is added, by slices where indices allow that, follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen.golden import Array
from opgen.golden._matrices import SMALL

Places: TypeAlias = "slice | Array"
"""Positions along an axis, none of them twice."""
SHORT = 8  # positions up to which a large array is faster position by position
LARGE = 1 << 12  # elements of such an array
SCATTERED = 4  # positions per slice up to which an index is faster than slices


class Step(NamedTuple):
    """Some elements of the output, what they are multiplied by, and the elements of the axis that
    they go to: written, or added to what is there. Without ``sources``: zeros.
    """

    targets: Places
    sources: Places | None
    weights: Array | None
    add: bool


@dataclass(frozen=True, eq=False)
class Gather:
    """A forward along one axis of ``extent`` elements: element ``o`` of its output is the sum of
    ``weights[t, o] * x[index[t, o]]``.

    ``index`` is (taps, number); -1 meets nothing. Without ``weights`` all are 1.

    >>> twice = Gather(2, np.array([[0, 0, 1, 1]]))  # y = x0 x0 x1 x1
    >>> twice.scatter(np.array([1.0, 2.0, 3.0, 4.0]), 0, np.empty(2)).tolist()
    [3.0, 7.0]
    """

    extent: int
    index: Array
    weights: Array | None = None

    @cached_property
    def number(self) -> int:
        """The elements of the output."""
        return int(self.index.shape[1])

    @cached_property
    def small(self) -> bool:
        """Whether a matrix may be faster than slices."""
        return self.weights is None and 0 < self.number * self.extent <= SMALL

    @cached_property
    def meeting(self) -> Array:
        """How many elements of the output meet in each element of the axis: (extent,)."""
        return np.bincount(self.index[self.index >= 0], minlength=self.extent)

    @cached_property
    def terms(self) -> int:
        """The most that meet in one element."""
        return int(self.meeting.max(initial=0))

    @cached_property
    def matrix(self) -> Array:
        """What each element of the output is a sum of: (number, extent)."""
        return np.ascontiguousarray(self.applied(np.eye(self.extent)).T)

    def applied(self, image: Array) -> Array:
        """The output, of images whose last axis this is: (..., extent) -> (..., number)."""
        # -1 meets the 0 behind the last element
        terms = np.concatenate([image, np.zeros((*image.shape[:-1], 1))], -1)[..., self.index]
        return np.asarray((terms if self.weights is None else terms * self.weights).sum(axis=-2))

    @cached_property
    def source(self) -> Array | None:
        """The element of the output that each element of the axis goes into, if it is one, as it
        is.
        """
        if self.weights is not None or not (self.meeting == 1).all():
            return None
        tap, output = np.nonzero(self.index >= 0)
        source = np.empty(self.extent, np.intp)
        source[self.index[tap, output]] = output
        return source

    @cached_property
    def steps(self) -> list[Step]:
        """How to add the output back onto the axis, always in the same order: tap by tap, and the
        elements that one tap takes several times in the order of the output.
        """
        return self._steps(1)

    @cached_property
    def singles(self) -> list[Step]:
        """The same, with short pieces element by element: faster along the last axis."""
        return self._steps(SHORT)

    def _steps(self, short: int) -> list[Step]:
        steps: list[Step] = []
        written = np.zeros(self.extent, bool)
        for tap, row in enumerate(self.index):
            outputs = np.flatnonzero(row >= 0)
            for some in _apart(row[outputs]):
                sources, targets = outputs[some], row[outputs[some]]
                fresh = ~written[targets]
                add = not fresh.all()
                if add:
                    steps += _zeros(targets[fresh])
                written[targets] = True
                for piece in _pieces(sources, targets, short if add else 1):
                    target, source = targets[piece], sources[piece]
                    weights = None if self.weights is None else self.weights[tap, source]
                    steps.append(Step(_places(target), _places(source), weights, add))
        return steps + _zeros(np.flatnonzero(~written))

    def within(self, begin: int, end: int) -> tuple[slice, Gather]:
        """The piece of the output that meets a piece of the axis, and how it meets it."""
        inside = (self.index >= begin) & (self.index < end)
        outputs = np.flatnonzero(inside.any(axis=0))
        piece = slice(outputs[0], outputs[-1] + 1) if outputs.size else slice(0, 0)
        index = np.where(inside, self.index - begin, -1)[:, piece]
        return piece, Gather(
            end - begin, index, None if self.weights is None else self.weights[:, piece]
        )

    def scatter(self, values: Array, axis: int, out: Array) -> Array:
        """Adds the elements of an output back to those that they are sums of: (..., number, ...) ->
        (..., extent, ...), whatever ``out`` held.
        """
        lead, behind = (slice(None),) * axis, values.ndim - axis - 1
        steps = self.steps if behind or out.size < LARGE else self.singles
        for targets, sources, weights, add in steps:
            if sources is None:
                out[(*lead, targets)] = 0.0
                continue
            some = values[(*lead, sources)]
            if weights is not None:
                some = some * weights.reshape(-1, *(1,) * behind)
            if add:
                out[(*lead, targets)] += some
            else:
                out[(*lead, targets)] = some
        return out


def _apart(targets: Array) -> list[Array]:
    """Cuts targets so that none comes twice in a part: where they turn back, the longest part
    first, or by how often a target came before, whichever makes fewer parts.
    """
    places, rises = np.arange(targets.size), np.sign(np.diff(targets))
    turns = np.flatnonzero((rises == 0) | (rises * np.r_[rises[:1], rises[:-1]] < 0))
    if not turns.size:
        return [places]
    order = np.argsort(targets, kind="stable")
    some = targets[order]
    first = np.flatnonzero(np.r_[True, some[1:] != some[:-1]])
    before = np.empty_like(places)
    before[order] = places - np.repeat(first, np.diff(np.r_[first, some.size]))
    if turns.size > 2 * before.max() + 2:
        return [np.flatnonzero(before == i) for i in range(before.max() + 1)]
    cuts = [0]
    for turn, following in zip(turns.tolist(), [*turns.tolist()[1:], targets.size], strict=True):
        if not rises[turn] or turn - cuts[-1] >= following - turn:
            cuts.append(turn + 1)
        elif cuts[-1] < turn:  # where a part turns, the longer half has the turning point
            cuts.append(turn)
    return sorted(np.split(places, cuts[1:]), key=len, reverse=True)


def _pieces(sources: Array, targets: Array, short: int) -> list[slice]:
    """Cuts pairs where either does not go on by the same step; not at all where nearly every pair
    would be alone. Pieces of at most ``short`` pairs are cut into pairs.
    """
    breaks = np.flatnonzero((np.diff(sources, 2) != 0) | (np.diff(targets, 2) != 0)) + 1
    ends: list[int] = []
    for end in breaks.tolist():  # the last pair of one piece, and perhaps the first of the next
        if not ends or end > ends[-1]:
            ends.append(end + 1)
    if len(ends) > 2 and len(ends) * SCATTERED > targets.size:
        return [slice(0, targets.size)]
    pieces = []
    for begin, end in zip([0, *ends], [*ends, targets.size], strict=True):
        step = 1 if end - begin <= short else end - begin
        pieces += [slice(first, min(first + step, end)) for first in range(begin, end, step)]
    return pieces


def _places(positions: Array) -> Places:
    """A slice where positions go on by one step."""
    if positions.size == 1:
        return slice(int(positions[0]), int(positions[0]) + 1)
    steps = np.diff(positions)
    if (steps != steps[0]).any():
        return positions
    first, last, step = int(positions[0]), int(positions[-1]), int(steps[0])
    stop = last + (1 if step > 0 else -1)
    return slice(first, stop if stop >= 0 else None, step)


def _zeros(targets: Array) -> list[Step]:
    """Steps that write zeros."""
    return (
        [Step(_places(targets[piece]), None, None, False) for piece in _pieces(targets, targets, 1)]
        if targets.size
        else []
    )
