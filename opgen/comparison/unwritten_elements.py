"""Elements that a device never wrote. They are wrong whatever was expected of them: what the memory
held before is nobody's answer, even where it is within a bound.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from opgen.comparison.alignment import AlignedResults
from opgen.numerics.arrays import Array


def column(answers: AlignedResults, goldens: int, returned: Array) -> Array:
    """(goldens,) objects: how many elements of each of the ``returned`` outputs were never written,
    None where the runner could not know.
    """
    counts = np.full(goldens, None)
    told = answers.file.tables["tensors"]["unwritten"][answers.output[returned]]
    counts[returned] = [None if count < 0 else count for count in told.tolist()]
    return counts


def in_words(count: int | None, elements: int) -> str:
    """What is said of an output; empty where nothing was left out.

    >>> in_words(3, 8), in_words(8, 8), in_words(None, 8)
    ('3 elements were never written', 'nothing was written', '')
    """
    if not count:
        return ""
    return "nothing was written" if count == elements else f"{count} elements were never written"


def note(counts: Iterable[int | None]) -> str:
    """What a report says where the runner did not look at some outputs; empty where it did."""
    listed = list(counts)
    unknown = listed.count(None)
    if not unknown:
        return ""
    if unknown == len(listed):
        return "the backend cannot tell whether a device wrote every element"
    return f"{unknown} of {len(listed)} outputs: nobody looked whether every element was written"
