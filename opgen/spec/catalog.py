"""All specs at once: which page judges which calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from opgen.calls.vocabulary import vocabulary
from opgen.files.resources import specs_folder
from opgen.files.yamlfile import did_you_mean
from opgen.model import UNDATED, FileError, Problem, collecting
from opgen.spec import specfile
from opgen.spec.spec import Spec


@dataclass(frozen=True)
class Catalog:
    """The specs by operator, the oldest edition of its page first, then by name.

    ``specs`` are those of one edition, or of all: then the oldest edition that knows a product
    judges its calls, and each spec ``judges`` what is left to it. ``whole`` are all there are.
    """

    specs: tuple[Spec, ...]
    whole: tuple[Spec, ...] = ()

    @classmethod
    def of_all(cls, specs: Iterable[Spec], edition: str = "") -> Catalog:
        """The catalog of all specs, or of those of an edition; FileError where none is of it."""
        whole = tuple(sorted(specs, key=lambda spec: (spec.op, spec.edition, spec.name)))
        if not edition:
            return cls(_shared_out(whole), whole)
        chosen = tuple(spec for spec in whole if (spec.edition or UNDATED) == edition)
        if not chosen:
            known = sorted({spec.edition or UNDATED for spec in whole})
            text = f"no such edition{did_you_mean(edition, known)}; known: {', '.join(known)}"
            raise FileError.of("`edition`", edition, text)
        return cls(chosen, whole)

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

    def every(self, api: str) -> list[Spec]:
        """The pages of one operator in every edition."""
        return [spec for spec in self.whole if spec.api == api]


def _shared_out(specs: Iterable[Spec]) -> tuple[Spec, ...]:
    """Specs that judge only products which no older edition knows; those that have none left are
    left out.
    """
    taken: dict[tuple[str, str], str] = {}
    shared = []
    for spec in specs:
        left = [
            product
            for product in spec.judges
            if taken.setdefault((spec.api, product), spec.edition) == spec.edition
        ]
        if left or not spec.judges:
            shared.append(replace(spec, judges=tuple(left)))
    return tuple(shared)


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
    return Catalog.of_all(specs)


def catalog(edition: str = "") -> Catalog:
    """The specs that opgen ships, or those of an edition of the pages; FileError where there is no
    such edition. One object for each edition: its specs can be compared with ``is``.
    """
    return _catalog(edition)


@cache
def _catalog(edition: str) -> Catalog:
    return Catalog.of_all(catalog().whole, edition) if edition else load_catalog(specs_folder())


def edition_of(header: Mapping[str, object]) -> str:
    """The edition that a bundle was made of, by its header; empty where none was asked for."""
    return str(header.get("edition", ""))


def disagreements(specs: Sequence[Spec]) -> Iterable[Problem]:
    """Pages of one operator must share the prototype, and those of one edition share out the
    products among them.
    """
    first = {spec.api: spec for spec in reversed(specs)}
    for spec in specs:
        if list(spec.kinds.items()) != list(first[spec.api].kinds.items()):
            text = f"another prototype than in {first[spec.api].file}"
            yield Problem(spec.file, None, spec.api, text)
    for api, edition in dict.fromkeys((spec.api, spec.edition) for spec in specs):
        pages = [spec for spec in specs if (spec.api, spec.edition) == (api, edition)]
        for product in vocabulary().known_to_every_page:
            judges = [spec.file for spec in pages if product in spec.judges]
            if len(judges) != 1:
                by = ", ".join(judges) or "no page"
                text = f"{product} is judged by {by}; exactly one is needed (key 'judges')"
                yield Problem(pages[0].file, None, api, text)
