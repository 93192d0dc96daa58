"""Where in an output the wrong elements lie, in words: the last column, every second row, one
group.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opgen.numerics.arrays import Array

_WORDS = {
    "N": "sample",
    "C": "channel",
    "D": "slice",
    "H": "row",
    "W": "column",
    "G": "group",
    "K": "filter",
    "P": "position",
}


def axis_names(rank: int, letters: Sequence[str | int] = ()) -> tuple[str, ...]:
    """What to call the axes of an output: by the letters of the page where they are known, else by
    their place.

    >>> axis_names(4, ("N", "Ci", "kH", "W")), axis_names(3)
    (('sample', 'channel', 'kernel row', 'column'), ('axis 0', 'row', 'column'))
    """
    if len(letters) == rank:
        return tuple(_named(str(letter), i) for i, letter in enumerate(letters))
    last = ("row", "column")[2 - min(rank, 2) :] if rank else ()
    return (*(f"axis {i}" for i in range(rank - len(last))), *last)


def _named(letter: str, axis: int) -> str:
    if letter[:1] == "k" and letter[1:] in _WORDS:
        return f"kernel {_WORDS[letter[1:]]}"
    return _WORDS.get(letter[:1], f"axis {axis}")


def describe(wrong: Array, names: Sequence[str] = (), telling: Array | None = None) -> str:
    """What a boolean array of wrong elements has in common; empty where nothing stands out.
    ``telling``: elements that would be wrong too if the fault were there; the others say nothing.

    >>> mask = np.zeros((2, 3, 4, 5), dtype=bool); mask[..., -1] = True
    >>> describe(mask)
    'all of the last column'
    >>> mask[:] = False; mask[0, 1:, 0, :2] = True
    >>> describe(mask)
    'all of the first 2 columns in the first row in the last 2 places of axis 1 in the first place of axis 0'
    """  # noqa: E501
    count = int(wrong.sum())
    if not count or wrong.size <= 1:
        return ""
    if count == wrong.size:
        return "every element"
    names = names if len(names) == wrong.ndim else axis_names(wrong.ndim)
    axes = range(wrong.ndim)
    box = [np.flatnonzero(wrong.any(axis=tuple(i for i in axes if i != axis))) for axis in axes]
    words, room = [], 1
    for axis, extent in enumerate(wrong.shape):
        places = box[axis]
        around = np.ix_(*box[:axis], np.delete(np.arange(extent), places), *box[axis + 1 :])
        right = around[axis].size if telling is None else telling[around].any()
        text = _places(places, extent, names[axis]) if right else ""
        words += [text] if text else []
        room *= len(places) if text else extent
    if not words:
        return ""
    place = " in ".join(reversed(words))
    if room == 1 or count < room < 2 * count:
        return place
    return f"{'all' if count == room else 'some'} of {place}"


def _places(places: Array, extent: int, name: str) -> str:
    """Some positions of an axis: the first, the last, every second, a run."""
    if name.startswith("axis "):
        name = f"place of {name}"
    low, high, count = int(places[0]), int(places[-1]), len(places)
    if count == 2 and (low, high) == (0, extent - 1):
        return f"the first and the last {name}"
    steps = np.unique(np.diff(places)).tolist()
    if steps in ([], [1]):
        several = f"{count} {_ending(name, 's')}" if count > 1 else name
        if high == extent - 1:
            return f"the last {several}"
        if low == 0:
            return f"the first {several}"
        return _ending(name, f"s {low} to {high}" if steps else f" index {low}")
    if len(steps) > 1 or (count < 3 and (low >= steps[0] or high + steps[0] < extent)):
        return ""
    every = {2: "second", 3: "third"}.get(steps[0], f"{steps[0]}th")
    return f"every {every} {name}" + (f" from {low} on" if low else "")


def _ending(name: str, ending: str) -> str:
    """What :func:`describe` counts, as a plural or with its number.

    >>> _ending("row", "s 2 to 3"), _ending("place of axis 0", " index 2")
    ('rows 2 to 3', 'place index 2 of axis 0')
    """
    first, of, axis = name.partition(" of ")
    return f"{first}{ending}{of}{axis}"
