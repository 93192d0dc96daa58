"""Writing reports: a report replaces one that opgen wrote, and nothing else."""

from __future__ import annotations

from pathlib import Path

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.write.output import write_text


def part(name: str) -> str:
    """A part of a page that is no Python, such as ``style.css``, in which all pages are dressed."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def write_report(path: str | Path, text: str, force: bool = False) -> None:
    """Write a report, whose first mention of opgen says whose it is. It replaces an empty file, a
    report that begins as this one, and with ``force`` any file.

    Raises BundleError where something else is there, or the file cannot be written.
    """
    begins, there = text[: text.index("opgen") + len("opgen")], ""
    try:
        if Path(path).is_file():
            with open(path, encoding="utf-8") as file:
                there = file.read(len(begins))
    except (OSError, UnicodeDecodeError):
        there = "something that is no text"
    if there and not there.startswith(begins) and not force:
        raise BundleError(f"{path}: exists and is not such a report of opgen; --force replaces it")
    write_text(path, text, force=True)
