"""The report as a page for a device that is wrong at random in 500 cases: CPU seconds to make
it, and its size.

Random errors are the worst for maps: they pack badly. The page is made from a comparison that is
already there.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import opgen
from opgen.bundle.read.reader import Bundle
from opgen.numerics.formats import DTYPES
from opgen.report import html

CASES, ROUNDS = 520, 5
OPERATORS = (
    "avg_pool2d_backward",
    "convolution_backward",
    "group_norm_backward",
    "reflection_pad2d_backward",
)
GOALS = {"CPU seconds": 2.0, "bytes": 1_000_000}


def answer(bundle: Bundle, path: Path) -> int:
    """Write what a device answers that errs in a tenth of all elements, in :data:`CASES` cases;
    how many they are.
    """
    random, failed = np.random.default_rng(1), 0
    with opgen.Results.create(path, bundle) as results:
        for case in bundle:
            wrong = failed < CASES and any(golden.size for golden in case.golden.values())
            outputs = {}
            for name, golden in case.golden.items():
                values = golden.copy()
                if wrong:
                    values[random.random(golden.shape) < 0.1] += 1000
                    values.reshape(-1)[:1] += 1000
                with np.errstate(over="ignore"):
                    outputs[name] = values.astype(DTYPES[case.call["args"][name]["dtype"]].numpy)
            failed += wrong
            results.add(case.id, status=0, run_status=0 if outputs else None, outputs=outputs)
    return failed


def main(words: Sequence[str]) -> None:
    """Print a line: how many cases, seconds (median) and bytes, beside their goals."""
    with TemporaryDirectory() as name:
        suite, results = Path(name, "suite.h5"), Path(name, "results.h5")
        opgen.generate(OPERATORS, plan="standard", output=suite)
        with opgen.open(suite) as bundle:
            answer(bundle, results)
        report = opgen.diff(suite, results)
        report.verdicts = [verdict for verdict in report if verdict.metrics.get("outputs")]
        seconds = []
        for _ in range(ROUNDS):
            start = time.process_time()
            page = html.text(report)
            seconds.append(time.process_time() - start)
    told = {"CPU seconds": statistics.median(seconds), "bytes": len(page.encode())}
    figures = ", ".join(f"{told[key]:,.5g} {key} (goal {goal:,})" for key, goal in GOALS.items())
    print(f"{len(report.bad())} failing of {len(report)} cases: {figures}")
