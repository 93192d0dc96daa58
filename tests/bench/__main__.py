"""Runs a benchmark by name: ``python -m tests.bench goldens``. Every module of this folder with
``main`` is one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

PROBE = """
import time, numpy
a, b = numpy.ones((256, 784)), numpy.ones((784, 256))
times = []
for _ in range(9):
    start = time.process_time()
    for _ in range(4):
        a @ b
    times.append(time.process_time() - start)
print(min(times))
"""


def fastest_core() -> str:
    """The kernel of OpenBLAS that multiplies fastest here, which is not always the one it
    chooses.
    """
    wide = "avx512f" in Path("/proc/cpuinfo").read_text()
    times: dict[str, float] = {}
    for core in (
        "HASWELL",
        "ZEN",
        *(["SKYLAKEX"] if wide else []),
    ) * 5:  # in turn, since other processes slow down some
        command = [sys.executable, "-c", PROBE]
        environment = {**os.environ, "OPENBLAS_CORETYPE": core}
        time = float(
            subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
        times[core] = min(time, times.get(core, time))
    return min(times, key=lambda core: times[core])


def main() -> None:
    """One thread, the fastest kernel whatever the environment names, then the benchmark; numpy must
    not be imported before.
    """
    names = sorted(
        path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_")
    )
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        sys.exit(
            f"usage: python -m tests.bench {{{','.join(names)}}} [words that a row must contain]"
        )
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    if Path("/proc/cpuinfo").exists():
        os.environ["OPENBLAS_CORETYPE"] = fastest_core()
    import_module(f"tests.bench.{sys.argv[1]}").main(sys.argv[2:])


if __name__ == "__main__":
    main()
