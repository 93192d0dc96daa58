"""Outputs within their bounds that are further off than rounding is likely to take them: a factor
that is a little wrong hides in the bound of a long sum.

Most outputs are told to be likely by their metrics alone; of the others the sums of absolute terms
are computed again (:mod:`opgen.numerics.likely_errors`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.comparison.calls_by_page import calls_by_page
from opgen.comparison.comparing import Comparison
from opgen.comparison.elements import errors
from opgen.comparison.recomputation import recomputation
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES
from opgen.numerics.likely_errors import FACTOR, RECIPES, likely_error
from opgen.numerics.rounding import kept_in
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView

CAUSE = "errors are larger than rounding is likely to make them"
"""What all unusual cases have in common."""

LAST = 16
"""Roundings of a chain beside those of the terms of its sum, at most."""


def unusual(given: Comparison, rows: Sequence[int]) -> Iterator[tuple[int, str]]:
    """(row, in words) of those cases of ``rows`` in whose outputs an error is beyond what is
    likely.
    """
    asked = given.asked[np.isin(given.goldens.case[given.asked], rows)]
    asked = asked[given.goldens.places[asked] < 0]
    doubtful = set(asked[_doubtful(given, asked)].tolist())
    some = np.unique(given.goldens.case[list(doubtful)]).tolist()
    for spec, own, table in calls_by_page(given.bundle, some):
        bindings = TableView(spec, table).bindings(np.arange(len(own)))
        for row, names in zip(own.tolist(), bindings, strict=True):
            case, reasons = given.bundle[row], []
            for i in doubtful.intersection(given.of_case[row]):
                name = given.name(i)
                times = _times(case, spec, names, name, given.answers.tensor(i))
                if times > 1:
                    reasons.append(f"{name}: {times:.3g} × what rounding is likely to give")
            if reasons:
                yield row, "; ".join(sorted(reasons))


def _doubtful(given: Comparison, asked: Array) -> Array:
    """(asked,) whether an output could be unusual, for all that its metrics say.

    No sum of a case has more terms than its largest tensor has elements. Where results are rounded
    once more at the end, an error of half a unit there is that rounding; of results that pass
    through a narrower dtype nothing is claimed.
    """
    bundle, table, row = given.bundle, given.table, given.goldens.case[asked]
    cases, tensors = bundle.tables["cases"], bundle.tables["tensors"]
    largest = np.zeros(len(bundle), dtype=np.int64)
    np.maximum.at(largest, tensors["case"], tensors["elements"])
    recipes = [i for i, text in enumerate(bundle.strings) if text in RECIPES]
    kinds = [number for number, word in bundle.words["cases.kind"].items() if word != "given"]
    drawn = np.isin(cases["recipe"], recipes) & np.isin(cases["kind"], kinds)
    narrow = np.isin(given.precisions.name[asked].astype(str), ("FLOAT16", "BFLOAT16"))
    halves = (given.precisions.dtype[asked] == "FLOAT") | (table["ulps"][asked] <= 0.5)
    far = table["ratio"][asked] > FACTOR / np.sqrt(largest[row] + LAST)
    return np.asarray(drawn[row] & far & ~(narrow & halves))


def _times(case: CaseView, spec: Spec, names: Mapping[str, int], name: str, device: Array) -> float:
    """The largest error of an output, divided by what is likely."""
    dtype, exact = case.plain_args[name]["dtype"], name in spec.exact
    made = recomputation(case, spec, names, "" if exact else case.compute)
    golden, limit = (
        values[name].astype(DTYPES[dtype].wide) for values in (case.golden, case.bound)
    )
    through = None if exact else kept_in(case.compute, dtype)
    with np.errstate(all="ignore"):
        terms = made.magnitude(name).reshape(golden.shape)
        most = likely_error(limit, golden, terms, made.depth(name), dtype, through=through)
    return float(errors(device.reshape(golden.shape), golden, most).ratio.max(initial=0.0))
