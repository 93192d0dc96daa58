"""Reading one errata file: every problem of the file at once, each with its line, the value and the
remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from opgen.files.resources import specs_folder
from opgen.files.yamlfile import Document, did_you_mean, parse, read
from opgen.model import CRASH, Code, FileError, Problem, collecting
from opgen.oracle.errata import (
    NEVER,
    Errata,
    Fault,
    Numeric,
    PageErrata,
    Stage,
    Tolerance,
)
from opgen.oracle.errata_checks import faults
from opgen.oracle.errata_form import (
    CHANGES,
    ERRATA,
    EntryForm,
    NumericForm,
    StageForm,
    ToleranceForm,
)
from opgen.spec.catalog import Catalog, catalog
from opgen.spec.language.parse import compiled, condition, relation
from opgen.spec.language.parse import term as parsed
from opgen.spec.language.term import Term
from opgen.spec.rules import Guard
from opgen.spec.spec import Spec, SpecScope
from opgen.spec.spec_form import Words


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
    known: dict[str, Errata] = {}
    problems: list[Problem] = []
    for path in sorted(folder.glob("*.yaml")):
        shown = f"specs/errata/{path.name}"
        with collecting(problems):
            errata = load(path, pages, shown)
            if errata.api in known:
                text = f"{known[errata.api].file} has its errata already"
                problems.append(Problem(shown, None, errata.api, text))
            known[errata.api] = errata
    if problems:
        raise FileError(problems)
    return known


@cache
def errata() -> dict[str, Errata]:
    """The errata that opgen ships, by api."""
    return load_folder(specs_folder() / "errata", catalog())


class _ErrataReader:
    def __init__(self, document: Document, pages: Catalog) -> None:
        self.doc = document
        self.catalog = pages
        self.form = ERRATA.whole(document)
        self.checks: tuple[tuple[str, type[Stage], Mapping[str, StageForm]], ...] = (
            ("stages", Stage, self.form.stages),
            ("faults", Fault, self.form.faults),
        )

    def errata(self) -> Errata:
        api, known = self.form.api, self.catalog.kinds
        pages = self.catalog.of(api)
        if not pages:
            hint, listed = did_you_mean(api, known), ", ".join(known)
            self.doc.problem(("api",), f"no page of {api!r}{hint}; known: {listed}")
        self.rules = {rule.id: None for page in pages for rule in page.rules}
        self.check_entries()
        read_pages = {page.name: self.page(page) for page in pages}
        for where, name, text in faults(tuple(read_pages.values())):
            self.doc.problem(where, text, name)
        self.doc.raise_problems()
        return Errata(self.doc.file, api, self.form.release, read_pages, self.doc.digest)

    # what is the same on every page ---------------------------------------------------------------
    def check_entries(self) -> None:
        """Ids differ, and the sources and rules that entries name are there."""
        sections: dict[str, Mapping[str, EntryForm]] = {
            "stages": self.form.stages,
            "faults": self.form.faults,
            "tolerates": self.form.tolerates,
            "numeric": self.form.numeric,
        }
        ids: set[str] = set()
        for section, entries in sections.items():
            for name, entry in entries.items():
                where = (section, name)
                if name in ids:
                    self.doc.problem(where, "is the id of two entries; rename one", name)
                ids.add(name)
                for place in entry.where:
                    source = place.partition(":")[0]
                    if source not in self.form.sources:
                        hint = did_you_mean(source, self.form.sources)
                        self.doc.problem(
                            (*where, "where"),
                            f"no such source '{source}'{hint}; name it under sources",
                        )
                for key in ("rules", "instead_of"):
                    for rule in getattr(entry, key, ()):
                        if rule not in self.rules:
                            text = f"no such rule '{rule}'{did_you_mean(rule, self.rules)}"
                            self.doc.problem((*where, key), text, f"{section}.{name}")
        for section, _, entries in self.checks:
            for name, stage in entries.items():
                self.check_stage((section, name), stage)
        for name, tolerance in self.form.tolerates.items():
            if not tolerance.rules:
                self.doc.problem(("tolerates", name), "changes nothing: it names no rule", name)
        for name, numeric in self.form.numeric.items():
            self.check_numeric(name, numeric)

    def check_stage(self, where: tuple[str, str], form: StageForm) -> None:
        name = where[1]
        if not form.rules and not form.require and form.when is None:
            self.doc.problem(where, "answers for every call; give it rules, require or when", name)
        if len(set(form.code)) != len(form.code) or not 1 <= len(form.code) <= 2:
            text = "expects one code, or two where the first phase cannot tell"
            self.doc.problem((*where, "code"), text, name)

    def check_numeric(self, name: str, form: NumericForm) -> None:
        where = ("numeric", name)
        if sum(bool(getattr(form, change)) for change in CHANGES) != 1:
            changes = ", ".join(CHANGES)
            text = f"changes nothing, or too much: give exactly one of {changes}"
            self.doc.problem(where, text, name)
        if form.roundings and not form.bound:
            text = (
                f"expects how often terms are rounded to the dtype of bound, not {form.roundings}"
            )
            self.doc.problem((*where, "roundings"), text, name)

    # one page -------------------------------------------------------------------------------------
    def page(self, spec: Spec) -> PageErrata:
        added: dict[str, Term] = {}
        self.scope = SpecScope(spec.parameters, added)
        for name, text in self.form.names.items():
            if name in spec.scope.names():
                self.doc.problem(
                    ("names", name), "is a name of the page already; choose another", name
                )
            term = compiled(self.doc, ("names", name), name, parsed, text, self.scope)
            if term is not None:
                added[name] = term
        return PageErrata(
            spec,
            added,
            tuple(
                self.stage(kind, spec, section, name, form)
                for section, kind, entries in self.checks
                for name, form in entries.items()
            ),
            tuple(self.tolerance(name, form) for name, form in self.form.tolerates.items()),
            tuple(self.numeric(spec, name, form) for name, form in self.form.numeric.items()),
        )

    def when(self, section: str, name: str, form: EntryForm) -> Term | None:
        if form.when is None:
            return None
        where = (section, name, "when")
        return compiled(self.doc, where, name, condition, form.when, self.scope)

    def places(self, form: EntryForm) -> Words:
        """The places of an entry spelled out: ``NAME:LINES`` is a file of ``sources``."""
        parts = [place.partition(":") for place in form.where]
        sources = self.form.sources
        return tuple(sources.get(name, name) + colon + lines for name, colon, lines in parts)

    def stage(
        self, kind: type[Stage], spec: Spec, section: str, name: str, form: StageForm
    ) -> Stage:
        where = (section, name, "require")
        checks = [
            compiled(self.doc, where, name, relation, text, self.scope) for text in form.require
        ]
        rules = tuple(spec.rule[rule] for rule in form.rules if rule in spec.rule)
        # rules of another page of the operator leave a stage that never answers here
        never = NEVER if form.rules and not rules else ()
        return kind(
            name,
            self.places(form),
            form.basis,
            form.note,
            self.when(section, name, form),
            rules=rules,
            guards=tuple(Guard(None, check) for check in checks if check) or never,
            codes=_ascending(form.code),
            instead_of=form.instead_of,
        )

    def tolerance(self, name: str, form: ToleranceForm) -> Tolerance:
        when = self.when("tolerates", name, form)
        return Tolerance(name, self.places(form), form.basis, form.note, when, rules=form.rules)

    def numeric(self, spec: Spec, name: str, form: NumericForm) -> Numeric:
        where = ("numeric", name)
        outputs = tuple(p.name for p in spec.outputs)
        chosen = outputs if form.outputs is None else form.outputs
        self.doc.known((*where, "outputs"), chosen, outputs, "output")
        values = {}
        for key, text in form.reference.items():
            place = (*where, "reference", key)
            if spec.scope.kind((key, "")) is None:
                hint = did_you_mean(key, spec.scope.names())
                self.doc.problem(place, f"no such name{hint}", name)
            values[key] = compiled(self.doc, place, name, parsed, str(text), self.scope)
        return Numeric(
            name,
            self.places(form),
            form.basis,
            form.note,
            self.when("numeric", name, form),
            outputs=chosen,
            bound=form.bound,
            roundings=form.roundings,
            through=form.through,
            compute=form.compute,
            reference={key: term for key, term in values.items() if term is not None},
            written=form.written,
        )


def _ascending(codes: tuple[Code, ...]) -> tuple[Code, ...]:
    """Numbers ascending, then crash."""
    return tuple(sorted(codes, key=lambda code: (code == CRASH, code)))
