"""``opgen learn FILE``: find out from statuses where a library differs from its pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opgen.cli import options
from opgen.cli.options import all_option, examples, force_option, json_option, only_one

if TYPE_CHECKING:
    from opgen.learning.lesson import Lesson
    from opgen.learning.statuses import Statuses


@click.command(
    epilog=examples(
        "opgen learn library_sample.jsonl.gz",
        "opgen learn library_sample.jsonl.gz --release 9.9 -o learnt",
        "opgen learn library_sample.jsonl.gz --ask 20",
        "opgen learn --all --json library_sample.jsonl.gz",
    )
)
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(dir_okay=False)
)
@click.option("--release", default="", metavar="NAME", help="The release that returned them.")
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
    help="Print the N calls that would settle most open questions, as a call file.",
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
@force_option("Replace files, and learn even if no call that its page allows was accepted.")
def command(
    files: tuple[str, ...],
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
) -> None:
    """Find out from statuses where a library differs from its pages.

    Each line of FILE is a call in JSON with the key status, null if the host died. With -, calls
    come from standard input. opgen says for each rule what the library does with it: confirmed, not
    enforced, another code, crash, mixed, or not seen. It learns this from calls that break only
    this rule. Where calls contradict each other, opgen looks for a condition that tells them apart.

    The errata that -o writes are observed: they explain a difference. They excuse a device only
    after a person has added accepted: NAME, DATE to an entry.
    """
    only_one(halves=halves, ask=ask, entry=entry, output=output)
    from opgen.cli import console
    from opgen.learning import agreement, statuses, writing
    from opgen.model import Problem
    from opgen.oracle import erratafile
    from opgen.report import learning
    from opgen.report.terminal import counted
    from opgen.spec.catalog import catalog

    if output and not release:
        raise click.UsageError("-o: name the release that returned the statuses, with --release")
    if bundle:
        known = statuses.check(_of_results(bundle, files, release), force)
    else:
        skipped: list[Problem] | None = [] if skip else None
        known = statuses.read(files, catalog(), force, release, skipped)
        if skipped:
            console.note(f"skipped {counted(len(skipped), 'line')}, the first: {skipped[0]}")
    if halves:
        found = [agreement.halves(known, catalog(), seed) for seed in range(halves)]
        learning.render_halves(found, console.output())
        return
    lessons = agreement.lessons_of(known.pages)
    every = [lesson for own in lessons.values() for lesson in own]
    if ask or entry:
        for line in _asked(every, ask, plan) if ask else _shown(lessons, entry):
            click.echo(json.dumps(line))
        return
    if as_json:
        console.json_text(learning.as_data(known, every))
    else:
        learning.render(known, every, console.output(), everything)
    if output:
        read = writing.read_of(release, erratafile.errata())
        for api, calls in writing.conflicts(known.pages, read).items():
            some = f", such as {', '.join(calls[: learning.FEW])}" if calls else ""
            console.note(f"{api}: errata that were read stay, against {len(calls)} calls{some}")
        own = {api: taught for api, taught in lessons.items() if api not in read}
        written = writing.write(Path(output), own, known, release, catalog(), force)
        console.note(f"wrote {len(written)} files into {output}")


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
                known.pages += tuple(judged(spec, table, ids, told, firm, known))
    return known


def _asked(lessons: Sequence[Lesson], most: int, plan: str) -> Iterator[dict[str, object]]:
    """Lines of a call file: the calls that would settle most open questions."""
    from opgen.calls.call_json import to_json
    from opgen.learning.asking import most_useful, questions
    from opgen.suite.selection import Request

    of_pages = []
    for lesson in lessons:
        spec = lesson.returned.spec
        cases = Request(operators=[spec.op], plan=plan).suite().cases
        for number, table in enumerate(cases.calls):
            if table.api == spec.api:
                mine = cases.row[
                    (cases.table == number) & cases.product.mask(spec.judges.__contains__)
                ]
                of_pages.append(questions(lesson, table.take(mine)))
    for number, (call, rule, deadly) in enumerate(most_useful(of_pages, most)):
        line = {"id": f"ask-{number}", "op": call.api, "product": call.product}
        yield {
            **line,
            "args": to_json(call),
            "decides": rule,
            **({"deadly": True} if deadly else {}),
        }


def _shown(lessons: Mapping[str, Sequence[Lesson]], name: str) -> Iterator[dict[str, object]]:
    """Lines of a call file: the calls that show an entry, and those that contradict it."""
    from opgen.files.yamlfile import did_you_mean
    from opgen.learning.written import entries
    from opgen.model import FileError

    known = [(own, entry) for own in lessons.values() for entry in entries(own)]
    chosen = [(own, entry) for own, entry in known if entry.id == name]
    if not chosen:
        hint = did_you_mean(name, {entry.id for _, entry in known})
        raise FileError.of("`entry`", name, f"no entry is learnt under this id{hint}")
    for own, entry in chosen:
        returned = next(each.returned for each in own if each.returned.spec is entry.page)
        for shows, rows in ((True, entry.finding.calls), (False, entry.finding.against)):
            yield from (returned.line(row, shows) for row in rows)
