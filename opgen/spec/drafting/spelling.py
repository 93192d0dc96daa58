"""Names that a page uses for parameters that the prototype spells otherwise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from opgen.spec.drafting.facts import snake
from opgen.spec.drafting.patterns import alternatives
from opgen.spec.pages.page import PageText, Sentence

ENDING = re.compile("(?:Out|Optional)$")
"""What pages leave out of a name; they add the latter, too."""


def spelled(page: PageText, outputs: Iterable[str]) -> PageText:
    """A page in whose sentences parameters have the names of the prototype. ``outputs``: those
    that it declares to be written; the only one is also called ``out``.
    """
    other = _spellings(
        [declared.name for declared in page.prototype],
        [*outputs],
        [parameter.name for parameter in page.parameters],
    )
    if not other:
        return page
    name = re.compile(rf"(?<![A-Za-z0-9_])(?:{alternatives(other)})(?![A-Za-z0-9_])")

    def said(sentence: Sentence) -> Sentence:
        return sentence._replace(text=name.sub(lambda word: other[word[0]], sentence.text))

    return replace(
        page,
        parameters=tuple(
            replace(
                parameter,
                name=other.get(parameter.name, parameter.name),
                cells={column: (*map(said, cell),) for column, cell in parameter.cells.items()},
            )
            for parameter in page.parameters
        ),
        notes=tuple(map(said, page.notes)),
        codes=tuple(code._replace(sentence=said(code.sentence)) for code in page.codes),
        constraints=tuple(map(said, page.constraints)),
    )


def _spellings(names: list[str], outputs: list[str], rows: list[str]) -> Mapping[str, str]:
    """Another spelling -> the parameter, where only one has it. ``rows``: what the table describes;
    it may call a parameter by the beginning of its name.
    """
    told = [(ENDING.sub("", name), name) for name in names]
    told += [(f"{name}Optional", name) for name in names]
    told += [(snake(name), name) for name in names]
    told += [(row, name) for row in rows for name in {*names} - {*rows} if name.startswith(row)]
    told += [("out", name) for name in outputs if len(outputs) == 1]
    often = Counter(short for short, _ in told)
    return {short: name for short, name in told if short not in names and often[short] == 1}
