"""The digests of tensors, tables and files: XXH3 of 128 bits (Y. Collet, xxHash 0.8), in canonical
order, without a seed.

It is many times faster than writing, where SHA-256 is many times slower. It tells damage and
mix-ups, of which one in 2**128 is missed; a forger neither would tell, since digests are written
anew as easily as data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xxhash import xxh3_128, xxh3_128_digest

Bytes: TypeAlias = Any
"""Bytes in memory: some, a view of some, or those of a contiguous array."""
DIGEST_SIZE = 16
"""Bytes of a digest."""
DIGEST_TYPE = f"V{DIGEST_SIZE}"
"""The numpy type of a digest in a table."""

digest_of = xxh3_128_digest
"""The digest of bytes, or of a contiguous array's."""
Digest = xxh3_128
"""A digest of pieces, one after the other: ``update`` and ``digest``."""


@dataclass(frozen=True)
class Digested:
    """In place of the array (1, size) of a tensor that a file does not hold: what a file says of
    it.
    """

    dtype: np.dtype
    size: int
    digest: bytes

    def __len__(self) -> int:
        return 1


def digest_column(pieces: Collection[Bytes]) -> np.ndarray:
    """(pieces,) the digest of each, as tables keep it."""
    digests: Iterable[bytes] = map(digest_of, pieces)
    if Digested in {*map(type, pieces)}:
        digests = [
            piece.digest if isinstance(piece, Digested) else digest_of(piece) for piece in pieces
        ]
    return np.frombuffer(b"".join(digests), dtype=DIGEST_TYPE)
