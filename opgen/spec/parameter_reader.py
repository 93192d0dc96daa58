"""The parameters of a spec file, and the names that their axes and slots bind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TypeAlias, TypeVar

from opgen.calls.kinds import KINDS, member
from opgen.files.yamlfile import Document
from opgen.model import did_you_mean
from opgen.spec.form_values import Lines
from opgen.spec.language import parse
from opgen.spec.language.parse import compiled
from opgen.spec.parameter import Parameter
from opgen.spec.parameter_form import ParameterForm, keys_of
from opgen.spec.parameter_keys import KEYS
from opgen.spec.rules import Rule
from opgen.spec.spec import SpecScope

Axes: TypeAlias = tuple[str | int, ...]
T = TypeVar("T")


class ParameterReader:
    """Makes parameters of their forms. Every name in ``scope`` means one thing, or a problem is
    noted.
    """

    def __init__(self, document: Document, forms: Mapping[str, ParameterForm]) -> None:
        self.doc = document
        self.forms = forms
        self.parameters: dict[str, Parameter] = {}
        for name, form in forms.items():
            self.parameters |= _with_members(self.parameter(name, form), form.most)
        self.scope = SpecScope(self.parameters)
        self.clash()
        self.fallbacks()
        self.masks()

    def parameter(self, name: str, form: ParameterForm) -> Parameter:
        yielding = [key for key in keys_of(form.kind) if key in KEYS]
        at = form.at if isinstance(form.at, dict) else {"parameter": form.at}
        own = at.get("parameter", ())
        orders = {rank: by for rank, by in (form.shape or {}).items() if isinstance(by, dict)}
        shapes = {
            rank: next(iter(letters.values())) if isinstance(letters, dict) else letters
            for rank, letters in (form.shape or {}).items()
            if letters != {}
        }
        for rank, by in orders.items():
            for layout, order in by.items():
                if sorted(map(str, order)) != sorted(map(str, shapes[rank])):
                    where = ("parameters", name, "shape", rank, layout)
                    self.doc.problem(
                        where, f"expects the axes of {next(iter(by))} in another order"
                    )
        for key, told, more in (
            ("at", at, ["parameter"]),
            ("when", form.when, []),
            ("note", form.note, []),
        ):
            what = f"key of {form.kind} that yields a rule"
            self.doc.known(("parameters", name, key), told, [*yielding, *more], what)
        limits, term = (form.min, form.max, *(form.range or ())), KINDS[form.kind].element.term
        for limit in (*limits, *(form.enum or ())) if term == "int" else ():
            if isinstance(limit, float):
                self.doc.problem(("parameters", name), f"is a whole number, so {limit} is no limit")
        if form.enum is not None and isinstance(form.enum, tuple) != (term == "string"):
            expected = "a list of words" if term == "string" else "a mapping of number to name"
            self.doc.problem(("parameters", name, "enum"), f"expects {expected} of a {form.kind}")
        return Parameter(
            name=name,
            kind=form.kind,
            at=own if isinstance(own, tuple) else (),
            shapes=self.sized(name, "shape", shapes, "letters or extents"),
            orders=orders,
            items=self.sized(
                name,
                "items",
                form.items if isinstance(form.items, dict) else {len(form.items): form.items},
                "slot names",
            ),
            otherwise=form.otherwise,
            enum=form.enum if isinstance(form.enum, dict) else {},
            strided=form.strided,
        )

    def sized(
        self, name: str, key: str, lists: Mapping[int, tuple[T, ...]], what: str
    ) -> dict[int, tuple[T, ...]]:
        """The lists that have as many members as the number says that they stand under."""
        for size, members in lists.items():
            if len(members) != size:
                where = ("parameters", name, key, size)
                self.doc.problem(where, f"expects a list of {size} {what}, not of {len(members)}")
        return {size: members for size, members in lists.items() if len(members) == size}

    def lines(self, name: str, key: str) -> list[Lines]:
        """The lines of one key of a parameter: its own, else those of the parameter. Where they are
        told for each name in the mapping that the key's value is: the lines of each, in its order.
        """
        form = self.forms[name]
        if not isinstance(form.at, dict):
            return [form.at]
        lines = form.at.get(key, form.at.get("parameter", ()))
        if not isinstance(lines, dict):
            return [lines]
        value = getattr(form, key)
        names = list(value) if isinstance(value, dict) else []
        if names and set(lines) == set(names):
            return [lines[of] for of in names]
        expected = (
            f"lines of {', '.join(map(str, names))}"
            if names
            else "a line of the page or a list of lines"
        )
        self.doc.problem(
            ("parameters", name, "at", key),
            f"expects {expected}, not of {', '.join(map(str, lines)) or 'nothing'}",
        )
        return [()]

    def clash(self) -> None:
        """A name has one meaning."""
        for name in (*self.scope.occurrences, *self.scope.words, "product"):
            if name in self.parameters:
                self.doc.problem(
                    ("parameters", name),
                    "is both a parameter and another name; rename the letter, slot or word",
                    name,
                )
        several = dict.fromkeys(
            [word for word in self.scope.words if word in self.scope.occurrences],
            "is both a word of an enum and a letter or slot; rename one",
        ) | dict.fromkeys(
            [
                name
                for name, places in self.scope.occurrences.items()
                if len({bool(self.parameters[place.parameter].items) for place in places}) > 1
            ],
            "is both a letter and a slot; rename one, and write a rule that they are equal",
        )
        for name, fault in several.items():
            self.doc.problem(("parameters",), fault, name)

    def fallbacks(self) -> None:
        """Both names of a fallback exist, and no fallback leads back to itself."""
        known = self.scope.occurrences
        leads: dict[str, str] = {}
        for parameter in self.parameters.values():
            for length, names in parameter.otherwise.items():
                leads |= names
                for name in (name for pair in names.items() for name in pair):
                    if name not in known:
                        where = ("parameters", parameter.name, "otherwise", length)
                        self.doc.problem(
                            where, f"no such letter or slot '{name}'{did_you_mean(name, known)}"
                        )
        for name in leads:
            last, passed = leads[name], {name}
            while last in leads and last not in passed:
                passed.add(last)
                last = leads[last]
            if last in passed:
                self.doc.problem(("parameters",), "falls back to itself", name)

    def loose_letters(self, rules: Iterable[Rule]) -> None:
        """A letter at one rank that nothing reads, where a letter of another rank belongs: rules of
        that one would not apply.
        """
        read = {name for rule in rules if rule.key != "shape" for name, _ in rule.refs}
        for parameter in self.parameters.values():
            for names in parameter.otherwise.values():
                read.update(names.values())
        for parameter in self.parameters.values():
            for rank, letters in parameter.shapes.items():
                others = [shape for other, shape in parameter.shapes.items() if other != rank]
                for letter in letters:
                    if isinstance(letter, int) or letter in read or self.ranks(letter) != {rank}:
                        continue
                    meant = _meant(letter, letters, others, read)
                    if meant:
                        self.doc.problem(
                            ("parameters", parameter.name, "shape", rank),
                            f"'{letter}' stands at rank {rank} only, and no rule reads it; did you"
                            f" mean '{meant}'?",
                        )

    def ranks(self, letter: str) -> set[int]:
        """The ranks at which a letter stands."""
        return {place.size for place in self.scope.occurrences.get(letter, ())}

    def masks(self) -> None:
        for name, form in self.forms.items():
            if form.mask is not None:
                where = ("parameters", name, "mask")
                mask = compiled(
                    self.doc, where, f"{name}.mask", parse.condition, form.mask, self.scope
                )
                self.parameters |= {
                    p.name: replace(p, mask=mask)
                    for p in self.parameters.values()
                    if name in (p.name, p.of)
                }


def _with_members(parameter: Parameter, most: int) -> dict[str, Parameter]:
    """A parameter, and behind a list of tensors each that it may have."""
    if not parameter.is_list:
        return {parameter.name: parameter}
    kind = "output" if KINDS[parameter.kind].written else "tensor"
    whole = replace(parameter, shapes={}, orders={}, strided=None)
    each = [
        replace(parameter, name=name, kind=kind, of=parameter.name, place=place)
        for place, name in enumerate(member(parameter.name, place) for place in range(most))
    ]
    return {made.name: made for made in (whole, *each)}


def _meant(letter: str, letters: Axes, others: Iterable[Axes], read: Collection[str]) -> str | None:
    """The letter of another rank that ``letter`` should be: with it the shapes differ in leading
    axes alone, or a rule reads it and it is spelled much like it.
    """
    for other in others:
        for name in (name for name in other if isinstance(name, str) and name not in letters):
            put = tuple(name if axis == letter else axis for axis in letters)
            shared = min(len(put), len(other))
            if put[-shared:] == other[-shared:] or (
                name in read and get_close_matches(letter, [name])
            ):
                return name
    return None
