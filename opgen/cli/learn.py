"""``opgen learn FILE``: find out from statuses where a library differs from its pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Unpack

import click

from opgen.cli import options
from opgen.cli.options import all_option, examples, force_option, json_option, only_one

if TYPE_CHECKING:
    from opgen.devices import Settings
    from opgen.learning.statuses import Statuses

ASKED = 100
"""Calls that are asked in each round, at most."""


@click.command(
    epilog=examples(
        "opgen learn library_sample.jsonl.gz",
        "opgen learn library_sample.jsonl.gz --release 9.9 -o learnt",
        "opgen learn library_sample.jsonl.gz --ask 20",
        "opgen learn --all --json library_sample.jsonl.gz",
        "opgen learn softplus_backward --backend mutant:nothing --rounds 2",
    )
)
@click.argument(
    "sources", metavar="FILE|OP...", nargs=-1, required=True, type=click.Path(dir_okay=False)
)
@options.backend_options(required=False)
@click.option(
    "--rounds",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    metavar="N",
    help="With --backend: how often to ask, run and learn again.",
)
@click.option(
    "--release",
    default="",
    metavar="NAME",
    help="The release of the library that returned the statuses.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write what was learnt as errata, one file for each operator.",
)
@click.option(
    "--halves",
    type=click.IntRange(1),
    metavar="N",
    help="Learn on a random half of the calls and try it on the other half, N times.",
)
@click.option(
    "--bundle",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="The bundle that was run, if FILE is a results file of opgen run.",
)
@click.option(
    "--ask",
    type=click.IntRange(1),
    metavar="N",
    help="Print at most N calls that help to settle open questions, as a call file.",
)
@options.plan_option("standard")
@click.option(
    "--entry",
    metavar="ID",
    default="",
    help="Print the calls for and against an entry, as a call file.",
)
@click.option(
    "--skip-bad-lines",
    "skip",
    is_flag=True,
    help="Leave out the lines that are not calls, and say how many there are.",
)
@json_option()
@all_option("Show the rules that were confirmed or not seen, too.")
@force_option(
    "Replace files, and learn even if none of the calls that the pages allow was accepted."
)
def command(
    sources: tuple[str, ...],
    release: str,
    output: str | None,
    halves: int | None,
    bundle: str | None,
    ask: int | None,
    plan: str,
    entry: str,
    skip: bool,
    as_json: bool,
    everything: bool,
    force: bool,
    backend: str,
    rounds: int,
    **settings: Unpack[Settings],
) -> None:
    """Find out from statuses where a library differs from its pages.

    Each line of FILE is a call in JSON with the key status, null if the host died. With -, calls
    come from standard input. With --bundle, FILE holds the results of opgen run.

    opgen says for each rule what the library does with it: confirmed, not enforced, another code,
    crash, mixed, or not seen. It learns this from calls that break only this rule. Where calls
    contradict each other, opgen looks for a condition that tells them apart.

    With --backend, opgen runs the first phase of the calls of a plan for each OP, and learns from
    them. Then, --rounds times, it runs calls of plan full that help to settle what is still open,
    and learns again from all.

    With -o, opgen writes errata. At first, they only explain a difference. An entry excuses a
    device once a person has added the line "accepted: NAME, DATE" to it.
    """
    only_one(halves=halves, ask=ask, entry=entry, output=output)
    only_one(backend=backend, bundle=bundle)
    from opgen.cli import console
    from opgen.cli.learn_calls import calls_showing, calls_to_ask
    from opgen.learning import agreement, release_folder, statuses
    from opgen.model import Problem
    from opgen.oracle import errata_folder
    from opgen.report import learning
    from opgen.report.terminal import counted
    from opgen.spec.catalog import catalog

    if output and not release:
        raise click.UsageError("-o: name the release that returned the statuses, with --release")
    if bundle:
        known = statuses.check(_of_results(bundle, sources, release), force)
    elif backend:
        with TemporaryDirectory() as folder:
            known = _of_device(
                Path(folder), sources, plan, rounds, release, force, backend, settings
            )
    elif any(file.endswith(".h5") for file in sources):
        raise click.UsageError("FILE: name the bundle of these results of opgen run, with --bundle")
    else:
        skipped: list[Problem] | None = [] if skip else None
        known = statuses.read(sources, catalog(), force, release, skipped)
        if skipped:
            console.note(f"skipped {counted(len(skipped), 'line')}, the first: {skipped[0]}")
    if halves:
        found = [agreement.halves(known, catalog(), seed) for seed in range(halves)]
        learning.render_halves(found, console.output())
        return
    lessons = agreement.lessons_of(known.pages)
    every = [lesson for own in lessons.values() for lesson in own]
    if ask or entry:
        for line in calls_to_ask(every, ask, plan) if ask else calls_showing(lessons, entry):
            click.echo(json.dumps(line))
        return
    if as_json:
        console.json_text(learning.as_data(known, every))
    else:
        learning.render(known, every, console.output(), everything)
    if output:
        read = release_folder.read_of(release, errata_folder.errata())
        for api, calls in release_folder.conflicts(known.pages, read).items():
            some = f", such as {', '.join(calls[: learning.FEW])}" if calls else ""
            console.note(f"{api}: a person's errata stay; {len(calls)} calls contradict them{some}")
        own = {api: taught for api, taught in lessons.items() if api not in read}
        written = release_folder.write(Path(output), own, known, release, catalog(), force)
        console.note(f"wrote {len(written)} files into {output}")


def _of_device(
    folder: Path,
    operators: Sequence[str],
    plan: str,
    rounds: int,
    release: str,
    force: bool,
    backend: str,
    settings: Settings,
) -> Statuses:
    """The statuses of the calls of a plan on a device, and of those that were asked each round."""
    import opgen
    from opgen.cli.learn_calls import calls_to_ask
    from opgen.comparison.calls_by_page import deadly
    from opgen.learning import agreement, statuses
    from opgen.spec.catalog import catalog

    suite, results, asked = (str(folder / name) for name in ("s.h5", "r.h5", "ask.jsonl"))
    opgen.generate(operators, plan=plan, output=suite, inputs="seeded")
    files: list[Path] = []
    while True:
        with opgen.open(suite) as bundle:
            last = deadly(bundle)
        opgen.run(suite, backend, results, last=last, status_only=True, force=True, **settings)
        pages = _of_results(suite, [results], release).pages
        files.append(folder / f"{backend.partition(':')[0]}-{len(files)}.jsonl")
        _write(files[-1], (page.line(row, True) for page in pages for row in range(len(page))))
        known = statuses.read(files, catalog(), force, release)
        lessons = agreement.lessons_of(known.pages).values()
        questions = list(calls_to_ask([each for own in lessons for each in own], ASKED, "full"))
        if len(files) > rounds or not questions:
            return known
        _write(Path(asked), questions)
        opgen.generate(calls=asked, output=suite, inputs="seeded", force=True)


def _write(path: Path, lines: Iterable[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _of_results(bundle: str, files: Sequence[str], release: str) -> Statuses:
    """The statuses of results of a bundle."""
    import numpy as np

    import opgen
    from opgen.comparison.calls_by_page import calls_by_page
    from opgen.learning.statuses import Statuses, judged
    from opgen.model import CRASH, FileError

    known = Statuses(tuple(files), release=release)
    with opgen.open(bundle) as suite:
        for file in files:
            with opgen.Results.open(file) as results:
                if results.bundle_digest != suite.digest:
                    raise FileError.of(file, "", f"holds results of another bundle than {bundle}")
                known.digest = results.digest
                rows_of = {suite.rows[name]: row for name, row in results.rows.items()}
                answered = {case: results.status(row) for case, row in rows_of.items()}
            numbers = {row: s for row, s in answered.items() if isinstance(s, int) or s == CRASH}
            known.runtime += len(answered) - len(numbers)
            for spec, rows, table in calls_by_page(suite, sorted(numbers)):
                told = [None if (s := numbers[row]) == CRASH else int(s) for row in rows.tolist()]
                ids = [suite.ids[row] for row in rows.tolist()]
                firm = np.ones(len(ids), dtype=bool)
                known.pages += tuple(judged(spec, table, ids, told, firm, known, [""] * len(ids)))
    return known
