"""Digests of the lines of a text: what a spec holds instead of the sentences of its page."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

LINE_DIGEST = 12
"""Hexadecimal digits of the digest of a line."""


def line_digest(line: str) -> str:
    """The first digits of the sha256 of a line without the blanks around it."""
    return hashlib.sha256(line.strip().encode()).hexdigest()[:LINE_DIGEST]


def digest_block(lines: Sequence[str], cited: Sequence[int], width: int = 8) -> str:
    """The ``lines:`` block of a spec for these line numbers, ``width`` pairs to a row."""
    pairs = [f"{line} {line_digest(lines[line - 1])}" for line in cited if line <= len(lines)]
    return "\n".join("    " + "  ".join(pairs[i : i + width]) for i in range(0, len(pairs), width))
