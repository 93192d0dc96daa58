"""How long learning takes: ``python -m tests.learning.rate FILE... [--rows N]``.

The calls of FILE are read, and each is repeated until there are N of them.
"""

from __future__ import annotations

import time

import click
import numpy as np

from opgen.learning import statuses
from opgen.learning.learner import learn
from opgen.model import Problem
from opgen.spec.catalog import catalog


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--rows", default=60_000)
def main(files: tuple[str, ...], rows: int) -> None:
    """Print the seconds of wall clock and of this process, for N calls."""
    skipped: list[Problem] = []
    clocks = [(time.perf_counter(), time.process_time())]
    known = statuses.read(files, catalog(), skipped=skipped)
    clocks.append((time.perf_counter(), time.process_time()))
    read, times = len(known), rows / len(known)
    pages = [page.take(np.arange(round(len(page) * times)) % len(page)) for page in known.pages]
    judged = time.perf_counter(), time.process_time()
    entries = sum(len(learn(page).entries) for page in pages)
    done = time.perf_counter(), time.process_time()
    (wall, cpu), (read_wall, read_cpu) = clocks
    wall, cpu = (read_wall - wall) * times, (read_cpu - cpu) * times
    print(f"read {rows} calls, by the time of {read}: {wall:.1f} s, {cpu:.1f} s of CPU")
    learnt = f"{done[0] - judged[0]:.1f} s, {done[1] - judged[1]:.1f} s of CPU"
    print(f"learnt {sum(map(len, pages))} calls: {learnt}; {entries} entries")


if __name__ == "__main__":
    main()
