"""``opgen explain``: explain a word, a rule, a status code or a case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opgen.cli import options
from opgen.cli.choosing import choose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opgen.report.explained import Entry


@click.command(
    epilog=options.examples(
        "opgen explain",
        "opgen explain lenient",
        "opgen explain mutants",
        "opgen explain mutant:not_enforced/pad_height",
        "opgen explain pad_height",
        "opgen explain 161002",
        "opgen explain 161002 avg_pool2d_backward",
        "opgen explain null_pointers",
        "opgen explain null_pointers --calls library_sample.jsonl.gz",
        "opgen explain --bundle suite.h5 'avg_pool2d_backward.910b.invalid.pad_height.*'",
        "opgen explain --bundle suite.h5 --results broken.h5 'avg_pool2d_backward.910b.k*c17*'",
    )
)
@click.argument("word", metavar="[WORD|RULE|CODE|ENTRY|ID|GLOB]", default="")
@options.operators_argument()
@click.option(
    "--bundle",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Explain a case of this bundle; name it by its id or a pattern.",
)
@click.option(
    "--results",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="With --bundle: also say what a device answered, by this results file.",
)
@click.option(
    "--calls",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="FILE holds calls with statuses. Print those whose expected answer comes from ENTRY, as a"
    " call file.",
)
@options.json_option()
def command(
    word: str,
    operators: tuple[str, ...],
    bundle: str | None,
    results: str | None,
    calls: str | None,
    as_json: bool,
) -> None:
    """Explain a word, a rule, a status code or a case.

    Without an argument, opgen lists all words. The name of a section, such as mutants, lists those
    of the section. A rule is shown with its line of the page, its formula, a call that breaks it,
    and the nearest call that obeys it. A code is shown with the operators that use it. If you name
    operators (OP), it is shown with their rules for which the page names or suggests it. An entry
    of the errata is shown with what the library does, and how that is known. With --calls, opgen
    prints the calls of FILE whose expected answer comes from the entry. The key "shows" of a call
    is false if the library returned something else.
    """
    from opgen.cli import console
    from opgen.cli.entries import entries_of
    from opgen.report.explained import few, lines
    from opgen.report.layout import show
    from opgen.report.words import meanings

    options.only_one(bundle=bundle, calls=calls)
    if operators and (bundle or calls):
        raise click.UsageError("--bundle and --calls: take no operators")
    if bundle or results:
        _explain_cases(bundle, results, word, as_json)
        return
    if calls:
        _print_calls(word, calls)
        return
    if meanings(whole := " ".join((word, *operators))):
        word, operators = whole, ()
    entries = list(entries_of(word, operators, as_json) if word else _all_words())
    if not entries:
        _refuse(word)
    if as_json:
        console.json_text(entries)
        return
    for entry in entries if operators else few(entries):
        show(console.output(), *lines(entry))


def _all_words() -> Iterator[Entry]:
    from opgen.report.words import words

    for word in words().values():
        yield {"word": word.word, "kind": word.section, "meaning": word.meaning}


def _refuse(word: str) -> None:
    from opgen.model import FileError, did_you_mean
    from opgen.report.words import names
    from opgen.spec.catalog import catalog

    known = [*names(), *(rule.id for spec in catalog().specs for rule in spec.rules)]
    hint = f"{did_you_mean(word, known)}; opgen explain lists the words"
    if word.partition(".")[0] in catalog().heads:
        hint = f"; of a case, write opgen explain --bundle FILE [--results FILE] {word}"
    raise FileError.of("explain", word, f"no such word, rule, code or entry{hint}")


def _print_calls(name: str, file: str) -> None:
    """The calls of a file that an entry decides, each with whether the library did as it says."""
    import json

    import numpy as np

    from opgen.cli.entries import pages_with
    from opgen.learning import agreement, statuses
    from opgen.oracle.errata_folder import errata
    from opgen.oracle.library import answers_to
    from opgen.spec.catalog import catalog

    entries = {page.spec.name for page in pages_with(name)}
    if not entries:
        _refuse(name)
    for page in statuses.read([file], catalog(), force=True).pages:
        answers = answers_to(page.judgement) if page.spec.name in entries else None
        if answers is None:
            continue
        right, _ = agreement.answered(page, errata()[page.spec.api])
        for row in np.flatnonzero(answers.made_by(name)).tolist():
            click.echo(json.dumps(page.line(row, bool(right[row]))))


def _explain_cases(bundle: str | None, results: str | None, pattern: str, as_json: bool) -> None:
    """Each chosen case in sentences, with what a device answered, if there are results."""
    from itertools import chain

    import opgen
    from opgen.cli import console
    from opgen.report import cases
    from opgen.report.layout import Paragraph, show
    from opgen.spec.catalog import catalog, edition_of

    if not (bundle and pattern):
        text = "--bundle: names no case; give its id or a pattern after the file"
        raise click.UsageError(text if bundle else "--results: needs --bundle")
    with opgen.open(bundle) as held:
        chosen = [held[name] for name in choose(held.ids, [pattern], "ID|GLOB")]
        known = catalog(edition_of(held.header))
        lines = {
            case.id: list(cases.sentences(held, case, known.formulas(case.op, case.product)))
            for case in chosen
        }
        if results:
            report = opgen.diff(held, results, cases=list(lines))
            with opgen.Results.open(results) as answers:
                for case in chosen:
                    lines[case.id] += cases.answer(case, answers, report[case.id])
    if as_json:
        console.json_text([{"id": name, "sentences": told} for name, told in lines.items()])
        return
    for line in chain.from_iterable(lines.values()):
        text = line.lstrip()
        show(console.output(), Paragraph(text, indent=len(line) - len(text)))
