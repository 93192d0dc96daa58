"""Limits of the system, so that what fails fails as it does there."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.support import unmeasured

ROOT = Path(__file__).resolve().parents[2]
MOUNT = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'
"""A file system of a size at a place that only this shell and its children see."""


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes in this block: ``File too large``."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def run_on_small_disk(
    code: str, disk: Path, size: int, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a program that finds a file system of ``size`` bytes in ``disk``, an empty folder: where
    that is full, ``No space left on device``. Skips the test where nobody may mount one.
    """
    if not _may_mount():
        pytest.skip("this system lets no test mount a file system")
    command = (*_mounting(size, disk), sys.executable, "-c", code, str(disk), *arguments)
    return subprocess.run(
        command,
        cwd=ROOT,
        env=unmeasured.ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@cache
def _may_mount() -> bool:
    try:
        done = subprocess.run((*_mounting(1 << 20, Path("/tmp")), "true"), capture_output=True)
    except FileNotFoundError:  # no unshare
        return False
    return done.returncode == 0


def _mounting(size: int, disk: Path) -> tuple[str, ...]:
    """The beginning of a command."""
    return (
        *("unshare", "--map-root-user", "--mount", "sh", "-c", MOUNT, "sh"),
        *(str(size), str(disk)),
    )
