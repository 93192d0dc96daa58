"""Which dtype a correct device computes in: the page's cube modes, read on columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opgen.calls.vocabulary import vocabulary
from opgen.spec.language.functions import promote
from opgen.spec.language.term import View
from opgen.spec.language.value import Value
from opgen.spec.rules import true_where
from opgen.spec.spec import Spec


class ComputeDtypes(NamedTuple):
    """(rows,) each: the ``dtype`` that inputs are rounded to (object array of names), and where
    that is ``optional`` (bool).
    """

    dtype: np.ndarray
    optional: np.ndarray


def compute_dtypes(spec: Spec, view: View, rows: int) -> ComputeDtypes:
    """What the mode that applies says; without one, what the inputs that are there promote to."""
    first, *others = [view.get((p.name, "dtype")) for p in spec.inputs]
    for other in others:
        to = promote(first, other)
        first = Value(np.where(to.bound, to.data, first.data))
    stored = np.array(vocabulary().names["dtype"], dtype=object)[np.broadcast_to(first.data, rows)]
    number = modes_of(spec, view, rows)
    dtypes = np.array([*(mode.dtype for mode in spec.modes), None], dtype=object)[number]
    return ComputeDtypes(
        np.where(number < 0, stored, dtypes),
        np.array([*(mode.optional for mode in spec.modes), False])[number],
    )


def modes_of(spec: Spec, view: View, rows: int) -> np.ndarray:
    """(rows,) int: the position of the first mode of the page that holds, -1 where none does."""
    holds = [true_where(mode.when, view, rows) for mode in spec.modes]
    return np.select([*holds, np.ones(rows, dtype=bool)], [*range(len(holds)), -1])
