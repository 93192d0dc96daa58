"""The rules of a spec file: keys of parameters, ``rules:``, and the one place that each has under
``returns:``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import cast

from opgen.files.yamlfile import Document, Location
from opgen.model import Bucket, did_you_mean
from opgen.spec.form_values import Lines
from opgen.spec.language import parse
from opgen.spec.language.parse import compiled
from opgen.spec.language.term import Scope
from opgen.spec.parameter import Parameter
from opgen.spec.parameter_keys import Pair, of_each, of_list, relations
from opgen.spec.parameter_reader import ParameterReader
from opgen.spec.rules import Guard, Rule
from opgen.spec.silenced import silenced
from opgen.spec.spec_form import RULES, WITHOUT_CODE, Places, RuleForm, SpecForm


@dataclass(frozen=True)
class Place:
    """Where a rule stands in ``returns:``."""

    where: Location
    bucket: Bucket
    code: int | None = None
    clause: str | None = None


class RuleReader:
    """Makes rules of the form of a spec, whose parameters are read: ``rules`` by their ids, and the
    line of each of ``clauses``.
    """

    def __init__(self, document: Document, form: SpecForm, parameters: ParameterReader) -> None:
        self.doc = document
        self.form = form
        self.parameters = parameters
        self.scope = parameters.scope
        self.rules: dict[str, Rule] = {}
        self.clauses = {
            f"{code}.{number}": line
            for code, numbered in form.clauses.items()
            for number, line in numbered.items()
        }
        self.places = self.read_places("returns", form.returns)
        self.likely = self.read_places("likely", form.likely)
        self.clauses_have_rules()
        self.product_rule()
        for parameter in parameters.parameters.values():
            self.key_rules(parameter)
        for rule, body in form.rules.items():
            self.add(rule, [body.at], self.written(rule, body), ("rules", rule), body.note)
        self.rules = silenced(self.rules, self.scope)
        for rule, place in chain(self.places.items(), self.likely.items()):
            if rule not in self.rules:
                self.doc.problem(place.where, f"no such rule{did_you_mean(rule, self.rules)}", rule)
            elif place is self.likely.get(rule) and self.rules[rule].bucket != "unstated":
                text = f"is {self.rules[rule].bucket}; only what is unstated has a likely code"
                self.doc.problem(place.where, text, rule)

    def read_places(self, section: str, listed: Places) -> dict[str, Place]:
        """Rule id -> its place in a section; an id that stands twice is a problem, and so is a
        clause without line.
        """
        places: dict[str, Place] = {}

        def put(rules: Sequence[str], place: Place) -> None:
            for rule in rules:
                if rule in places:
                    self.doc.problem(
                        place.where, f"is in {section} twice; every rule has one place", rule
                    )
                places[rule] = place

        for key, rules in listed.items():
            where: Location = (section, key)
            code = key if isinstance(key, int) else None
            if isinstance(rules, tuple):
                put(rules, Place(where, cast("Bucket", key) if code is None else "stated", code))
            elif code is None:
                self.doc.problem(where, f"expects {RULES.expects}, not {rules!r}")
            else:
                for number, ids in rules.items():
                    clause = f"{code}.{number}"
                    put(ids, Place((*where, number), "stated", code, clause))
                    if clause not in self.clauses:
                        self.doc.problem(
                            (*where, number), "the clause has no line; put it under clauses", clause
                        )
        return places

    def clauses_have_rules(self) -> None:
        """Every clause with a line is that of some rule."""
        clauses = {place.clause for place in chain(self.places.values(), self.likely.values())}
        for key, numbered in self.form.clauses.items():
            for number in numbered:
                if f"{key}.{number}" not in clauses:
                    self.doc.problem(
                        ("clauses", key),
                        f"no rule stands under number {number} in returns",
                        f"{key}.{number}",
                    )

    def product_rule(self) -> None:
        """The rule that a listed product is used. Its bucket is ``unsupported_product``, whatever
        code the page names, unless the list itself is assumed.
        """
        products = self.form.products
        if products:
            lines = list(products.values()) if isinstance(products, dict) else [()]
            members = ", ".join(f"'{product}'" for product in products)
            self.add("product", lines, [(None, f"product in ({members},)")], ("products",))
            rule = self.rules["product"]
            if rule.bucket != "assumed":
                self.rules["product"] = replace(rule, bucket="unsupported_product")

    def key_rules(self, parameter: Parameter) -> None:
        """The rules that the keys of one parameter yield."""
        if parameter.of:
            return  # what holds of it, is said of its list
        name, form = parameter.name, self.parameters.forms[parameter.name]
        told = of_list(name, form) if parameter.is_list else relations(name, form)
        slots = set(chain.from_iterable(chain.from_iterable(parameter.items.values())))
        for key, relation in told.items():
            alone = key == "shape" and not parameter.is_list and not self.shares_letters(parameter)
            if not relation or alone:
                continue
            also = form.when.get(key)
            pairs = [
                (f"({when}) and ({also})" if when and also else when or also, require)
                for when, require in relation
            ]
            where, rule = ("parameters", name, key), f"{name}.{key}"
            lines = self.parameters.lines(name, key)
            self.add(rule, lines, pairs, where, form.note.get(key, ""), parameter=name, key=key)
            if key == "length" and any(read in slots for read, _ in self.rules[rule].refs):
                self.doc.problem(where, "a length cannot follow from the array's own items", rule)

    def written(self, rule: str, body: RuleForm) -> list[Pair]:
        """The relation of an entry of ``rules:``, or what it says of each tensor of a list."""
        pair = body.when, body.require
        if body.each is None:
            return [pair] if body.require else []
        lists = [name for name, p in self.parameters.parameters.items() if p.is_list]
        if body.each not in lists:
            text = f"no such list of tensors{did_you_mean(body.each, lists)}"
            self.doc.problem(("rules", rule, "each"), text, body.each)
            return []
        return of_each(body.each, self.parameters.forms[body.each].most, pair)

    def add(
        self,
        rule: str,
        lines: Sequence[Lines],
        pairs: Sequence[Pair],
        where: Location,
        note: str = "",
        parameter: str | None = None,
        key: str | None = None,
    ) -> None:
        """Compile a rule and give it its place; it cites its own lines and, last, that of its
        clause. ``lines`` are those of each pair, where there are as many.
        """
        if rule in self.rules:
            self.doc.problem(where, "is the id of two rules; rename one", rule)
        if rule not in self.places:
            places = f"put it under its code and clause, or under {', '.join(WITHOUT_CODE)}"
            self.doc.problem(where, f"is missing from returns; {places}", rule)
        place = self.places.get(rule, Place(where, "assumed"))
        likely = self.likely.get(rule)
        clauses = [place.clause, likely.clause if likely else None]
        of_clauses = [self.clauses[clause] for clause in clauses if clause in self.clauses]
        cited = dict.fromkeys([*chain.from_iterable(lines), *of_clauses])
        own = lines if len(lines) == len(pairs) > 1 else [()] * len(pairs)

        def guard(pair: Pair, at: Lines) -> Guard | None:
            def compile_pair(require: str, scope: Scope) -> Guard:
                when = None if pair[0] is None else parse.condition(pair[0], scope)
                return Guard(when, parse.relation(require, scope), at)

            return compiled(self.doc, where, rule, compile_pair, pair[1], self.scope)

        guards = [guard(pair, at) for pair, at in zip(pairs, own, strict=True)]
        self.rules[rule] = Rule(
            rule,
            tuple(cited),
            tuple(g for g in guards if g),
            place.bucket,
            place.code,
            place.clause,
            note,
            parameter,
            key,
            likely.code if likely else None,
        )

    def shares_letters(self, parameter: Parameter) -> bool:
        """Whether some axis of the parameter is a number, or a letter that another place binds
        first.
        """
        occurrences = self.scope.occurrences
        return any(
            isinstance(axis, int) or occurrences[axis][0].parameter != parameter.name
            for axes in parameter.shapes.values()
            for axis in axes
        )
