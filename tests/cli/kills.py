"""Commands that are killed at random moments; ``python -m tests.cli.kills 200`` counts faults.
``100:200`` are the kills that are left where 100 were seen. An interrupt prints the figures so far.

After each kill, a file of the final name must be whole, no process may be left, and the command
must go on, with ``--resume`` if it has that, to the file that it makes undisturbed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from click.testing import CliRunner

import opgen
from opgen.cli import main as main_command
from tests.support import unmeasured

ROOT = Path(__file__).resolve().parents[2]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
GROUP = (signal.SIGINT, signal.SIGHUP)
"""What a terminal sends to a command and all its workers; the others reach the command alone."""
PATIENCE = 30.0
"""Seconds within which a command that was hit has ended, and every worker with it."""
PADS = "reflection_pad1d_backward"
MUTANT = "mutant:corners_missing"


@dataclass(frozen=True)
class Command:
    """A command, what it writes, and how it goes on after a kill."""

    line: str
    output: str
    again: str
    state: Callable[[Path], Any]
    """What must be the same however often it was killed."""
    partial: bool = False
    """Whether it writes what it has so far when it is interrupted."""

    def words(self, more: str = "") -> list[str]:
        return [sys.executable, "-m", "opgen", *self.line.split(), *more.split()]


class Outcome(NamedTuple):
    """What came of one kill: what was wrong, and whether the command was hit before its end."""

    faults: tuple[str, ...]
    hit: bool
    final: bool
    """Whether the final name was there right after the kill."""


class Trial(NamedTuple):
    """A kill of a command by a signal."""

    name: str
    number: signal.Signals
    outcome: Outcome


def content(path: Path) -> Any:
    """The bytes of a file, or of every file of a folder."""
    if path.is_dir():
        return {str(file): file.read_bytes() for file in path.rglob("*") if file.is_file()}
    return path.read_bytes()


def answers(path: Path) -> Any:
    """The answers of a results file, without their times."""
    with opgen.Results.open(path) as results:
        return frozenset(
            (
                answer.id,
                answer.status,
                *((name, array.tobytes()) for name, array in sorted(answer.outputs.items())),
            )
            for answer in results
        )


COMMANDS = {
    "generate": Command(f"generate {PADS} --workers 2 -q -o x.h5", "x.h5", "--resume", content),
    "run": Command(
        f"run suite.h5 --backend {MUTANT} -q -o r.h5", "r.h5", "--resume", answers, partial=True
    ),
    "refresh": Command(f"refresh {PADS} -q -o x.lock", "x.lock", "", content),
    "merge": Command("merge one.h5 two.h5 -q -o w.h5", "w.h5", "--force", content),
    "export": Command("export npz suite.h5 -q -o arrays", "arrays", "--force", content),
    "minimize": Command(
        f"minimize suite.h5 broken.h5 * --backend {MUTANT} -q -o fault",
        "fault",
        "--force",
        content,
    ),
}


ENV = {**unmeasured.ENVIRONMENT, "PYTHONPATH": str(ROOT)}


def prepare(folder: Path) -> None:
    """The files that the commands read."""
    for line in (
        "generate reflection_pad2d_backward -q -o suite.h5",
        f"generate {PADS} --shard 1/2 -q -o one.h5",
        f"generate {PADS} --shard 2/2 -q -o two.h5",
        f"run suite.h5 --backend {MUTANT} -q -o broken.h5",
    ):
        with chdir(folder):
            done = CliRunner().invoke(main_command, line.split(), catch_exceptions=False)
        assert done.exit_code == 0, done.output


def undisturbed(command: Command, folder: Path) -> tuple[Any, float]:
    """What a command makes in peace, and the seconds that it takes."""
    began = time.monotonic()
    subprocess.run(command.words(), cwd=folder, env=ENV, stdout=subprocess.DEVNULL, check=True)
    took = time.monotonic() - began
    state = command.state(folder / command.output)
    remove(folder, command)
    return state, took


def killed(
    command: Command, folder: Path, whole: Any, number: signal.Signals, after: float
) -> Outcome:
    """Kill a command after so many seconds, and say what is wrong then."""
    mark = f"OPGEN_TRIAL={time.monotonic_ns()}"
    process = subprocess.Popen(
        command.words(),
        cwd=folder,
        env={**ENV, **dict([mark.split("=")])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(after)
    hit = process.poll() is None
    if hit:
        (os.killpg if number in GROUP else os.kill)(process.pid, number)
    faults = []
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        faults.append("did not end")
        process.kill()
        process.wait()
    if left := leftover(mark):
        faults.append(f"left {len(left)} processes")
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    path = folder / command.output
    final = path.exists()
    there = command.state(path) if final else whole
    if there != whole and not (command.partial and set(there) <= set(whole)):
        faults.append("the final name is not whole")
    again = subprocess.run(
        command.words(command.again), cwd=folder, env=ENV, capture_output=True, text=True
    )
    done = f"{again.returncode} {again.stderr[-200:]}"
    if again.returncode and not (final and "exists already" in again.stderr):
        faults.append(f"does not go on: {done}")
    elif command.state(path) != whole:
        faults.append("goes on to something else")
    elif left := [beside.name for beside in others(folder, command)]:
        faults.append(f"leaves {', '.join(left)}")
    remove(folder, command)
    return Outcome(tuple(faults), hit, final)


def leftover(mark: str) -> list[int]:
    """The processes of a trial that still run when patience ends."""
    ends = time.monotonic() + 5
    while (left := list(marked(mark))) and time.monotonic() < ends:
        time.sleep(0.05)
    return left


def marked(mark: str) -> Iterator[int]:
    """Processes with something in their environment."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    yield int(entry.name)
            except OSError:  # it has ended, or is another user's
                continue


def others(folder: Path, command: Command) -> list[Path]:
    """What lies beside the output of a command, and bears its name."""
    return [*folder.glob(f"{command.output}?*"), *folder.glob(f".{command.output}*")]


def remove(folder: Path, command: Command) -> None:
    """Whatever a command has written."""
    for path in (folder / command.output, *others(folder, command)):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def trials(turns: range, seed: int = 0) -> Iterator[Trial]:
    """Kills of all commands in turn, at moments drawn over the time that each takes."""
    with TemporaryDirectory(prefix="opgen-kills-") as place:
        folder = Path(place)
        prepare(folder)
        peace = {name: undisturbed(command, folder) for name, command in COMMANDS.items()}
        took = {name: seconds for name, (_, seconds) in peace.items()}
        for turn in turns:
            name = list(COMMANDS)[turn % len(COMMANDS)]
            number = SIGNALS[turn // len(COMMANDS) % len(SIGNALS)]
            whole, _ = peace[name]
            after = random.Random(f"{seed} {turn}").uniform(0, took[name])
            outcome = killed(COMMANDS[name], folder, whole, number, after)
            took[name] *= 1.05 if outcome.hit else 0.85  # a machine has other work, now and then
            yield Trial(name, number, outcome)


def main(kills: Iterable[Trial]) -> int:
    """Print the figures of all kills, or of those before an interrupt; returns the exit code."""
    done: list[Trial] = []
    whole = False
    with suppress(KeyboardInterrupt):
        for trial in kills:
            done.append(trial)
            faults = sum(bool(trial.outcome.faults) for trial in done)
            print(f"\r{len(done)} kills, {faults} faults", end="", file=sys.stderr, flush=True)
        whole = True
    print(f"{'command':<10}{'kills':>7}{'too late':>10}{'file was there':>16}{'faults':>8}")
    for name in (*COMMANDS, "all"):
        outcomes = [trial.outcome for trial in done if name in (trial.name, "all")]
        late = sum(not outcome.hit for outcome in outcomes)
        there = sum(outcome.final for outcome in outcomes)
        faults = sum(bool(outcome.faults) for outcome in outcomes)
        print(f"{name:<10}{len(outcomes):>7}{late:>10}{there:>16}{faults:>8}")
    said = Counter(
        f"{name} {number.name}: {fault}"
        for name, number, outcome in done
        for fault in outcome.faults
    )
    for text, times in said.items():
        print(f"{times} times  {text}")
    if not whole:
        print("interrupted")
    return int(bool(said) or not whole)


if __name__ == "__main__":
    begin, _, end = (sys.argv[1] if len(sys.argv) > 1 else "0:200").rpartition(":")
    sys.exit(main(trials(range(int(begin or 0), int(end)), *map(int, sys.argv[2:]))))
