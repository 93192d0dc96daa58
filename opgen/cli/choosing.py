"""How ``--case`` and ``--where`` choose cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from opgen.model import FileError

if TYPE_CHECKING:
    from opgen.bundle.read.reader import Bundle


def choose(ids: Iterable[str], patterns: Sequence[str], where: str = "--case") -> list[str]:
    """The ids that :func:`opgen.calls.ids.select_ids` selects: those that are one of ``patterns``
    or match one, in their own order.

    Raises FileError naming every pattern that matches nothing.

    >>> choose(["pool/1", "pool/2", "pad/1"], ["pool/*"])
    ['pool/1', 'pool/2']
    """
    from opgen.calls.ids import select_ids

    ids = list(ids)
    return [ids[place] for place in select_ids(ids, patterns, where)]


def choose_of(
    bundle: Bundle,
    patterns: Sequence[str],
    where: str,
    verdicts: Callable[[], Mapping[str, str]] | None = None,
) -> list[str]:
    """The ids of a bundle that :func:`choose` and ``--where`` select, both if both are given.
    ``verdicts`` judges the cases, by id, if a condition asks for that.

    Raises FileError where a pattern matches nothing, and where no case that they match is left.
    """
    ids = choose(bundle.ids, patterns)
    if not where:
        return ids
    from opgen.comparison.cases_by_condition import where as of_condition

    judged = verdicts() if verdicts and "verdict" in where else None
    wanted = set(of_condition(bundle, where, judged))
    left = [name for name in ids if name in wanted]
    if not left:
        raise FileError.of("--where", "", f"no case has {where}")
    return left
