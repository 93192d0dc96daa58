"""``opgen inspect``: show a bundle, a results file, or one of its cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import click

from opgen.cli import options
from opgen.cli.choosing import choose, choose_of
from opgen.cli.completion import complete_cases

if TYPE_CHECKING:
    from rich.console import Console

    from opgen.bundle.read.reader import Bundle
    from opgen.bundle.results.reader import ResultsFile
    from opgen.report.bundleview import Plain

    Show: TypeAlias = Callable[[Console, Plain], None]


NAMED = "ID|GLOB"


@click.command(
    epilog=options.examples(
        "opgen inspect suite.h5",
        "opgen inspect suite.h5 'avg_pool2d*' --json",
        "opgen inspect results.h5",
    )
)
@options.file_argument("file")
@click.argument("cases", metavar="[ID|GLOB]...", nargs=-1, shell_complete=complete_cases)
@options.where_option()
@options.json_option()
def command(file: str, cases: tuple[str, ...], where: str, as_json: bool) -> None:
    """Show a bundle, a results file, or one of its cases.

    A case of a bundle is shown with its call, what a device may answer, its tensors and their first
    values. For a results file, opgen shows what ran and counts the statuses. A case of it is shown
    with its statuses and outputs. opgen explain --bundle BUNDLE --results RESULTS ID compares them
    with what was expected.
    """
    import opgen
    from opgen.bundle.read.opening import kind_of
    from opgen.bundle.results import summary
    from opgen.report import bundleview

    patterns = [pattern for pattern in cases if pattern]
    if kind_of(file) == "results":
        if where:
            raise click.UsageError("--where chooses cases of a bundle; this is a results file")
        with opgen.Results.open(file) as results:
            _show(
                results,
                patterns,
                as_json,
                lambda: summary.answers(results),
                bundleview.show_answers,
                lambda name: summary.answer(results[name]),
                bundleview.show_answer,
            )
        return
    with opgen.open(file) as bundle:
        if where:
            patterns = choose_of(bundle, choose(bundle.ids, patterns, NAMED), where)
        _show(
            bundle,
            patterns,
            as_json,
            lambda: summary.summary(bundle),
            bundleview.show_summary,
            lambda name: _whole(bundle, name),
            bundleview.show_case,
        )


def _whole(bundle: Bundle, name: str) -> Plain:
    """A case, with what each broken rule requires, and the arguments of its nearest valid case
    where they are others.
    """
    from opgen.bundle.results import summary
    from opgen.report.cases import differences
    from opgen.spec.catalog import catalog, edition_of

    case = bundle[name]
    requires = catalog(edition_of(bundle.header)).formulas(case.op, case.product)
    return summary.whole(case, requires) | {"differs": differences(bundle, case)}


def _show(
    held: Bundle | ResultsFile,
    patterns: list[str],
    as_json: bool,
    everything: Callable[[], Plain],
    show_everything: Show,
    case: Callable[[str], Plain],
    show_case: Show,
) -> None:
    """All that a file holds or, where there are patterns, the cases that they choose."""
    from opgen.cli import console

    if not patterns:
        summary = everything()
        console.json_text(summary) if as_json else show_everything(console.output(), summary)
        return
    chosen = choose(held.ids, patterns, NAMED)
    if as_json:
        shown = [case(name) for name in chosen]
        console.json_text(shown[0] if len(patterns) == 1 and patterns[0] in held else shown)
        return
    for name in chosen:
        show_case(console.output(), case(name))
