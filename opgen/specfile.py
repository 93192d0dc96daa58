"""Reading one spec file: every problem of the file at once, each with its line, the value and the remedy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from opgen import terms
from opgen.model import Bucket
from opgen.rules import KEYS, Guard, KeyFault, Rule
from opgen.spec import KINDS, Mode, Page, Parameter, Spec, SpecScope
from opgen.words import words
from opgen.yamlfile import Document, Location, did_you_mean, read

TOP = ("api", "page", "products", "judges", "parameters", "rules", "compute", "returns")
PLAIN = ("kind", "at", "when", "note", "items", "otherwise", "strided", "mask")
"""Keys of a parameter that yield no rule by themselves."""
BUCKETS: tuple[Bucket, ...] = ("unstated", "disputed", "assumed")
T = TypeVar("T")


def load(path: Path, shown: str | None = None) -> Spec:
    """Read a spec; raises :class:`opgen.model.FileError` with all its problems."""
    return _Loader(read(path, shown), path.stem, hashlib.sha256(path.read_bytes()).hexdigest()).spec()


class _Loader:
    def __init__(self, document: Document, name: str, digest: str) -> None:
        self.doc = document
        self.name = name
        self.digest = digest
        self.data: dict[Any, Any] = document.data if isinstance(document.data, dict) else {}
        if not isinstance(document.data, dict):
            document.problem((), "a spec is a mapping with the keys " + ", ".join(TOP))
            document.raise_problems()

    # small helpers ----------------------------------------------------------------------------------------------------
    def known(self, where: Location, value: Any, keys: Any, what: str) -> None:
        for key in value:
            if key not in keys:
                self.doc.problem((*where, key), f"no such {what}{did_you_mean(key, keys)}; known are {', '.join(map(str, keys))}")

    def need(self, where: Location, value: Any, kind: type[T], what: str) -> T | None:
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
        self.doc.problem(where, f"expects {what}, not {value!r}")
        return None

    def attempt(self, where: Location, name: str, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except (terms.TermError, KeyFault) as error:
            self.doc.problem(where, str(error), name)
            return None

    def lines(self, where: Location, value: Any) -> tuple[int, ...]:
        found = value if isinstance(value, list) else [value]
        if not all(isinstance(v, int) and not isinstance(v, bool) and v > 0 for v in found):
            self.doc.problem(where, f"expects a line of the page or a list of lines, not {value!r}")
            return ()
        return tuple(found)

    # the whole --------------------------------------------------------------------------------------------------------
    def spec(self) -> Spec:
        self.known((), self.data, TOP, "key")
        for key in ("api", "page", "products", "parameters", "returns"):
            if key not in self.data:
                self.doc.problem((), f"the key '{key}' is missing")
        api = self.need(("api",), self.data.get("api", ""), str, "the vendor's name of the operator") or ""
        page = self.page()
        products = self.products("products")
        judges = self.products("judges") if "judges" in self.data else tuple(words().products)
        self.parameters: dict[str, Parameter] = {}
        self.read_parameters()
        self.scope = SpecScope(self.parameters)
        self.clash()
        self.masks()
        places = self.returns()
        rules = tuple(self.rules(places))
        modes, exact = self.compute()
        self.cited(page, rules)
        self.doc.raise_problems()
        op = self.name.split(".")[0]
        return Spec(self.name, self.doc.file, api, op, page, products, judges, self.parameters, rules, modes, exact, self.digest)

    def page(self) -> Page | None:
        value = self.data.get("page")
        if value in (None, "none"):
            return None
        if not isinstance(value, dict):
            self.doc.problem(("page",), "expects file, sha256 and lines, or none")
            return None
        self.known(("page",), value, ("file", "sha256", "lines"), "key")
        lines: dict[int, str] = {}
        for entry in str(value.get("lines", "")).split("\n"):
            parts = entry.split()
            for number, digest in zip(parts[::2], parts[1::2], strict=False):
                if number.isdigit() and len(digest) == 12:
                    lines[int(number)] = digest
                else:
                    self.doc.problem(("page", "lines"), f"expects line numbers and digests of 12 characters, not '{number} {digest}'")
        return Page(str(value.get("file", "")), str(value.get("sha256", "")), lines)

    def products(self, key: str) -> tuple[str, ...]:
        value = self.data.get(key) or []
        for product in value:
            if product not in words().products:
                known = words().products
                self.doc.problem((key,), f"no such product '{product}'{did_you_mean(product, known)}; known are {', '.join(known)}")
        return tuple(p for p in value if p in words().products)

    # parameters -------------------------------------------------------------------------------------------------------
    def read_parameters(self) -> None:
        value = self.data.get("parameters")
        for name, body in (value if isinstance(value, dict) else {}).items():
            where = ("parameters", name)
            if not isinstance(body, dict):
                self.doc.problem(where, "expects a mapping that starts with kind")
                continue
            kind = body.get("kind")
            if kind not in KINDS:
                self.doc.problem((*where, "kind"), f"no such kind {kind!r}{did_you_mean(kind, KINDS)}; known are {', '.join(KINDS)}")
                continue
            self.known(where, body, (*PLAIN, *(key for key, (kinds, _) in KEYS.items() if kind in kinds)), f"key of {kind}")
            at = body.get("at", [])
            own = at.get("parameter", []) if isinstance(at, dict) else at
            self.parameters[name] = Parameter(
                name=name,
                kind=kind,
                at=self.lines((*where, "at"), own),
                shapes=self.shapes((*where, "shape"), body.get("shape", {})),
                items=self.items((*where, "items"), body.get("items", {})),
                otherwise=self.otherwise((*where, "otherwise"), body.get("otherwise", {})),
                enum=body.get("enum", {}) if isinstance(body.get("enum", {}), dict) else {},
                strided=body.get("strided"),
            )

    def shapes(self, where: Location, value: Any) -> dict[int, tuple[str | int, ...]]:
        if not isinstance(value, dict):
            self.doc.problem(where, "expects a mapping of rank to a list of letters")
            return {}
        result = {}
        for rank, letters in value.items():
            if isinstance(rank, int) and isinstance(letters, list) and len(letters) == rank:
                result[rank] = tuple(letters)
            else:
                self.doc.problem((*where, rank), f"expects a list of {rank} letters")
        return result

    def items(self, where: Location, value: Any) -> dict[int, tuple[tuple[str, ...], ...]]:
        """``[kH, kW]`` is one length; a mapping gives several. A slot that is a list binds several names."""
        alternatives = {len(value): value} if isinstance(value, list) else value
        if not isinstance(alternatives, dict):
            self.doc.problem(where, "expects a list of slot names, or a mapping of length to such a list")
            return {}
        result = {}
        for length, slots in alternatives.items():
            if not isinstance(slots, list) or len(slots) != length:
                self.doc.problem((*where, length), f"expects a list of {length} slots")
                continue
            result[length] = tuple(tuple(slot) if isinstance(slot, list) else (slot,) for slot in slots)
        return result

    def otherwise(self, where: Location, value: Any) -> dict[int, dict[str, str]]:
        if isinstance(value, dict) and all(isinstance(k, int) and isinstance(v, dict) for k, v in value.items()):
            return value
        self.doc.problem(where, "expects a mapping of length to {name: the name it falls back to}")
        return {}

    def clash(self) -> None:
        for name in self.scope.occurrences:
            if name in self.parameters:
                self.doc.problem(("parameters", name), "is both a parameter and a letter or slot; rename the letter", name)

    def masks(self) -> None:
        for name, parameter in list(self.parameters.items()):
            text = self.data["parameters"][name].get("mask")
            if text is not None:
                where = ("parameters", name, "mask")
                mask = self.attempt(where, f"{name}.mask", lambda text=text: terms.condition(text, self.scope))  # type: ignore[misc]
                self.parameters[name] = replace(parameter, mask=mask)

    # rules ------------------------------------------------------------------------------------------------------------
    def returns(self) -> dict[str, tuple[Bucket, int | None, str | None]]:
        """Rule id -> (bucket, code, clause); an id that stands twice is a problem."""
        places: dict[str, tuple[Bucket, int | None, str | None]] = {}
        value = self.data.get("returns")
        value = value if isinstance(value, dict) else {}
        self.known(("returns",), value, (*words().status, *BUCKETS), "status code or bucket")

        def place(where: Location, ids: Any, bucket: Bucket, code: int | None, clause: str | None) -> None:
            for rule in self.need(where, ids, list, "a list of rule ids") or []:
                if rule in places:
                    self.doc.problem(where, "stands in returns twice; every rule has one place", rule)
                places[str(rule)] = (bucket, code, clause)

        for code, clauses in value.items():
            if code in BUCKETS:
                place(("returns", code), clauses, code, None, None)
            elif isinstance(clauses, dict):
                for number, ids in clauses.items():
                    place(("returns", code, number), ids, "stated", code, f"{code}.{number}")
            else:
                place(("returns", code), clauses, "stated", code, None)
        return places

    def rules(self, places: dict[str, tuple[Bucket, int | None, str | None]]) -> list[Rule]:
        found: dict[str, Rule] = {}

        def add(rule: str, at: tuple[int, ...], pairs: list[tuple[str | None, str]], where: Location, note: str, of: str | None, key: str | None) -> None:
            if rule in found:
                self.doc.problem(where, "is the id of two rules; rename one", rule)
            if rule not in places:
                self.doc.problem(where, f"is missing from returns; put it under its code and clause, or under {', '.join(BUCKETS)}", rule)
            guards = [self.attempt(where, rule, lambda w=when, r=require: self.guard(w, r)) for when, require in pairs]  # type: ignore[misc]
            bucket, code, clause = places.get(rule, ("assumed", None, None))
            found[rule] = Rule(rule, at, tuple(g for g in guards if g), bucket, code, clause, note, of, key)

        listed = self.data.get("products") or []
        if listed:
            members = "(" + ", ".join(f"'{p}'" for p in listed if p in words().products) + ",)"
            at = tuple(line for p in listed for line in (listed[p] if isinstance(listed, dict) and isinstance(listed[p], list) else [listed[p]] if isinstance(listed, dict) and isinstance(listed[p], int) else []))
            add("product", at, [(None, f"product in {members}")], ("products",), "", None, None)
        for name, parameter in self.parameters.items():
            body = self.data["parameters"][name]
            for key, (kinds, longhand) in KEYS.items():
                if parameter.kind not in kinds or (key not in body and key != "null" and not (key == "rank" and parameter.shapes)):
                    continue
                where = ("parameters", name, key)
                value = body.get(key, list(parameter.shapes) if key == "rank" else False)
                if key == "shape" and not self.shared_letters(parameter):
                    continue
                pairs = self.attempt(where, f"{name}.{key}", lambda n=name, k=parameter.kind, v=value, f=longhand: list(f(n, k, v))) or []  # type: ignore[misc]
                if not pairs:
                    continue
                when = body.get("when", {}) if isinstance(body.get("when", {}), dict) else {}
                if key in when:
                    pairs = [(f"({w}) and ({when[key]})" if w else when[key], r) for w, r in pairs]
                notes = body.get("note", {})
                add(f"{name}.{key}", self.at(name, key), pairs, where, notes.get(key, "") if isinstance(notes, dict) else "", name, key)
        for rule, body in (self.data.get("rules") or {}).items():
            where = ("rules", rule)
            if not isinstance(body, dict) or "require" not in body:
                self.doc.problem(where, "expects a mapping with require, and at, when, note as needed")
                continue
            self.known(where, body, ("at", "when", "require", "note"), "key of a rule")
            at = self.lines((*where, "at"), body.get("at", []))
            add(rule, at, [(body.get("when"), body["require"])], where, body.get("note", ""), None, None)
        for rule in places:
            if rule not in found:
                self.doc.problem(("returns",), f"no such rule{did_you_mean(rule, found)}", rule)
        bucketed = found.get("product")
        if bucketed:
            found["product"] = replace(bucketed, bucket="unsupported_product")
        return list(found.values())

    def shared_letters(self, parameter: Parameter) -> bool:
        """Whether some axis of the parameter is a number, or a letter that another place binds too."""
        letters = [letter for shape in parameter.shapes.values() for letter in shape]
        first = {self.scope.occurrences[x][0].parameter for x in letters if isinstance(x, str)}
        return any(isinstance(x, int) for x in letters) or bool(first - {parameter.name})

    def guard(self, when: str | None, require: str) -> Guard:
        return Guard(terms.condition(when, self.scope) if when is not None else None, terms.relation(require, self.scope))

    def at(self, name: str, key: str) -> tuple[int, ...]:
        value = self.data["parameters"][name].get("at", [])
        if isinstance(value, dict):
            value = value.get(key, value.get("parameter", []))
        return self.lines(("parameters", name, "at"), value)

    # compute modes ----------------------------------------------------------------------------------------------------
    def compute(self) -> tuple[tuple[Mode, ...], tuple[str, ...]]:
        value = self.data.get("compute") or {}
        self.known(("compute",), value, ("modes", "exact"), "key")
        modes = []
        for i, body in enumerate(value.get("modes", [])):
            where = ("compute", "modes", i)
            self.known(where, body, ("at", "when", "dtype"), "key of a mode")
            when = self.attempt(where, f"compute.modes.{i}", lambda b=body: terms.condition(b.get("when"), self.scope))  # type: ignore[misc]
            if when is not None:
                modes.append(Mode(self.lines((*where, "at"), body.get("at", [])), when, body.get("dtype", "")))
        return tuple(modes), tuple(value.get("exact", []))

    def cited(self, page: Page | None, rules: tuple[Rule, ...]) -> None:
        """Every line that a fact cites has a digest; a spec without a page cites none."""
        if page is None:
            return
        cited = {line for rule in rules for line in rule.at} | {line for p in self.parameters.values() for line in p.at}
        missing = sorted(cited - set(page.lines))
        if missing:
            self.doc.problem(("page", "lines"), f"no digest of lines {', '.join(map(str, missing))}; opgen audit --pages DIR --digests prints the block")

