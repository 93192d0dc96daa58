"""``opgen page``: print a spec or a page, in the order of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from opgen.cli import options
from opgen.cli.completion import complete_operators

if TYPE_CHECKING:
    from opgen.lint.facts import Fact, PageLine
    from opgen.report.layout import Paragraph
    from opgen.spec.pages.page import PageText, Sentence
    from opgen.spec.spec import Spec


FOLDER = click.Path(exists=True, file_okay=False)


@click.command(
    epilog=options.examples(
        "opgen page group_norm_backward",
        "opgen page convolution_backward.atlas --pages pages",
        "opgen page page.md",
    )
)
@click.argument("operators", metavar="OP|FILE", shell_complete=complete_operators)
@click.option(
    "--pages",
    "folder",
    metavar="DIR",
    type=FOLDER,
    help="Print each line of the page above its facts.",
)
@options.edition_option()
@options.json_option()
def command(operators: str, folder: str | None, edition: str, as_json: bool) -> None:
    """Print a spec in the order of its page, to read both side by side.

    OP is an operator, or one page of it (convolution_backward.atlas). Each fact is printed at the
    first line that it cites. The other lines mention it after "also". --pages prints every line
    of the page, including lines that nobody transcribed. If the pages have several editions, opgen
    names these first, with their products.

    FILE is a page of the vendor, in Markdown or in the older flattened text. It needs no spec:
    opgen prints each sentence with its line, and lists at the end what it cannot read.
    """
    from pathlib import Path

    from opgen.cli import console

    if Path(operators).is_file():
        _page(operators, as_json)
        return
    from opgen.lint.audit import read_page
    from opgen.lint.facts import by_line
    from opgen.model import UNDATED
    from opgen.report.layout import Paragraph, show
    from opgen.spec.catalog import catalog

    known = catalog(edition)
    named = [
        spec
        for spec in known.whole
        if spec.name == operators and edition in {"", spec.edition or UNDATED}
    ] or known.of(known.api(operators))
    pages = [(spec, *by_line(spec)) for spec in named]
    editions = _editions(known.every(named[0].api))
    if as_json:
        console.json_text([_plain(editions, *page) for page in pages])
        return
    out = console.output()
    for name, products in editions.items() if len(editions) > 1 else ():
        show(out, Paragraph(f"{name}: {', '.join(products)}", "edition", 9))
    for spec, lines, rest in pages:
        text = read_page(spec, Path(folder))[0] if folder and spec.page else []
        page = spec.page.file if spec.page else "no page"
        show(out, Paragraph(f"{spec.api}: {spec.file} transcribes {page}"), *_shown(lines, text))
        if rest:
            show(out, "", "no line of the page", *_facts(rest))
        show(out, "")


def _editions(every: Sequence[Spec]) -> dict[str, list[str]]:
    """The editions of an operator's pages, with their products."""
    from opgen.model import UNDATED

    products: dict[str, list[str]] = {}
    for spec in every:
        products.setdefault(spec.edition or UNDATED, []).extend(spec.judges)
    return products


def _page(file: str, as_json: bool) -> None:
    from dataclasses import asdict

    from opgen.cli import console
    from opgen.report.layout import Paragraph, show
    from opgen.spec.pages.reading import read_page

    page = read_page(file)
    if as_json:
        console.json_text(asdict(page))
        return
    out = console.output()
    show(out, Paragraph(f"{page.api}: {file}"))
    for title, rows in _parts(page):
        if rows:
            show(out, "", title, *(Paragraph(words, f"{line:6}", 8) for line, words in rows))


def _parts(page: PageText) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """The parts of a page, each as lines and words."""
    yield (
        "products",
        [(s.line, f"{s.product}{'' if s.supported else ': not supported'}") for s in page.products],
    )
    yield "function", _sentences(page.function)
    yield "prototype", [(p.line, f"{p.c_type} {p.name}") for p in page.prototype]
    for parameter in page.parameters:
        cells = [
            (sentence.line, f"{column}: {words}")
            for column, said in parameter.cells.items()
            for sentence, (_, words) in zip(said, _sentences(said), strict=True)
        ]
        yield f"parameter {parameter.name}", cells
    yield "notes", _sentences(page.notes)
    yield "codes", [(c.sentence.line, f"{c.code} {c.sentence.text}") for c in page.codes]
    yield "constraints", _sentences(page.constraints)
    yield "doubts", _sentences(page.faults)


def _sentences(said: Iterable[Sentence]) -> list[tuple[int, str]]:
    """Sentences, with the products for which alone a page says them."""
    return [(s.line, f"[{', '.join(s.products)}] {s.text}" if s.products else s.text) for s in said]


def _shown(lines: list[PageLine], text: list[str]) -> Iterator[Paragraph]:
    """Every cited line with its facts; with the text of the page at hand, every line that is not
    blank.
    """
    from rich.text import Text

    from opgen.report.layout import Paragraph
    from opgen.report.terminal import visible

    cited = {line.line: line for line in lines}
    for number in range(1, len(text) + 1) if text else sorted(cited):
        told = cited.get(number)
        words = visible(text[number - 1].strip()) if text else ""
        if words or told:
            yield Paragraph("")
        if told is None:
            if words:
                yield Paragraph(Text(words, "dim"), Text(f"{number:4}", "dim"), 6)
            continue
        yield Paragraph(words, f"{number:4}", 6) if text else Paragraph(f"line {number}")
        yield from _facts(told.facts)
        if told.also:
            yield Paragraph(f"also {', '.join(told.also)}", indent=6)


def _facts(facts: Iterable[Fact]) -> Iterator[Paragraph]:
    from opgen.report.layout import Paragraph

    for fact in facts:
        answer = f"  [{fact.answer}]" if fact.answer and fact.answer != fact.id else ""
        yield Paragraph(f"{fact.id}{answer}", indent=6)
        yield Paragraph(fact.says, indent=10)
        if fact.note:
            yield Paragraph(f"note: {fact.note}", indent=10)


def _plain(
    editions: dict[str, list[str]], spec: Spec, lines: list[PageLine], rest: list[Fact]
) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "spec": spec.file,
        "page": spec.page and spec.page.file,
        "editions": editions,
        "lines": [asdict(line) for line in lines],
        "no_line": [asdict(fact) for fact in rest],
    }
