"""Which dtype a device computed in where a mode allows to round inputs and does not ask for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from opgen.comparison.calls_by_page import calls_by_page
from opgen.comparison.comparing import Comparison
from opgen.comparison.recomputation import recomputation
from opgen.numerics.arrays import Array
from opgen.spec.compute_dtype import compute_dtypes
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView

MOST = 200
"""Cases that are looked at, of each page: some show it, and each is computed twice."""
CLEARLY = 4.0
"""How many times nearer to one golden an output is than to the other, at least."""


def mode_notes(given: Comparison, rows: Iterable[int]) -> Iterator[str]:
    """A sentence for each operator and dtype: how many of some calls were computed in it, and how
    many with inputs as they are. Those that look alike both ways are not counted.
    """
    counts: dict[tuple[str, str], Counter[bool]] = {}
    whole = [row for row in rows if given.is_whole(row)]
    for spec, own, table in calls_by_page(given.bundle, whole):
        view = TableView(spec, table)
        modes = compute_dtypes(spec, view, len(own))
        some = np.flatnonzero(modes.optional)[:MOST]
        for i, names in zip(some.tolist(), view.bindings(some), strict=True):
            dtype = str(modes.dtype[i])
            rounded = _rounded(given, int(own[i]), spec, names, dtype)
            if rounded is not None:
                counts.setdefault((spec.api, dtype), Counter())[rounded] += 1
    for (api, dtype), count in counts.items():
        told = f"{count[True]} of {count.total()}"
        yield f"{api}: the device rounded inputs to {dtype}, as the page allows, in {told} calls"


def _rounded(
    given: Comparison, row: int, spec: Spec, names: Mapping[str, int], dtype: str
) -> bool | None:
    """Whether the outputs of a case are those of rounded inputs; None where they may be either."""
    ways = [recomputation(given.bundle[row], spec, names, compute) for compute in ("", dtype)]
    outputs = {given.name(i): given.answers.tensor(i) for i in given.of_case[row]}
    with np.errstate(all="ignore"):
        apart = [
            max(_distance(device, made.golden(name)) for name, device in outputs.items())
            for made in ways
        ]
    near, far = sorted(apart)
    return apart[1] < apart[0] if near * CLEARLY < far else None


def _distance(device: Array, golden: Array) -> float:
    """The largest difference of two finite elements."""
    difference = np.abs(device.reshape(-1) - golden.reshape(-1))
    return float(np.max(difference, initial=0.0, where=np.isfinite(difference)))
