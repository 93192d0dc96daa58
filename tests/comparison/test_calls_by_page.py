"""The calls of a bundle's cases come back as columns, with the page that judges them."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.bundle.read.reader import Bundle
from opgen.comparison.calls_by_page import calls_by_page
from opgen.spec.catalog import catalog


@pytest.mark.parametrize("every", [1, 3])
def test_each_case_has_its_call_and_its_page_once(bundle: Bundle, every: int) -> None:
    asked = list(range(len(bundle)))[::-every]
    seen = []
    for spec, rows, calls in calls_by_page(bundle, asked):
        assert (np.diff(rows) > 0).all() and len(rows) == len(calls)
        for row, call in zip(rows.tolist(), calls.calls(), strict=True):
            case = bundle[row]
            assert call == case.asked
            assert catalog().by_page[case.op, case.product] is spec
            seen.append(row)
    assert sorted(seen) == sorted(asked)


def test_no_rows_have_no_pages(bundle: Bundle) -> None:
    assert list(calls_by_page(bundle, [])) == []
