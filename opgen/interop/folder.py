"""A folder that an export writes, and that is named only when it is whole.

A folder of an earlier export is known by its ``opgen.json``, which lists what is in it. It may be
replaced as long as nothing else has been put there; any other folder is left alone.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from opgen.bundle.write.output import locked, write_errors
from opgen.model import FileError

_log = logging.getLogger(__name__)
MANIFEST = "opgen.json"
_MADE, _REPLACED = "made", "replaced"
"""What lies in a working folder: the new folder, and the one that it replaces."""
_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,120}")
_DIGEST = re.compile(r"-[0-9a-f]{12}$")


def file_name(case: str, distinct: bool = True) -> str:
    """The name of a case's file or folder: its id where that is plain, else what is plain of it and
    a digest. ``distinct``: also where it ends like a digest, so that no two cases have one name.

    >>> file_name("pool / 1.")
    'pool_1-9b0daeb718d8'
    """
    plain = _PLAIN.fullmatch(case) and case.strip(".")
    if plain and not (distinct and _DIGEST.search(case)):
        return case
    digest = hashlib.sha256(case.encode("utf-8", "surrogatepass")).hexdigest()
    kept = re.sub(r"[^A-Za-z0-9_.-]+", "_", case).strip("._") or "case"
    return f"{kept[:96]}-{digest[:12]}"


@contextmanager
def new_folder(path: str | Path, manifest: Mapping[str, object], force: bool) -> Iterator[Path]:
    """A folder to fill, which gets its name and its manifest when the block ends well; else nothing
    is left.

    Raises FileError where ``path`` is there already, unless it is empty, or ``force`` and an
    earlier export.
    """
    target = Path(path).resolve()
    check(target, force)
    with write_errors(target), _working_folder(target) as hidden:
        check(target, force)
        made = hidden / _MADE
        made.mkdir()
        yield made
        whole = {**manifest, "entries": sorted({MANIFEST, *_within(made)})}
        (made / MANIFEST).write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        if target.exists():
            check(target, force)  # something may have been put there since
            target.rename(hidden / _REPLACED)
        made.rename(target)
        _log.info("%s: written", target)


@contextmanager
def _working_folder(target: Path) -> Iterator[Path]:
    """An empty folder beside a target, locked against other writers, and removed at the end. What a
    killed one left in it is removed, or, if it was about to be replaced, put back.
    """
    hidden = target.with_name(f".{target.name}.partial")
    fd = _claimed(hidden)
    try:
        if (hidden / _REPLACED).exists() and not target.exists():
            (hidden / _REPLACED).rename(target)
        for left in hidden.iterdir():
            shutil.rmtree(left)
        yield hidden
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        os.close(fd)


def _claimed(hidden: Path) -> int:
    """A descriptor, open and locked, of a working folder that is made here, or that opgen left
    behind; FileError where somebody else may have made it.
    """
    while True:
        with suppress(FileExistsError):
            hidden.mkdir(0o700)
        if hidden.is_symlink() or hidden.is_file():
            break
        with suppress(FileNotFoundError):  # another writer has just removed it
            fd = locked(hidden, os.O_RDONLY | os.O_DIRECTORY)
            own = os.fstat(fd).st_uid == os.geteuid()
            if own and {path.name for path in hidden.iterdir()} <= {_MADE, _REPLACED}:
                return fd
            os.close(fd)
            break
    raise FileError.of(str(hidden), "", "opgen did not make it, so opgen keeps it; move it away")


def check(target: Path, force: bool) -> None:
    """Raise FileError where a folder cannot be written, before any work is done for it."""
    if reason := _refusal(target, force):
        raise FileError.of(str(target), "", reason)


def _refusal(target: Path, force: bool) -> str:
    """Why a folder cannot be written; an empty text where it can."""
    parent = target.resolve().parent
    if not parent.is_dir():
        return f"there is no folder {target.parent}"
    if target.exists() and not target.is_dir():
        return "is a file; name a folder"
    if not os.access(parent, os.W_OK):
        return f"{target.parent} cannot be written; name another"
    within, own = _within(target), _entries(target)
    if within and not own:
        return "is not empty and not an export of opgen; name another folder"
    if others := sorted(within - own):
        return (
            f"holds files of no export ({', '.join(others[:3])}); move it away or name another"
            " folder"
        )
    return "exists already; --force replaces it" if within and not force else ""


def _within(folder: Path) -> set[str]:
    """Everything in a folder and in the folders in it, by the way from it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def _entries(folder: Path) -> set[str]:
    """What an earlier export put into a folder, by its own word; empty where it is none."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        ours = str(manifest["format"]).startswith("opgen export")
        return set(manifest["entries"]) if ours else set()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()
