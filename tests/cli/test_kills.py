"""A few kills of every command; ``python -m tests.cli.kills`` does hundreds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli import kills

COUNT = int(os.environ.get("OPGEN_KILLS", "12"))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
def test_a_killed_command_leaves_nothing_half_done() -> None:
    done = kills.trials(COUNT, seed=os.getpid())
    assert sum(map(len, done.values())) == COUNT
    faults = [(name, *trial) for name, each in done.items() for trial in each if trial[1].faults]
    assert not faults, faults
