"""Which dtype a correct device computes in: the page's cube modes, read on columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opgen.calls.vocabulary import vocabulary
from opgen.spec.language.term import View
from opgen.spec.rules import true_where
from opgen.spec.spec import Spec


class ComputeDtypes(NamedTuple):
    """(rows,) each: the ``dtype`` that inputs are rounded to (object array of names), and where
    that is ``optional`` (bool).
    """

    dtype: np.ndarray
    optional: np.ndarray


def compute_dtypes(spec: Spec, view: View, rows: int) -> ComputeDtypes:
    """The first mode of the page that holds, else what the first tensor is stored in."""
    first = view.get((spec.inputs[0].name, "dtype"))
    result = ComputeDtypes(
        np.array(vocabulary().names["dtype"], dtype=object)[np.broadcast_to(first.data, rows)],
        np.zeros(rows, dtype=bool),
    )
    for mode in reversed(spec.modes):
        here = true_where(mode.when, view, rows)
        result.dtype[here], result.optional[here] = mode.dtype, mode.optional
    return result
