"""``opgen run BUNDLE --backend B``: run a bundle on a device."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Unpack

import click

from opgen.cli.choosing import choose, choose_of
from opgen.cli.options import (
    backend_options,
    case_option,
    examples,
    file_argument,
    force_option,
    library_option,
    output_option,
    quiet_option,
    where_option,
)
from opgen.model import NOT_RUN, UNUSABLE, FileError, Problem

if TYPE_CHECKING:
    from opgen.devices import Backend, Settings


@click.command(
    epilog=examples(
        "opgen run suite.h5 --backend torch -o results.h5",
        "opgen run suite.h5 --backend torch --resume -o results.h5",
        "opgen run suite.h5 --backend mine.py:Device -o results.h5",
    )
)
@file_argument("bundle", "BUNDLE")
@backend_options()
@output_option("Results file to write.")
@case_option()
@where_option()
@library_option(
    "Run last the calls that end the host process, according to this release or folder of errata."
)
@click.option(
    "--list-backends",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, option, asked: _list_backends(context) if asked else None,
    help="List the backends that --backend finds, and exit.",
)
@click.option(
    "--failed",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Only cases that failed, crashed or are missing in this results file.",
)
@click.option("--status-only", is_flag=True, help="Run only the first phase.")
@click.option(
    "--resume",
    is_flag=True,
    help="Keep the answers of the results file and run the other cases.",
)
@force_option()
@quiet_option()
def command(
    bundle: str,
    output: str,
    cases: tuple[str, ...],
    where: str,
    library: str,
    failed: str | None,
    status_only: bool,
    resume: bool,
    force: bool,
    quiet: bool,
    backend: str,
    **settings: Unpack[Settings],
) -> None:
    """Run a bundle on a device and write its answers: statuses, outputs, times.

    With --library or --status-only, calls that may end the host process come last. --status-only
    runs no more than the first phase, which checks arguments.

    If the run ends early, opgen keeps the answers so far, and --resume continues from there.
    opgen diff judges the answers.
    """
    import opgen
    from opgen.cli.console import note, progress
    from opgen.comparison.calls_by_page import deadly
    from opgen.comparison.statuses import BAD
    from opgen.devices.running import run
    from opgen.oracle.errata_folder import errata_of
    from opgen.report.terminal import counted

    device_to_run = _backend(backend, settings, output, force or resume)
    source = errata_of(library) if library else None
    with opgen.open(bundle) as file:
        if not failed:
            wanted = choose_of(file, cases, where)
        else:
            report = opgen.diff(file, failed, cases=choose(file.ids, cases))
            verdicts = {verdict.case: verdict.verdict for verdict in report}
            some = choose_of(file, cases, where, lambda: verdicts)
            wanted = [case for case in some if verdicts[case] in BAD]
            if not wanted:
                raise FileError.of(failed, "", "no case failed, crashed or is missing in it")
        with progress("cases", len(wanted), quiet) as advance:
            tally = run(
                file,
                device_to_run,
                output,
                cases=wanted,
                last=deadly(file, source) if library or status_only else (),
                status_only=status_only,
                resume=resume,
                force=force,
                progress=advance,
            )
        products = {file[name].product for name in wanted}
    if dropped := tally.pop("dropped", 0):
        note(
            f"{output}: dropped {counted(dropped, 'answer')} of an unfinished run, which --resume"
            " would have kept",
            quiet,
        )
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(tally.items()) if count)
    note(f"{output}: {counts or 'no case'}", quiet)
    if len(products) > 1 and not (device_to_run.product or device_to_run.every_product):
        text = f"cases for {len(products)} products ({', '.join(sorted(products))})"
        note(f"{output}: {text}, and a device is one: --product P skips the others", quiet)
    with opgen.Results.open(output) as written:
        note(f"{output}: {written.header.get('note')}", quiet or "note" not in written.header)
        reasons = Counter(
            f"{code}: {answer.error}"
            for answer in written
            if (code := answer.status or answer.run_status) in (NOT_RUN, UNUSABLE) and answer.error
        )
    for reason, count in reasons.most_common():
        note(f"{output}: {count} {reason}", quiet)


def _backend(name: str, settings: Settings, output: str, replace: bool) -> Backend:
    """A backend, not opened yet; what is wrong with it, and with the output, is said at once."""
    from opgen.bundle.format.dtypes import BundleError
    from opgen.bundle.write.output import refuse
    from opgen.devices import backend

    unwritable: BundleError | None = None
    try:
        refuse(output, replace)
    except BundleError as error:
        unwritable = error
    try:
        made = backend(name, **settings)
    except FileError as error:
        text = str(unwritable or "").partition(": ")[2]
        raise FileError(
            error.problems + ([Problem(output, None, "", text)] if text else [])
        ) from None
    if unwritable is not None:
        raise unwritable
    return made


def _list_backends(context: click.Context) -> None:
    """Print a line per backend: its name, and the class that runs it."""
    from opgen.devices.plugins import known

    names = known()
    for name in sorted(names):
        click.echo(f"{name:{max(map(len, names))}}  {names[name]}")
    context.exit()
