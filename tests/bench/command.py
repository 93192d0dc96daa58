"""Cases a second on a board behind a command, against those on a class in this process.

Both devices read the inputs of every case and return zeros in place of results, so that nothing but
the way to the device is measured. The cases are the small ones of the standard suites of four
operators, or of those that are named, or of a bundle that is. Rounds are interleaved, and medians
compared: of time on the clock, and of the CPU time of the busier process, which other programs
disturb little.
"""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF

import numpy as np

import opgen
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.devices import Backend, backend, runner
from opgen.devices.running import run

OPERATORS = (
    "avg_pool2d_backward",
    "convolution_backward",
    "group_norm_backward",
    "reflection_pad2d_backward",
)
SMALL = 4096
"""Elements of all inputs of a small case, at most."""
ROUNDS = 7
BOARD = """
import numpy as np

def call(call, storage, outputs):
    if not storage:
        return {"status": 0}
    arrays = {name: np.zeros(call["args"][name]["shape"], np.float32) for name in outputs}
    return {"status": 0, "run_status": 0, "outputs": arrays}
"""


class Zeros(Backend):
    """The same as :data:`BOARD`, in this process."""

    name = "zeros"

    def open(self, bundle: Bundle, cases: Sequence[str]) -> Mapping[str, object]:
        self.bundle = bundle
        return {}

    def answers(self, cases: Sequence[str]) -> Iterator[Result]:
        for name in cases:
            case = self.bundle[name]
            storage, args = dict(case.storage), case.call["args"]
            outputs = {
                output: np.zeros(args[output]["shape"], np.float32) for output in case.golden
            }
            yield Result(name, 0, 0 if storage else None, outputs=outputs)


def cpu(who: int) -> float:
    """CPU seconds of this process, or of those that it started and that have ended."""
    return sum(resource.getrusage(who)[:2])


def seconds(bundle: Bundle, device: Backend, cases: Sequence[str], results: Path) -> np.ndarray:
    """How long a run takes, with its start and end: on the clock, and CPU of the busier process,
    which is what it takes where each has a core of its own.
    """
    start = np.array([time.perf_counter(), cpu(RUSAGE_SELF), cpu(RUSAGE_CHILDREN)])
    run(bundle, device, results, cases=cases, force=True, watch=False)
    end = np.array([time.perf_counter(), cpu(RUSAGE_SELF), cpu(RUSAGE_CHILDREN)])
    clock, *of_processes = (end - start).tolist()
    return np.array([clock, max(of_processes)])


def main(words: Sequence[str]) -> None:
    """Prints the two rates and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        path, results = Path(folder, "suite.h5"), Path(folder, "results.h5")
        if words and words[0].endswith(".h5"):
            path = Path(words[0])
        else:
            made = ["generate", *(words or OPERATORS), "--plan", "standard", "-qo", str(path)]
            subprocess.run([sys.executable, "-m", "opgen", *made], check=True)
        Path(folder, "board.py").write_text(BOARD, encoding="utf-8")
        board = ["env", f"PYTHONPATH={folder}", sys.executable, str(runner.__file__), "board"]
        command = "cmd:" + shlex.join(board)
        with opgen.open(path) as bundle:
            cases = [
                case.id
                for case in bundle
                if case.phase == 2 and sum(array.size for array in case.storage.values()) <= SMALL
            ]
            times = [
                (
                    seconds(bundle, Zeros(), cases, results),
                    seconds(bundle, backend(command), cases, results),
                )
                for _ in range(ROUNDS)
            ]
    here, there = np.median(np.array(times), axis=0)
    print(f"{len(cases)} small cases with data, load {os.getloadavg()[0]:.0f}")
    print(f"{'':16}{'cases/s':>10}{'free cores':>16}")
    for name, median in (("in this process", here), ("behind a command", there)):
        print(f"{name:16}{len(cases) / median[0]:10.0f}{len(cases) / median[1]:16.0f}")
    print(f"{'ratio':16}{here[0] / there[0]:10.2f}{here[1] / there[1]:16.2f}")
