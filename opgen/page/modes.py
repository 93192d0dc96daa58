"""Which dtype a correct device computes in: the page's cube modes, read on columns."""

from __future__ import annotations

import numpy as np

from opgen.calls.words import words
from opgen.language.terms import View
from opgen.page.rules import holds
from opgen.page.spec import Spec


def compute_dtypes(spec: Spec, view: View, rows: int) -> np.ndarray:
    """(rows,) object array of names: the first mode of the page that holds, else what the first tensor is stored in."""
    first = view.get((spec.inputs[0].name, "dtype"))
    result: np.ndarray = np.array(words().names["dtype"], dtype=object)[np.broadcast_to(first.data, rows)]
    for mode in reversed(spec.modes):
        result[holds(mode.when, view, rows)] = mode.dtype
    return result
