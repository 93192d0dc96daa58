"""Calls that show modes: every combination that a page's modes tell apart, with data that tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from opgen.calls.table import from_calls
from opgen.model import Case
from opgen.oracle.judgement import judge
from opgen.spec.compute_dtype import compute_dtypes, modes_of
from opgen.suite.enumeration.modes import OVERFLOWING, ROUNDED
from tests.support.suites import page, suite

PAGES = ("avg_pool2d_backward", "convolution_backward.ascend910b", "convolution_backward.atlas")


def showing(name: str, tier: str = "smoke") -> Iterator[Case]:
    return (case for case in suite(name, tier).cases if "shows a rounding to" in case.intent)


def combination(case: Case) -> tuple[object, ...]:
    """What the modes of both operators read."""
    args = case.call.args
    read = [args[name].dtype for name in ("gradOutput", "input", "weight") if name in args]
    return case.call.product, *read, args["cubeMathType"]


def optional(name: str, case: Case) -> bool:
    """Whether a device may leave the inputs of a call as they are."""
    table = from_calls(case.call.api, page(name).kinds, [case.call])
    return bool(compute_dtypes(page(name), judge(page(name), table).view, 1).optional[0])


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("tier", ["smoke", "standard"])
def test_every_legal_combination_of_what_modes_read_has_a_call(name: str, tier: str) -> None:
    """Of those that the plan chooses; calls by hand, and of known routes, may have others."""
    legal = {combination(case) for case in suite(name, tier).cases if case.kind == "valid"}
    shown = [combination(case) for case in showing(name, tier)]
    assert legal <= set(shown) and len(set(shown)) == len(shown) >= 16


@pytest.mark.parametrize("name", PAGES)
def test_what_shows_a_rounding_is_legal_and_has_digits_or_size_to_lose(name: str) -> None:
    for case in showing(name):
        assert case.page.bucket == "valid" and case.phase == 2 and not case.inconclusive
        stored = case.call.args["gradOutput"].dtype
        digits = stored == "FLOAT" and optional(name, case)
        beyond = case.compute == "FLOAT16" and stored != "FLOAT16" and not digits
        assert case.recipe == (OVERFLOWING if beyond else ROUNDED)
        assert f"shows a rounding to {case.compute}" in case.intent


@pytest.mark.parametrize("name", PAGES)
def test_what_overflows_asks_for_no_output_that_may_overflow_or_not(name: str) -> None:
    for tier in ("smoke", "standard"):
        for case in showing(name, tier):
            if case.recipe == OVERFLOWING:
                judged = judge(page(name), from_calls(case.call.api, page(name).kinds, [case.call]))
                kept = [p for p in page(name).outputs if p.name in page(name).exact]
                assert not any(judged.asked_for(output)[0] for output in kept), case.id


@pytest.mark.parametrize("name", PAGES)
def test_some_output_is_rounded(name: str) -> None:
    """No mode rounds the gradBias of a convolution, and alone it would show nothing."""
    for case in showing(name):
        outputs = [p for p in page(name).outputs if p.name not in page(name).exact]
        judged = judge(page(name), from_calls(case.call.api, page(name).kinds, [case.call]))
        assert any(judged.asked_for(output)[0] for output in outputs)


def test_the_first_mode_that_holds_applies() -> None:
    spec = page("avg_pool2d_backward")
    calls = [case.call for case in showing(spec.name)]
    judged = judge(spec, from_calls(spec.api, spec.kinds, calls))
    rows = modes_of(spec, judged.view, len(calls))
    assert sorted(set(rows.tolist())) == [-1, *range(len(spec.modes))]
    kept = [call for call, row in zip(calls, rows, strict=True) if row < 0]
    assert {
        (call.args["self"].dtype, call.args["cubeMathType"])
        for call in kept
        if call.args["self"].dtype == "FLOAT"
    } == {("FLOAT", 0)}
    assert np.unique(rows[rows >= 0]).size == len(spec.modes)
