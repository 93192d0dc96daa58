"""Reading one spec file: every problem of the file at once, each with its line, the value and the
remedy.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from opgen.calls.kinds import KINDS
from opgen.calls.vocabulary import vocabulary
from opgen.files.digests import LINE_DIGEST
from opgen.files.yamlfile import Document, parse, read
from opgen.model import natural
from opgen.spec.language.parse import compiled, condition
from opgen.spec.parameter import Parameter
from opgen.spec.parameter_reader import ParameterReader
from opgen.spec.rule_reader import RuleReader
from opgen.spec.rules import Rule
from opgen.spec.spec import Mode, Page, Spec
from opgen.spec.spec_form import SPEC, ComputeForm, PageForm


def load(path: Path, shown: str | None = None, digests: bool = True) -> Spec:
    """Read a spec; raises :class:`opgen.model.FileError` with all its problems. Without ``digests``
    those of its page are neither asked for nor read, for they are about to be made, and lines may
    be undecided.
    """
    document = read(path, shown)
    if not digests and isinstance(document.data, dict):
        page = document.data.get("page")
        if isinstance(page, dict):
            page |= {"sha256": "0" * 64, "lines": ""}
    return _spec(document, path.stem, digests)


def undecided(path: Path, shown: str | None = None) -> tuple[str, dict[int, str]]:
    """The page of a spec, and what its ``todo`` says of lines."""
    form = SPEC.whole(read(path, shown))
    return form.page.file if form.page else "", form.todo


def undecided_of(text: str, file: str = "<text>") -> dict[int, str]:
    """What the ``todo`` of a spec's text says of lines."""
    return SPEC.whole(parse(text, file)).todo


def loads(text: str, name: str = "text", file: str = "<text>") -> Spec:
    """Read a spec from its text."""
    return _spec(parse(text, file), name)


def _spec(document: Document, name: str, digests: bool = True) -> Spec:
    form = SPEC.whole(document)
    fields = ParameterReader(document, form.parameters)
    reader = RuleReader(document, form, fields)
    modes = _modes(document, form.compute, fields)
    rules, parameters = reader.rules.values(), fields.parameters.values()
    page = None if form.page is None else _page(document, form.page)
    if page is not None and digests:
        facts: list[Rule | Parameter | Mode] = [*rules, *parameters, *modes]
        cited = chain(*(fact.at for fact in facts), form.remarks)
        missing = ", ".join(map(str, sorted(set(cited) - set(page.lines))))
        if missing:
            remedy = "opgen audit OP --pages DIR --digests --write adds them"
            document.problem(("page", "lines"), f"no digest of lines {missing}; {remedy}")
    if form.todo and digests:
        undecided = ", ".join(map(str, form.todo))
        document.problem(("todo",), f"lines to decide: {undecided}; opgen check --todo shows them")
    if not document.problems:
        fields.loose_letters(rules)
    document.raise_problems()
    return Spec(
        name=name,
        file=document.file,
        api=form.api,
        op=name.split(".", maxsplit=1)[0],
        page=page,
        products=tuple(form.products),
        judges=vocabulary().known_to(form.products) if form.judges is None else form.judges,
        parameters=fields.parameters,
        rules=tuple(rules),
        modes=modes,
        exact=form.compute.exact,
        clauses=reader.clauses,
        remarks=form.remarks,
        listed=form.products if isinstance(form.products, dict) else {},
        digest=document.digest,
        edition=form.edition,
        status_only=form.status_only,
    )


def _page(document: Document, form: PageForm) -> Page:
    lines: dict[int, str] = {}
    for row in form.lines.split("\n"):
        words = row.split()
        for number, digest in zip(words[::2], [*words[1::2], ""], strict=False):
            line = natural(number)
            if line is not None and len(digest) == LINE_DIGEST:
                lines[line] = digest
            else:
                expected = f"line numbers and digests of {LINE_DIGEST} characters"
                document.problem(("page", "lines"), f"expects {expected}, not '{number} {digest}'")
    return Page(form.file, form.sha256, lines)


def _modes(document: Document, form: ComputeForm, fields: ParameterReader) -> tuple[Mode, ...]:
    outputs = [p.name for p in fields.parameters.values() if p.is_tensor and KINDS[p.kind].written]
    document.known(("compute", "exact"), form.exact, outputs, "output")
    modes = []
    for i, mode in enumerate(form.modes):
        where = ("compute", "modes", i)
        when = compiled(document, where, f"compute.modes.{i}", condition, mode.when, fields.scope)
        if when is not None:
            modes.append(Mode(mode.at, when, mode.dtype, mode.optional))
    return tuple(modes)
