"""Locks: what a plan produced when somebody last looked, one line per case, small enough to commit.

A lock is a file of text, or a folder with a file for each operator. A head says what the cases of a
page were made from, with a digest of the case lines that follow; a case line holds an id, a key (a
digest of everything that its data depend on), digests of its inputs, goldens and bounds, its
expectations in words, and sums of its goldens where it has any.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

from opgen.bundle.write.output import write_text
from opgen.files.textfile import read_text
from opgen.model import Expectation, FileError, LibraryAnswer, Problem
from opgen.suite.identity import DIGEST

T = TypeVar("T")

HEAD = "opgen lock 2"
"""The first line. A lock of version 1, which has no sums, is read as well."""
NOTHING = "-"
"""What stands for the digest of what a case does not have."""
LINES = "lines"
"""What a page's digest of its own case lines is called."""
CONFLICT = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
"""How the lines begin that a merge leaves where it did not know what to take."""
ANEW = "Remove the file, and opgen refresh writes it anew"
MOST_PROBLEMS = 50
"""Bad lines that are reported."""
_SUMS = re.compile(r"([^:,]+(:[-+.e\d]+|:-?inf|:nan){3}(,|\Z))*\Z")
_DIGEST = re.compile(rf"[0-9a-f]{{{DIGEST}}}\Z|-\Z")


@dataclass(frozen=True, slots=True)
class LockEntry:
    """One case of a lock. ``expectation`` reads ``bucket:codes:rules``, then ``|release:codes`` of
    the library; ``sums`` is :func:`opgen.lock.computed.sums_of` of its goldens.
    """

    id: str
    key: str
    inputs: str
    goldens: str
    bounds: str
    expectation: str
    sums: str = NOTHING

    @property
    def rules(self) -> frozenset[str]:
        """The rules that the case breaks, as :func:`expectation_text` wrote them; the empty text
        alone where it breaks none.
        """
        return frozenset(self.expectation.split("|")[0].split(":")[-1].split(","))

    @property
    def line(self) -> str:
        """The line of the lock. Blanks, and ends of lines, stand there as they do in an address."""
        words = (getattr(self, field.name) for field in fields(self))
        return " ".join(map(_word, words)).removesuffix(f" {NOTHING}")


@dataclass
class Lock:
    """``sources`` are the digests of what the cases of each page are made from: page -> what ->
    digest. ``altered`` are pages whose lines are not those that were written, edited by hand or
    lost by a merge, with the digest of those that were.
    """

    sources: dict[str, dict[str, str]] = field(default_factory=dict)
    entries: dict[str, dict[str, LockEntry]] = field(default_factory=dict)
    altered: dict[str, str] = field(default_factory=dict)

    def some(self, pages: Collection[str]) -> Lock:
        """The same of some pages alone."""

        def kept(of: dict[str, T]) -> dict[str, T]:
            return {page: what for page, what in of.items() if page in pages}

        return Lock(kept(self.sources), kept(self.entries), kept(self.altered))

    def beside(self, other: Lock) -> Lock:
        """This lock, and what another says of pages that this one does not know."""
        rest = other.some(set(other.sources) - set(self.sources))
        return Lock(
            self.sources | rest.sources, self.entries | rest.entries, self.altered | rest.altered
        )

    def write(self, path: Path) -> None:
        """Write one file; or, in a folder, one for each operator that has changed. The file of an
        operator that is gone is removed.
        """
        if not path.is_dir():
            write_text(path, self.text, force=True)
            return
        operators = {page.partition(".")[0] for page in self.sources}
        for operator in operators:
            pages = [page for page in self.sources if page.partition(".")[0] == operator]
            file, text = path / f"{operator}.lock", self.some(pages).text
            if not file.exists() or file.read_bytes() != text.encode():
                write_text(file, text, force=True)
        for file in _files(path):
            if file.stem not in operators:
                file.unlink()

    @property
    def text(self) -> str:
        """What a file says, in a fixed order, so that a change of one case is a change of one line.
        What is altered stays known as such.
        """
        lines = [HEAD]
        for page in sorted(self.sources):
            sources = {
                **self.sources[page],
                LINES: self.altered.get(page, _digest(self.entries[page].values())),
            }
            lines.append(
                f"page {page} " + " ".join(f"{what}={digest}" for what, digest in sources.items())
            )
            lines += [self.entries[page][case].line for case in sorted(self.entries[page])]
        return "\n".join(lines) + "\n"


def expectation_text(page: Expectation, library: LibraryAnswer | None) -> str:
    """What is expected of a case, in one word without blanks."""
    text = f"{page.bucket}:{_codes(page.codes)}:{','.join(b.rule for b in page.breaks)}"
    return text if library is None else f"{text}|{library.release}:{_codes(library.codes)}"


def _codes(codes: Iterable[int | str]) -> str:
    return "/".join(map(str, codes))


def read_lock(path: Path) -> Lock:
    """Read a lock, a file or a folder; raises FileError naming every line that is none."""
    lock, problems = Lock(), list[Problem]()
    for file in _files(path):
        problems += [Problem(str(file), number, "", fault) for number, fault in _read(file, lock)]
    if problems:
        raise FileError(problems[:MOST_PROBLEMS])
    written = {page: words.pop(LINES, "") for page, words in lock.sources.items()}
    lock.altered = {
        page: digest
        for page, digest in written.items()
        if digest != _digest(lock.entries[page].values())
    }
    return lock


def _files(path: Path) -> list[Path]:
    """The files of a lock."""
    return sorted(path.glob("*.lock")) if path.is_dir() else [path]


def _read(file: Path, lock: Lock) -> Iterator[tuple[int, str]]:
    """Add what a file says to a lock; lines that say nothing, and why."""
    lines, page = read_text(file).removeprefix("\ufeff").splitlines(), ""
    if not lines or lines[0] not in (HEAD, "opgen lock 1"):
        yield 1, f"is not a lock of this version; the first line must read '{HEAD}'. {ANEW}"
        return
    for number, line in enumerate(lines[1:], 2):
        words = line.split(" ")
        if words[0].startswith(CONFLICT):
            yield number, f"is a merge conflict. {ANEW}"
        elif words[0] == "page" and len(words) >= 2:
            page = words[1]
            if page in lock.sources:
                yield number, f"the page {page} appears twice. {ANEW}"
            lock.sources[page] = dict(word.split("=", 1) for word in words[2:] if "=" in word)
            lock.entries[page] = {}
        elif fault := _add(lock, page, words):
            yield number, fault


def _digest(entries: Iterable[LockEntry]) -> str:
    return hashlib.blake2b("\n".join(sorted(entry.line for entry in entries)).encode()).hexdigest()[
        :DIGEST
    ]


def _word(text: str) -> str:
    return re.sub(r"[\s%]", lambda match: quote(match[0], safe=""), text)


def _add(lock: Lock, page: str, words: list[str]) -> str:
    """Add the words of a line to a page of a lock; what is wrong with them, or an empty text."""
    if len(words) not in (6, 7) or not page:
        return "expects 'page NAME ...' or: id key inputs goldens bounds expectation [sums]"
    if not all(_DIGEST.match(word) for word in words[1:5]):
        return f"expects digests of {DIGEST} hexadecimal digits, or -"
    if not _SUMS.match(words[6] if len(words) > 6 else ""):
        return "expects NAME:SUM:SUM:SUM of each golden, with commas between them, at the end"
    entry = LockEntry(*map(unquote, words))
    if entry.id in lock.entries[page]:
        return f"the case {entry.id} appears twice"
    lock.entries[page][entry.id] = entry
    return ""
