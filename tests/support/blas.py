"""The kernels of OpenBLAS that this machine can run; one that it cannot run ends the process that
asks for it, and so do some that it could run in some releases of OpenBLAS.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_NEEDS = {"NEHALEM": "sse4_2", "SANDYBRIDGE": "avx", "HASWELL": "avx2", "SKYLAKEX": "avx512vl"}
_PRODUCT = "import numpy as np; np.ones((300, 400)) @ np.ones((400, 200))"
_CPUINFO = Path("/proc/cpuinfo")


def environments() -> list[dict[str, str]]:
    """What makes a process use each kernel with one thread, and the last one with two; of other
    processors no name is known.
    """
    flags = set(_CPUINFO.read_text(encoding="utf-8").split()) if _CPUINFO.exists() else set()
    names = [name for name, flag in _NEEDS.items() if flag in flags] or [""]
    ways = [*((name, "1") for name in names), (names[-1], "2")]
    return [{"OPENBLAS_CORETYPE": name, "OPENBLAS_NUM_THREADS": threads} for name, threads in ways]


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
