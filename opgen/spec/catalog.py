"""All specs at once: which page judges which calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from opgen.calls.vocabulary import vocabulary
from opgen.files.resources import specs_folder
from opgen.files.yamlfile import did_you_mean
from opgen.model import FileError, Problem, collecting
from opgen.spec import specfile
from opgen.spec.spec import Spec


@dataclass(frozen=True)
class Catalog:
    """The specs by name, in alphabetical order."""

    specs: tuple[Spec, ...]

    @cached_property
    def by_page(self) -> dict[tuple[str, str], Spec]:
        """(api, product) -> the spec whose page judges such calls: the first of the operator where
        none says that it does.
        """
        first = {spec.api: spec for spec in reversed(self.specs)}
        pages = {(api, word): spec for api, spec in first.items() for word in vocabulary().products}
        return pages | {(spec.api, word): spec for spec in self.specs for word in spec.judges}

    @cached_property
    def kinds(self) -> dict[str, dict[str, str]]:
        """Api -> its parameters and their kinds, the same on all its pages."""
        return {spec.api: spec.kinds for spec in self.specs}

    @cached_property
    def operators(self) -> dict[str, str]:
        """Name of the operator as specs spell it -> the vendor's name."""
        return {spec.op: spec.api for spec in self.specs}

    def api(self, name: str) -> str:
        """The vendor's name of an operator given by either of its names; raises FileError with a
        suggestion.
        """
        if name in self.kinds:
            return name
        if name in self.operators:
            return self.operators[name]
        known = [*self.operators, *self.kinds]
        text = f"no such operator{did_you_mean(name, known)}; opgen ops lists them"
        raise FileError.of("`operators`", name, text)

    def formulas(self, api: str, product: str) -> dict[str, str]:
        """Rule -> what it requires, and a likely code, of the page that judges such calls."""
        page = self.by_page.get((api, product))
        return {
            rule.id: rule.text + (f"; likely {rule.likely}" if rule.likely else "")
            for rule in (page.rules if page else ())
        }

    def of(self, api: str) -> list[Spec]:
        """The pages of one operator."""
        return [spec for spec in self.specs if spec.api == api]


def spec_files(folder: Path) -> Iterable[Path]:
    """The spec files of a folder: every YAML file but the shared tables."""
    return (path for path in sorted(folder.glob("*.yaml")) if path.name != "tables.yaml")


def load_catalog(folder: Path, digests: bool = True) -> Catalog:
    """Read every spec of a folder, ``digests`` as :func:`opgen.spec.specfile.load` does; FileError
    with all problems of all files.
    """
    specs: list[Spec] = []
    problems: list[Problem] = []
    for path in spec_files(folder):
        with collecting(problems):
            specs.append(specfile.load(path, f"specs/{path.name}", digests))
    if not problems:
        problems = list(disagreements(specs))
    if problems:
        raise FileError(problems)
    return Catalog(tuple(specs))


@cache
def catalog() -> Catalog:
    """The specs that opgen ships."""
    return load_catalog(specs_folder())


def disagreements(specs: list[Spec]) -> Iterable[Problem]:
    """Pages of one operator must share the prototype, and share out the products among them."""
    for api in dict.fromkeys(spec.api for spec in specs):
        pages = [spec for spec in specs if spec.api == api]
        for spec in pages[1:]:
            if list(spec.kinds.items()) != list(pages[0].kinds.items()):
                yield Problem(spec.file, None, api, f"another prototype than in {pages[0].file}")
        for product in vocabulary().known_to_every_page:
            judges = [spec.file for spec in pages if product in spec.judges]
            if len(judges) != 1:
                by = ", ".join(judges) or "no page"
                text = f"{product} is judged by {by}; exactly one is needed (key 'judges')"
                yield Problem(pages[0].file, None, api, text)
