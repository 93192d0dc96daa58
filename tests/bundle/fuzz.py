"""Files whose digests are right and whose contents are not: ``python -m tests.bundle.fuzz 10000``.

Every mutant is read by ``verify`` and by one of the commands that read such a file. None may end in
a traceback, take 10 seconds of a core, or more than 1 GB of memory. The figures of each kind of
mutant are printed; the exit code is 1 where one is beyond its limit. Kinds may be named, as they
are printed: ``python -m tests.bundle.fuzz 10000 journals "bytes of results"``. ``5000:10000`` are
the mutants that are left where 5,000 were seen.

``tables`` have other cells, types, columns and shapes, or are gone, or there are more of them;
``bytes`` are changed anywhere around the data, HDF5's own included; ``journals`` are those from
which ``--resume`` goes on.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import h5py
import numpy as np
from click.testing import CliRunner

import opgen
from opgen.bundle.format import file_bytes, first_block
from opgen.bundle.format.digest import digest_of
from opgen.bundle.format.root_digest import digest_table, root_digest
from opgen.bundle.read.opening import OpenedFile
from opgen.bundle.read.verify import verify
from opgen.bundle.write.output import partial
from opgen.cli import main as command
from tests.bundle.test_verify import data_ranges, resign
from tests.support import device_sample

SECONDS, MEMORY = 10, 10**9
WAIT = 60 * SECONDS
"""What a reader may take on a clock, which other programs make run fast."""
AT_A_TIME = 250
"""Mutants of one process, so that what it has used tells of few."""
COMMANDS = {
    "bundle": (
        "inspect {}",
        "inspect --json {}",
        "run {} --backend mutant:nothing -o r.h5 --force",
        "diff {} results.h5",
        "unpack {} -o tree.h5 --force",
        "merge {} -o merged.h5 --force",
        "export npz {} -o npz --force",
        "export gtest {} -o test.cpp --force",
        "export atk {} -o atk --force",
        "export ttk {} -o ttk --force",
        "coverage reflection_pad2d_backward {} --plan smoke",
        "minimize {} results.h5 * --backend mutant:nothing -o minimal",
    ),
    "results": ("inspect {}", "diff bundle.h5 {}", "merge {} -o merged.h5 --force"),
    "journal": (
        "run few.h5 --backend mutant:nothing -o {} --resume",
        "run few.h5 --backend mutant:nothing -o {} --force",
    ),
}
WORDS = (None, True, "", "x", "\x1b[2J", [], {}, [0], [[0]], {"a": 1})
VALUES: tuple[Any, ...] = (*WORDS, 0, 1, -1, 7, 1 << 31, 1 << 63, 10**30, 1.5, float("nan"))
"""What stands where something else belongs."""
ATTRIBUTES = ("", "{", '{"a": [}', 3, 1.5, [1, 2], ["x"], b"\xff")
TEXTS = ("", "\x1b]0;x\x07", "é" * 99, "none")


class HangError(BaseException):
    """A reader that takes too long; no ``except`` of a reader takes it for an error of its own."""


class Figures(NamedTuple):
    """Of some mutants: how many were refused and read; the longest time in seconds, the most bytes
    of memory that were in use, and what went wrong.
    """

    refused: int
    read: int
    seconds: float
    memory: int
    faults: tuple[str, ...]

    def __add__(self, other: Figures) -> Figures:  # type: ignore[override]
        return Figures(
            self.refused + other.refused,
            self.read + other.read,
            max(self.seconds, other.seconds),
            max(self.memory, other.memory),
            self.faults + other.faults,
        )


# mutants ------------------------------------------------------------------------------------------
def changed_bytes(whole: bytes, rng: Random) -> bytes:
    """Other bytes around the data, as many as before, half of them where HDF5 keeps its own."""
    data, edges = bytearray(whole), data_ranges(whole)
    around = [span for span in file_bytes.outside(edges, len(whole)) if span[0] < span[1]]
    low, high = rng.choice(around) if rng.random() < 0.5 else around[-1]
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(max(low, first_block.SIZE), max(high, first_block.SIZE + 1))
        size = rng.choice((1, 4, 8, 64))
        new = rng.choice((b"\xff", b"\0", b"\x7f", bytes([rng.randrange(256)]))) * size
        data[at : at + size] = new[: max(len(data) - at, 0)]
    return bytes(data)


def changed_tables(path: Path, rng: Random) -> None:
    """One table, column, text or attribute other than it was."""
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        names: list[str] = []
        file.visit(names.append)
        tables = [name for name in names if isinstance(file[name], h5py.Dataset)]
        match rng.randrange(6):
            case 0:
                name = rng.choice(list(file.attrs))
                del file.attrs[name]
                if rng.random() < 0.7:
                    file.attrs[name] = rng.choice(ATTRIBUTES)
            case 1:
                del file[rng.choice(tables)]
            case 2:
                name = rng.choice(tables)
                table = file[name][()]
                del file[name]
                file[name] = rng.choice((0, 1.5, "text", np.zeros((2, 2)), table[:1], np.zeros(0)))
            case 3:
                with suppress(ValueError, TypeError):
                    _retyped(file, rng.choice([t for t in tables if file[t].dtype.names]), rng)
            case 4:
                texts = file["strings"]
                texts[rng.randrange(len(texts))] = rng.choice(TEXTS)
            case _:
                _recelled(file, rng.choice([t for t in tables if "data/" not in t]), rng)


def _retyped(file: h5py.File, name: str, rng: Random) -> None:
    """A column of another type, with another name, or gone."""
    table = file[name][()]
    kinds = [(title, table.dtype[title]) for title in table.dtype.names]
    at = rng.randrange(len(kinds))
    other = rng.choice(("<f8", "<i8", ">u4", "u1", "S3", "V2", ("<u4", 2), h5py.string_dtype()))
    kinds[at] = (rng.choice((kinds[at][0], "other")), np.dtype(other))
    if rng.random() < 0.2:
        del kinds[at]
    made = np.zeros(table.shape, dtype=kinds)
    for title, _ in kinds:
        if title in table.dtype.names:
            with suppress(ValueError, TypeError):
                made[title] = table[title]
    del file[name]
    file.create_dataset(name, data=made)


def _recelled(file: h5py.File, name: str, rng: Random) -> None:
    """Some numbers of a column, or texts of an id."""
    table = file[name][()]
    titles = table.dtype.names or [()]
    cells = table[rng.choice(titles)]
    if not len(cells):
        return
    some = slice(None) if rng.random() < 0.2 else rng.randrange(len(cells))
    if cells.dtype.kind in "iu":
        info = np.iinfo(cells.dtype)
        value = rng.choice((0, 1, 2, 3, 7, 12, 99, -1, -2, info.min, info.max))
        cells[some] = min(max(value, info.min), info.max)
    elif cells.dtype.kind == "f":
        cells[some] = rng.choice((np.nan, np.inf, -1.0))
    elif cells.dtype.kind == "S":
        cells[some] = rng.choice((b"", b"\xff", b"a\0b", cells[rng.randrange(len(cells))]))
    file[name][...] = table


def digested(path: Path) -> None:
    """Make ``/digests`` and the first block of a changed file right, as far as that can be."""
    resign(path)
    with suppress(Exception):
        file = OpenedFile(
            path, "bundle" if b"opgen bundle" in path.read_bytes()[:20] else "results"
        )
        file.close()
        tables = {name: table for name, table in file.tables.items() if name != "digests"}
        table = digest_table(file.header, tables, file.strings)
        with h5py.File(path, "r+", libver=("v110", "v110")) as raw:
            del raw["digests"]
            raw.create_dataset("digests", data=table)
            raw.attrs.modify("digest", np.bytes_(root_digest(table).encode()))
        resign(path)


def changed_journal(whole: bytes, rng: Random) -> bytes:
    """Other facts in one entry, under a digest of their own."""
    lines, place = [], 0
    while place < len(whole):
        line, _, _ = whole[place:].partition(b"\n")
        facts = json.loads(line.partition(b" ")[2])
        size = sum(size for size, _ in facts["bytes"])
        place += len(line) + 1
        lines.append((facts, whole[place : place + size]))
        place += size
    entry = rng.randrange(len(lines))
    facts, data = lines[entry]
    spots = list(_places(facts))
    for _ in range(rng.choice((1, 1, 2))):
        facts = _put(facts, rng.choice(spots), rng.choice(VALUES))
    lines[entry] = (facts, data)
    if rng.random() < 0.1:
        lines.insert(rng.randrange(len(lines)), lines[rng.randrange(len(lines))])
    return b"".join(_entry(facts, data) for facts, data in lines)


def _entry(facts: object, data: bytes) -> bytes:
    text = json.dumps(facts).encode()
    return digest_of(text).hex().encode() + b" " + text + b"\n" + data


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    pairs = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value) if isinstance(value, list) else pairs:
        yield from _places(item, (*at, key))


def _put(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    """A value with something else at one place, if it has that."""
    if not at:
        return new
    if isinstance(value, (dict, list)):
        value = value.copy()
        with suppress(KeyError, IndexError, TypeError):
            value[at[0]] = _put(value[at[0]], at[1:], new)
    return value


# readers ------------------------------------------------------------------------------------------
def mutate(kind: str, reader: str, whole: bytes, path: Path, rng: Random) -> None:
    """Write a mutant of a good file."""
    if kind == "journals":
        partial(path).write_bytes(changed_journal(whole, rng))
    elif kind == "bytes":
        path.write_bytes(changed_bytes(whole, rng))
        resign(path)
    else:
        path.write_bytes(whole)
        changed_tables(path, rng)
        digested(path)


def read(reader: str, path: Path, rng: Random) -> tuple[bool, str]:
    """Whether a mutant is refused, and what went wrong."""
    refused = bool(verify(path)) if reader != "journal" else False
    line = rng.choice(COMMANDS[reader])
    told = CliRunner().invoke(command, line.format(path).split(), prog_name="opgen")
    wrong = told.exit_code not in (0, 1, 2)
    if wrong or "Traceback" in told.output or "fault of opgen" in told.output:
        return True, f"{line}: exit {told.exit_code}: {told.output[-400:]} {told.exception!r}"
    return refused or (reader == "journal" and told.exit_code == 2), ""


def hangs(number: int, frame: object) -> None:
    raise HangError


def watched(begins: bool) -> None:
    """Watch a reader from now on, or no more: interrupt it, and end it where it loops in C."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS if begins else 0)
    signal.alarm(WAIT if begins else 0)
    ends = int(time.process_time()) + 2 * SECONDS if begins else resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_CPU, (ends, resource.RLIM_INFINITY))


def some(kind: str, reader: str, seeds: range, folder: Path, pipe: Connection) -> None:
    """Read mutants in this process, and tell the figures."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # of who forked it
    os.chdir(folder)
    good = {"bundle": "bundle.h5", "results": "results.h5", "journal": "left.h5.partial"}[reader]
    whole, path = Path(good).read_bytes(), Path(f"x-{kind}-{reader}.h5")
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, hangs)
    counts, slowest, faults = Counter[bool](), 0.0, []
    for seed in seeds:
        rng = Random(f"{kind} {reader} {seed}")
        for stale in (path, partial(path)):
            stale.unlink(missing_ok=True)
        mutate(kind, reader, whole, path, rng)
        began = time.process_time()
        watched(True)
        try:
            refused, fault = read(reader, path, rng)
        except (Exception, HangError):  # noqa: BLE001  each is a fault of the reader
            refused, fault = True, traceback.format_exc()[-600:]
        watched(False)
        slowest = max(slowest, time.process_time() - began)
        counts[refused] += 1
        if fault:
            faults.append(f"{kind} of {reader}, seed {seed}: {fault}")
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    pipe.send(Figures(counts[True], counts[False], slowest, memory, tuple(faults)))


def figures(kind: str, reader: str, mutants: range, folder: Path) -> Figures:
    """Of the mutants of these seeds, some processes one after the other."""
    total = Figures(0, 0, 0.0, 0, ())
    for first in range(mutants.start, mutants.stop, AT_A_TIME):
        here, there = get_context("fork").Pipe(duplex=False)
        seeds = range(first, min(mutants.stop, first + AT_A_TIME))
        process = get_context("fork").Process(
            target=some, args=(kind, reader, seeds, folder, there)
        )
        process.start()
        there.close()
        try:
            total += here.recv()
        except EOFError:
            process.join()
            dead = f"{kind} of {reader}, a seed of {seeds}: ended by signal {process.exitcode}"
            total += Figures(0, 0, 0.0, 0, (dead,))
        process.join()
        done = f"{total.refused:,} refused, {total.read:,} read, {len(total.faults)} faults"
        most = f"{total.seconds:.2f} s, {total.memory / 1e6:.0f} MB"
        print(f"\r{kind} of {reader}: {done}, {most}", end="", file=sys.stderr, flush=True)
    return total


def samples(folder: Path) -> None:
    """A good file of each kind, and the journal of a run that did not end."""
    with opgen.open(device_sample.write(folder / "bundle.h5", device_sample.CALLS)) as bundle:
        device_sample.answer(bundle, folder / "results.h5")
    few = dict(list(device_sample.CALLS.items())[::4])
    with opgen.open(device_sample.write(folder / "few.h5", few)) as bundle:
        results = opgen.Results.create(folder / "left.h5", bundle, header={"backend": "mutant"})
        for case in list(bundle)[:5]:
            results.add(case.id, 0 if case.golden else 161002, device_sample.right(case), error="e")
        results.leave()


KINDS = {
    "tables of a bundle": ("tables", "bundle"),
    "tables of results": ("tables", "results"),
    "bytes of a bundle": ("bytes", "bundle"),
    "bytes of results": ("bytes", "results"),
    "journals": ("journals", "journal"),
}


def main(mutants: range, labels: Sequence[str] = (), say: Callable[[str], object] = print) -> int:
    """Run the mutants of these seeds of each kind, or of those of some labels; returns the exit
    code.
    """
    wrong = 0
    with TemporaryDirectory() as folder:
        samples(Path(folder))
        say(f"{'mutants':22}{'refused':>9}{'read':>9}{'seconds':>9}{'MB':>7}{'faults':>8}")
        for label, (kind, reader) in KINDS.items():
            if labels and label not in labels:
                continue
            got = figures(kind, reader, mutants, Path(folder))
            numbers = f"{got.refused:9,}{got.read:9,}{got.seconds:9.2f}{got.memory / 1e6:7.0f}"
            say(f"{label:22}{numbers}{len(got.faults):8}")
            for fault in got.faults[:20]:
                say(f"  {fault}")
            wrong += bool(got.faults) or got.seconds > SECONDS or got.memory > MEMORY
            shutil.rmtree(Path(folder, "npz"), ignore_errors=True)
    return int(wrong > 0)


if __name__ == "__main__":
    begin, _, end = (sys.argv[1] if len(sys.argv) > 1 else "0:1000").rpartition(":")
    sys.exit(main(range(int(begin or 0), int(end)), sys.argv[2:]))
