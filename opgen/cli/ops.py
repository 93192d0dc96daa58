"""``opgen ops``: list operators, their pages, products and dtypes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from opgen.cli import options

if TYPE_CHECKING:
    from opgen.spec.rules import Rule
    from opgen.spec.spec import Spec


@click.command(
    epilog=options.examples(
        "opgen ops",
        "opgen ops group_norm_backward --json",
        "opgen ops silu_backward tanh_backward --markdown",
        "opgen ops silu_backward --markdown --mutants mutants.json",
    )
)
@options.operators_argument()
@options.edition_option()
@options.json_option()
@click.option(
    "--markdown", is_flag=True, help="Print a table of rules and cases, for a manual or a wiki."
)
@click.option(
    "--mutants",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="With --markdown: add how many mutants are caught, from this file, which opgen mutants"
    " --plan standard --json printed.",
)
@click.option(
    "--deviations",
    is_flag=True,
    help="Print where the published library differs from the pages, as tables for a manual.",
)
def command(
    operators: tuple[str, ...],
    edition: str,
    as_json: bool,
    markdown: bool,
    mutants: str | None,
    deviations: bool,
) -> None:
    """List operators, their pages and products, and the dtypes of each."""
    options.only_one(json=as_json, markdown=markdown, deviations=deviations)
    if mutants and not markdown:
        raise click.UsageError("--mutants is a column of --markdown")
    from opgen.cli import console
    from opgen.lint import facts as pages
    from opgen.report.layout import Paragraph, show
    from opgen.spec.catalog import catalog

    known = catalog(edition)
    specs = known.pages([known.api(name) for name in operators] or list(known.kinds))
    if deviations:
        click.echo("\n".join(_deviations(specs)).rstrip("\n"))
        return
    listed = {
        spec.name: {product: pages.dtypes(spec, product) for product in spec.products}
        for spec in specs
    }
    if as_json:
        console.json_text([_plain(spec, listed[spec.name]) for spec in specs])
        return
    if markdown:
        click.echo("\n".join(_markdown(specs, _caught(mutants) if mutants else {})))
        return
    parts: list[Paragraph | str] = []
    for spec in specs:
        page = spec.page.file if spec.page else "no page"
        names = "  ".join((spec.api, page, *([spec.edition] if spec.edition else [])))
        parts.append(Paragraph(names, spec.op, len(spec.op) + 2))
        if spec.status_only:
            parts.append(Paragraph(spec.status_only, "  status only", 16))
        parts += [
            Paragraph(dtypes, f"  {product}", 16)
            for product in dict.fromkeys([*spec.products, *spec.judges])
            for dtypes in _dtypes(spec, product, listed[spec.name])
        ]
        parts.append("")
    show(console.output(), *parts[:-1])


def _dtypes(
    spec: Spec, product: str, listed: dict[str, dict[str, tuple[str, ...]]]
) -> Iterator[str]:
    """The lists of dtypes that tensors and scalars of a product share."""
    from opgen.lint.facts import shared

    if product not in listed:
        yield "not on the page: a device should refuse every call"
        return
    groups = shared(listed[product])
    elsewhere = "" if product in spec.judges else "; the other page judges its calls"
    for names, dtypes in groups:
        yield " ".join(dtypes) + (f" ({', '.join(names)})" if len(groups) > 1 else "") + elsewhere


def _plain(spec: Spec, listed: dict[str, dict[str, tuple[str, ...]]]) -> dict[str, object]:
    return {
        "op": spec.op,
        "api": spec.api,
        "spec": spec.file,
        "page": spec.page and spec.page.file,
        "edition": spec.edition or None,
        "status_only": spec.status_only or None,
        "products": list(spec.products),
        "judges": list(spec.judges),
        "parameters": {name: parameter.kind for name, parameter in spec.parameters.items()},
        "dtypes": {
            product: {name: list(dtypes) for name, dtypes in by.items()}
            for product, by in listed.items()
        },
    }


PAGE_SAYS = "stated", "unstated", "disputed", "assumed"
"""What a page may say of a rule, in the order of the table."""
TIERS = "smoke", "standard"
"""The tiers whose cases the table counts."""
HEADS = (
    *("operator", "edition", "page", "products", "rules"),
    *PAGE_SAYS,
    *TIERS,
    *("mutants", "torch", "library"),
)
NOT_MEASURED = "-"


def _caught(path: str) -> dict[str, str]:
    """Operator -> how many of the mutants that can be caught a suite catches."""
    from opgen.files.textfile import read_text
    from opgen.model import FileError

    try:
        found = json.loads(read_text(path))["operators"]
        return {op: f"{counts['caught']} of {counts['of']}" for op, counts in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        told = "is not what opgen mutants --plan standard --json prints"
        raise FileError.of(path, "", told) from error


def _markdown(specs: Sequence[Spec], caught: Mapping[str, str]) -> Iterator[str]:
    """A row per page: its edition and products, rules by what the page says of them, cases by tier,
    mutants that are caught, whether torch has the operator, and whether opgen knows where the
    library differs from the page.
    """
    from opgen.minimization.torch_program import CALLS
    from opgen.model import UNDATED
    from opgen.oracle.errata_folder import errata
    from opgen.suite.planned_suite import plan_suite
    from opgen.suite.planning.plan import plan_for

    yield f"| {' | '.join(HEADS)} |"
    yield f"|{'---|' * 4}{'---:|' * (len(HEADS) - 6)}{'---|' * 2}"
    for spec in specs:
        said = Counter(map(_said, spec.rules))
        cases = [len(plan_suite([(spec, plan_for(spec.op))], tier).cases) for tier in TIERS]
        torch = "status only" if spec.status_only else "yes" if spec.api in CALLS else "no"
        known = "yes" if spec.api in errata() else "no"
        yield (
            f"| `{spec.api}` | {spec.edition or UNDATED} |"
            f" {f'`{spec.page.file}`' if spec.page else 'none'} |"
            f" {', '.join(sorted({*spec.products} & {*spec.judges}))} | {len(spec.rules)} |"
            f" {' | '.join(str(said[what]) for what in PAGE_SAYS)} |"
            f" {' | '.join(map(str, cases))} | {caught.get(spec.op, NOT_MEASURED)} | {torch} |"
            f" {known} |"
        )


def _said(rule: Rule) -> str:
    """What the page says of a rule. The rule of the product has a bucket of its own, so its code
    decides.
    """
    if rule.bucket in PAGE_SAYS:
        return rule.bucket
    return "unstated" if rule.code is None else "stated"


def _deviations(specs: Sequence[Spec]) -> Iterator[str]:
    """What newer editions leave of the differences, and a table per page: where the library differs
    from it.
    """
    from opgen.oracle.errata_folder import errata
    from opgen.oracle.library_deviations import library_deviations

    known = errata()
    pages = [
        (spec, library_deviations(known[spec.api].pages[spec.name]))
        for spec in specs
        if spec.api in known and spec.name in known[spec.api].pages
    ]
    yield from _editions(
        [(spec, {r.id for entry in found for r in entry.rules}) for spec, found in pages]
    )
    for spec, found in pages:
        if not found:
            continue
        yield from (f"## {spec.name}", f"`{spec.api}`, release {known[spec.api].release}", "")
        yield "| | rules and lines of the page | when | returned | known by |"
        yield "|---|---|---|---|---|"
        for entry in found:
            lines = (f"`{r.id}`" + (f" {r.at[0]}" if r.at else "") for r in entry.rules)
            when = f"`{entry.when}`".replace("|", "\\|") if entry.when else ""
            yield (
                f"| {entry.kind} | {', '.join(lines)} | {when} | {entry.returned} | {entry.known} |"
            )
        yield ""


def _editions(named: Sequence[tuple[Spec, set[str]]]) -> Iterator[str]:
    """A row for each newer edition: how many rules the differences from it and from the older page
    name, and which of them no longer.
    """
    rows = [
        f"| `{spec.name}` | `{older.name}` | {len(before)} | {len(rules)} |"
        f" {', '.join(f'`{rule}`' for rule in sorted(before - rules))} |"
        for spec, rules in named
        for older, before in named
        if spec.edition > older.edition and spec.api == older.api
    ]
    if rows:
        yield from ("## Newer editions", "")
        yield "| page | older page | rules, older page | rules | no longer |"
        yield from ("|---|---|---:|---:|---|", *rows, "")
