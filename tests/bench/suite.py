"""Suites: cases per second from calls to a closed bundle with a digest per tensor, beside a script
of PyTorch and h5py.

The script, in two forms, writes the same cases without rules, bounds or digests. Each program runs
in a process of its own, as a person would run it, since the memory that one leaves behind slows the
other down; their runs are interleaved, one thread each, and medians compared of CPU time. For large
files it is the best times on the clock, and for two workers the median of what they gain on one in
runs that follow each other, since a machine that is shared is faster or slower by the minute; each
run of workers has a process of its own, too, since whoever generates a suite does so once.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np

import opgen
from opgen.bundle.write.blocks import Blocks
from opgen.calls.call_json import to_json
from opgen.calls.jsonl import NamedCall, read_calls
from opgen.files.gc_pause import gc_paused
from opgen.generation import engine
from opgen.generation.merging import merge
from opgen.golden import kernel
from opgen.oracle.callfiles import json_lines, judge_calls
from opgen.spec.catalog import catalog
from opgen.suite.given_calls import call_suite
from opgen.suite.planning.plan import plan_for
from opgen.suite.selection import Request
from opgen.suite.suite import Suite
from tests.bench._calls import PRODUCT, mixed
from tests.support.bundle_sample import planned

ROUNDS, ROUNDS_OF_WORKERS = 5, 9
FEW, MANY = 2_000, 20_000
LARGE = 256 << 20
Write: TypeAlias = Callable[[Sequence[NamedCall], Path], None]
plans = cache(plan_for)


def enumerated(calls: Sequence[NamedCall]) -> Suite:
    """The suite of some calls: judged, labelled, batched."""
    known = catalog()
    return call_suite(
        calls, lambda call: known.by_page[call.api, call.product], lambda spec: plans(spec.op)
    )


def generate(calls: Sequence[NamedCall], path: Path, workers: int = 1) -> None:
    with gc_paused():
        engine.write(enumerated(calls), path, {}, workers=workers, force=True)


def seconds(
    work: Callable[[], object],
    clock: Callable[[], float] = time.process_time,
    folder: Path | None = None,
) -> float:
    """The time of some work; ``folder`` is emptied before, since to free the file that a new one
    replaces takes long itself.
    """
    for old in folder.iterdir() if folder else ():
        old.unlink()
    start = clock()
    work()
    return clock() - start


def interleaved(
    *works: Callable[[], object],
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.process_time,
    folder: Path | None = None,
) -> list[float]:
    """The time of each, taken in turn: the median of CPU time, the best on the clock, which other
    processes share.
    """
    times = [[seconds(work, clock, folder) for work in works] for _ in range(rounds)]
    pick = statistics.median if clock is time.process_time else min
    return [pick(column) for column in zip(*times, strict=True)]


def row(
    label: str,
    value: str,
    ratio: float | None = None,
    target: float | None = None,
    worse: bool = False,
) -> None:
    """One line: what, how much, the ratio or figure, what it should reach, and whether it does."""
    reached = (
        ""
        if ratio is None or target is None
        else ("yes" if (ratio <= target if worse else ratio >= target) else "NO")
    )
    shown = [
        "" if number is None else f"{number:,.2f}" if abs(number) < 100 else f"{number:,.0f}"
        for number in (ratio, target)
    ]
    print(f"{label:52}{value:>26}{shown[0]:>10}{shown[1]:>10}{reached:>6}", flush=True)


@contextmanager
def section(title: str) -> Iterator[Path]:
    print(f"\n{title:52}{'':26}{'figure':>10}{'target':>10}", flush=True)
    with TemporaryDirectory(dir=os.environ.get("OPGEN_BENCH_FOLDER")) as folder:
        yield Path(folder)


def _scripted(way: str, calls: Sequence[NamedCall], path: Path) -> None:
    """The script, ``ATEN`` or ``AUTOGRAD``."""
    import torch

    from tests.bench import _script

    torch.set_num_threads(1)
    _script.write(calls, path, getattr(_script, way))


def _serve(connection: Connection, write: Write, repeated: int, folder: Path) -> None:
    folder.mkdir(parents=True)
    # Not sent: no string of what comes out of a pickle is one of this process.
    calls = mixed(FEW, repeated)
    write(calls[:40], folder / "warm.h5")
    while connection.recv():
        connection.send(seconds(partial(write, calls, folder / "cases.h5"), folder=folder))


@contextmanager
def apart(*writes: Write, repeated: int, folder: Path) -> Iterator[list[Callable[[], float]]]:
    """For each way to write the same calls, what tells the CPU time of one more run; each has a
    process of its own.
    """
    context, ends, team = get_context("spawn"), [], []
    for at, write in enumerate(writes):
        here, there = context.Pipe()
        team.append(
            context.Process(
                target=_serve, args=(there, write, repeated, folder / str(at)), daemon=True
            )
        )
        ends.append(here)
        team[-1].start()
        there.close()

    def once(connection: Connection) -> float:
        connection.send(True)
        return float(connection.recv())

    yield [partial(once, connection) for connection in ends]
    for connection, process in zip(ends, team, strict=True):
        connection.send(False)
        process.join()


def beside_a_script(words: Sequence[str]) -> None:
    """Cases per second against a script that asks autograd, as people write it, and beside one that
    calls aten's backward operators.
    """
    try:
        torch = version("torch")
    except PackageNotFoundError:
        raise SystemExit("this benchmark compares with torch: pip install torch") from None
    ways = ("AUTOGRAD", "ATEN")
    with section(f"cases/s beside PyTorch {torch} and h5py") as folder:
        for label, repeated, target in (("each its own shape", 1, 12), ("100 shapes x 20", 20, 30)):
            with apart(
                generate,
                *[partial(_scripted, way) for way in ways],
                repeated=repeated,
                folder=folder / label,
            ) as runs:
                ours, *theirs = [
                    statistics.median(times)
                    for times in zip(*[[run() for run in runs] for _ in range(ROUNDS)], strict=True)
                ]
            for way, time in zip(ways, theirs, strict=True):
                cases = [f"{FEW / each:,.0f}" for each in (ours, time)]
                asked = target if way == "AUTOGRAD" else None
                row(
                    f"{FEW:,} cases, {label}, {way.lower()}",
                    " and ".join(cases),
                    time / ours,
                    asked,
                )


def _own_memory() -> None:
    """Touch as much memory as a suite will take: a virtual machine gives what is free back to its
    host, and waits to have it again.
    """
    np.ones(512 << 20, dtype=np.uint8)


def _written_once(
    connection: Connection, gate: Barrier, repeated: int, number: int, path: Path
) -> None:
    path.unlink(missing_ok=True)
    with gc_paused():
        made = enumerated(mixed(MANY, repeated))
    for spec in made.specs.values():
        kernel(spec.op)  # a module, which is loaded here like numpy and all others
    _own_memory()
    gate.wait()
    connection.send(
        seconds(partial(engine.write, made, path, {}, workers=number), time.perf_counter)
    )


def _times_apart(repeated: int, number: int, *paths: Path) -> float:
    """Seconds until so many workers have written a suite, in a process that has written nothing
    before; of several at once, the slower.
    """
    context = get_context("spawn")
    gate, ends = context.Barrier(len(paths)), [context.Pipe(duplex=False) for _ in paths]
    given = [
        (there, gate, repeated, number, path) for (_, there), path in zip(ends, paths, strict=True)
    ]
    team = [context.Process(target=_written_once, args=one) for one in given]
    for process, (_, there) in zip(team, ends, strict=True):
        process.start()
        there.close()
    time = max(float(here.recv()) for here, _ in ends)
    for process in team:
        process.join()
    return time


def workers(words: Sequence[str]) -> None:
    """One file by two workers; and what they could gain at most here and now, which is what two
    whole runs gain that share nothing.
    """
    with section(f"{MANY:,} cases in one file, on the clock") as folder:
        for label, repeated in (("each its own shape", 1), ("shapes x 20", 20)):
            one, two, other = (folder / f"{name}.h5" for name in ("1", "2", "other"))
            ways = ((1, one), (2, two), (1, one, other))
            times = [
                [_times_apart(repeated, *way) for way in ways] for _ in range(ROUNDS_OF_WORKERS)
            ]
            assert one.read_bytes() == two.read_bytes()
            alone, both, beside = (MANY / np.array(times)).T * ((1,), (1,), (2,))
            for what, faster, target in (
                ("two runs beside each other", beside, None),
                ("two workers", both, 1.65),
            ):
                speeds = " -> ".join([f"{np.median(speed):,.0f}" for speed in (alone, faster)])
                row(
                    f"{what}, {label}",
                    f"{speeds} cases/s",
                    float(np.median(faster / alone)),
                    target,
                )


def workers_of_commands(words: Sequence[str]) -> None:
    """Whole commands, from the start of Python and plans to a closed file, by one worker and by
    two.
    """
    with section("opgen generate, seconds on the clock") as folder:
        for tier in ("smoke", "standard", "full"):
            command = [
                sys.executable,
                "-m",
                "opgen",
                "generate",
                "--plan",
                tier,
                "--quiet",
                "--output",
                str(folder / "suite.h5"),
            ]
            runs = [
                partial(subprocess.run, [*command, "--workers", number], check=True)
                for number in ("1", "2")
            ]
            one, two = interleaved(*runs, rounds=3, clock=time.perf_counter, folder=folder)
            row(f"{tier}, by one worker and by two", f"{one:.2f} and {two:.2f}", one / two)


def merging(words: Sequence[str]) -> None:
    """Two parts of a suite joined; the bytes are those of the whole."""
    with section(f"{MANY:,} cases joined from two parts, one thread") as folder:
        for label, repeated in (("each its own shape", 1), ("shapes x 20", 20)):
            with gc_paused():
                made = enumerated(mixed(MANY, repeated))
            header = {"products": [PRODUCT], "shard": ""}
            engine.write(made, folder / "whole.h5", header, force=True)
            parts = [folder / "1.h5", folder / "2.h5"]
            for at, part in enumerate(parts):
                engine.write(
                    made.subset(range(at, MANY, 2)),
                    part,
                    {**header, "shard": f"{at + 1}/2"},
                    force=True,
                )
            (joining,) = interleaved(
                partial(merge, parts, folder / "joined.h5", force=True), rounds=3
            )
            assert (folder / "joined.h5").read_bytes() == (folder / "whole.h5").read_bytes()
            row(f"merge, {label}", f"{MANY / joining:,.0f} cases/s")


def large_tensors(words: Sequence[str]) -> None:
    """A case of eight tensors of 32 MiB through the writer's path, against one raw sequential
    write.
    """
    parts = {
        f"x{i}": (
            np.random.default_rng(i)
            .integers(0, 1 << 30, LARGE // 64, dtype=np.int64)
            .view(np.float64)
        )
        for i in range(8)
    }
    with section(f"{LARGE >> 20} MiB of large tensors, on the clock") as folder:
        layout = planned([[(name, "golden", "DOUBLE", part.size) for name, part in parts.items()]])

        def raw(path: Path = folder / "raw") -> None:
            with open(path, "r+b" if path.exists() else "w+b", buffering=0) as file:
                for part in parts.values():
                    view = memoryview(part).cast("B")
                    for at in range(0, len(view), 8 << 20):
                        file.write(view[at : at + (8 << 20)])

        def ours(digests: bool, path: Path = folder / "ours") -> None:
            path.touch()
            with Blocks(path, layout, {"data/DOUBLE": 4096}) as port:
                if digests:
                    port.write(
                        [([0], {(name, "golden"): part[None] for name, part in parts.items()})]
                    )
                else:
                    port.put(np.arange(len(parts)), list(parts.values()))

        raw(), ours(True)
        first, plain, checked = interleaved(
            raw, lambda: ours(False), lambda: ours(True), clock=time.perf_counter
        )
        total = LARGE / 1e6
        row(
            "without digests",
            f"{total / plain:,.0f} and {total / first:,.0f} MB/s",
            first / plain,
            0.9,
        )
        row(
            "with digests",
            f"{total / checked:,.0f} and {total / first:,.0f} MB/s",
            first / checked,
            0.3,
        )
        hashing = seconds(
            lambda: [sha256(memoryview(part).cast("B")).digest() for part in parts.values()],
            time.perf_counter,
        )
        row("SHA-256 by itself", f"{total / hashing:,.0f} MB/s")


def overhead(words: Sequence[str]) -> None:
    """Bytes of the file beyond the data: its growth with cases of few and of many tensors."""
    with section("bytes beside the data, per more of it") as folder:
        grown = []
        for api in ("aclnnReflectionPad2dBackward", "aclnnConvolutionBackward"):
            calls, counted = [named for named in mixed(8000) if named.call.api == api], []
            for some in (calls[:1000], calls):
                generate(some, folder / "some.h5")
                with opgen.open(folder / "some.h5") as bundle:
                    data = sum(kind.itemsize * count for kind, _, count in bundle.blobs.values())
                    counted.append(
                        (
                            len(bundle),
                            len(bundle.tables["tensors"]),
                            bundle.path.stat().st_size - data,
                        )
                    )
            grown.append([many - few for few, many in zip(*counted, strict=True)])
        (cases, few, first), (more, many, second) = grown
        tensor = (second / more - first / cases) / (many / more - few / cases)
        row("per tensor", "", tensor, 100, worse=True)
        row("per case", "", first / cases - tensor * few / cases, 200, worse=True)


def reading(words: Sequence[str]) -> None:
    calls = mixed(MANY, 20)
    with section("reading, every tensor checked") as folder:
        generate(calls, folder / "many.h5")
        order = np.random.default_rng(0).permutation(MANY).tolist()
        with opgen.open(folder / "many.h5") as bundle:

            def random() -> None:
                for at in order:
                    case = bundle[at]
                    for tensors in (case.inputs, case.golden, case.bound):
                        for name in tensors:
                            tensors[name]

            def scan() -> None:
                for batch in bundle.batches():
                    assert batch.arrays

            random()
            for check in (True, False):
                bundle.check = check
                at_random, in_order = interleaved(random, scan, rounds=3)
                label = "with digests" if check else "without digests"
                row(
                    f"cases at random, {label}", "", MANY / at_random, 20_000 if not check else None
                )
                row(f"cases in order, {label}", "", MANY / in_order, 100_000 if not check else None)


def judging(words: Sequence[str]) -> None:
    def written(path: Path, calls: Sequence[NamedCall]) -> None:
        lines = [
            json.dumps(
                {"id": n.id, "op": n.call.api, "product": n.call.product, "args": to_json(n.call)}
            )
            for n in calls
        ]
        path.write_text("\n".join(lines), encoding="utf-8")

    calls = [named for named in mixed(100_000, 10) if named.call.api == "aclnnConvolutionBackward"]
    with section("judging convolutions, one core") as folder:
        written(folder / "calls.jsonl", calls)

        def whole() -> None:
            read = read_calls(folder / "calls.jsonl", catalog().kinds)
            for answer in json_lines(judge_calls(read, catalog()), catalog()):
                assert answer

        judged, printed = interleaved(lambda: judge_calls(calls, catalog()), whole, rounds=3)
        row("calls/s, parsing and printing apart", "", len(calls) / judged, 100_000)
        row("calls/s, from a file to lines", "", len(calls) / printed, 20_000)
    with section("the command judge, four operators, two cores") as folder:
        for told, repeated in (("each call comes ten times", 10), ("no call repeats", 1)):
            written(folder / "calls.jsonl", mixed(100_000, repeated))
            start, before = time.perf_counter(), os.times()
            command = [sys.executable, "-m", "opgen", "judge", str(folder / "calls.jsonl")]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            passed, after = time.perf_counter() - start, os.times()
            row(f"calls/s, {told}", "", 100_000 / passed, 60_000)
            busy = sum(after[2:4]) - sum(before[2:4])
            row("the same per second of CPU time of all processes", "", 100_000 / busy)


def tiers(words: Sequence[str]) -> None:
    """What plans cost, with their enumeration."""
    with section("plans, all operators") as folder:
        for tier in ("smoke", "standard", "full"):
            start = time.process_time()
            made = Request(plan=tier).suite()
            enumerating = time.process_time() - start
            writing = seconds(partial(engine.write, made, folder / "tier.h5", {}, force=True))
            with_data, size = (
                sum(len(batch.rows) for batch in made.batches),
                (folder / "tier.h5").stat().st_size / 1e6,
            )
            row(
                f"{tier}: {len(made.cases):,} cases, {with_data:,} with data, {size:,.0f} MB",
                f"{enumerating:.1f} s + {writing:.1f} s",
                len(made.cases) / (enumerating + writing),
            )


def starting(words: Sequence[str]) -> None:
    """What a command costs before it does anything."""
    with section("starting, seconds on the clock"):
        commands = (["-c", "import click, rich"], ["-m", "opgen", "--help"])
        runs = [
            partial(subprocess.run, [sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
            for words in commands
        ]
        bare, ours = interleaved(*runs, rounds=9, clock=time.perf_counter)
        row(
            "opgen --help, beside importing click and rich",
            f"{ours:.3f} and {bare:.3f}",
            ours / bare,
            1.5,
            worse=True,
        )


PARTS = (
    beside_a_script,
    workers,
    workers_of_commands,
    merging,
    large_tensors,
    overhead,
    reading,
    judging,
    tiers,
    starting,
)


def main(words: Sequence[str]) -> None:
    """Prints the table; with words, of the parts alone whose name contains one of them. None finds
    memory that another has left.
    """
    context = get_context("fork")
    for part in PARTS:
        if not words or any(word in part.__name__ for word in words):
            process = context.Process(target=part, args=(words,))
            process.start()
            process.join()
            if process.exitcode:
                sys.exit(process.exitcode)
