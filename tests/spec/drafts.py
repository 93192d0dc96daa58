"""How much of a page becomes a draft, and how right it is: ``python -m tests.spec.drafts DIR``.

For each page in DIR it prints the facts drafted and the lines left. Where a spec of the same page
exists, the facts of the draft are held against those of the spec (:mod:`tests.spec.agreement`): a
parameter (kind and order), or a rule with its place, products and at least one common line. A rule
whose place an undecided code may be counts as not drafted. ``--all`` prints each fact that differs.
``--transcribed`` holds the drafts against what a reader made of twelve pages without a draft
(:data:`TRANSCRIBED`), instead of the specs that ship.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from opgen.model import FileError
from opgen.spec import specfile
from opgen.spec.catalog import catalog
from opgen.spec.drafting.draft import Draft, draft
from opgen.spec.drafting.writing import spec_text
from opgen.spec.pages.reading import read_page
from opgen.spec.spec import Spec
from tests.spec.agreement import facts_of, named, names_of, says_too

TRANSCRIBED = Path(__file__).parents[1] / "data" / "transcribed"
"""What a reader made of twelve pages of the edition 2026-08 without a draft. They were drawn from
those in ``families.txt``: all but AvgPool2d and GroupNorm, whose specs the reader had seen."""


def drawn() -> list[str]:
    """The pages that were transcribed: of each family the one that fell to it."""
    dice = random.Random(20261127)
    families = (TRANSCRIBED / "families.txt").read_text(encoding="utf-8").splitlines()
    return [f"aclnn{dice.choice(family.split(': ')[1].split())}" for family in families]


def transcribed() -> dict[str, Spec]:
    """Page -> what the reader made of it."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in TRANSCRIBED.glob("*.yaml")}
    specs = [specfile.loads(text, file=name) for name, text in texts.items()]
    return {f"{spec.api}.md": spec for spec in specs}


class Count(NamedTuple):
    """Facts of a draft that a spec has or not, and facts of a spec that the draft has or not."""

    right: int
    wrong: int
    drafted: int
    missing: int


def compared(drafted: Draft, made: Spec, spec: Spec, everything: bool) -> Count:
    """How a draft and a spec agree."""
    ours, theirs = facts_of(made), facts_of(spec)
    open_facts = {name for rule in drafted.pending for name, _ in facts_in(made, rule)}
    sure = {name: fact for name, fact in ours.items() if name not in open_facts}
    wrong = [name for name, fact in sure.items() if not says_too(name, fact, theirs)]
    missing = [name for name, fact in theirs.items() if not says_too(name, fact, sure)]
    for word, names in (("wrong", wrong), ("missing", missing)) if everything else ():
        for name in names:
            print(f"    {word} {name}: drafted {ours.get(name)}, transcribed {theirs.get(name)}")
    return Count(len(sure) - len(wrong), len(wrong), len(theirs) - len(missing), len(missing))


def facts_in(spec: Spec, rule: str) -> Iterator[tuple[str, str]]:
    """The facts of a rule; of a parameter, that it is of its kind."""
    if rule in spec.parameters:
        return iter([(f"parameter {rule}", "")])
    return named(spec, spec.rule[rule], names_of(spec), {p: {} for p in spec.products})


def shipped() -> dict[str, Spec]:
    """Page -> its spec."""
    return {spec.page.file: spec for spec in catalog().specs if spec.page}


def pages(folder: str) -> list[Path]:
    return sorted(p for p in Path(folder).rglob("aclnn*") if p.suffix in (".md", ".txt"))


def main(paths: list[Path], everything: bool, specs: dict[str, Spec]) -> tuple[float, float]:
    """Prints the table; the shares of right facts, and of facts that are drafted."""
    total = Count(0, 0, 0, 0)
    print(f"{'page':<46} facts  left  right wrong drafted missing share")
    for path in paths:
        try:
            drafted = draft(read_page(path), path.name)
            text = spec_text(drafted, path.name, path.read_bytes())
            made = specfile.loads(text.split("\ntodo:")[0])
        except FileError as error:
            print(f"{path.name:<46} {error.problems[0].text}")
            unread = len(facts_of(specs[path.name])) if path.name in specs else 0
            total = total._replace(missing=total.missing + unread)
            continue
        row = f"{path.name:<46} {len(facts_of(made)):5} {len(drafted.facts.undecided):5}"
        if path.name in specs:
            count = compared(drafted, made, specs[path.name], everything)
            total = Count(*map(sum, zip(total, count, strict=True)))
            row += "".join(f"{number:7}" for number in count)
            row += f"{count.drafted / max(count.drafted + count.missing, 1):7.0%}"
        print(row)
    right, wrong, known, missing = total
    shares = right / max(right + wrong, 1), known / max(known + missing, 1)
    print(f"right {shares[0]:.1%} of what is drafted; {shares[1]:.1%} of all facts drafted")
    return shares


if __name__ == "__main__":
    folder, everything, apart = sys.argv[1], "--all" in sys.argv, transcribed()
    if "--transcribed" in sys.argv:
        main([path for path in pages(folder) if path.name in apart], everything, apart)
    else:
        main(pages(folder), everything, shipped())
