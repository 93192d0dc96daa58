"""Where the specs and the cases lie: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of opgen's code."""


def _folder(name: str) -> Path:
    installed = PACKAGE / name
    return installed if installed.is_dir() else PACKAGE.parent / name


def cache_folder() -> Path:
    """The folder of what opgen keeps for the next time, and can do without; RuntimeError where the
    user has no folder of their own.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "opgen"


def installed() -> bool:
    """Whether this is a copy that was installed, whose files nobody keeps under version control."""
    return (PACKAGE / "cases").is_dir()


def specs_folder() -> Path:
    """The folder of the transcribed pages and of the tables they share."""
    return _folder("specs")


def cases_folder() -> Path:
    """The folder of the plans and locks."""
    return _folder("cases")


def unlike(folder: Path, root: Path) -> list[Path]:
    """The files that lie in another checkout, whose root is given, under the names of those of a
    folder here, and are not the same.
    """
    pairs = [
        (file, root / folder.name / file.relative_to(folder))
        for file in sorted(folder.rglob("*.yaml"))
    ]
    return [
        other
        for file, other in pairs
        if other.is_file() and other.read_bytes() != file.read_bytes()
    ]
