"""Fields of a document: whatever is not as expected is noted with its line, and reading goes on.
goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from opgen.files.yamlfile import parse
from opgen.spec.field_reader import FieldReader
from opgen.spec.language.terms import TermError
from opgen.spec.parameter_keys import KeyFault

TEXT = "number: 3\nword: w\nflag: true\nlist: [1, 2]\nmap: {a: 1}\n"


def fault() -> Any:
    raise KeyFault("expects a list")


def wrong_term() -> Any:
    raise TermError("no such name 'x'")


READS: list[tuple[Callable[[FieldReader], Any], Any, list[str]]] = [
    (lambda f: f.doc.need(("number",), 3, int, "a number"), 3, []),
    (
        lambda f: f.doc.need(("flag",), True, int, "a number"),
        None,
        ["x.yaml:3: flag: expects a number, not True"],
    ),
    (
        lambda f: f.doc.need(("word",), "w", list, "a list of words"),
        None,
        ["x.yaml:2: word: expects a list of words, not 'w'"],
    ),
    (lambda f: f.doc.mapping(("map",), {"a": 1}, "a mapping"), {"a": 1}, []),
    (lambda f: f.doc.mapping(("gone",), None, "a mapping"), {}, []),
    (
        lambda f: f.doc.mapping(("list",), [1, 2], "a mapping"),
        {},
        ["x.yaml:4: list: expects a mapping, not [1, 2]"],
    ),
    (
        lambda f: f.doc.mapping(("map",), {"a": 1}, "a mapping", ("b",)),
        {"a": 1},
        ["x.yaml:5: map.a: no such key; known are b"],
    ),
    (lambda f: f.doc.text((), {"word": "w"}, "word"), "w", []),
    (lambda f: f.doc.text((), {"word": "w"}, "name"), "", ["x.yaml:1: the key 'name' is missing"]),
    (
        lambda f: f.doc.text((), {"word": " "}, "word"),
        "",
        ["x.yaml:2: word: expects a text, not ' '"],
    ),
    (
        lambda f: f.doc.text((), {"number": 3}, "number"),
        "",
        ["x.yaml:1: number: expects a text, not 3"],
    ),
    (lambda f: f.lines(("number",), 3), (3,), []),
    (lambda f: f.lines(("list",), [1, 2]), (1, 2), []),
    (
        lambda f: f.lines(("flag",), True),
        (),
        ["x.yaml:3: flag: expects a line of the page or a list of lines, not True"],
    ),
    (
        lambda f: f.lines(("number",), -3),
        (),
        ["x.yaml:1: number: expects a line of the page or a list of lines, not -3"],
    ),
    (lambda f: f.attempt(("number",), "the number", lambda: 7), 7, []),
    (
        lambda f: f.attempt(("number",), "the number", fault),
        None,
        ["x.yaml:1: the number: expects a list"],
    ),
    (
        lambda f: f.attempt(("number",), "the number", wrong_term),
        None,
        ["x.yaml:1: the number: no such name 'x'"],
    ),
    (lambda f: f.doc.known(("map",), {"kind": 1}, ("kind", "at"), "key"), None, []),
    (
        lambda f: f.doc.known(("map",), {"kidn": 1, 3: 1}, ("kind", "at"), "key"),
        None,
        [
            "x.yaml:5: map.kidn: no such key (did you mean 'kind'?); known are kind, at",
            "x.yaml:5: map.3: no such key; known are kind, at",
        ],
    ),
    (
        lambda f: f.doc.known(("list",), [1, [2], {"a": 3}], (1,), "number"),
        None,
        [
            "x.yaml:4: list.[2]: no such number; known are 1",
            "x.yaml:4: list.{'a': 3}: no such number; known are 1",
        ],
    ),
]


@pytest.mark.parametrize(("read", "value", "problems"), READS)
def test_a_field_is_what_it_should_be_or_a_problem(
    read: Callable[[FieldReader], Any], value: Any, problems: list[str]
) -> None:
    fields = FieldReader(parse(TEXT, "x.yaml"))
    assert read(fields) == value
    assert list(map(str, fields.doc.problems)) == problems


def test_other_errors_are_no_problem_of_the_file() -> None:
    with pytest.raises(ZeroDivisionError):
        FieldReader(parse(TEXT)).attempt(("number",), "the number", lambda: 1 // 0)
