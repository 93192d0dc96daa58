"""Part of a suite, as ``I/N`` asks for it."""

from __future__ import annotations

from dataclasses import replace

from opgen.model import FileError, natural
from opgen.suite.suite import Suite


def shard(suite: Suite, text: str) -> Suite:
    """Part ``I/N`` of a suite, 1 <= I <= N: every N-th case. The parts share no case and lose
    none.
    """
    first, parts = shard_of(text)
    return replace(suite.subset(range(first - 1, len(suite.cases), parts)), whole=suite.identity)


def shard_of(text: str) -> tuple[int, int]:
    """``I/N`` as numbers; FileError unless 1 <= I <= N.

    >>> shard_of("1/4")
    (1, 4)
    """
    first, parts = (natural(part) or 0 for part in text.partition("/")[::2])
    if not 1 <= first <= parts:
        raise FileError.of("`shard`", text, "expects I/N with 1 <= I <= N, for example 1/4")
    return first, parts
