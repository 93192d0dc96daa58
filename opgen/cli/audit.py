"""``opgen audit``: compare specs with the pages that they transcribe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opgen.cli import options
from opgen.cli.errors import DIFFERENCE
from opgen.model import CALL_PLANS, USUAL

if TYPE_CHECKING:
    from pathlib import Path

    from opgen.spec.spec import Spec

FOLDER = click.Path(exists=True, file_okay=False)


@click.command(
    epilog=options.examples(
        "opgen audit --pages pages             # exit 1 if a page has changed",
        "opgen audit --pages pages --plan smoke          # exit 1, with the cases that are touched",
        "opgen audit --pages pages --digests reflection_pad2d_backward",
    )
)
@options.operators_argument()
@click.option(
    "--pages",
    "folder",
    metavar="DIR",
    required=True,
    type=FOLDER,
    help="Folder of the vendor's pages.",
)
@click.option(
    "--digests",
    is_flag=True,
    help="Print, for the spec, the digests of the page as it is now and of its cited lines.",
)
@click.option(
    "--facts",
    "in_facts",
    is_flag=True,
    help="Read each page anew, and say in which facts it differs from the spec.",
)
@click.option(
    "--write",
    is_flag=True,
    help="With --digests and OP: write them into the spec instead.",
)
@click.option(
    "--plan",
    default="",
    metavar="|".join((*USUAL, *CALL_PLANS, "FILE")),
    help="Name the cases of this plan that break a changed fact or stand at its limit.",
)
@click.option(
    "--lock",
    metavar="FILE|DIR",
    type=click.Path(exists=True),
    help="Name the cases of this lock that break a changed fact.",
)
@options.json_option()
def command(
    operators: tuple[str, ...],
    folder: str,
    digests: bool,
    in_facts: bool,
    write: bool,
    plan: str,
    lock: str | None,
    as_json: bool,
) -> None:
    """Compare specs with the pages that they transcribe.

    opgen names the facts whose lines changed, moved or vanished. With --plan or --lock, it also
    names the cases that test them. A page can also say something new on lines that no fact cites.
    So read a changed page again; "opgen page OP --pages DIR" prints it beside its spec. opgen also
    names specs that have no page. Exit 1 if a page changed, or if you named an operator without a
    page.

    With --facts, the page may be of another edition. opgen reads its facts, and compares them with
    those of the spec, on whatever lines they stand.
    """
    from dataclasses import asdict
    from pathlib import Path

    if write and not (digests and operators):
        raise click.UsageError("--write needs --digests and an operator")
    from opgen.bundle.write.output import write_text
    from opgen.cli import console
    from opgen.files.resources import specs_folder
    from opgen.files.textfile import read_text
    from opgen.generation.processes import mapped
    from opgen.lint.audit import (
        audit,
        facts_of_lock,
        facts_of_suite,
        of_this_folder,
        page_block,
        readable,
        with_cases,
        with_page_block,
    )
    from opgen.lock.lockfile import Lock, read_lock
    from opgen.model import FileError
    from opgen.report.layout import Paragraph, TextTable, show
    from opgen.report.terminal import counted
    from opgen.spec.catalog import catalog, load_catalog
    from opgen.suite.planning.plan_check import plans_of
    from opgen.suite.selection import Request

    options.only_one(digests=digests, plan=plan, lock=lock)
    options.only_one(digests=digests, json=as_json)
    options.only_one(facts=in_facts, digests=digests, plan=plan, lock=lock)
    if in_facts:
        from opgen.cli.fact_differences import show_editions

        show_editions(operators, Path(folder), as_json)
        return
    known = load_catalog(specs_folder(), digests=False) if digests else catalog()
    wanted = [known.api(name) for name in operators] or list(known.kinds)
    asked = of_this_folder([spec for spec in known.specs if spec.api in wanted], Path(folder))
    specs, unread = readable([spec for spec in asked if spec.page], Path(folder))
    without_page = [spec.name for spec in asked if not spec.page]
    for name in without_page:
        click.echo(f"{name}: has no page to compare with", err=True)
    if digests:
        for spec in specs:
            block = page_block(spec, Path(folder))
            if not write:
                click.echo(f"{spec.file}\n{block}")
            else:
                click.echo(f"{spec.file}: digests written")
                path = specs_folder() / Path(spec.file).name
                write_text(path, with_page_block(read_text(path), spec, block), force=True)
        if unread:
            raise FileError(unread)
        if operators and without_page:
            raise click.exceptions.Exit(DIFFERENCE)
        return
    held = read_lock(Path(lock)) if lock else Lock()
    if plan:
        plans_of(plan, wanted)
    findings = [finding for spec in specs for finding in audit(spec, Path(folder))]
    drifted = [
        spec
        for spec in specs
        if any(finding.spec == spec.name and finding.facts for finding in findings)
    ]
    if drifted and lock:
        findings = with_cases(
            findings,
            {
                page: facts_of_lock({case: entry.rules for case, entry in entries.items()})
                for page, entries in held.entries.items()
            },
        )
    elif drifted and plan:
        suite = Request(tuple(dict.fromkeys(spec.api for spec in drifted)), plan=plan).suite(
            mapped()
        )
        findings = with_cases(
            findings, {spec.name: facts_of_suite(spec, suite) for spec in drifted}
        )
    out = console.output()
    if as_json:
        console.json_text([asdict(finding) for finding in findings])
    elif findings:
        heads = ("spec", "line", "state", "facts that stand on it", "cases")
        shown = len(heads) if plan or lock else -1
        rows = [
            (
                finding.spec,
                finding.line,
                f"moved to {finding.moved_to}" if finding.moved_to else finding.state,
                ", ".join(finding.facts),
                len(finding.cases),
            )[:shown]
            for finding in findings
            if finding.facts
        ]
        if rows:
            show(out, TextTable(*heads[:shown], rows=rows, right=("line", "cases")))
        for case in dict.fromkeys(case for finding in findings for case in finding.cases):
            click.echo(case)
        for spec in specs:
            if any(
                finding.spec == spec.name and finding.state == "differs" for finding in findings
            ):
                show(out, Paragraph(_differs(spec, Path(folder), spec in drifted)))
    elif specs:
        show(
            out,
            Paragraph(f"{counted(len(specs), 'page')}: the text is the one that was transcribed"),
        )
    if unread:
        raise FileError(unread)
    if findings or (operators and without_page):
        raise click.exceptions.Exit(DIFFERENCE)


def _differs(spec: Spec, folder: Path, drifted: bool) -> str:
    """What is said of a page that is not the one that was transcribed."""
    from opgen.lint.audit import facts_by_line, read_page

    assert spec.page is not None
    (lines, sha256), cited_lines = read_page(spec, folder), facts_by_line(spec)
    uncited = sum(
        bool(line.strip()) for number, line in enumerate(lines, 1) if number not in cited_lines
    )
    cited = "beside the lines above" if drifted else "no line that a fact cites changed"
    return (
        f"{spec.name}: {spec.page.file} differs from the page transcribed (sha256 {sha256[:12]},"
        f" was {spec.page.sha256[:12]}); {cited}, any of {uncited} lines that no fact cites may be"
        f" new: read them again, opgen page {spec.name} --pages {folder}"
    )
