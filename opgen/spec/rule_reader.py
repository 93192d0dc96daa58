"""The rules of a spec file: keys of parameters, ``rules:``, and the one place that each has under
``returns:``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from opgen.calls.vocabulary import vocabulary
from opgen.files.yamlfile import Location, did_you_mean
from opgen.model import Bucket, natural
from opgen.spec.field_reader import FieldReader
from opgen.spec.language import terms
from opgen.spec.parameter_keys import KEYS, Pair, longhand
from opgen.spec.parameter_reader import ParameterReader
from opgen.spec.rules import Guard, Rule
from opgen.spec.spec import Parameter

WITHOUT_CODE: tuple[Bucket, ...] = ("unstated", "disputed", "assumed")
"""The buckets of ``returns:``: rules for which the page names no code, or contradicts itself, or is
silent."""


@dataclass(frozen=True)
class Place:
    """Where a rule stands in ``returns:``."""

    where: Location
    bucket: Bucket
    code: int | None
    clause: str | None


class RuleReader(FieldReader):
    """Reads ``clauses:``, ``returns:``, ``rules:`` and the keys of the parameters that yield
    rules.
    """

    def __init__(self, fields: ParameterReader, data: Mapping[Any, Any]) -> None:
        super().__init__(fields.doc)
        self.fields = fields
        self.data = data
        self.found: dict[str, Rule] = {}
        self.listed: dict[str, tuple[int, ...]] = {}

    def read(self, products: tuple[str, ...]) -> tuple[Rule, ...]:
        self.clauses = self.read_clauses()
        self.places = self.read_places()
        self.product_rule(products)
        for parameter in self.fields.parameters.values():
            self.key_rules(parameter)
        for rule, body in self.doc.mapping(
            ("rules",), self.data.get("rules"), "a mapping of rule ids"
        ).items():
            self.rule(rule, body)
        for rule, place in self.places.items():
            if rule not in self.found:
                self.doc.problem(place.where, f"no such rule{did_you_mean(rule, self.found)}", rule)
        return tuple(self.found.values())

    # the page's list of return codes --------------------------------------------------------------
    def read_clauses(self) -> dict[str, int]:
        """Clause -> its line."""
        result: dict[str, int] = {}
        for code, numbered in self.doc.mapping(
            ("clauses",), self.data.get("clauses"), "a mapping of status codes"
        ).items():
            where = ("clauses", code)
            for number, line in self.doc.mapping(
                where, numbered, "a mapping of a clause's number to its line"
            ).items():
                result[f"{code}.{number}"] = (
                    self.doc.need((*where, number), line, int, "the clause's line on the page") or 0
                )
        return result

    def read_places(self) -> dict[str, Place]:
        """Rule id -> its place; an id that stands twice is a problem, and so is a clause without
        line or without rule.
        """
        places: dict[str, Place] = {}
        value = self.doc.mapping(
            ("returns",), self.data.get("returns"), "a mapping of status codes and buckets"
        )
        self.doc.known(
            ("returns",), value, (*vocabulary().status, *WITHOUT_CODE), "status code or bucket"
        )

        def place(
            where: Location, ids: Any, bucket: Bucket, code: int | None, clause: str | None
        ) -> None:
            for rule in self.doc.need(where, ids, list, "a list of rule ids") or []:
                if not isinstance(rule, str):
                    self.doc.problem(where, f"expects rule ids, not {rule!r}")
                    continue
                if rule in places:
                    self.doc.problem(
                        where, "stands in returns twice; every rule has one place", rule
                    )
                places[rule] = Place(where, bucket, code, clause)

        for code, clauses in value.items():
            if code in WITHOUT_CODE:
                place(("returns", code), clauses, code, None, None)
            elif isinstance(clauses, dict):
                for number, ids in clauses.items():
                    clause = f"{code}.{number}"
                    place(("returns", code, number), ids, "stated", code, clause)
                    if clause not in self.clauses:
                        self.doc.problem(
                            ("returns", code, number),
                            "the clause has no line; put it under clauses",
                            clause,
                        )
            else:
                place(("returns", code), clauses, "stated", code, None)
        named = {place.clause for place in places.values()}
        for clause in self.clauses:
            if clause not in named:
                code, number = clause.split(".", 1)
                key = natural(code)
                where: Location = ("clauses", code if key is None else key)
                self.doc.problem(where, f"no rule stands under number {number} in returns", clause)
        return places

    # rules ----------------------------------------------------------------------------------------
    def product_rule(self, products: tuple[str, ...]) -> None:
        """The rule that a listed product is used. Its bucket is ``unsupported_product``, whatever
        code the page names, unless the list itself is assumed.
        """
        if not products:
            return
        listed = self.data["products"]
        if isinstance(listed, dict):
            self.listed = {
                product: self.lines(("products", product), listed[product]) for product in products
            }
        at = [line for lines in self.listed.values() for line in lines]
        members = ", ".join(f"'{product}'" for product in products)
        assumed = "product" in self.places and self.places["product"].bucket == "assumed"
        bucket: Bucket = "assumed" if assumed else "unsupported_product"
        self.add(
            "product", tuple(at), [(None, f"product in ({members},)")], ("products",), bucket=bucket
        )

    def key_rules(self, parameter: Parameter) -> None:
        """The rules that the keys of one parameter yield."""
        name, body = parameter.name, self.fields.bodies[parameter.name]
        conditions = body.get("when") if isinstance(body.get("when"), dict) else {}
        notes = body.get("note") if isinstance(body.get("note"), dict) else {}
        for key, (kinds, _) in KEYS.items():
            implied = key == "null" or (key == "rank" and parameter.shapes)
            if parameter.kind not in kinds or not (key in body or implied):
                continue
            if key == "shape" and not self.shared_letters(parameter):
                continue
            value = (
                parameter.shapes
                if key == "shape"
                else body.get(key, list(parameter.shapes) if key == "rank" else False)
            )
            where, rule = ("parameters", name, key), f"{name}.{key}"
            pairs = self.attempt(where, rule, longhand, key, name, parameter.kind, value)
            if not pairs:
                continue
            if key in conditions:
                pairs = [
                    (f"({when}) and ({conditions[key]})" if when else conditions[key], require)
                    for when, require in pairs
                ]
            at = self.fields.at(name, key, value)
            self.add(
                rule,
                tuple(dict.fromkeys(chain.from_iterable(at))),
                pairs,
                where,
                notes.get(key, ""),
                parameter=name,
                key=key,
                own=at,
            )
            slots = {
                slot for slots in parameter.items.values() for names in slots for slot in names
            }
            if key == "length" and any(
                reference[0] in slots for reference in self.found[rule].refs
            ):
                self.doc.problem(where, "a length cannot follow from the array's own items", rule)

    def rule(self, rule: Any, body: Any) -> None:
        """One entry of ``rules:``."""
        where = ("rules", rule)
        if not isinstance(rule, str) or not isinstance(body, dict) or "require" not in body:
            self.doc.problem(
                where, "expects an id and a mapping with require, and at, when, note as needed"
            )
            return
        self.doc.known(where, body, ("at", "when", "require", "note"), "key of a rule")
        at = self.lines((*where, "at"), body.get("at", []))
        note = self.doc.need((*where, "note"), body.get("note", ""), str, "a sentence") or ""
        self.add(rule, at, [(body.get("when"), body["require"])], where, note)

    def add(
        self,
        rule: str,
        at: tuple[int, ...],
        pairs: list[Pair],
        where: Location,
        note: str = "",
        parameter: str | None = None,
        key: str | None = None,
        bucket: Bucket | None = None,
        own: Sequence[tuple[int, ...]] = (),
    ) -> None:
        """Compile a rule and give it its place; it cites its own lines and, last, that of its
        clause. ``own``: lines of each pair, where there are as many as pairs.
        """
        if rule in self.found:
            self.doc.problem(where, "is the id of two rules; rename one", rule)
        place = self.places.get(rule)
        if place is None:
            self.doc.problem(
                where,
                "is missing from returns; put it under its code and clause, or under"
                f" {', '.join(WITHOUT_CODE)}",
                rule,
            )
            place = Place(where, "assumed", None, None)
        lines = own if len(own) == len(pairs) > 1 else [()] * len(pairs)
        guards = [
            self.attempt(where, rule, self.guard, when, require, its)
            for (when, require), its in zip(pairs, lines, strict=True)
        ]
        line = self.clauses.get(place.clause or "")
        if line and line not in at:
            at = (*at, line)
        self.found[rule] = Rule(
            rule,
            at,
            tuple(g for g in guards if g),
            bucket or place.bucket,
            place.code,
            place.clause,
            note,
            parameter,
            key,
        )

    def guard(self, when: str | None, require: str, at: tuple[int, ...] = ()) -> Guard:
        scope = self.fields.scope
        return Guard(
            terms.condition(when, scope) if when is not None else None,
            terms.relation(require, scope),
            at,
        )

    def shared_letters(self, parameter: Parameter) -> bool:
        """Whether some axis of the parameter is a number, or a letter that another place binds
        too.
        """
        letters = [letter for shape in parameter.shapes.values() for letter in shape]
        first = {
            self.fields.scope.occurrences[x][0].parameter for x in letters if isinstance(x, str)
        }
        return any(isinstance(x, int) for x in letters) or bool(first - {parameter.name})
