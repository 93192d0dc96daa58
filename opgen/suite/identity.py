"""What a suite is, as digests: of its cases, of their specs, plans and errata.

All are digests of what is meant. How a file is laid out and commented changes none, nor does how
opgen is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

from opgen.calls.case_table import CaseTable
from opgen.calls.vocabulary import vocabulary
from opgen.model import Expectation, LibraryAnswer
from opgen.oracle.errata import Errata
from opgen.oracle.errata_folder import errata
from opgen.spec.spec import Spec
from opgen.suite.batch import Batch

DIGEST = 10
"""Hexadecimal digits of a digest."""


class Identity(NamedTuple):
    """What a suite is, and every part that is cut from it: a digest of all its cases, and the
    operators and recipes whose data they have.
    """

    cases: str
    operators: tuple[str, ...]
    recipes: tuple[str, ...]


def identity(cases: CaseTable, batches: Iterable[Batch]) -> Identity:
    """The identity of a suite of these cases, that is no part of another.

    An id stands for its call, since it says all of it or ends in its digest; calls that somebody
    gave, under ids of theirs, have a digest in the header.
    """
    answers = cases.page.map(_answer), cases.library.map(_answer)
    purposes = cases.kind, cases.intent, cases.nearest_valid
    data = cases.recipe, cases.compute, cases.inconclusive, cases.phase.tolist()
    columns = [list(column) for column in (cases.id, cases.api, *purposes, *answers, *data)]
    computed = {(batch.op, batch.recipe) for batch in batches}
    return Identity(
        joint_digest(columns),
        tuple(sorted({op for op, _ in computed})),
        tuple(sorted({recipe for _, recipe in computed})),
    )


def _answer(answer: Expectation | LibraryAnswer | None) -> str:
    """What a page or a library answers, in words."""
    if answer is None:
        return ""
    breaks = [[b.rule, b.clause, b.at, b.found] for b in answer.breaks]
    release = answer.release if isinstance(answer, LibraryAnswer) else ""
    return json.dumps([answer.codes, answer.bucket, release, breaks])


def spec_digest(spec: Spec) -> str:
    """Of a page's spec and of the tables that all specs share, as far as the page knows them."""
    return joint_digest((spec.digest, vocabulary().digest(spec.products)))


def errata_digest(spec: Spec, source: Mapping[str, Errata] | None = None) -> str:
    """Of an operator's errata, of those that opgen ships or of a ``source``; of nothing where it
    has none.
    """
    known = (errata() if source is None else source).get(spec.api)
    return joint_digest((known.digest,) if known else ())


def joint_digest(parts: Iterable[object]) -> str:
    """One digest over several texts and numbers, in their order."""
    return blake2b(json.dumps([*parts]).encode()).hexdigest()[:DIGEST]
