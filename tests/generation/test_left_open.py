"""What pages leave open: a null pointer or another dtype anywhere in a call is computed, or the
call has no data; it never stops a suite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from opgen.calls.jsonl import NamedCall
from opgen.generation import engine
from opgen.model import Argument, Call, TensorDesc
from opgen.numerics.formats import DTYPES
from opgen.suite.suite import Suite
from tests.support.suites import EVERY, of_calls, suite

CALLS = 2
"""Calls of a page that are edited."""
NORM = "batch_norm_backward"


def tensors(call: Call) -> dict[str, Argument]:
    """The tensors of a call, and its lists of tensors."""
    return {
        name: value
        for name, value in call.args.items()
        if isinstance(value, TensorDesc)
        or (isinstance(value, tuple) and value and isinstance(value[0], TensorDesc))
    }


def of_dtype(value: Argument, dtype: str) -> Argument:
    if isinstance(value, TensorDesc):
        return replace(value, dtype=dtype)
    assert isinstance(value, tuple)
    return tuple(of_dtype(each, dtype) for each in value)  # type: ignore[misc]


def edits(call: Call) -> Iterator[tuple[str, Call]]:
    """A call with one tensor null or of another dtype, and with all of another dtype."""
    there = tensors(call)
    for name, value in there.items():
        yield f"{name} null", replace(call, args={**call.args, name: None})
        for dtype in DTYPES:
            other = {name: of_dtype(value, dtype)}
            yield f"{name} {dtype}", replace(call, args={**call.args, **other})
    for dtype in DTYPES:
        others = {name: of_dtype(value, dtype) for name, value in there.items()}
        yield f"all {dtype}", replace(call, args={**call.args, **others})


def edited(name: str) -> Suite:
    cases = suite(name, "smoke").cases
    rows = np.flatnonzero((cases.phase == 2) & cases.kind.mask(lambda kind: kind == "valid"))
    calls = [cases[row].call for row in rows[:: max(1, len(rows) // CALLS)].tolist()]
    named = [
        NamedCall(f"{number} {what}", call, {})
        for number, base in enumerate(calls[:CALLS])
        for what, call in edits(base)
    ]
    return of_calls(named)


@pytest.mark.parametrize("name", EVERY)
def test_no_call_stops_a_suite(name: str) -> None:
    for batch in edited(name).batches:
        arrays = engine.compute(batch, 0)
        for out in batch.wanted:
            golden = arrays[out, "golden"]
            assert golden.dtype.kind == ("c" if DTYPES[batch.tensors[out].dtype].complex else "f")


def with_data(suite: Suite) -> set[str]:
    return {case for batch in suite.batches for case in batch.ids}


@pytest.mark.parametrize(
    ("training", "needed", "idle"),
    [(False, "running", "save"), (True, "save", "running")],
)
def test_statistics_that_are_read_are_asked_for(training: bool, needed: str, idle: str) -> None:
    cases = suite(NORM, "smoke").cases
    call = next(
        case.call
        for case in cases
        if case.kind == "valid" and case.phase == 2 and case.call.args["training"] is training
    )
    names = {of: [n for n in tensors(call) if n.startswith(of)] for of in (needed, idle)}
    assert len(names[needed]) == 2
    without = [
        NamedCall(name, replace(call, args={**call.args, name: None}), {})
        for name in (*names[needed], *names[idle])
    ]
    assert with_data(of_calls([*without, NamedCall("whole", call, {})])) == {"whole", *names[idle]}


def test_a_real_result_is_converted_to_a_complex_output() -> None:
    cases = suite("leaky_relu_backward", "smoke").cases
    base = next(case.call for case in cases if case.kind == "valid" and case.phase == 2)
    call = replace(base, args={**base.args, "out": of_dtype(base.args["out"], "COMPLEX64")})
    real, (batch,) = (
        of_calls([NamedCall("case", base, {})]),
        of_calls([NamedCall("case", call, {})]).batches,
    )
    arrays, before = engine.compute(batch, 0), engine.compute(real.batches[0], 0)
    golden, bound = arrays["out", "golden"], arrays["out", "bound"]
    assert golden.dtype == np.complex128 and bound.dtype == np.complex64
    assert np.array_equal(golden.real, before["out", "golden"])
    assert not golden.imag.any() and not bound.imag.any()


def test_a_complex_number_comes_into_no_formula_of_real_ones() -> None:
    cases = suite("leaky_relu_backward", "smoke").cases
    base = next(case.call for case in cases if case.kind == "valid" and case.phase == 2)
    named = [
        NamedCall(name, replace(base, args={**base.args, name: of_dtype(value, "COMPLEX64")}), {})
        for name, value in tensors(base).items()
    ]
    assert with_data(of_calls(named)) == {"out"}
