"""The processors that this machine can stand for: some of its vector instructions are hidden from
numpy, and each kernel of OpenBLAS that it can run is used. A kernel that it cannot run ends the
process that asks for it, and so do some that it could run in some releases of OpenBLAS.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from numpy._core import _multiarray_umath as built

_NEEDS = {"NEHALEM": "sse4_2", "SANDYBRIDGE": "avx", "HASWELL": "avx2", "SKYLAKEX": "avx512vl"}
_PRODUCT = "import numpy as np; np.ones((300, 400)) @ np.ones((400, 200))"
_CPUINFO = Path("/proc/cpuinfo")


def levels() -> list[str]:
    """What to hide from numpy, from everything that it can do without down to nothing; the newest
    instructions go first.
    """
    there = [name for name in built.__cpu_dispatch__ if built.__cpu_features__[name]]
    return [" ".join(there[start:]) for start in range(len(there) + 1)]


def environments() -> list[dict[str, str]]:
    """Each kernel with one thread, the weakest with every vector instruction hidden and the
    strongest with none, and the last kernel with two threads; of other processors no name is known.
    """
    flags = set(_CPUINFO.read_text(encoding="utf-8").split()) if _CPUINFO.exists() else set()
    names = [name for name, flag in _NEEDS.items() if flag in flags] or [""]
    ways = [*((name, "1") for name in names), (names[-1], "2")]
    hidden = levels()
    last = len(ways) - 1
    return [
        {
            "OPENBLAS_CORETYPE": name,
            "OPENBLAS_NUM_THREADS": threads,
            "NPY_DISABLE_CPU_FEATURES": hidden[round(i * (len(hidden) - 1) / last)],
        }
        for i, (name, threads) in enumerate(ways)
    ]


def working() -> list[dict[str, str]]:
    """The same without those in which numpy alone dies."""
    return [environment for environment in environments() if not fault(environment)]


def fault(environment: Mapping[str, str]) -> str:
    """What is said of a kernel in which a product of numpy alone ends the process."""
    name = environment["OPENBLAS_CORETYPE"]
    code = _exit_code(name)
    return (
        f"a product of numpy in OpenBLAS's kernel {name} ends with signal {-code}" if code else ""
    )


@cache
def _exit_code(name: str) -> int:
    command = [sys.executable, "-c", _PRODUCT]
    return subprocess.run(command, env=os.environ | {"OPENBLAS_CORETYPE": name}).returncode
