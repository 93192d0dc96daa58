"""``opgen ops``: list operators, their pages, products and dtypes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

import click

from opgen.cli import options

if TYPE_CHECKING:
    from opgen.spec.spec import Spec


@click.command(epilog=options.examples("opgen ops", "opgen ops group_norm_backward --json"))
@options.operators_argument()
@options.json_option()
def command(operators: tuple[str, ...], as_json: bool) -> None:
    """List operators, their pages and products, and the dtypes of each."""
    from opgen.cli import console
    from opgen.lint import facts as pages
    from opgen.report import terminal
    from opgen.spec.catalog import catalog

    wanted = [catalog().api(name) for name in operators] or list(catalog().kinds)
    specs = [spec for spec in catalog().specs if spec.api in wanted]
    listed = {
        spec.name: {product: pages.dtypes(spec, product) for product in spec.products}
        for spec in specs
    }
    if as_json:
        console.json_text([_plain(spec, listed[spec.name]) for spec in specs])
        return
    table = terminal.table("operator", "product", "dtypes")
    for spec in specs:
        heads = [spec.op, spec.api, spec.page.file if spec.page else "no page"]
        rows = [
            row
            for product in dict.fromkeys([*spec.products, *spec.judges])
            for row in _rows(spec, product, listed[spec.name])
        ]
        for head, row in zip_longest(heads, rows, fillvalue=""):
            table.add_row(str(head), *row or ("", ""))
        table.add_section()
    console.output().print(table)


def _rows(
    spec: Spec, product: str, listed: dict[str, dict[str, tuple[str, ...]]]
) -> Iterator[tuple[str, str]]:
    """Product and dtypes, a row for each list of dtypes that tensors share."""
    from opgen.lint.facts import shared

    if product not in listed:
        yield product, "not on the page: every call must be refused"
        return
    groups = shared(listed[product])
    elsewhere = "" if product in spec.judges else "; calls are held against the other page"
    for names, dtypes in groups:
        yield (
            product,
            " ".join(dtypes) + (f" ({', '.join(names)})" if len(groups) > 1 else "") + elsewhere,
        )


def _plain(spec: Spec, listed: dict[str, dict[str, tuple[str, ...]]]) -> dict[str, object]:
    return {
        "op": spec.op,
        "api": spec.api,
        "spec": spec.file,
        "page": spec.page and spec.page.file,
        "products": list(spec.products),
        "judges": list(spec.judges),
        "parameters": {name: parameter.kind for name, parameter in spec.parameters.items()},
        "dtypes": {
            product: {name: list(dtypes) for name, dtypes in by.items()}
            for product, by in listed.items()
        },
    }
