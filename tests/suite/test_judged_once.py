"""Each row is judged once, from the enumeration to the labels of a suite."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType

import pytest

from opgen.calls.jsonl import NamedCall
from opgen.oracle.judgement import judge
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.call_builder import CallBuilder
from opgen.suite.planning.plan_check import handwritten_calls
from opgen.suite.suite import Suite
from tests.support.suites import of_calls, page, plan


def watched(work: Callable[[], Suite]) -> tuple[Suite, int, int]:
    """What some work makes, how many rows it has judged, and how many it has drafted."""
    rows: dict[CodeType, list[int]] = {judge.__code__: [], CallBuilder.table.__code__: []}

    def watch(frame: FrameType, event: str, answer: object) -> None:
        if event == "call" and frame.f_code is judge.__code__:
            rows[judge.__code__].append(len(frame.f_locals["table"]))
        if event == "return" and frame.f_code is CallBuilder.table.__code__:
            rows[CallBuilder.table.__code__].append(frame.f_locals["self"].rows)

    sys.setprofile(watch)
    try:
        suite = work()
    finally:
        sys.setprofile(None)
    judged, drafted = rows.values()
    return suite, sum(judged), sum(drafted)


@pytest.mark.parametrize("name", ["reflection_pad2d_backward", "group_norm_backward"])
def test_as_many_rows_are_judged_as_are_made(name: str) -> None:
    spec = page(name)
    suite, judged, drafted = watched(lambda: plan_suite([(spec, plan(spec.op))], "smoke"))
    written = len(handwritten_calls(plan(spec.op), spec, ("smoke",)))
    assert len(suite.cases) > written > 0
    assert judged == drafted + written


def test_calls_that_are_one_object_are_judged_once() -> None:
    spec = page("reflection_pad2d_backward")
    call = plan_suite([(spec, plan(spec.op))], "smoke").cases[0].call
    _, judged, _ = watched(lambda: of_calls([NamedCall(name, call, {}) for name in "abc"]))
    assert judged == 1
