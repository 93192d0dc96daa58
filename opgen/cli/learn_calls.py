"""The call files of ``opgen learn``: calls to ask, and calls for and against an entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opgen.learning.lesson import Lesson


def calls_to_ask(lessons: Sequence[Lesson], most: int, plan: str) -> Iterator[dict[str, object]]:
    """Lines of a call file: calls that help to settle open questions."""
    from opgen.calls.call_json import to_json
    from opgen.learning.asking import most_useful, questions
    from opgen.suite.selection import Request

    of_pages = []
    for lesson in lessons:
        spec = lesson.returned.spec
        cases = Request(operators=[spec.op], plan=plan).suite().cases
        for number, table in enumerate(cases.calls):
            if table.api == spec.api:
                mine = cases.row[
                    (cases.table == number) & cases.product.mask(spec.judges.__contains__)
                ]
                of_pages.append(questions(lesson, table.take(mine)))
    for number, (call, rule, deadly) in enumerate(most_useful(of_pages, most)):
        yield {
            "id": f"ask-{number}",
            "op": call.api,
            "product": call.product,
            "args": to_json(call),
            "decides": rule,
            **({"deadly": True} if deadly else {}),
        }


def calls_showing(
    lessons: Mapping[str, Sequence[Lesson]], name: str
) -> Iterator[dict[str, object]]:
    """Lines of a call file: the calls that show an entry, and those that contradict it."""
    from opgen.learning.errata_text import entries
    from opgen.model import FileError, did_you_mean

    known = [(own, entry) for own in lessons.values() for entry in entries(own)]
    chosen = [(own, entry) for own, entry in known if entry.id == name]
    if not chosen:
        hint = did_you_mean(name, {entry.id for _, entry in known})
        raise FileError.of("`entry`", name, f"no entry is learnt under this id{hint}")
    for own, entry in chosen:
        returned = next(each.returned for each in own if each.returned.spec is entry.page)
        for shows, rows in ((True, entry.finding.calls), (False, entry.finding.against)):
            yield from (returned.line(row, shows) for row in rows)
