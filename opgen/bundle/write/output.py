"""A file that is being written: under another name, locked, and renamed only when it is whole."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from opgen.bundle.format import first_block
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.file_bytes import write_at
from opgen.model import size

_log = logging.getLogger(__name__)
_LOOKED_AT = 1 << 16
"""Bytes at the beginning of an unfinished file within which its first answer begins."""
_OURS = re.compile(rb'\Z|\0{64}|opgen |[0-9a-f]{32} \{"opgen answers": ')
"""How a working file of opgen begins, wherever its writer was stopped."""


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn what the system and HDF5 say into one BundleError naming ``path``."""
    try:
        yield
    except OSError as error:
        number = re.search(
            r"\berrno = (\d+)", str(error)
        )  # HDF5 says what was in its buffers as well
        code = error.errno or (int(number[1]) if number else 0)
        reason = os.strerror(code) if code else (str(error) or type(error).__name__).splitlines()[0]
        raise BundleError(f"{path}: cannot write: {reason}") from error


def refuse(path: str | Path, force: bool, remedy: str = "--force") -> None:
    """Raise BundleError where ``path`` cannot be written, before any work is done for it;
    ``remedy`` is what sets ``force``.
    """
    path = Path(path)
    if path.is_dir():
        raise BundleError(f"{path}: is a folder; name a file")
    for file in (path, partial(path)):
        if file.exists() and not file.is_file():
            raise BundleError(f"{file}: is not a regular file, so opgen keeps it; name another")
    if path.exists() and not force:
        raise BundleError(f"{path}: exists already; {remedy} replaces it")
    if not path.parent.is_dir():
        raise BundleError(f"{path}: there is no folder {path.parent}; make it, or name another")


def partial(path: str | Path) -> Path:
    """Where a file lies while it is being written."""
    path = Path(path)
    return path.with_name(path.name + ".partial")


def locked(path: Path, flags: int) -> int:
    """A descriptor, open and locked, of what bears a name; no link is followed. BundleError while
    another process writes it.
    """
    while True:
        fd, same = os.open(path, flags | os.O_NOFOLLOW, 0o666), False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise BundleError(f"{path}: another process is writing it") from None
        except OSError:  # a file system without locks
            pass
        with suppress(FileNotFoundError):  # its writer may have named it by now, or removed it
            same = os.path.samestat(os.fstat(fd), path.lstat())
        if same:
            return fd
        os.close(fd)


def working_file(path: Path, anew: bool) -> int:
    """A descriptor, open and locked, of a file that is made here, or that opgen left behind.

    No link is followed, and nothing taken over that somebody else may have made or can reach by
    another name: BundleError, unless it is to be made ``anew``. BundleError, too, while another
    process writes it.
    """
    if path.is_symlink():
        _drop(path, anew)
    while True:
        fd = locked(path, os.O_RDWR | os.O_CREAT)
        if os.fstat(fd).st_nlink == 1 and _OURS.match(os.pread(fd, 64, 0)):
            return fd
        os.close(fd)
        _drop(path, anew)


def _drop(path: Path, anew: bool) -> None:
    """Remove what is no working file, if one is to be made ``anew``; else BundleError."""
    if not anew:
        raise BundleError(
            f"{path}: is a link, or opgen did not make it, so opgen keeps it; move it away, or"
            " --force drops it"
        )
    path.unlink(missing_ok=True)


def free_bytes(folder: Path) -> int:
    """The room that is left for files of a folder."""
    return shutil.disk_usage(folder).free


class LockedOutput:
    """The right to write ``path``: an empty ``<name>.partial`` beside it, locked against other
    writers.
    """

    def __init__(
        self,
        path: Path,
        needed: int,
        force: bool,
        remedy: str = "--force",
        *,
        anew: bool | None = None,
        room: Callable[[Path], int] = free_bytes,
    ) -> None:
        refuse(path, force, remedy)
        self.path = path
        self.partial = partial(path)
        free = room(path.parent)
        with suppress(OSError):
            free += (
                self.partial.stat().st_blocks * 512
            )  # what an unfinished file holds is continued, or given back
        if needed > free:
            raise BundleError(
                f"{path}: needs {size(needed)}, and {path.parent} has {size(free)} left"
            )
        self._anew = force if anew is None else anew
        with write_errors(path):
            self.fd = working_file(self.partial, self._anew)
        try:
            refuse(path, force, remedy)  # somebody may have written it since
        except BaseException:
            if os.fstat(self.fd).st_size:
                self.leave()
            else:
                self.drop()
            raise

    @property
    def holds_bundle(self) -> bool:
        """Whether the unfinished file is a bundle to go on from: its first block names the request
        once the file has room for everything.
        """
        return b"\nrequest " in os.pread(self.fd, first_block.SIZE, 0)

    @property
    def holds_answers(self) -> bool:
        """Whether the unfinished file holds answers of a run that did not end."""
        return b'{"answer": ' in os.pread(self.fd, _LOOKED_AT, 0)

    def refuse_unfinished(self, force: bool, *, bundles: bool = True, answers: bool = True) -> None:
        """BundleError where a killed process left a bundle (if ``bundles``) or answers (if
        ``answers``) that this writer would overwrite; the file is let go of then.
        """
        if force:
            return
        if bundles and self.holds_bundle:
            unfinished = "an unfinished bundle, which opgen generate"
        elif answers and self.holds_answers:
            unfinished = "answers of an unfinished run, which opgen run"
        else:
            return
        self.leave()
        raise BundleError(
            f"{self.partial}: holds {unfinished} --resume continues from; name another file, or"
            " --force drops it"
        )

    @contextmanager
    def fresh(self) -> Iterator[Path]:
        """Where a whole file is made while the unfinished one is still needed; removed at the end,
        unless it has got another name.
        """
        place = self.partial.with_name(self.partial.name + ".fresh")
        os.close(working_file(place, self._anew))
        try:
            yield place
        finally:
            place.unlink(missing_ok=True)

    @property
    def is_open(self) -> bool:
        """Whether the file can be written: it has neither got its name, nor been let go of."""
        return self.fd >= 0

    def keep(self) -> None:
        """Give the finished file its name, in one step."""
        _log.info("%s: written, %s", self.path, size(self.partial.stat().st_size))
        self.partial.replace(self.path)
        self.leave()

    def leave(self) -> None:
        """Let go of the unfinished file, for another writer to go on with."""
        if self.is_open:
            os.close(self.fd)
            self.fd = -1

    def drop(self) -> None:
        """Remove the unfinished file, unless it was let go of."""
        if self.is_open:
            with suppress(OSError):
                self.partial.unlink()
            self.leave()


@contextmanager
def whole_file(path: str | Path, force: bool, needed: int = 0) -> Iterator[LockedOutput]:
    """A file of ``needed`` bytes that the block writes: it gets its name where the block ends well,
    and is removed where it does not.

    BundleError where it exists (unless ``force``) or cannot be written.
    """
    output = LockedOutput(Path(path), needed, force)
    output.refuse_unfinished(force)
    try:
        with write_errors(output.path):
            os.ftruncate(output.fd, 0)  # what a killed process left
            yield output
            output.keep()
    except BaseException:
        output.drop()
        raise


def write_text(path: str | Path, text: str, *, force: bool = False) -> None:
    """One text file, UTF-8, in one step; BundleError where it exists (unless ``force``) or cannot
    be written.
    """
    with whole_file(path, force, len(text)) as output:
        write_at(output.fd, text.encode(), 0)
