"""The parameters of a spec file: their kinds, and the names that their axes and slots bind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, TypeAlias

from opgen.calls.kinds import KINDS
from opgen.files.yamlfile import Document, Location, did_you_mean
from opgen.spec.field_reader import FieldReader
from opgen.spec.language import terms
from opgen.spec.parameter_keys import KEYS
from opgen.spec.rules import Rule
from opgen.spec.spec import Parameter, SpecScope

Axes: TypeAlias = tuple[str | int, ...]
PLAIN = ("kind", "at", "when", "note", "items", "otherwise", "strided", "mask")
"""Keys of a parameter that yield no rule by themselves."""
MEANT: dict[str, Collection[str]] = {
    "strided": ("tensor", "output"),
    "mask": ("output",),
    "items": ("int_array",),
    "otherwise": ("int_array",),
}
"""Those of them that only some kinds have -> these kinds."""


class ParameterReader(FieldReader):
    """Reads ``parameters:``. After :meth:`read` the scope is there, and every name in it means one
    thing.
    """

    def __init__(self, document: Document, data: Mapping[Any, Any]) -> None:
        super().__init__(document)
        self.bodies = self.doc.mapping(
            ("parameters",),
            data.get("parameters"),
            "a mapping of parameters, in the order of the prototype",
        )
        self.parameters: dict[str, Parameter] = {}

    def read(self) -> dict[str, Parameter]:
        for name, body in self.bodies.items():
            parameter = self.parameter(name, body)
            if parameter is not None:
                self.parameters[name] = parameter
        self.scope = SpecScope(self.parameters)
        self.clash()
        self.fallbacks()
        self.masks()
        return self.parameters

    def parameter(self, name: Any, body: Any) -> Parameter | None:
        where = ("parameters", name)
        if not isinstance(name, str) or not isinstance(body, dict):
            self.doc.problem(where, "expects a name and a mapping that starts with kind")
            return None
        kind = str(body.get("kind"))
        if kind not in KINDS:
            self.doc.problem(
                (*where, "kind"),
                f"no such kind {kind!r}{did_you_mean(kind, KINDS)}; known are {', '.join(KINDS)}",
            )
            kind = _likely_kind(body)
        yielding = [key for key, (kinds, _) in KEYS.items() if kind in kinds]
        self.doc.known(where, body, (*plain_keys(kind), *yielding), f"key of {kind}")
        for key, also in (("at", ("parameter",)), ("when", ()), ("note", ())):
            if isinstance(body.get(key), dict):
                self.doc.known(
                    (*where, key),
                    body[key],
                    (*yielding, *also),
                    f"key of {kind} that yields a rule",
                )
        if "when" in body:
            self.doc.mapping(
                (*where, "when"),
                body["when"],
                "a mapping of a key to the condition under which it holds",
            )
        strided = body.get("strided")
        if strided is not None:
            self.doc.need(
                (*where, "strided"),
                strided,
                bool,
                "true or false: whether the page allows tensors that are not contiguous",
            )
        at = body.get("at", [])
        return Parameter(
            name=name,
            kind=kind,
            at=self.lines((*where, "at"), at.get("parameter", []) if isinstance(at, dict) else at),
            shapes=self.shapes((*where, "shape"), body.get("shape", {})),
            items=self.items((*where, "items"), body.get("items", {})),
            otherwise=self.otherwise((*where, "otherwise"), body.get("otherwise", {})),
            enum=self.enum(body.get("enum", {})),
            strided=strided,
        )

    def at(self, name: str, key: str, of: Any = None) -> list[tuple[int, ...]]:
        """The lines of one key of a parameter: its own, else those of the parameter. Where they are
        told for each name in the mapping that the key's value ``of`` is: the lines of each, in its
        order.
        """
        where: Location = ("parameters", name, "at")
        value = self.bodies[name].get("at", [])
        if isinstance(value, dict):
            value = value.get(key, value.get("parameter", []))
        if not isinstance(value, dict):
            return [self.lines(where, value)]
        names = list(of) if isinstance(of, dict) else []
        if not names or set(value) != set(names):
            told = (
                f"lines of {', '.join(map(str, names))}"
                if names
                else "a line of the page or a list of lines"
            )
            self.doc.problem(
                (*where, key), f"expects {told}, not of {', '.join(map(str, value)) or 'nothing'}"
            )
            return [()]
        return [self.lines((*where, key, one), value[one]) for one in names]

    def enum(self, value: Any) -> dict[int, str]:
        """The words of an enum; a wrong form is noted where the rule is made of it."""
        named = isinstance(value, dict) and all(
            type(number) is int and isinstance(word, str) for number, word in value.items()
        )
        return value if named else {}

    def shapes(self, where: Location, value: Any) -> dict[int, tuple[str | int, ...]]:
        if not isinstance(value, dict):
            self.doc.problem(where, "expects a mapping of rank to a list of letters")
            return {}
        result = {}
        for rank, letters in value.items():
            if (
                isinstance(rank, int)
                and isinstance(letters, list)
                and len(letters) == rank
                and all(map(_is_axis, letters))
            ):
                result[rank] = tuple(letters)
            else:
                self.doc.problem(
                    (*where, rank), f"expects a list of {rank} letters or extents, not {letters!r}"
                )
        return result

    def items(self, where: Location, value: Any) -> dict[int, tuple[tuple[str, ...], ...]]:
        """``[kH, kW]`` is one length; a mapping gives several. A slot that is a list binds several
        names.
        """
        alternatives = {len(value): value} if isinstance(value, list) else value
        if not isinstance(alternatives, dict):
            self.doc.problem(
                where, "expects a list of slot names, or a mapping of length to such a list"
            )
            return {}
        result = {}
        for length, slots in alternatives.items():
            named = (
                [slot if isinstance(slot, list) else [slot] for slot in slots]
                if isinstance(slots, list)
                else []
            )
            if len(named) != length or not all(
                map(_is_name, (name for slot in named for name in slot))
            ):
                self.doc.problem(
                    (*where, length), f"expects a list of {length} slot names, not {slots!r}"
                )
                continue
            result[length] = tuple(map(tuple, named))
        return result

    def otherwise(self, where: Location, value: Any) -> dict[int, dict[str, str]]:
        bodies = value.values() if isinstance(value, dict) else [None]
        named = all(
            isinstance(names, dict)
            and all(isinstance(n, str) for pair in names.items() for n in pair)
            for names in bodies
        )
        if named and all(isinstance(length, int) for length in value):
            return value  # type: ignore[no-any-return]
        self.doc.problem(where, "expects a mapping of length to {name: the name it falls back to}")
        return {}

    def clash(self) -> None:
        """A name has one meaning."""
        for name in (*self.scope.occurrences, *self.scope.words, "product"):
            if name in self.parameters:
                self.doc.problem(
                    ("parameters", name),
                    "is both a parameter and another name; rename the letter, slot or word",
                    name,
                )
        for word in self.scope.words:
            if word in self.scope.occurrences:
                self.doc.problem(
                    ("parameters",),
                    "is both a word of an enum and a letter or slot; rename one",
                    word,
                )

    def fallbacks(self) -> None:
        """Both names of a fallback exist, and no fallback leads back to itself."""
        known = self.scope.occurrences
        leads: dict[str, str] = {}
        for parameter in self.parameters.values():
            for length, names in parameter.otherwise.items():
                for name, other in names.items():
                    for one in (name, other):
                        if one not in known:
                            where = ("parameters", parameter.name, "otherwise", length)
                            self.doc.problem(
                                where, f"no such letter or slot '{one}'{did_you_mean(one, known)}"
                            )
                    leads[name] = other
        for name in leads:
            seen, at = {name}, leads[name]
            while at in leads and at not in seen:
                seen.add(at)
                at = leads[at]
            if at in seen:
                self.doc.problem(("parameters",), "falls back to itself", name)

    def loose_letters(self, rules: Iterable[Rule]) -> None:
        """A letter at one rank that nothing reads, where a letter of another rank belongs: rules of
        that one would not apply.
        """
        read = {name for rule in rules if rule.key != "shape" for name, _ in rule.refs}
        read |= {
            name
            for parameter in self.parameters.values()
            for names in parameter.otherwise.values()
            for name in names.values()
        }
        for parameter in self.parameters.values():
            for rank, letters in parameter.shapes.items():
                for letter in letters:
                    if letter in read or {
                        place.size for place in self.scope.occurrences.get(str(letter), ())
                    } != {rank}:
                        continue
                    meant = _meant(
                        str(letter),
                        letters,
                        [shape for other, shape in parameter.shapes.items() if other != rank],
                        read,
                    )
                    if meant:
                        where = ("parameters", parameter.name, "shape", rank)
                        self.doc.problem(
                            where,
                            f"'{letter}' stands at rank {rank} only, and no rule reads it; did you"
                            f" mean '{meant}'?",
                        )

    def masks(self) -> None:
        for name, parameter in list(self.parameters.items()):
            text = self.bodies[name].get("mask")
            if text is not None:
                where = ("parameters", name, "mask")
                mask = self.attempt(where, f"{name}.mask", terms.condition, text, self.scope)
                self.parameters[name] = replace(parameter, mask=mask)


def plain_keys(kind: str) -> list[str]:
    """Those of :data:`PLAIN` that a kind of parameter has."""
    return [key for key in PLAIN if kind in MEANT.get(key, (kind,))]


def _likely_kind(body: Mapping[Any, Any]) -> str:
    """What is meant by a kind that is none: one that is spelled much like it, or has the most of
    its keys. What the parameter binds is known then, and of what speaks of it nothing is said that
    is not its own fault.
    """
    meant = MEANT | {key: kinds for key, (kinds, _) in KEYS.items()}
    keys = {kind: [key for key, kinds in meant.items() if kind in kinds] for kind in KINDS}
    likely = max(KINDS, key=lambda kind: sum(key in keys[kind] for key in body))
    return next(iter(get_close_matches(str(body.get("kind")), KINDS, n=1)), likely)


def _meant(letter: str, letters: Axes, others: Iterable[Axes], read: Collection[str]) -> str | None:
    """The letter of another rank that ``letter`` should be: with it the shapes differ in leading
    axes alone, or a rule reads it and it is spelled much like it.
    """
    for other in others:
        for name in (name for name in other if isinstance(name, str) and name not in letters):
            put = tuple(name if one == letter else one for one in letters)
            shared = min(len(put), len(other))
            if put[-shared:] == other[-shared:] or (
                name in read and get_close_matches(letter, [name])
            ):
                return name
    return None


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _is_axis(value: Any) -> bool:
    return _is_name(value) or (
        isinstance(value, int) and not isinstance(value, bool) and value >= 0
    )
