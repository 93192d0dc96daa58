"""Reading one errata file: every problem of the file at once, each with its line, the value and the
remedy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from opgen.files.gc_pause import gc_paused
from opgen.files.yamlfile import Document, Location, parse, read
from opgen.model import CRASH, did_you_mean
from opgen.oracle.as_page import in_order, stages_of
from opgen.oracle.errata import (
    NEVER,
    Basis,
    Errata,
    Erratum,
    Evidence,
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
    ErrataForm,
    FaultForm,
    NumericForm,
    StageForm,
    ToleranceForm,
)
from opgen.spec.catalog import Catalog
from opgen.spec.form_values import Words
from opgen.spec.language.parse import compiled, condition, relation
from opgen.spec.language.parse import term as parsed
from opgen.spec.language.term import Scope, Term
from opgen.spec.rules import Guard
from opgen.spec.spec import Spec, SpecScope

Common: TypeAlias = tuple[str, Words, Basis, str, Term | None]
"""What all errata have."""
T = TypeVar("T")


@gc_paused()
def load(path: Path, pages: Catalog, shown: str | None = None) -> Errata:
    """Read an errata file against the pages of its operator; raises FileError with all its
    problems.
    """
    return _ErrataReader(read(path, shown), pages).errata()


def loads(text: str, pages: Catalog, file: str = "<text>") -> Errata:
    """The same from text."""
    return _ErrataReader(parse(text, file), pages).errata()


def form(path: Path) -> ErrataForm:
    """What stands in an errata file, without a look at the pages; raises FileError."""
    document = read(path)
    known = ERRATA.whole(document)
    document.raise_problems()
    return known


class _ErrataReader:
    def __init__(self, document: Document, pages: Catalog) -> None:
        self.doc = document
        self.catalog = pages
        self.form = ERRATA.whole(document)
        sections: dict[str, Mapping[str, EntryForm]] = {
            "stages": self.form.stages,
            "faults": self.form.faults,
            "tolerates": self.form.tolerates,
            "numeric": self.form.numeric,
        }
        self.entries = {
            (section, name): form for section, of in sections.items() for name, form in of.items()
        }

    def errata(self) -> Errata:
        api, known = self.form.api, self.catalog.kinds
        pages = self.catalog.every(api)
        if not pages:
            hint, listed = did_you_mean(api, known), ", ".join(known)
            self.doc.problem(("api",), f"no page of {api!r}{hint}; known: {listed}")
        self.check_entries({rule.id for page in pages for rule in page.rules})
        read_pages = {page.name: self.page(page) for page in pages}
        for where, name, text in faults(tuple(read_pages.values())):
            self.doc.problem(where, text, name)
        self.doc.raise_problems()
        release, until = self.form.release, self.form.until
        return Errata(self.doc.file, api, release, read_pages, self.doc.digest, until)

    # what is the same on every page ---------------------------------------------------------------
    def check_entries(self, rules: Collection[str]) -> None:
        """Ids differ, the sources and rules that entries name are there, and each changes
        something.
        """
        times = Counter(name for _, name in self.entries)
        for key in ("early", "late"):
            self.check_rules((key,), getattr(self.form, key), rules)
        for where, form in self.entries.items():
            name = where[1]
            if times[name] > 1:
                self.doc.problem(where, "is the id of two entries; rename one", name)
            for source in (place.partition(":")[0] for place in form.where):
                if source not in self.form.sources:
                    text = f"no such source '{source}'{did_you_mean(source, self.form.sources)}"
                    self.doc.problem((*where, "where"), f"{text}; name it under sources")
            for key in ("rules", "instead_of", "beside"):
                self.check_rules((*where, key), getattr(form, key, ()), rules)
            for key, text in _faults_of(form):
                self.doc.problem((*where, key) if key else where, text, name)

    def check_rules(self, where: Location, named: Words, rules: Collection[str]) -> None:
        for rule in named:
            if rule not in rules:
                text = f"no such rule '{rule}'{did_you_mean(rule, rules)}"
                self.doc.problem(where, text, ".".join(map(str, where[:2])))

    # one page -------------------------------------------------------------------------------------
    def page(self, spec: Spec) -> PageErrata:
        added: dict[str, Term] = {}
        self.scope = SpecScope(spec.parameters, added)
        for name, text in self.form.names.items():
            where = ("names", name)
            if name in spec.scope.names():
                self.doc.problem(where, "is a name of the page already; choose another", name)
            term = self.compiled(where, name, parsed, text)
            if term is not None:
                added[name] = term
        entries = [self.entry(spec, where, form) for where, form in self.entries.items()]
        return PageErrata(
            spec,
            added,
            self.stages(spec, [entry for entry in entries if isinstance(entry, Stage)]),
            tuple(entry for entry in entries if isinstance(entry, Tolerance)),
            tuple(entry for entry in entries if isinstance(entry, Numeric)),
            bool(self.form.otherwise),
            frozenset(self.form.early),
            frozenset(self.form.late),
        )

    def stages(self, spec: Spec, own: list[Stage]) -> tuple[Stage, ...]:
        """The stages of the file and, where the library otherwise does as its page, the page's."""
        return in_order(own, stages_of(spec)) if self.form.otherwise else tuple(own)

    def compiled(
        self, where: Location, name: str, compiler: Callable[[str, Scope], T], text: str
    ) -> T | None:
        return compiled(self.doc, where, name, compiler, text, self.scope)

    def entry(self, spec: Spec, where: tuple[str, str], form: EntryForm) -> Erratum:
        """An entry in the names of a page; ``NAME:LINES`` of its ``where`` is spelled out."""
        name, sources = where[1], self.form.sources
        places = [place.partition(":") for place in form.where]
        facts: dict[str, Any] = {"accepted": form.accepted}
        if form.evidence is not None:
            facts["evidence"] = Evidence(**vars(form.evidence))
        common = (
            name,
            tuple(sources.get(source, source) + colon + lines for source, colon, lines in places),
            form.basis,
            form.note,
            self.compiled((*where, "when"), name, condition, form.when) if form.when else None,
        )
        if isinstance(form, NumericForm):
            return replace(self.numeric(spec, where, form, common), **facts)
        if not isinstance(form, StageForm):
            assert isinstance(form, ToleranceForm)
            return Tolerance(*common, rules=form.rules, **facts)
        place = (*where, "require")
        checks = [self.compiled(place, name, relation, text) for text in form.require]
        rules = tuple(spec.rule[rule] for rule in form.rules if rule in spec.rule)
        # rules of another page of the operator leave a stage that never answers here
        never = NEVER if form.rules and not rules else ()
        return (Fault if isinstance(form, FaultForm) else Stage)(
            *common,
            rules=rules,
            guards=tuple(Guard(None, check) for check in checks if check) or never,
            codes=tuple(sorted(form.code, key=lambda code: (code == CRASH, code))),
            instead_of=form.instead_of,
            beside=form.beside,
            **facts,
        )

    def numeric(
        self, spec: Spec, where: tuple[str, str], form: NumericForm, common: Common
    ) -> Numeric:
        outputs = tuple(p.name for p in spec.outputs)
        chosen = outputs if form.outputs is None else form.outputs
        self.doc.known((*where, "outputs"), chosen, outputs, "output")
        reference = {}
        for key, text in form.reference.items():
            place = (*where, "reference", key)
            if spec.scope.kind((key, "")) is None:
                self.doc.problem(
                    place, f"no such name{did_you_mean(key, spec.scope.names())}", where[1]
                )
            term = self.compiled(place, where[1], parsed, str(text))
            if term is not None:
                reference[key] = term
        return Numeric(
            *common,
            outputs=chosen,
            bound=form.bound,
            roundings=form.roundings,
            through=form.through,
            compute=form.compute,
            reference=reference,
            written=form.written,
        )


def _faults_of(form: EntryForm) -> Iterator[tuple[str, str]]:
    """(the key that it is about, what is wrong) of an entry by itself."""
    if form.basis == "observed" and form.evidence is None:
        yield "", "is observed; say the evidence: {file, digest, n, m}"
    if form.basis != "observed" and not form.where:
        yield "", "the key 'where' is missing"
    if isinstance(form, StageForm):
        if not form.rules and not form.require and form.when is None:
            yield "", "answers for every call; give it rules, require or when"
        if len(set(form.code)) != len(form.code) or not 1 <= len(form.code) <= 2:
            yield "code", "expects one code, or two where the first phase cannot tell"
    elif isinstance(form, NumericForm):
        if sum(bool(getattr(form, change)) for change in CHANGES) != 1:
            yield "", f"changes nothing, or too much: give exactly one of {', '.join(CHANGES)}"
        if form.roundings and not form.bound:
            yield (
                "roundings",
                f"expects how often terms are rounded to the dtype of bound, not {form.roundings}",
            )
    elif isinstance(form, ToleranceForm) and not form.rules:
        yield "", "changes nothing: it names no rule"
