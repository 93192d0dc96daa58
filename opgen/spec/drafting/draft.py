"""Reading a page into a draft: cells, then sentences, then codes, each where it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass

from opgen.calls.vocabulary import vocabulary
from opgen.spec.drafting import cells
from opgen.spec.drafting.axes import apart
from opgen.spec.drafting.breaches import breach
from opgen.spec.drafting.columns import LISTS, set_list, set_role
from opgen.spec.drafting.conditions import condition
from opgen.spec.drafting.dtype_pairs import combinations, combine, rows
from opgen.spec.drafting.facts import Clause, Facts, Key
from opgen.spec.drafting.grammar import grammar
from opgen.spec.drafting.joined import (
    contradictions,
    copied_places,
    copy,
    dtypes_in_doubt,
    letters_in_doubt,
)
from opgen.spec.drafting.patterns import Claim, Reader, normal
from opgen.spec.drafting.pending import (
    ATTRIBUTES_IN_WORDS,
    MAY_CONSTRAIN,
    TELLING,
    Left,
    axes_in,
    pending,
    sizes,
)
from opgen.spec.drafting.placed_claim import PlacedClaim
from opgen.spec.drafting.prototype import parameters
from opgen.spec.drafting.spelling import spelled
from opgen.spec.drafting.statements import state
from opgen.spec.pages.page import Column, PageText, Sentence
from opgen.spec.pages.products import product_of

LATER = ("same_axes", "padded", "rules")
"""Families that call axes by letters, which the page may write further down."""
ABOUT = {"dtype": "数据类型", "format": "数据格式", "rank": "维数"}
"""Column -> what a sentence in it is about, where it does not say so."""


@dataclass(frozen=True)
class Draft:
    """A page as facts, with what is left to decide. ``pending``: the rules whose place an undecided
    sentence may be.
    """

    api: str
    products: dict[str, int]
    facts: Facts
    pending: frozenset[str]


def draft(page: PageText, file: str) -> Draft:
    """The draft of a page; FileError for parameters of a kind that specs do not have."""
    facts = Facts(parameters(page, file))
    page = spelled(
        page, (p.name for p in facts.parameters.values() if p.is_tensor and p.is_written)
    )
    listed = {s.product: s.line for s in page.products if s.supported}
    products = {key: line for key, line in listed.items() if key in vocabulary().products}
    for product in listed.keys() - products:
        facts.todo(listed[product], "a product that specs/tables.yaml does not have")
    for fault in page.faults:
        facts.todo(fault.line, fault.text)
    drafter = _Drafter(page, facts, tuple(products))
    drafter.cells()
    drafter.sentences()
    combinations(facts, tuple(products))
    contradictions(facts)
    apart(facts)
    drafter.codes()
    copied_places(facts)
    letters_in_doubt(facts)
    dtypes_in_doubt(facts)
    return Draft(page.api, products, facts, frozenset(pending(facts, drafter.open)))


class _Drafter:
    """Goes through a page once; what it does not take is left to a person."""

    def __init__(self, page: PageText, facts: Facts, products: tuple[str, ...]) -> None:
        self.page, self.facts, self.products = page, facts, products
        self.reader = Reader(facts.parameters)
        self.open: list[Left] = []
        self.axes: set[str] = set()
        self.later: list[tuple[PlacedClaim, str, str, str]] = []

    # cells ----------------------------------------------------------------------------------------
    def cells(self) -> None:
        """Lists and marks of the table; what is no list is read as a sentence of its parameter."""
        said: list[tuple[str, Column, Sentence]] = []
        for described in self.page.parameters:
            name, parameter = described.name, self.facts.parameters.get(described.name)
            if parameter is None:
                continue
            set_role(self.facts, parameter, described)
            mark = cells.STRIDED.get(described.text("strided"))
            if parameter.is_tensor and mark is not None:
                parameter.keys["strided"] = Key(mark, [])
            if parameter.is_tensor and mark is False:
                line = described.cells["strided"][0].line
                self.facts.relate(f"{name}.strided == False", line, (name,), "layout")
            for column in LISTS:
                if not set_list(self.facts, parameter, column, described):
                    said += [
                        (parameter.name, column, one) for one in described.cells.get(column, ())
                    ]
        for name, column, sentence in said:
            self.facts.shape_lines |= {sentence.line} if column == "rank" else set()
            self._sentence(sentence, f"{column} of {name}", name, ABOUT[column])
        copy(self.facts)

    # sentences ------------------------------------------------------------------------------------
    def sentences(self) -> None:
        """Usage and descriptions of parameters, then what stands below the table."""
        for described in self.page.parameters:
            name = described.name if described.name in self.facts.parameters else ""
            for column in ("description", "usage"):
                for sentence in described.cells.get(column, ()):
                    self._sentence(sentence, f"{column} of {described.name}", name)
        for where, sentences in (
            ("function", self.page.function),
            ("note", self.page.notes),
            ("constraint", self.page.constraints),
        ):
            combined = {row.line: (row, told) for row, told in rows(self.facts, sentences)}
            for row, told in combined.values():
                if told:
                    held, _ = self._products("", row.products)
                    combine(self.facts, held or (), told, row.line)
            for sentence in sentences:
                own = re.sub("(?:约束|说明)$", "", sentence.about)
                own = own if own in self.facts.parameters else ""
                if sentence.line not in combined:
                    self._sentence(sentence, f"{where} of {own}" if own else where, own)
        self._again()
        for line, words in sizes(self.axes, self.page.function):
            if not self._parts(words, "", "")[0]:
                self.facts.todo(line, "function", self.reader.named(words))

    def _again(self) -> None:
        """What waits for facts that stand elsewhere on the page, as long as some of it becomes one;
        the rest is left to a person.
        """
        waiting = [claim for claim in self.later if not state(self.facts, claim[0])]
        if len(waiting) < len(self.later):
            self.later = waiting
            self._again()
            return
        for said, where, words, own in waiting:
            if own or MAY_CONSTRAIN.search(words):
                self._leave(said.line, where, words, own)

    def _sentence(self, sentence: Sentence, where: str, own: str, about: str = "") -> None:
        for text in sorted(parts(sentence.text), key=lambda part: "轴" in part):
            products, words = self._products(text, sentence.products)
            if not words or products == ():
                continue
            held, claims, left = self._read(words, own, about) if products else ("", (), [words])
            some = () if products in (self.products, None) else products or ()
            for claim in claims:
                said = PlacedClaim(claim, sentence.line, some, own, held)
                if claim.says in LATER or not state(self.facts, said):
                    self.later.append((said, where, words, own))
            told = where.startswith(("description", "function"))
            left = [part for part in left if not told or MAY_CONSTRAIN.search(part)]
            for part in left:
                self._leave(sentence.line, where, part, own, bool(claims))

    def _leave(self, line: int, where: str, part: str, own: str, taken: bool = False) -> None:
        """Leave a part of a sentence to a person. Where another part is taken, this one may be
        about a rule that has it otherwise only with some words.
        """
        named = self.reader.named(part)
        about, announces = (own,) if own else named, part.endswith(":") and not named
        self.facts.todo(line, where, (n for n in named if n != own))
        if "shape" in part:
            self.facts.shapes_left |= {*about}
            self.axes |= axes_in(part) - {*named}
        sure = announces or where.startswith(("description", "function"))
        if not sure and (not taken or MAY_CONSTRAIN.search(part)):
            self.open.append((part, about, ATTRIBUTES_IN_WORDS))

    def _read(self, words: str, own: str, about: str) -> tuple[str, tuple[Claim, ...], list[str]]:
        """The condition of a sentence that is read whole under it, what it says, and the rest."""
        claims, left = self._parts(words, own, about)
        term, after = condition(self.facts, words)
        under, more = self._parts(after, own, about) if left and after != words else ((), left)
        return ("", claims, left) if more or not left else (term, under, more)

    def _parts(self, text: str, own: str, about: str) -> tuple[tuple[Claim, ...], list[str]]:
        """What a sentence says, and what is left of it; ``about``: what the sentences of its column
        speak of.
        """
        if own:
            text = re.sub(f"^当?(?:指针)?(?:{own})?(?:非空|不为空|不为空指针)时,", "", text)
        if about and not re.match("shape(?!的?维)", text):
            text = about + re.sub("^(数据类型|数据格式|shape维度|维度|维数)", "", text)
        return self.reader.parts(text, "statements", own)

    def _products(self, text: str, markers: tuple[str, ...]) -> tuple[tuple[str, ...] | None, str]:
        """The products for which a text holds, all where it names none, and the words after their
        names; None where fence and names differ.
        """
        fenced = [grammar().markers.get(marker, marker) for marker in markers]
        words, named = normal(text), []
        head, colon, rest = words.partition(":")
        keys = [product_of(name) for name in head.split("、")]
        if colon and any(key in vocabulary().products for key in keys):
            named, words = keys, rest
        held = [tuple(p for p in self.products if p in some) for some in (fenced, named) if some]
        if len(held) == 2 and held[0] != held[1]:
            return None, words
        return (held[0] if held else self.products), words

    # codes ----------------------------------------------------------------------------------------
    def codes(self) -> None:
        """The clauses of each code."""
        for told in self.page.codes:
            place = Clause(told.code, told.number, told.sentence.line)
            for text in parts(told.sentence.text):
                products, words = self._products(text, told.sentence.products)
                read = self.reader.read(words, "breaches") if products == self.products else None
                said = [PlacedClaim(claim, told.sentence.line) for claim in read or ()]
                if not said or not all(breach(self.facts, one, place) for one in said):
                    names = self.reader.named(words)
                    self.facts.todo(told.sentence.line, str(told.code), names)
                    self.open += [(words, names, TELLING)] if read != () else []


def parts(text: str) -> list[str]:
    """The sentences of a text, without those that are empty."""
    return [part for part in re.split("[。;；]", text) if part.strip()]
