"""How much memory there is: what Linux says, and the less that a container leaves of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from opgen.suite.memory import available

FREE = "MemTotal:       24620056 kB\nMemFree:  100 kB\nMemAvailable:   2000 kB\n"


@pytest.mark.parametrize(
    ("most", "used", "left"),
    [(None, None, 2_048_000), ("max", "5", 2_048_000), ("9000", "5000", 4000), ("5", "9", 0)],
)
def test_it_is_what_the_system_and_a_container_leave(
    tmp_path: Path, most: str | None, used: str | None, left: int
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(FREE, encoding="ascii")
    for name, text in (("memory.max", most), ("memory.current", used)):
        if text is not None:
            (tmp_path / name).write_text(f"{text}\n", encoding="ascii")
    assert available(meminfo, tmp_path) == left


def test_a_system_that_does_not_say_has_some(tmp_path: Path) -> None:
    assert 2**28 < available(tmp_path / "none", tmp_path) < 2**50
