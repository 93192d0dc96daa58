"""The next edition of a spec: a draft of the newer page, with what a person decided of the older
page carried over, and marked.

Both specs are as YAML has them. A fact that the draft has keeps its older name and gets its new
lines and place; one that the draft lacks is kept without lines, and its parameter's line is left to
decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, cast

from opgen.files.digests import digest_block
from opgen.files.yamlfile import parse, read
from opgen.model import FileError
from opgen.spec.drafting.writing import text_of

Data: TypeAlias = dict[str, object]
OWN = ("kind", "at", "note", "when", "rank")
"""Keys of a parameter that are not taken over as they are: the lines are new, a rank follows from a
shape."""
CARRIED = "carried over: "
"""What stands before facts that the draft lacks."""


def next_edition(older: Path, drafted: str, content: bytes) -> str:
    """The spec of a newer page with this content, from the file of the older one and the draft;
    FileError where the file is no spec, or one of another operator.
    """
    old, new = read(older), parse(drafted, "the draft").data
    known = old.data if isinstance(old.data, dict) else {}
    if known.get("api") != new["api"]:
        text = f"is no spec of {new['api']}, which the page describes"
        raise FileError.of(str(older), str(known.get("api", "")), text)
    if [*_kinds(known)] != [*_kinds(new)]:
        prototypes = (", ".join(name for name, _ in _kinds(of)) for of in (known, new))
        text = "has another prototype than the page: {}, and there {}".format(*prototypes)
        raise FileError.of(str(older), str(known["api"]), text)
    spec = _Edition(known, new).spec()
    lines = content.decode("utf-8-sig").split("\n")
    block = f"  sha256: {new['page']['sha256']}\n  lines: |\n" + digest_block(
        lines, sorted(cited(spec))
    )
    return text_of(
        spec, block, f"Drafted from {older.name}: decide each line under todo, then delete it."
    )


@dataclass
class _Edition:
    older: Data
    drafted: Data
    marked: dict[int, list[str]] = field(default_factory=dict)

    def spec(self) -> Data:
        parameters = {name: self.parameter(name) for name in _of(self.drafted, "parameters")}
        rules, renamed = self.rules()
        todo = {
            line: [text]
            for line, text in cast(dict[int, str], self.drafted.get("todo", {})).items()
        }
        for line, marks in self.marked.items():
            todo.setdefault(line, []).append(f"{CARRIED}{', '.join(marks)}")
        carried = {key: self.older[key] for key in ("compute",) if key in self.older}
        return {
            "api": self.drafted["api"],
            "edition": self.drafted["edition"],
            "page": self.drafted["page"],
            "products": self.drafted["products"],
            "parameters": parameters,
            "rules": rules,
            **{key: _without_lines(value) for key, value in carried.items()},
            **{key: self.drafted[key] for key in ("clauses",) if key in self.drafted},
            "returns": self.returns(parameters, rules, renamed),
            "todo": {line: "; ".join(texts) for line, texts in sorted(todo.items())},
        }

    def parameter(self, name: str) -> Data:
        """The drafted keys of a parameter, and those that only the older spec has."""
        new = cast(Data, _of(self.drafted, "parameters")[name])
        old = cast(Data, _of(self.older, "parameters").get(name, {}))
        kept = {k: v for k, v in old.items() if k not in OWN and k not in new}
        line, at = self.line(name), new["at"]
        at = dict(at) if isinstance(at, dict) else {"parameter": at}
        if kept:
            self.mark(line, [f"{name}.{key}" for key in kept])
        left = ("at", "rank") if "shape" in kept else ("at",)
        merged = {k: v for k, v in new.items() if k not in left}
        when = {k: v for k, v in _of(old, "when").items() if k in merged or k in kept}
        at |= {key: [] for key in kept if key not in UNCITED}
        return {"kind": new["kind"], "at": at, **merged, **kept, **({"when": when} if when else {})}

    def rules(self) -> tuple[dict[str, object], dict[str, str]]:
        """The rules about several parameters, and what the draft calls those that it has too."""
        names = {**_places(self.older), **_places(self.drafted)}
        said = {
            _plain(cast(Data, rule), names): name
            for name, rule in _of(self.drafted, "rules").items()
        }
        rules: dict[str, object] = {}
        renamed: dict[str, str] = {}
        for name, rule in _of(self.older, "rules").items():
            body = cast(Data, rule)
            twin = said.pop(_plain(body, names), "")
            rest = {key: value for key, value in body.items() if key != "at"}
            if twin:
                rest = {"at": cast(Data, _of(self.drafted, "rules")[twin])["at"], **rest}
                renamed[name] = twin
            else:
                self.mark(self.line_of(str(body["require"])), [name])
            rules[name] = rest
        for name in said.values():
            rules[name if name not in rules else f"{name}_2"] = _of(self.drafted, "rules")[name]
        return rules, renamed

    def returns(
        self, parameters: Mapping[str, object], rules: Mapping[str, object], renamed: dict[str, str]
    ) -> Data:
        """The places of all rules: those of the draft, and for what it lacks, no code."""
        places = {rule: where for where, rule in _listed(self.drafted)}
        before = {rule: where[0] for where, rule in _listed(self.older)}
        result: dict[object, object] = {}
        for rule in dict.fromkeys([*places, *before, *rules]):
            parameter, dot, key = rule.partition(".")
            if dot and (parameter not in parameters or not self.has(parameters, parameter, key)):
                continue
            if not dot and rule not in rules and rule != "product":
                continue
            lacking = ("assumed" if before.get(rule) == "assumed" else "unstated",)
            where = places.get(renamed.get(rule, rule), lacking)
            inner = result
            for step in where[:-1]:
                inner = cast(dict[object, object], inner.setdefault(step, {}))
            cast(list[str], inner.setdefault(where[-1], [])).append(rule)
        return cast(Data, result)

    def has(self, parameters: Mapping[str, object], name: str, key: str) -> bool:
        """Whether a rule follows from a key of a parameter."""
        keys = cast(Data, parameters[name])
        follows = {"null": keys.get("null") is not True, "rank": "shape" in keys}
        before = key in _of(cast(Data, _of(self.older, "parameters").get(name, {})), "at")
        return (
            (key in keys and keys[key] is not True)
            or follows.get(key, False)
            or (key == "shape" and before)
        )

    def mark(self, line: int, facts: list[str]) -> None:
        """Facts that a person has to hold against the newer page."""
        self.marked.setdefault(line, []).extend(facts)

    def line(self, name: str) -> int:
        """The line of a parameter on the newer page."""
        at = cast(Data, _of(self.drafted, "parameters")[name])["at"]
        at = at["parameter"] if isinstance(at, dict) else at
        return cast(int, at[0] if isinstance(at, list) else at)

    def line_of(self, term: str) -> int:
        """That of the first parameter that a term names, whatever it calls its axes and items; else
        that of the last parameter.
        """
        owners = {slot: re.split(r"[.[]", place)[0] for slot, place in _places(self.older).items()}
        known = _of(self.drafted, "parameters")
        words = (owners.get(word, word) for word in re.findall(r"[A-Za-z_]\w*", term))
        return self.line(next((word for word in words if word in known), [*known][-1]))


UNCITED = ("strided", "items", "otherwise", "mask")
"""Keys whose lines are those of the parameter."""


def _of(data: Data, key: str) -> dict[str, object]:
    """A mapping in a spec; empty where there is none."""
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def _kinds(data: Data) -> Iterator[tuple[str, object]]:
    """The parameters of a spec and their kinds, in order."""
    for name, body in _of(data, "parameters").items():
        yield name, cast(Data, body).get("kind")


def _without_lines(value: object) -> object:
    """The same without the lines of the older page."""
    if isinstance(value, dict):
        return {key: _without_lines(inner) for key, inner in value.items() if key != "at"}
    return [_without_lines(inner) for inner in value] if isinstance(value, list) else value


def _listed(data: Data) -> Iterator[tuple[tuple[object, ...], str]]:
    """(place, rule) of everything under ``returns``: a bucket, a code, or a code and a clause."""
    for place, rules in _of(data, "returns").items():
        by_clause = rules if isinstance(rules, dict) else {None: rules}
        for clause, names in by_clause.items():
            where = (place,) if clause is None else (place, clause)
            yield from ((where, rule) for rule in cast(list[str], names))


def _places(data: Data) -> dict[str, str]:
    """Letter or slot of a spec -> the axis, from the last, or the item that it is."""
    result: dict[str, str] = {}
    for name, body in _of(data, "parameters").items():
        for letters in _of(cast(Data, body), "shape").values():
            if isinstance(letters, list):
                for axis, letter in enumerate(letters):
                    result.setdefault(str(letter), f"{name}.shape[{axis - len(letters)}]")
        items = cast(Data, body).get("items") or []
        slots = [*items.values()][-1] if isinstance(items, dict) else items
        for item, slot in enumerate(cast(list[object], slots)):
            result.setdefault(str(slot[0] if isinstance(slot, list) else slot), f"{name}[{item}]")
    return result


def _plain(rule: Data, names: Mapping[str, str]) -> tuple[str, str]:
    """What a rule requires and when, without the names that a person chose; an equality in either
    direction.
    """

    def plain(text: object) -> str:
        return re.sub(
            r"(?<![\w.'])[A-Za-z_]\w*(?![\w'(])", lambda at: names.get(at[0], at[0]), str(text)
        )

    left, equals, right = plain(rule["require"]).partition(" == ")
    return equals.join(sorted((left, right))), plain(rule.get("when", ""))


def cited(spec: object) -> set[int]:
    """Every line that a spec names, those that are left to decide too."""
    if not isinstance(spec, dict):
        return set().union(*map(cited, spec)) if isinstance(spec, list) else set()
    cites = ("at", "products", "clauses")
    lines = (_numbers(value) if key in cites else cited(value) for key, value in spec.items())
    return set(cast(dict[int, object], _of(spec, "todo"))).union(*lines)


def _numbers(value: object) -> set[int]:
    """All whole numbers in a value."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return set().union(*map(_numbers, inner)) if inner else set()
    return {value} if isinstance(value, int) else set()
