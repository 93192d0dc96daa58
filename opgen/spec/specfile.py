"""Reading one spec file: every problem of the file at once, each with its line, the value and the
remedy.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from opgen.calls.vocabulary import vocabulary
from opgen.files.yamlfile import Document, did_you_mean, parse, read
from opgen.model import natural
from opgen.spec.field_reader import FieldReader
from opgen.spec.language import terms
from opgen.spec.parameter_reader import ParameterReader
from opgen.spec.rule_reader import RuleReader
from opgen.spec.rules import Rule
from opgen.spec.spec import LINE_DIGEST, Mode, Page, Parameter, Spec, SpecScope

TOP = ("api", "page", "products", "judges", "parameters", "rules", "compute", "clauses", "returns")
"""The keys of a spec file."""
PAGE = ("file", "sha256", "lines")
"""The keys under ``page:``."""
ROUNDINGS = ("FLOAT16", "BFLOAT16", "HFLOAT32", "FLOAT")
"""What inputs can be rounded to before the sum."""


def load(path: Path, shown: str | None = None, digests: bool = True) -> Spec:
    """Read a spec; raises :class:`opgen.model.FileError` with all its problems. Without ``digests``
    those of its page are neither asked for nor read, for they are about to be made.
    """
    return _SpecReader(read(path, shown), digests).spec(path.stem)


def loads(text: str, name: str = "text", file: str = "<text>") -> Spec:
    """Read a spec from its text."""
    return _SpecReader(parse(text, file)).spec(name)


class _SpecReader(FieldReader):
    def __init__(self, document: Document, digests: bool = True) -> None:
        super().__init__(document)
        self.digests = digests
        if not isinstance(document.data, dict):
            document.problem((), "a spec is a mapping with the keys " + ", ".join(TOP))
            document.raise_problems()
        self.data: dict[Any, Any] = document.data

    def spec(self, name: str) -> Spec:
        self.doc.known((), self.data, TOP, "key")
        for key in ("api", "page", "products", "parameters", "returns"):
            if key not in self.data:
                self.doc.problem((), f"the key '{key}' is missing")
        api = (
            self.doc.need(
                ("api",), self.data.get("api", ""), str, "the vendor's name of the operator"
            )
            or ""
        )
        page = self.page()
        products = self.products("products")
        judges = self.products("judges") if "judges" in self.data else tuple(vocabulary().products)
        fields = ParameterReader(self.doc, self.data)
        parameters = fields.read()
        reader = RuleReader(fields, self.data)
        rules = reader.read(products)
        modes, exact = self.compute(fields.scope, parameters)
        if page is not None and self.digests:
            self.cited(page, rules, parameters, modes)
        if not self.doc.problems:
            fields.loose_letters(rules)
        self.doc.raise_problems()
        op = name.split(".", maxsplit=1)[0]
        return Spec(
            name,
            self.doc.file,
            api,
            op,
            page,
            products,
            judges,
            parameters,
            rules,
            modes,
            exact,
            reader.clauses,
            reader.listed,
            self.doc.digest,
        )

    def page(self) -> Page | None:
        value = self.data.get("page")
        if value in (None, "none"):
            return None
        body = self.doc.mapping(("page",), value, "file, sha256 and lines, or none", PAGE)
        file = self.doc.text(("page",), body, "file")
        if not self.digests:
            return Page(file, "", {})
        sha256 = self.doc.text(("page",), body, "sha256")
        block = self.doc.need(("page", "lines"), body.get("lines", ""), str, "a text") or ""
        if sha256 and not re.fullmatch("[0-9a-f]{64}", sha256):
            self.doc.problem(("page", "sha256"), f"expects 64 digits 0-9 and a-f, not '{sha256}'")
        lines: dict[int, str] = {}
        for entry in block.split("\n"):
            parts = entry.split()
            for number, digest in zip(parts[::2], [*parts[1::2], ""], strict=False):
                line = natural(number)
                if line is not None and len(digest) == LINE_DIGEST:
                    lines[line] = digest
                else:
                    text = (
                        f"expects line numbers and digests of {LINE_DIGEST} characters, not"
                        f" '{number} {digest}'"
                    )
                    self.doc.problem(("page", "lines"), text)
        return Page(file, sha256, lines)

    def products(self, key: str) -> tuple[str, ...]:
        """A list of products, or a mapping of product to its line."""
        value, known = self.data.get(key, []), vocabulary().products
        if not isinstance(value, (list, dict)):
            self.doc.problem(
                (key,), f"expects a list of products or a mapping of product to line, not {value!r}"
            )
            return ()
        for product in value:
            if product not in tuple(known):
                self.doc.problem(
                    (key,),
                    f"no such product {product!r}{did_you_mean(product, known)}; known are"
                    f" {', '.join(known)}",
                )
        return tuple(p for p in value if p in tuple(known))

    def compute(
        self, scope: SpecScope, parameters: dict[str, Parameter]
    ) -> tuple[tuple[Mode, ...], tuple[str, ...]]:
        value = self.doc.mapping(
            ("compute",), self.data.get("compute"), "modes and exact", ("modes", "exact")
        )
        exact = (
            self.doc.need(("compute", "exact"), value.get("exact", []), list, "a list of outputs")
            or []
        )
        outputs = [p.name for p in parameters.values() if p.kind == "output"]
        self.doc.known(("compute", "exact"), exact, outputs, "output")
        modes = []
        for i, body in enumerate(
            self.doc.need(("compute", "modes"), value.get("modes", []), list, "a list of modes")
            or []
        ):
            where = ("compute", "modes", i)
            mode = self.doc.mapping(where, body, "at, when, dtype and optional")
            self.doc.known(where, mode, ("at", "when", "dtype", "optional"), "key of a mode")
            optional = self.doc.need(
                (*where, "optional"), mode.get("optional", False), bool, "true or false"
            )
            self.doc.known((*where, "dtype"), [mode.get("dtype")], ROUNDINGS, "dtype to compute in")
            when = self.attempt(
                where, f"compute.modes.{i}", terms.condition, mode.get("when", ""), scope
            )
            if when is not None:
                modes.append(
                    Mode(
                        self.lines((*where, "at"), mode.get("at", [])),
                        when,
                        mode.get("dtype", ""),
                        bool(optional),
                    )
                )
        return tuple(modes), tuple(exact)

    def cited(
        self,
        page: Page,
        rules: tuple[Rule, ...],
        parameters: dict[str, Parameter],
        modes: tuple[Mode, ...],
    ) -> None:
        """Every line that a fact cites has a digest."""
        facts: list[Rule | Parameter | Mode] = [*rules, *parameters.values(), *modes]
        missing = sorted({line for fact in facts for line in fact.at} - set(page.lines))
        if missing:
            numbers = ", ".join(map(str, missing))
            self.doc.problem(
                ("page", "lines"),
                f"no digest of lines {numbers}; opgen audit --pages DIR --digests prints the block",
            )
