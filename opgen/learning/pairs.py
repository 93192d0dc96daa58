"""Pairs of calls that are almost the same and returned different statuses."""

from __future__ import annotations

import numpy as np

from opgen.calls.factorize import factorize
from opgen.learning.lesson import Finding
from opgen.learning.statuses import Returned


def pair(returned: Returned, finding: Finding) -> tuple[int, int] | None:
    """A call that shows a finding, and one against it; where none is against it, an accepted call
    of the same product. One of the two was made from the other; where nobody said so, they differ
    in as few arguments as possible. None if there are no two such calls.
    """
    against = np.array(finding.against, dtype=np.intp)
    accepted = np.flatnonzero(returned.status == 0)[: None if finding.status else 0]
    calls, others = np.array(finding.calls), against if len(against) else accepted
    table = returned.judgement.table
    both = table.take(np.concatenate([calls, others]))
    unlike = (table.product[calls][:, None] != table.product[others]).astype(np.intp)
    may = np.ones_like(unlike, dtype=bool) if len(against) else unlike == 0
    if not may.any():
        return None
    for name in table.columns:
        each = both.arguments([name])
        says = factorize(one[name] for one in each)[0]
        unlike += says[: len(calls), None] != says[len(calls) :]
    ids, origins = (np.array(each) for each in (returned.ids, returned.origins))
    made = origins[calls][:, None] == ids[others]
    made |= ids[calls][:, None] == origins[others]
    distance = np.where(may, np.where(made, 0, unlike), len(table.columns) + 2)
    first, second = divmod(int(distance.argmin()), len(others))
    return int(calls[first]), int(others[second])
