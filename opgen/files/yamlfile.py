"""Reading YAML that a person wrote: every value knows its line, and nothing is taken for something
else.

PyYAML accepts duplicate keys, turns ``no`` into ``False``, ``1:30`` into 90 and ``010`` into 8.
Here each of these is a problem with a line and a remedy. All problems of a file are collected and
reported at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import yaml

from opgen.files.gc_pause import gc_paused
from opgen.files.textfile import read_text
from opgen.model import FileError, Problem, did_you_mean

Key: TypeAlias = str | int | float
Location: TypeAlias = tuple[Key, ...]
T = TypeVar("T")

MAX_BYTES = 1 << 24
"""Bytes of a document that is read."""
MAX_VALUES = 200_000
"""More values than any honest file holds; an alias bomb stops here."""
MAX_LEVELS = 40
"""Mappings and lists within each other, likewise."""
MAX_DIGITS = 1000
"""Digits of a whole number; one of some thousands cannot even be printed."""

_PLAIN_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_PLAIN_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*([eE][-+]?[0-9]+)?\Z|[-+]?[0-9]+[eE][-+]?[0-9]+\Z")
_PLAIN_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_LAX = re.compile(r"[\t?\x85\u2028\u2029\ufeff]|!(?!=)|[|>][-+0-9]*#")
"""Where libyaml and PyYAML may differ: a tab between tokens, ``[a?]``, what ends a line, tags,
``|#``. Rules have ``!=``."""
_DEEP = 2000
"""Levels that libyaml is trusted with; each takes a bracket or a column of a line, and some hundred
bytes of the stack."""
_LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None}


class Document:
    """One YAML file as plain data, the line of every value, and the problems found so far.

    ``data`` holds dicts, lists, str, int, float, bool and None. A location is the path of keys from
    the top.
    """

    def __init__(
        self, file: str, data: Any, lines: dict[Location, int], problems: list[Problem]
    ) -> None:
        self.file = file
        self.data = data
        self.lines = lines
        self.problems = problems

    @property
    def digest(self) -> str:
        """SHA-256 of what the file says: comments and layout change nothing, another order does.

        >>> parse("a: 1").digest == parse("a:   1   # one").digest != parse("a: 2").digest
        True
        """
        return sha256(json.dumps(self.data).encode()).hexdigest()

    def line(self, where: Location) -> int | None:
        """The line of the value at ``where``, or of the nearest value around it."""
        while where and where not in self.lines:
            where = where[:-1]
        return self.lines.get(where)

    def problem(self, where: Location, text: str, name: str | None = None) -> None:
        """Note a problem; ``name`` replaces the dotted location in the message."""
        label = ".".join(map(str, where)) if name is None else str(name)
        self.problems.append(Problem(self.file, self.line(where), label, text))

    def raise_problems(self) -> None:
        """Raise :class:`FileError` with every problem noted, in the order of lines; do nothing
        where there is none.
        """
        if self.problems:
            raise FileError(
                sorted(set(self.problems), key=lambda p: (p.file, p.line or 0, p.where, p.text))
            )

    def known(self, where: Location, value: Iterable[Any], words: Iterable[Any], what: str) -> None:
        """Note every key of a mapping, or item of a list, that is not one of ``words``."""
        words = tuple(words)
        for i, word in enumerate(value):
            if word not in words:
                self.problem(
                    (*where, word if isinstance(value, dict) else i),
                    f"no such {what}{did_you_mean(word, words)}; known:"
                    f" {', '.join(map(str, words))}",
                    ".".join(map(str, (*where, word))),
                )


def read(path: Path, shown: str | None = None, days: bool = False) -> Document:
    """Read one YAML file, ``days`` as :func:`parse` does; raises :class:`FileError` where it is no
    YAML at all or cannot be opened.
    """
    return parse(read_text(path, shown, MAX_BYTES), shown or str(path), days)


@gc_paused()
def parse(
    text: str, file: str = "<text>", days: bool = False, libyaml: bool = yaml.__with_libyaml__
) -> Document:
    """Parse YAML text; ``days``: a plain 2027-01-31 is a text. ``libyaml``: by its parser, to the
    same data. Raises :class:`FileError` where it is not well formed.
    """
    try:
        root = _compose(text, libyaml)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise FileError.of(file, "", f"not YAML: {error.problem or error.context}", line) from None
    except (yaml.YAMLError, ValueError) as error:
        raise FileError.of(file, "", f"not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise FileError.of(file, "", "nested too deeply") from None
    reader = _Reader(file, days)
    data = reader.value(root, ()) if root is not None else None
    return Document(file, data, reader.lines, reader.problems)


def _compose(text: str, libyaml: bool) -> yaml.Node | None:
    """The nodes of a text, ten times as fast where libyaml is there. PyYAML tells what is wrong,
    and reads what libyaml is lax with, or might nest until it crashes.
    """
    levels = text.count("[") + text.count("{") + max(map(len, text.split("\n")))  # at most
    if libyaml and not _LAX.search(text) and levels <= _DEEP:
        try:
            return yaml.compose(text, Loader=yaml.CSafeLoader)
        except (yaml.YAMLError, ValueError):
            pass
    return yaml.compose(text, Loader=yaml.SafeLoader)


class _Reader:
    def __init__(self, file: str, days: bool = False) -> None:
        self.file = file
        self.days = days
        self.lines: dict[Location, int] = {}
        self.problems: list[Problem] = []
        self.count = 0

    def problem(self, node: yaml.Node, where: Location, text: str) -> None:
        self.problems.append(
            Problem(self.file, node.start_mark.line + 1, ".".join(map(str, where)), text)
        )

    def value(self, node: yaml.Node, where: Location) -> Any:
        self.count += 1
        if self.count > MAX_VALUES or len(where) > MAX_LEVELS:
            self.problem(
                node,
                where[:3],
                f"more than {MAX_VALUES} values or {MAX_LEVELS} levels: aliases that repeat each"
                " other?",
            )
            raise FileError(self.problems)
        self.lines[where] = node.start_mark.line + 1
        if isinstance(node, yaml.CollectionNode) and node.tag not in (
            "tag:yaml.org,2002:map",
            "tag:yaml.org,2002:seq",
        ):
            self.problem(node, where, f"the tag {node.tag} means nothing here; leave it out")
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, where)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*where, i)) for i, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return self.scalar(node, where)

    def mapping(self, node: yaml.MappingNode, where: Location) -> dict[Key, Any]:
        result: dict[Key, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.problem(key_node, where, "a key must be a word or a number")
                continue
            plain_null = not key_node.style and key_node.value == "null"
            key = "null" if plain_null else self.scalar(key_node, where)
            if not isinstance(key, str | int | float) or isinstance(key, bool):
                self.problem(
                    key_node,
                    where,
                    f"the key '{key_node.value}' must be a word or a number; quote it",
                )
                continue
            if key in result:
                self.problem(key_node, (*where, key), "the key appears twice; keep one")
                continue
            result[key] = self.value(value_node, (*where, key))
            self.lines[(*where, key)] = key_node.start_mark.line + 1
        return result

    def scalar(self, node: yaml.ScalarNode, where: Location) -> Any:
        text, taken = node.value, node.tag.rsplit(":", 1)[-1]
        if node.style:
            if taken != "str":
                self.problem(node, where, f"the tag {node.tag} means nothing here; leave it out")
            return text
        if text in _LITERALS and taken in ("bool", "null"):
            return _LITERALS[text]
        if text == "":
            self.problem(node, where, "no value; write null where none is meant")
            return None
        if _PLAIN_INT.match(text) and taken == "int":
            if len(text) > MAX_DIGITS:
                self.problem(
                    node, where, f"a whole number of {len(text)} digits; at most {MAX_DIGITS}"
                )
                return 0
            return int(text)
        if _PLAIN_FLOAT.match(text):
            return float(text)
        if node.tag == "tag:yaml.org,2002:str" or (self.days and _PLAIN_DAY.match(text)):
            return text
        self.problem(
            node,
            where,
            f"YAML 1.1 reads '{text}' as {taken}; quote it, or write true, false or a plain number",
        )
        return text
