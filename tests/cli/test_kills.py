"""A few kills of every command; ``python -m tests.cli.kills`` does hundreds."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import kills
from tests.support.suites import SLOW

COUNT = int(os.environ.get("OPGEN_KILLS", "12" if SLOW else "6"))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
def test_a_killed_command_leaves_nothing_half_done() -> None:
    done = list(kills.trials(range(COUNT), seed=os.getpid()))
    assert len(done) == COUNT
    faults = [trial for trial in done if trial.outcome.faults]
    assert not faults, faults


def test_the_figures_of_kills_are_printed_after_an_interrupt(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def some(interrupted: bool) -> Iterator[kills.Trial]:
        good = kills.Outcome((), hit=True, final=False)
        yield kills.Trial("run", signal.SIGHUP, good)
        yield kills.Trial("merge", signal.SIGINT, good._replace(hit=False, final=True))
        if interrupted:
            raise KeyboardInterrupt

    assert [kills.main(some(interrupted)) for interrupted in (False, True)] == [0, 1]
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows.count(["merge", "1", "1", "1", "0"]) == rows.count(["all", "2", "1", "1", "0"]) == 2
    assert rows[-1] == ["interrupted"] and rows.count(["interrupted"]) == 1
