"""Outputs of whole numbers: made, computed, written and judged like others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.generation import engine
from opgen.numerics.formats import DTYPES
from tests.support.suites import together

OPERATORS = ("threshold_backward", "selu_backward")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    path = tmp_path_factory.mktemp("whole") / "suite.h5"
    engine.write(together(OPERATORS, "standard"), path, {"seed": 0})
    with opgen.open(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def computed(bundle: Bundle) -> list[CaseView]:
    """The cases whose output is of whole numbers, and is computed."""
    return [case for case in bundle if case.inputs and DTYPES[out(case).dtype].whole]


def out(case: CaseView):
    return case.args[next(iter(case.golden))]


def only(arrays: dict[str, np.ndarray]) -> np.ndarray:
    (array,) = arrays.values()
    return array


def test_every_dtype_of_whole_numbers_is_computed(computed: list[CaseView]) -> None:
    seen = {(case.op, out(case).dtype) for case in computed if only(case.golden).size}
    threshold = {("aclnnThresholdBackward", d) for d in ("INT8", "UINT8", "INT32", "INT64")}
    assert seen == threshold | {("aclnnSeluBackward", d) for d in ("INT8", "INT32")}


def test_a_threshold_passes_exactly_what_comes_in(computed: list[CaseView]) -> None:
    """Against whole numbers of Python, which never round."""
    large = 0
    for case in computed:
        if case.op != "aclnnThresholdBackward":
            continue
        dy, x = np.broadcast_arrays(case.inputs["gradOutput"], case.inputs["self"])
        limit = case.args["threshold"].value
        passed = [int(g) if int(v) > limit else 0 for g, v in zip(dy.flat, x.flat, strict=True)]
        assert only(case.golden).ravel().tolist() == passed, case.id
        assert not only(case.bound).any(), case.id
        large += sum(float(np.float32(value)) != value for value in passed)
    assert large > 50


def test_selu_is_its_formula_up_to_a_whole_number(computed: list[CaseView]) -> None:
    for case in computed:
        if case.op != "aclnnSeluBackward" or not only(case.golden).size:
            continue
        dy, y = (case.inputs[name].astype(np.float64) for name in ("gradOutput", "result"))
        scale, alpha = 1.0507009873554805, 1.6732632423543772
        slope = np.where(y > 0, scale, y + scale * alpha)
        wanted, bound = np.trunc(dy * slope), only(case.bound)
        assert (np.abs(wanted - only(case.golden)) <= bound)[y != 0].all(), case.id
        assert (bound <= 1.001 + 2.0**-21 * np.abs(wanted))[y != 0].all(), case.id


@pytest.mark.parametrize(
    ("device", "verdicts"),
    [("nothing", {"passed"}), ("one_wrong_element", {"failed"}), ("not_cleared", {"failed"})],
)
def test_devices_are_judged(
    bundle: Bundle, computed: list[CaseView], device: str, verdicts: set[str], tmp_path: Path
) -> None:
    names = [case.id for case in computed if only(case.golden).size > 1]
    opgen.run(bundle, f"mutant:{device}", tmp_path / "results.h5", cases=names)
    found = {v.case: v.verdict for v in opgen.diff(bundle, tmp_path / "results.h5")}
    told = [name for name in names if found[name] in verdicts]
    assert len(told) > len(names) / 2
    right = {"passed", "inconclusive"}  # the same gradient everywhere may give zeros alone
    assert device != "nothing" or {found[name] for name in names} <= right


def test_torch_computes_the_same(bundle: Bundle, computed: list[CaseView], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    names = [case.id for case in computed if only(case.golden).size]
    opgen.run(bundle, "torch", tmp_path / "results.h5", cases=names)
    found = {v.case: v.verdict for v in opgen.diff(bundle, tmp_path / "results.h5")}
    verdicts = [found[name] for name in names]
    assert {*verdicts} <= {"passed", "inconclusive"}
    assert verdicts.count("passed") > 0.8 * len(names)
