"""Choosing among ids: one that is named exactly, or else those that match a pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from opgen.model import FileError, Problem


def match_ids(ids: Sequence[str], patterns: Iterable[str]) -> dict[str, list[int]]:
    """Pattern -> where in ``ids`` stands just that; where nothing does, what it matches as a glob
    (``*``, ``?``, ``[]``).

    >>> match_ids(["a*", "ab", "b"], ["a*", "?b", "c"])
    {'a*': [0], '?b': [1], 'c': []}
    """
    places: dict[str, list[int]] = {}
    for at, one in enumerate(ids):
        places.setdefault(one, []).append(at)
    return {
        pattern: (
            places[pattern]
            if pattern in places
            else [at for at, one in enumerate(ids) if fnmatchcase(one, pattern)]
        )
        for pattern in dict.fromkeys(patterns)
    }


def select_ids(ids: Sequence[str], patterns: Iterable[str], where: str = "`patterns`") -> list[int]:
    """Where those ``ids`` stand that ``patterns`` choose, in their own order; all where there is no
    pattern.

    Raises FileError naming every pattern that matches nothing, at ``where``.
    """
    found = match_ids(ids, patterns)
    if not found:
        return list(range(len(ids)))
    missing = [pattern for pattern, places in found.items() if not places]
    if missing:
        from opgen.files.yamlfile import did_you_mean

        text = f"no such case among {len(ids)}"
        said = {
            one: "matches no case" if set(one) & set("*?[") else text + did_you_mean(one, ids)
            for one in missing
        }
        raise FileError([Problem(where, None, one, reason) for one, reason in said.items()])
    return sorted({place for places in found.values() for place in places})
