"""Four faults of the vendor's published code, modelled as devices: suites and calls that are drawn
stumble over all of them, and over some without what the table of sizes says of their operators.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.calls.call_json import to_json
from opgen.files import yamlfile
from opgen.files.resources import specs_folder
from opgen.model import Call, Case
from opgen.spec.sizes import FILE, Sizes, shipped_sizes
from opgen.suite.planning.plan_check import shipped_plan
from opgen.suite.random_calls import RandomCalls
from tests.support import suites
from tests.support.drawn_faults import DrawnFault, FaultyDevice

A2 = "product in ('ascend910b', 'ascend910_93')"
COLUMNS = "((C + N * group - 1) // (N * group) + 63) // 64 * 64"
"""Channels of a core, where each group of each sample has a core of its own."""
FAULTS = {
    "rows a 16-bit stride apart": DrawnFault(
        "group_norm_backward",
        f"{A2} and gradOut.dtype != 'FLOAT' and N >= 3 and N * group <= 48"
        f" and (C - 1) // ({COLUMNS}) * ({COLUMNS}) >= 16384",
        {},
    ),
    "34 bytes of a buffer for each channel": DrawnFault(
        "group_norm_backward",
        f"{A2} and gradOut.dtype != 'FLOAT' and HxW == 1 and C // group > 5776",
        {},
    ),
    "fewer elements than cores": DrawnFault(
        "avg_pool2d_backward",
        f"{A2} and gradOutput.dtype != 'FLOAT' and self.numel > 0"
        " and self.numel < min(48, Hout * Wout) and not countIncludePad",
        {},
    ),
    "pads beyond two buffers": DrawnFault(
        "reflection_pad2d_backward",
        f"{A2} and padTop == 0 and padBottom == 0"
        " and (2 * padLeft + 8) // 8 * 8 + 2 * padRight + 1 > 23040",
        {},
    ),
}


FEW = None if suites.SLOW else 8
"""Calls that are drawn and run on a device with a fault, at most; with ``OPGEN_SLOW=1`` all."""


def caught(fault: DrawnFault) -> tuple[list[Case], list[Case]]:
    """The cases of a standard suite in which a device with a fault is wrong; and those of them that
    are neither handwritten nor due to what the table says of the operator.
    """
    cases = suites.suite(fault.spec.name, "standard").cases
    rows = cases.rows_of(fault.spec.api, fault.spec.judges)
    rows = rows[cases.phase[rows] == 2]
    wrong = [cases[row] for row in rows[fault.shows(cases.calls_of(rows))].tolist()]
    own = [f"{limit.name}: " for limit in shipped_sizes().boundaries(fault.spec)]
    general = [
        case
        for case in wrong
        if case.kind == "valid" and not any(name in case.intent for name in own)
    ]
    return wrong, general


def of_all_operators() -> Sizes:
    """The shipped table without what it says of single operators."""
    text = (specs_folder() / FILE).read_text("utf-8")
    return Sizes(yamlfile.parse(text.partition("\noperators:")[0] + "\noperators: {}", FILE))


def drawn(fault: DrawnFault, sizes: Sizes, tables: int) -> list[tuple[Call, str]]:
    """The first calls in which a device with a fault is wrong, of those that are drawn at random by
    a table of sizes, each with its recipe.
    """
    random = RandomCalls(fault.spec, shipped_plan(fault.spec.api), "full", 0, sizes)

    def wrong() -> Iterator[tuple[Call, str]]:
        for _ in range(tables):
            calls = random.draw(np.full((512, len(random.extents)), -1))
            for row in np.flatnonzero(fault.shows(calls.judged.table)).tolist():
                yield calls.judged.table.call(row), str(calls.recipes[row])

    return list(islice(wrong(), FEW))


def failed(fault: DrawnFault, calls: Iterable[tuple[Call, str]], folder: Path) -> list[str]:
    """The calls of some, each with its recipe, that fail on a device with a fault."""
    file, suite, results = (folder / name for name in ("calls.jsonl", "s.h5", "r.h5"))
    lines = [
        {"op": call.api, "product": call.product, "args": to_json(call), "recipe": recipe}
        for call, recipe in calls
    ]
    numbered = ({"id": f"call{number}", **line} for number, line in enumerate(lines))
    file.write_text("".join(json.dumps(line) + "\n" for line in numbered))
    opgen.generate(calls=file, output=suite, workers=1, force=True)
    opgen.run(suite, FaultyDevice(fault), results, force=True)
    judged = opgen.diff(suite, results, truth="page")
    return [verdict.case for verdict in judged if verdict.verdict == "failed"]


def of_cases(cases: Iterable[Case]) -> list[tuple[Call, str]]:
    return [(case.call, case.recipe) for case in cases]


@pytest.mark.parametrize("name", FAULTS)
def test_a_standard_suite_fails_on_each(name: str, tmp_path: Path) -> None:
    assert failed(FAULTS[name], of_cases(caught(FAULTS[name])[0]), tmp_path)


def test_half_of_them_are_found_by_sizes_of_all_operators(tmp_path: Path) -> None:
    general = [(fault, of_cases(caught(fault)[1])) for fault in FAULTS.values()]
    assert sum(bool(failed(fault, calls, tmp_path)) for fault, calls in general if calls) >= 2


@pytest.mark.parametrize("name", FAULTS)
def test_calls_that_are_drawn_find_each(name: str, tmp_path: Path) -> None:
    assert failed(FAULTS[name], drawn(FAULTS[name], shipped_sizes(), 12), tmp_path)


def test_half_of_them_are_found_by_drawing_sizes_of_all_operators(tmp_path: Path) -> None:
    sizes = of_all_operators()
    general = [(fault, drawn(fault, sizes, 4)) for fault in FAULTS.values()]
    assert not any(sizes.boundaries(fault.spec) for fault in FAULTS.values())
    assert sum(bool(failed(fault, calls, tmp_path)) for fault, calls in general if calls) >= 2
