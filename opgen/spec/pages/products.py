"""The products that a page names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from opgen.calls.vocabulary import vocabulary
from opgen.spec.pages.markdown import Code
from opgen.spec.pages.page import Sentence, Support, is_sentence
from opgen.spec.pages.tables import Table


def products_in(head: str) -> tuple[str, ...]:
    """The keys of the products that the head of a column names, if it names nothing else."""
    keys = tuple(map(product_of, head.split("、")))
    return keys if all(key in vocabulary().products for key in keys) else ()


def product_of(name: str) -> str:
    """The key of a product that a page names, or the name; blanks do not count.

    >>> product_of("Atlas A2 训练系列产品/Atlas 800I A2 推理产品"), product_of("Atlas 9 产品")
    ('ascend910b', 'Atlas 9 产品')
    """
    bare = name.replace(" ", "")
    for key, facts in vocabulary().products.items():
        if bare in [known.replace(" ", "") for known in facts["names"]]:
            return key
    return name


def supported(parts: list[Sentence | Table | Code]) -> Iterator[Support]:
    """Lines ``PRODUCT：支持``, or a bare name in the older edition; or rows with a tick."""
    words = [part for part in parts if is_sentence(part)]
    ticks = {sentence.line: sentence.text for sentence in words if sentence.text in "√×xX"}
    for sentence in words:
        name, colon, verdict = re.sub("[:：]", ":", sentence.text).rstrip("。").partition(":")
        tick = ticks.get(sentence.line)
        if sentence.text not in "√×xX" and (colon or tick or product_of(name) != name):
            supported = verdict.strip() != "不支持" if tick is None else tick == "√"
            yield Support(product_of(name.strip()), supported, sentence.line)
