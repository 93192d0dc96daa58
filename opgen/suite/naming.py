"""Ids of cases: what a case is, in the operator's own letters.

``avg_pool2d_backward.910b.k3x2-s1x3-pad1x0-4d-n1-c17-in8x9-fp16-ceil``: the operator, the product,
the call in words. The rules that an invalid case breaks stand before them, the name of a
handwritten one in their place. Where that does not say all of a call, six digits of its digest
follow. An id depends on its call alone, and therefore stays when a plan grows around it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, compress

import numpy as np

from opgen.calls.call_json import to_json
from opgen.calls.factorize import factorize_rows
from opgen.calls.purposes import Purposes
from opgen.calls.table import CallTable
from opgen.calls.vocabulary import vocabulary
from opgen.numerics.recipes import DEFAULT
from opgen.oracle.judgement import Judgement
from opgen.suite.words import CallWords

LONGEST = 120
"""Characters of an id, at most."""
DIGITS, MORE_DIGITS = 6, 16
"""Hexadecimal digits of the digest in an id; more where two calls would have one id."""
LONGEST_NAME = 60
"""Characters of a handwritten case's name, or of the rules that are broken, in an id."""


def product_in(case: str) -> str:
    """The product in an id that :func:`case_ids` has made; the empty text in any other.

    >>> product_in("avg_pool2d_backward.910b.k3x3-4d-n2"), product_in("mine")
    ('ascend910b', '')
    """
    products = {_short(product): product for product in vocabulary().products}
    return products.get((*case.split("."), "")[1], "")


def case_ids(
    judged: Judgement,
    kind: Iterable[str],
    purposes: Iterable[Purposes],
    recipe: Iterable[str],
    given: Mapping[int, Mapping[str, Sequence[int]]],
    digits: int = DIGITS,
) -> list[str]:
    """(rows,) the id of every call of a page, by what it is for and what draws its data; equal
    ones have one id. ``given``: row -> input -> values that no recipe draws.
    """
    call, recipes = CallWords(judged.view), list(recipe)
    products = [_short(name) for name in vocabulary().names["product"]]
    columns = zip(
        judged.table.product.tolist(),
        kind,
        purposes,
        recipes,
        _broken_rules(judged),
        call.rows(),
        call.whole.tolist(),
        strict=True,
    )
    ids: list[str] = []
    digested: dict[int, tuple[str, list[str]]] = {}
    for row, (product, what, mine, drawn, rules, parts, decided) in enumerate(columns):
        words, whole = parts, decided
        start = f"{judged.spec.op}.{products[product]}."
        if what == "handwritten":
            start, words, whole = start + "handwritten.", [_safe(mine[0].name)], False
        elif drawn not in ("", DEFAULT):
            words.append(drawn)
        if what == "invalid":
            start += f"invalid.{rules}."
        ids.append(start + "-".join(words))
        if not whole or len(ids[-1]) > LONGEST:
            digested[row] = start, words
    digests = _digests(judged.table, recipes, given, list(digested))
    named: dict[str, set[str]] = {}
    for row, digest in digests.items():
        ids[row] = _shortened(*digested[row], digest[:digits])
        named.setdefault(ids[row], set()).add(digest)
    for row, digest in digests.items():
        if len(named[ids[row]]) > 1:
            ids[row] = _shortened(*digested[row], digest)
    return ids


def _short(product: str) -> str:
    return product.removeprefix("ascend")


def _safe(name: str) -> str:
    """A name as it can stand in an id."""
    return re.sub("[^A-Za-z0-9._+-]", "_", name)[:LONGEST_NAME]


def _broken_rules(judged: Judgement) -> list[str]:
    """(rows,) the rules that a call breaks and that the page states, as many as there is room for;
    the others are counted.
    """
    forbidding = np.array([rule.forbids for rule in judged.spec.rules], dtype=bool)
    names = [rule.id for rule in judged.spec.rules if rule.forbids]
    number, first = factorize_rows(judged.broken[forbidding].T)
    texts = []
    for broken in judged.broken[forbidding].T[first].tolist():
        rules = list(compress(names, broken))
        fit = [
            end <= min(LONGEST_NAME, LONGEST - DIGITS - len(f"{judged.spec.op}.910_93.invalid.+9."))
            for end in accumulate(len(rule) + 1 for rule in rules)
        ]
        shown = rules[: max(1, sum(fit))]
        rest = [str(len(rules) - len(shown))] if len(shown) < len(rules) else []
        texts.append(_safe("+".join([*shown, *rest])))
    return [texts[i] for i in number.tolist()]


def _digests(
    table: CallTable,
    recipe: Sequence[str],
    given: Mapping[int, Mapping[str, Sequence[int]]],
    rows: Sequence[int],
) -> dict[int, str]:
    """Row -> a digest of its call and its data."""
    digests = {}
    for row, call in zip(rows, table.take(np.array(rows, dtype=np.int64)).calls(), strict=True):
        arrays = {name: list(values) for name, values in given.get(row, {}).items()}
        text = json.dumps([call.api, call.product, to_json(call), recipe[row], arrays])
        digests[row] = hashlib.blake2b(text.encode()).hexdigest()[:MORE_DIGITS]
    return digests


def _shortened(start: str, words: Iterable[str], digest: str) -> str:
    """An id with as many of the words as there is room for, and the digest."""
    room = LONGEST - len(start) - len(digest) - 1
    ends = accumulate(len(word) + 1 for word in words)
    said = "-".join(word for word, end in zip(words, ends, strict=True) if end - 1 <= room)
    return start + ".".join(filter(None, (said, digest)))
