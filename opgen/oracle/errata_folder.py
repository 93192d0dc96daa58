"""The errata of a folder, by api: those that opgen ships, and those that a person names instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from opgen.files.resources import specs_folder
from opgen.model import FileError, Problem, collecting, did_you_mean
from opgen.oracle.errata import Errata
from opgen.oracle.erratafile import load
from opgen.spec.catalog import API, Catalog, catalog


def load_folder(folder: Path, pages: Catalog, shown_as: str = "") -> dict[str, Errata]:
    """Api -> errata, of every file of a folder; raises FileError with all problems of all files,
    and where there is none. ``shown_as`` is what messages call the folder.
    """
    known: dict[str, Errata] = {}
    problems: list[Problem] = []
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise FileError.of(str(folder), "", "holds no errata: no file OP.yaml")
    for path in paths:
        shown = f"{shown_as or folder}/{path.name}"
        with collecting(problems):
            errata = load(path, pages, shown)
            if errata.api in known:
                problems.append(
                    Problem(
                        shown, None, errata.api, f"{known[errata.api].file} has its errata already"
                    )
                )
            known[errata.api] = errata
    if problems:
        raise FileError(problems)
    return known


class ShippedErrata(Mapping[str, Errata]):
    """The errata of a folder by api, each file read when first asked for: one for an operator."""

    def __init__(self, folder: Path) -> None:
        self.files: dict[str, Path] = {}
        self.known: dict[str, Errata] = {}
        for path in sorted(folder.glob("*.yaml")):
            said = API.search(path.read_text(encoding="utf-8", errors="replace"))
            api = said[1] if said else self.read(path).api
            if self.files.setdefault(api, path) != path:
                raise FileError.of(
                    f"specs/errata/{path.name}",
                    api,
                    f"{self.files[api].name} has its errata already",
                )

    def read(self, path: Path) -> Errata:
        return load(path, catalog(), f"specs/errata/{path.name}")

    def __getitem__(self, api: str) -> Errata:
        if api not in self.known:
            self.known[api] = self.read(self.files[api])
        return self.known[api]

    def __contains__(self, api: object) -> bool:
        return api in self.files

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


@cache
def errata() -> ShippedErrata:
    """The errata that opgen ships, by api."""
    return ShippedErrata(specs_folder() / "errata")


def errata_of(library: str | Path = "") -> Mapping[str, Errata]:
    """The second source by its name, by api: the folder of this name, or what opgen ships of this
    release; all that opgen ships where no name is given. Raises FileError where there is neither.
    """
    if not str(library):
        return errata()
    if Path(library).is_dir():
        return load_folder(Path(library), catalog())
    known = {api: own for api, own in errata().items() if own.release == str(library)}
    if not known:
        releases = sorted({own.release for own in errata().values()})
        text = f"no such folder or release{did_you_mean(str(library), releases)}"
        raise FileError.of("`library`", str(library), f"{text}; known: {', '.join(releases)}")
    return known
