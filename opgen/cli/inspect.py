"""``opgen inspect``: a bundle, or one of its cases, in a terminal."""

from __future__ import annotations

import click

from opgen.cli import options


@click.command(epilog=options.examples(
    "opgen inspect suite.h5",
    "opgen inspect suite.h5 'avg_pool2d*' --json",
))  # fmt: skip
@options.bundle_argument()
@click.argument("case", metavar="[ID|GLOB]", default="", shell_complete=options.complete_cases)
@options.case_option()
@options.json_option()
def command(file: str, case: str, cases: tuple[str, ...], as_json: bool) -> None:
    """Show what a bundle holds, or cases of it whole: the call, what a device may answer, the tensors and their first values."""
    import opgen
    from opgen.bundle.summary import summary, whole
    from opgen.cli import bundleview, console

    patterns = [pattern for pattern in (case, *cases) if pattern]
    with opgen.open(file) as bundle:
        if not patterns:
            found = summary(bundle)
            console.json_text(found) if as_json else bundleview.show_summary(console.output(), found)
            return
        chosen = options.choose(bundle.ids, patterns)
        if as_json:
            shown = [whole(bundle[name]) for name in chosen]
            console.json_text(shown[0] if len(patterns) == 1 and patterns[0] in bundle else shown)
            return
        for name in chosen:
            bundleview.show_case(console.output(), whole(bundle[name]))
