"""A case computed once more has the bundle's golden, and another one where its inputs change."""

from __future__ import annotations

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.comparison.calls_by_page import calls_by_page
from opgen.comparison.recomputation import recomputation
from opgen.spec.table_view import TableView


def test_the_golden_of_a_bundle_comes_again(bundle: Bundle) -> None:
    compared = 0
    for spec, rows, calls in calls_by_page(bundle, np.flatnonzero(bundle.cases["phase"] == 2)):
        names = TableView(spec, calls).bindings(np.arange(len(rows)))
        for row, bound in zip(rows.tolist(), names, strict=True):
            case = bundle[row]
            made = recomputation(case, spec, bound, case.compute)
            for name, golden in case.golden.items():
                if name not in spec.exact:
                    again = made.golden(name)
                    assert np.allclose(again.reshape(golden.shape), golden, rtol=1e-6, atol=1e-6)
                    assert made.depth(name) >= 1
                    assert (made.magnitude(name).real >= 0).all()
                    twice = made.with_inputs(lambda values: 2 * values).golden(name)
                    assert not golden.any() or (np.abs(twice) != np.abs(again)).any()
                    compared += 1
    assert compared > 5


def test_inputs_are_rounded_to_the_dtype_that_is_named(bundle: Bundle) -> None:
    rows = [row for row in range(len(bundle)) if "FLOAT" in bundle[row].id and bundle[row].inputs]
    for spec, own, calls in calls_by_page(bundle, rows[:1]):
        (names,) = TableView(spec, calls).bindings(np.arange(1))
        case = bundle[int(own[0])]
        for array in recomputation(case, spec, names, "BFLOAT16").inputs.values():
            assert array is None or (array.astype(np.float32).view(np.uint32) & 0xFFFF == 0).all()
