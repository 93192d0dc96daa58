"""Digests of tensors: those of XXH3 that any other program computes, of whatever holds the bytes,
in one piece or in several.
"""

from __future__ import annotations

import numpy as np
import pytest
from xxhash import xxh3_128

from opgen.bundle.format.digest import DIGEST_SIZE, DIGEST_TYPE, Digest, digest_of

PUBLISHED = {
    b"": "99aa06d3014798d86001c324468d497f",
    b"a": "a96faf705af16834e6c632b61e964e1f",
    b"abc": "06b05ab6733a618578af5f94892f3950",
}
"""As ``xxhsum -H2`` of xxHash prints them."""


@pytest.mark.parametrize("data", PUBLISHED)
def test_they_are_those_of_xxhsum(data: bytes) -> None:
    assert (
        digest_of(data).hex() == PUBLISHED[data]
        and len(digest_of(data)) == DIGEST_SIZE == np.dtype(DIGEST_TYPE).itemsize
    )


def test_an_array_has_the_digest_of_its_bytes() -> None:
    array = np.random.default_rng(0).random((3, 5, 7), dtype=np.float32)
    assert (
        digest_of(array)
        == digest_of(array[:])
        == digest_of(memoryview(array).cast("B"))
        == digest_of(array.tobytes())
    )
    assert digest_of(array.astype(">f4")) != digest_of(array)
    with pytest.raises((ValueError, BufferError)):
        digest_of(array[:, ::2])


@pytest.mark.parametrize("size", [0, 1, 16, 17, 128, 129, 240, 241, 1024, 1025, 100_000])
def test_pieces_have_the_digest_of_the_whole(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    digest = Digest()
    for start in range(0, size, 37):
        digest.update(data[start : start + 37])
    assert digest.digest() == digest_of(data) == xxh3_128(data).digest()


def test_any_bit_and_any_swap_of_words_changes_it() -> None:
    data = np.random.default_rng(1).bytes(300)
    known = digest_of(data)
    for bit in range(8 * len(data)):
        other = bytearray(data)
        other[bit // 8] ^= 1 << bit % 8
        assert digest_of(other) != known
    words = np.frombuffer(data, dtype="<u4")
    for at in range(len(words) - 1):
        swapped = words.copy()
        swapped[[at, at + 1]] = swapped[[at + 1, at]]
        assert digest_of(swapped) != known
    assert digest_of(data[:-1]) != known and digest_of(data + b"\0") != known
