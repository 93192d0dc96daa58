"""The kernels of OpenBLAS that this machine can run; one that it cannot run ends the process that
asks for it.
"""

from __future__ import annotations

from pathlib import Path

_NEEDS = {"NEHALEM": "sse4_2", "SANDYBRIDGE": "avx", "HASWELL": "avx2", "SKYLAKEX": "avx512vl"}
_CPUINFO = Path("/proc/cpuinfo")


def environments() -> list[dict[str, str]]:
    """What makes a process use each kernel with one thread, and the last one with two; of other
    processors no name is known.
    """
    flags = set(_CPUINFO.read_text(encoding="utf-8").split()) if _CPUINFO.exists() else set()
    names = [name for name, flag in _NEEDS.items() if flag in flags] or [""]
    ways = [*((name, "1") for name in names), (names[-1], "2")]
    return [{"OPENBLAS_CORETYPE": name, "OPENBLAS_NUM_THREADS": threads} for name, threads in ways]
