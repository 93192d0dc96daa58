"""The digest of a tensor, as tables keep it: the first half of the SHA-256 of its bytes."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

DIGEST_SIZE = 16
"""Bytes of a digest."""
DIGEST_TYPE = f"V{DIGEST_SIZE}"
"""The numpy type of a digest in a table."""


def digest_of(data: Any) -> bytes:
    """The digest of bytes, or of a contiguous array's."""
    return sha256(data).digest()[:DIGEST_SIZE]
