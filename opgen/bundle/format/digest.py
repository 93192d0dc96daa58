"""The digests of tensors, tables and files: XXH3 of 128 bits (Y. Collet, xxHash 0.8), in canonical
order, without a seed.

It is many times faster than writing, where SHA-256 is many times slower. It tells damage and
mix-ups, of which one in 2**128 is missed; a forger neither would tell, since digests are written
anew as easily as data.
"""

from __future__ import annotations

from collections.abc import Iterable
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


def digest_column(pieces: Iterable[Bytes]) -> np.ndarray:
    """(pieces,) the digest of each, as tables keep it."""
    return np.frombuffer(b"".join(map(digest_of, pieces)), dtype=DIGEST_TYPE)
