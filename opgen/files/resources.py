"""Where the specs and the cases lie: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def _folder(name: str) -> Path:
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def installed() -> bool:
    """Whether this is a copy that was installed, whose files nobody keeps under version control."""
    return (_PACKAGE / "cases").is_dir()


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
