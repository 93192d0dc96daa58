"""Which pages were held against their locks before: with the same code and from the same sources
they have the same cases, and need neither be enumerated nor be computed again.

That is remembered in the user's cache. A change of opgen's code, if only of a comment, changes no
lock; it makes the next check enumerate and compute everything once.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

import numpy as np

from opgen.bundle.write.output import write_text
from opgen.files.resources import PACKAGE, cache_folder

MOST = 2000
"""Checked pages that are remembered, some for each version of the code."""


@cache
def code(package: Path) -> str:
    """A digest of all that chooses, labels and computes cases: the source of a package, Python and
    numpy.
    """
    digest = blake2b(f"{sys.version} {np.__version__}".encode())
    for file in sorted(package.rglob("*.py")):
        digest.update(f"{file.relative_to(package)} {file.stat().st_size} ".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def mark(sources: Mapping[str, str], lines: Iterable[str]) -> str:
    """What a page is remembered by that has these sources and these lines in its lock."""
    digest = blake2b(code(PACKAGE).encode(), digest_size=20)
    digest.update(repr(sorted(sources.items())).encode())
    digest.update("\n".join(sorted(lines)).encode())
    return digest.hexdigest()


def remembered() -> tuple[str, ...]:
    """The marks of pages that were checked before, the oldest first; none where nothing is kept."""
    with suppress(OSError, RuntimeError, UnicodeDecodeError):  # as where nobody is at home
        return tuple(_file().read_text(encoding="ascii").split())
    return ()


def remember(marks: Collection[str]) -> None:
    """Add the marks of pages that are checked, and forget the oldest ones."""
    kept = [mark for mark in remembered() if mark not in marks] + sorted(marks)
    with suppress(OSError, RuntimeError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        write_text(_file(), "\n".join(kept[-MOST:]) + "\n", force=True)


def _file() -> Path:
    return cache_folder() / "checked"
