"""Choosing among ids: one that is named exactly, or else those that match a pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from opgen.calls.factorize import by_key
from opgen.model import FileError, Problem, did_you_mean


def match_ids(ids: Sequence[str], patterns: Iterable[str]) -> dict[str, list[int]]:
    """Pattern -> where in ``ids`` stands just that; where nothing does, what it matches as a glob
    (``*``, ``?``, ``[]``).

    >>> match_ids(["a*", "ab", "b"], ["a*", "?b", "c"])
    {'a*': [0], '?b': [1], 'c': []}
    """
    places = by_key((name, place) for place, name in enumerate(ids))
    return {
        pattern: (
            places[pattern]
            if pattern in places
            else [place for place, name in enumerate(ids) if fnmatchcase(name, pattern)]
        )
        for pattern in dict.fromkeys(patterns)
    }


def select_ids(ids: Sequence[str], patterns: Iterable[str], where: str = "`patterns`") -> list[int]:
    """Where those ``ids`` stand that ``patterns`` choose, in their own order; all where there is no
    pattern.

    Raises FileError naming every pattern that matches nothing, at ``where``.
    """
    selected = match_ids(ids, patterns)
    if not selected:
        return list(range(len(ids)))
    problems = []
    for pattern in (pattern for pattern, places in selected.items() if not places):
        is_glob = bool(set(pattern) & set("*?["))
        text = f"no such case among {len(ids)}{did_you_mean(pattern, ids)}"
        problems.append(Problem(where, None, pattern, "matches no case" if is_glob else text))
    if problems:
        raise FileError(problems)
    return sorted({place for places in selected.values() for place in places})
