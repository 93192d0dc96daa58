"""All specs at once: which page judges which calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from opgen.calls.factorize import by_key
from opgen.calls.vocabulary import vocabulary
from opgen.files.resources import specs_folder
from opgen.model import UNDATED, FileError, did_you_mean
from opgen.spec.spec import Spec
from opgen.spec.spec_folder import read_specs, spec_files

API = re.compile(r"^api: *(\w+) *$", re.MULTILINE)
"""Where a file says which operator it is about: found without reading the rest."""
_EDITION = re.compile(r"""^edition: *["']?([^"'\n#]*?)["']? *$""", re.MULTILINE)


class Head(NamedTuple):
    """What is known of an operator before its pages are read: the vendor's name, and the editions
    of its pages.
    """

    api: str
    editions: frozenset[str]


class Catalog:
    """The specs by operator, the oldest edition of its page first, then by name. The pages of an
    operator are read when they are first asked for.

    ``specs`` are those of one edition, or of all: then the oldest edition that knows a product
    judges its calls, and each spec ``judges`` what is left to it. ``whole`` are all there are.
    ``operators``: name of the operator as specs spell it -> the vendor's name; ``names`` the other
    way round.
    """

    def __init__(
        self,
        heads: Mapping[str, Head],
        read: Callable[[str], Sequence[Spec]],
        edition: str = "",
    ) -> None:
        """The catalog of some operators, whose pages ``read`` gives, or of those of an edition;
        FileError where none is of it.
        """
        self.heads, self.read, self.edition = heads, read, edition
        known = sorted({each or UNDATED for head in heads.values() for each in head.editions})
        if edition and edition not in known:
            text = f"no such edition{did_you_mean(edition, known)}; known: {', '.join(known)}"
            raise FileError.of("`edition`", edition, text)
        self.operators = {
            op: head.api
            for op, head in sorted(heads.items())
            if not edition or edition in {each or UNDATED for each in head.editions}
        }
        self.names = {api: op for op, api in self.operators.items()}
        self._pages: dict[str, tuple[Spec, ...]] = {}
        self.kinds: Mapping[str, dict[str, str]] = _Kinds(self)
        self.by_page: Mapping[tuple[str, str], Spec] = _Pages(self)

    @classmethod
    def of_all(cls, specs: Iterable[Spec], edition: str = "") -> Catalog:
        """The catalog of specs that have been read."""
        pages = by_key((spec.op, spec) for spec in specs)
        heads = {
            op: Head(own[0].api, frozenset(spec.edition for spec in own))
            for op, own in pages.items()
        }
        return cls(heads, pages.__getitem__, edition)

    @cached_property
    def specs(self) -> tuple[Spec, ...]:
        """The pages of all operators."""
        return tuple(self.pages(self.kinds))

    @cached_property
    def whole(self) -> tuple[Spec, ...]:
        """The pages of all operators in every edition."""
        return tuple(spec for op in sorted(self.heads) for spec in self._every(op))

    def pages(self, apis: Iterable[str]) -> list[Spec]:
        """The pages of some operators, in the order of :attr:`specs`."""
        wanted = set(apis)
        return [spec for api in self.operators.values() if api in wanted for spec in self.of(api)]

    def of(self, api: str) -> tuple[Spec, ...]:
        """The pages of one operator."""
        op = self.names.get(api)
        if op is None:
            return ()
        if op not in self._pages:
            every = self._every(op)
            own = [spec for spec in every if (spec.edition or UNDATED) == self.edition]
            self._pages[op] = tuple(own) if self.edition else _shared_out(every)
        return self._pages[op]

    def every(self, api: str) -> list[Spec]:
        """The pages of one operator in every edition."""
        return self._every(self.names[api]) if api in self.names else []

    def _every(self, op: str) -> list[Spec]:
        return sorted(self.read(op), key=lambda spec: (spec.edition, spec.name))

    def api(self, name: str) -> str:
        """The vendor's name of an operator given by either of its names; raises FileError with a
        suggestion.
        """
        if name in self.names:
            return name
        if name in self.operators:
            return self.operators[name]
        known = [*self.operators, *self.names]
        text = f"no such operator{did_you_mean(name, known)}; opgen ops lists them"
        if Path(name).is_file():
            text = "a file, not an operator; opgen inspect shows a bundle, opgen run runs it"
        raise FileError.of("`operators`", name, text)

    def formulas(self, api: str, product: str) -> dict[str, str]:
        """Rule -> what it requires, and a likely code, of the page that judges such calls."""
        page = self.by_page.get((api, product))
        return {
            rule.id: rule.text + (f"; likely {rule.likely}" if rule.likely else "")
            for rule in (page.rules if page else ())
        }


class _Kinds(Mapping[str, dict[str, str]]):
    """Api -> its parameters and their kinds, the same on all its pages."""

    def __init__(self, of: Catalog) -> None:
        self.of = of
        self.known: dict[str, dict[str, str]] = {}

    def __getitem__(self, api: str) -> dict[str, str]:
        if api not in self.known and api in self:
            self.known[api] = self.of.of(api)[0].kinds
        return self.known[api]

    def __contains__(self, api: object) -> bool:
        return api in self.of.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.of.operators.values())

    def __len__(self) -> int:
        return len(self.of.operators)


class _Pages(Mapping[tuple[str, str], Spec]):
    """(api, product) -> the spec whose page judges such calls: the first of the operator where none
    says that it does.
    """

    def __init__(self, of: Catalog) -> None:
        self.of = of
        self.known: dict[str, dict[str, Spec]] = {}

    def __getitem__(self, page: tuple[str, str]) -> Spec:
        api, product = page
        if api not in self.known:
            specs = self.of.of(api)
            if not specs:
                raise KeyError(page)
            first = dict.fromkeys(vocabulary().products, specs[0])
            self.known[api] = first | {word: spec for spec in specs for word in spec.judges}
        return self.known[api][product]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((api, word) for api in self.of.kinds for word in vocabulary().products)

    def __len__(self) -> int:
        return len(self.of.kinds) * len(vocabulary().products)


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


def load_catalog(folder: Path, digests: bool = True) -> Catalog:
    """Read every spec of a folder, ``digests`` as :func:`opgen.spec.specfile.load` does; FileError
    with all problems of all files.
    """
    return Catalog.of_all(read_specs([*spec_files(folder)], digests))


def catalog(edition: str = "") -> Catalog:
    """The specs that opgen ships, or those of an edition of the pages; FileError where there is no
    such edition. One object for each edition: its specs can be compared with ``is``.
    """
    return _catalog(edition)


@cache
def _catalog(edition: str) -> Catalog:
    if edition:
        shipped = catalog()
        return Catalog(shipped.heads, shipped.read, edition)
    files = by_key((path.name.split(".")[0], path) for path in spec_files(specs_folder()))
    heads = {op: _head(paths) for op, paths in files.items()}
    return Catalog(heads, cache(lambda op: read_specs(files[op])))


def _head(paths: Sequence[Path]) -> Head:
    """What the first keys of some spec files say; where they are hard to find, what the files say
    that are read whole.
    """
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    apis = [API.search(text) for text in texts]
    editions = [_EDITION.search(text) for text in texts]
    if apis[0] is None:
        specs = read_specs(paths)
        return Head(specs[0].api, frozenset(spec.edition for spec in specs))
    return Head(apis[0][1], frozenset(found[1] if found else "" for found in editions))


def edition_of(header: Mapping[str, object]) -> str:
    """The edition that a bundle was made of, by its header; empty where none was asked for."""
    return str(header.get("edition", ""))
