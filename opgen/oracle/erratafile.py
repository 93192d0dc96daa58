"""Reading one errata file: every problem of the file at once, each with its line, the value and the
remedy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from opgen.calls.vocabulary import vocabulary
from opgen.files.resources import specs_folder
from opgen.files.yamlfile import Document, Location, did_you_mean, parse, read
from opgen.model import CRASH, Code, FileError, Problem
from opgen.oracle.errata import (
    NEVER,
    WRITTEN,
    Basis,
    Errata,
    NamedScope,
    Numeric,
    PageErrata,
    Stage,
    Tolerance,
)
from opgen.oracle.errata_checks import faults
from opgen.spec.catalog import Catalog, catalog
from opgen.spec.field_reader import FieldReader
from opgen.spec.language import terms
from opgen.spec.rules import Guard, Rule
from opgen.spec.spec import Spec
from opgen.spec.specfile import ROUNDINGS

TOP = ("api", "release", "sources", "names", "stages", "tolerates", "numeric")
"""The keys of an errata file."""
COMMON = ("where", "basis", "note", "when")
"""The keys of every entry; those of a kind follow."""
STAGE = (*COMMON, "rules", "require", "code", "instead_of")
CHANGES = ("bound", "through", "compute", "reference", "written")
"""How numbers differ: a numeric entry has one of these."""
NUMERIC = (*COMMON, "outputs", *CHANGES, "roundings")
BASES: tuple[Basis, ...] = ("read", "inferred")


def load(path: Path, pages: Catalog, shown: str | None = None) -> Errata:
    """Read an errata file against the pages of its operator; raises FileError with all its
    problems.
    """
    return _ErrataReader(read(path, shown), pages).errata()


def loads(text: str, pages: Catalog, file: str = "<text>") -> Errata:
    """The same from text."""
    return _ErrataReader(parse(text, file), pages).errata()


def load_folder(folder: Path, pages: Catalog) -> dict[str, Errata]:
    """Api -> errata, of every file of a folder; raises FileError with all problems of all files."""
    found: dict[str, Errata] = {}
    problems: list[Problem] = []
    for path in sorted(folder.glob("*.yaml")):
        shown = f"specs/errata/{path.name}"
        try:
            errata = load(path, pages, shown)
        except FileError as error:
            problems += error.problems
            continue
        if errata.api in found:
            problems.append(
                Problem(shown, None, errata.api, f"{found[errata.api].file} has its errata already")
            )
        found[errata.api] = errata
    if problems:
        raise FileError(problems)
    return found


@cache
def errata() -> dict[str, Errata]:
    """The errata that opgen ships, by api."""
    return load_folder(specs_folder() / "errata", catalog())


class _ErrataReader(FieldReader):
    def __init__(self, document: Document, pages: Catalog) -> None:
        super().__init__(document)
        self.catalog = pages
        self.data: dict[Any, Any] = document.data if isinstance(document.data, dict) else {}
        self.ids: dict[str, Location] = {}
        self.sources: dict[str, str] = {}

    def errata(self) -> Errata:
        self.doc.known((), self.data, TOP, "key")
        api, release = self.data.get("api"), self.data.get("release")
        pages = self.catalog.of(api) if isinstance(api, str) else []
        if not pages:
            known = ", ".join(self.catalog.kinds)
            self.doc.problem(
                ("api",),
                f"no page of {api!r}{did_you_mean(api, self.catalog.kinds)}; known are {known}",
            )
        if not isinstance(release, str):
            self.doc.problem(("release",), f"expects the release in quotes, not {release!r}")
        for name, place in self.section("sources").items():
            self.sources[name] = (
                self.doc.need(("sources", name), place, str, "a place among the published sources")
                or ""
            )
        self.rules = {rule.id: None for page in pages for rule in page.rules}
        read_pages = {page.name: self.page(page) for page in pages}
        for where, name, text in faults(tuple(read_pages.values())):
            self.doc.problem(where, text, name)
        self.doc.raise_problems()
        return Errata(self.doc.file, str(api), str(release), read_pages, self.doc.digest)

    # small helpers --------------------------------------------------------------------------------
    def section(self, key: str) -> dict[str, Any]:
        return self.doc.mapping((key,), self.data.get(key), "a mapping of id to entry")

    def entries(
        self, key: str, keys: Sequence[str]
    ) -> Iterable[tuple[Location, str, dict[str, Any]]]:
        for name, body in self.section(key).items():
            where = (key, name)
            if not isinstance(body, dict):
                self.doc.problem(where, f"expects a mapping with some of {', '.join(keys)}")
                continue
            if self.ids.setdefault(name, where) != where:
                self.doc.problem(where, "is the id of two entries; rename one", name)
            self.doc.known(where, body, keys, "key")
            yield where, name, body

    def strings(self, where: Location, value: Any, what: str) -> tuple[str, ...]:
        found = value if isinstance(value, list) else [value]
        if all(isinstance(item, str) and item for item in found):
            return tuple(found)
        self.doc.problem(where, f"expects {what} or a list of them, not {value!r}")
        return ()

    def common(self, where: Location, body: dict[str, Any]) -> tuple[tuple[str, ...], Basis, str]:
        """(places spelled out, basis, note). ``NAME:LINES`` is a file of ``sources``."""
        basis = body.get("basis", "read")
        if basis not in BASES:
            self.doc.problem(
                (*where, "basis"), f"no such basis {basis!r}; known are {', '.join(BASES)}"
            )
        places = []
        if not body.get("where"):
            self.doc.problem(
                where, "the key 'where' is missing: the file and lines of the published sources"
            )
        for place in self.strings((*where, "where"), body.get("where", "-"), "a place, NAME:LINES"):
            name, _, lines = place.partition(":")
            if name != "-" and name not in self.sources:
                self.doc.problem(
                    (*where, "where"),
                    f"no such source '{name}'{did_you_mean(name, self.sources)}; name it under"
                    " sources",
                )
            places.append(
                f"{self.sources.get(name, name)}:{lines}" if lines else self.sources.get(name, name)
            )
        return (
            tuple(places),
            basis,
            self.doc.need((*where, "note"), body.get("note", ""), str, "a sentence") or "",
        )

    def rule_ids(self, where: Location, value: Any) -> tuple[str, ...]:
        found = self.strings(where, value, "a rule of the page")
        for rule in found:
            if rule not in self.rules:
                self.doc.problem(
                    where,
                    f"no such rule '{rule}'{did_you_mean(rule, self.rules)}",
                    ".".join(map(str, where[:2])),
                )
        return found

    # one page -------------------------------------------------------------------------------------
    def page(self, spec: Spec) -> PageErrata:
        self.ids = {}
        added: dict[str, terms.Term] = {}
        self.scope = NamedScope(spec.scope, added)
        for name, text in self.section("names").items():
            if name in spec.scope.names():
                self.doc.problem(
                    ("names", name), "is a name of the page already; choose another", name
                )
            made = self.attempt(("names", name), name, terms.either, text, self.scope)
            if made is not None:
                added[name] = made
        stages = tuple(self.stage(spec, *entry) for entry in self.entries("stages", STAGE))
        tolerated = tuple(
            self.tolerance(*entry) for entry in self.entries("tolerates", (*COMMON, "rules"))
        )
        numeric = tuple(self.numeric(spec, *entry) for entry in self.entries("numeric", NUMERIC))
        return PageErrata(spec, added, stages, tolerated, numeric)

    def when(self, where: Location, name: str, body: dict[str, Any]) -> terms.Term | None:
        if "when" not in body:
            return None
        return self.attempt((*where, "when"), name, terms.condition, body["when"], self.scope)

    def stage(self, spec: Spec, where: Location, name: str, body: dict[str, Any]) -> Stage:
        ids = self.rule_ids((*where, "rules"), body.get("rules", []))
        required = self.strings((*where, "require"), body.get("require", []), "a comparison")
        made = [
            self.attempt((*where, "require"), name, terms.relation, text, self.scope)
            for text in required
        ]
        if not ids and not required and "when" not in body:
            self.doc.problem(where, "answers for every call; give it rules, require or when", name)
        rules: tuple[Rule, ...] = tuple(spec.rule[rule] for rule in ids if rule in spec.rule)
        return Stage(
            name,
            *self.common(where, body),
            when=self.when(where, name, body),
            rules=rules,
            # rules of another page of the operator leave a stage that never answers here
            guards=tuple(Guard(None, relation) for relation in made if relation)
            or (NEVER if ids and not rules else ()),
            codes=self.codes((*where, "code"), name, body.get("code")),
            instead_of=self.rule_ids((*where, "instead_of"), body.get("instead_of", [])),
        )

    def codes(self, where: Location, name: str, value: Any) -> tuple[Code, ...]:
        """Numbers ascending, then crash."""
        found = value if isinstance(value, list) else [value]
        for code in found:
            if isinstance(code, bool) or code not in (*vocabulary().status, CRASH):
                known = ", ".join(map(str, vocabulary().status))
                self.doc.problem(
                    where, f"no such status code {code!r}; known are {known} and {CRASH}", name
                )
                return ()
        if len(set(found)) != len(found) or not 1 <= len(found) <= 2:
            self.doc.problem(
                where, "expects one code, or two where the first phase cannot tell", name
            )
        return tuple(sorted((c for c in found if c != CRASH), key=int)) + (
            (CRASH,) if CRASH in found else ()
        )

    def tolerance(self, where: Location, name: str, body: dict[str, Any]) -> Tolerance:
        ids = self.rule_ids((*where, "rules"), body.get("rules", []))
        if not ids:
            self.doc.problem(where, "changes nothing: it names no rule", name)
        return Tolerance(
            name, *self.common(where, body), when=self.when(where, name, body), rules=ids
        )

    def numeric(self, spec: Spec, where: Location, name: str, body: dict[str, Any]) -> Numeric:
        outputs = tuple(p.name for p in spec.outputs)
        if len([key for key in CHANGES if key in body]) != 1:
            self.doc.problem(
                where,
                f"changes nothing, or too much: give exactly one of {', '.join(CHANGES)}",
                name,
            )
        chosen = self.strings((*where, "outputs"), body.get("outputs", list(outputs)), "an output")
        self.doc.known((*where, "outputs"), chosen, outputs, "output")
        for key in ("bound", "through", "compute"):
            if key in body:
                self.doc.known((*where, key), [body[key]], ROUNDINGS, "dtype to compute in")
        roundings = body.get("roundings", 0)
        if "roundings" in body and (
            "bound" not in body
            or isinstance(roundings, bool)
            or not isinstance(roundings, int)
            or roundings < 1
        ):
            self.doc.problem(
                (*where, "roundings"),
                f"expects how often terms are rounded to the dtype of bound, not {roundings!r}",
                name,
            )
            roundings = 0
        written = body.get("written", "")
        if "written" in body and written not in WRITTEN:
            self.doc.problem(
                (*where, "written"), f"expects one of {', '.join(WRITTEN)}, not {written!r}", name
            )
        values = {}
        for key, text in self.doc.mapping(
            (*where, "reference"), body.get("reference"), "a mapping of name to term"
        ).items():
            if spec.scope.kind((key, "")) is None:
                self.doc.problem(
                    (*where, "reference", key),
                    f"no such name{did_you_mean(key, spec.scope.names())}",
                    name,
                )
            values[key] = self.attempt(
                (*where, "reference", key), name, terms.either, str(text), self.scope
            )
        terms_of = {key: value for key, value in values.items() if value is not None}
        when = self.when(where, name, body)
        return Numeric(
            name,
            *self.common(where, body),
            when=when,
            outputs=chosen,
            bound=str(body.get("bound", "")),
            roundings=roundings,
            through=str(body.get("through", "")),
            compute=str(body.get("compute", "")),
            reference=terms_of,
            written=written,
        )
