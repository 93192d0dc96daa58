"""How much memory there is for the tensors of one case."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
"""Where Linux says how much memory can still be had."""
CONTROL_GROUP = Path("/sys/fs/cgroup")
"""Where Linux says what a container may use of it."""


def available(meminfo: Path = MEMINFO, group: Path = CONTROL_GROUP) -> int:
    """Bytes of memory that can be had here and now; where the system does not say, half of what it
    was built with.
    """
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    with suppress(OSError, ValueError, StopIteration):
        lines = meminfo.read_text(encoding="ascii").splitlines()
        free = 1024 * int(
            next(line for line in lines if line.startswith("MemAvailable")).split()[1]
        )
    with suppress(OSError, ValueError):  # "max" where a container has no limit
        most, used = (
            int((group / name).read_text(encoding="ascii"))
            for name in ("memory.max", "memory.current")
        )
        free = min(free, max(most - used, 0))
    return free
