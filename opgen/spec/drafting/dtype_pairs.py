"""Which dtypes go together: the rows of a table of combinations, and sentences that give them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from opgen.spec.drafting import cells
from opgen.spec.drafting.facts import Combined, Facts, products_term
from opgen.spec.drafting.patterns import normal
from opgen.spec.drafting.placed_claim import PlacedClaim
from opgen.spec.pages.page import Sentence


def combine(
    facts: Facts, products: tuple[str, ...], dtypes: Sequence[tuple[str, str]], line: int
) -> None:
    """A combination: tensors, each with its dtype; the others follow the first."""
    (one, first), *others = dtypes
    for other, second in others:
        facts.combined.setdefault((one, other), []).append(Combined(products, first, second, line))


def paired(facts: Facts, said: PlacedClaim) -> bool:
    """The dtypes that tensors may have where another has one of its own."""
    names = said.claim.of("names")
    if len(names) > 1 or not facts.tensors((*said.subjects, *names)):
        return False
    for first in said.claim.of("dtypes"):
        for subject in said.subjects:
            for second in said.claim.of("more"):
                pair = (names[0], first), (subject, second)
                combine(facts, said.products, pair, said.line)
    return bool(said.subjects)


def combinations(facts: Facts, every: tuple[str, ...]) -> None:
    """The rules that follow from all combinations: without condition where all products have the
    same.
    """
    for (one, other), told in facts.combined.items():
        held: dict[str, list[Combined]] = {}
        for product in every:
            of_product = [pair for pair in told if product in (pair.products or every)]
            held.setdefault(_rule(one, other, of_product), []).extend(of_product)
        held.pop("", None)
        for rule, pairs in held.items():
            of = [p for p in every if any(p in (pair.products or every) for pair in pairs)]
            when = products_term(of) if len(of) < len(every) else ""
            for line in dict.fromkeys(pair.line for pair in pairs):
                if " == " in rule:
                    facts.same("dtype", other, one, line, when)
                else:
                    facts.relate(rule, line, (other, one), "types", when)


def _rule(one: str, other: str, told: Iterable[Combined]) -> str:
    """What two tensors have in common: the dtype, or that the second is FLOAT where it has not that
    of the first. Empty where it is neither.
    """
    pairs = {(pair.one, pair.other) for pair in told}
    agree = {(first, first) for first, _ in pairs}
    if len(agree) > 1 and pairs == agree:
        return f"{other}.dtype == {one}.dtype"
    mixed = len(agree) > 1 and pairs == agree | {(first, "FLOAT") for first, _ in pairs}
    return f"{other}.dtype in ({one}.dtype, 'FLOAT')" if mixed else ""


def rows(
    facts: Facts, said: Iterable[Sentence]
) -> Iterator[tuple[Sentence, list[tuple[str, str]]]]:
    """The rows of tables of dtypes by their first cells: each tensor of the head with its dtype,
    in the head none.
    """
    head: list[str] = []
    for _, of_line in groupby(said, key=lambda sentence: sentence.line):
        sentences = [*of_line]
        row = [cell for one in sentences for cell in normal(one.text).split("|")]
        names = [re.sub("的?数据类型$", "", cell) for cell in row]
        known = [name if name in facts.parameters else "" for name in names]
        dtypes = [(cells.dtypes(cell) or [""])[0] for cell in row]
        told = [pair for pair in zip(head, dtypes, strict=False) if all(pair)]
        if sum(map(bool, known)) > 1:
            head = known
            yield sentences[0], []
        elif head and len(row) == len(head) and len(told) == sum(map(bool, head)):
            yield sentences[0], told
        else:
            head = []
