"""Forms: what fits is read, whatever does not is noted with its line, and reading goes on; a form
is the JSON Schema of what it reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from opgen.files.compound_forms import distinct, either, listed, one_or_more, otherwise, table, then
from opgen.files.forms import (
    Form,
    anything,
    constant,
    flag,
    plain_list,
    plain_mapping,
    text,
    whole,
    word,
)
from opgen.files.records import key, record
from opgen.files.yamlfile import Document, parse

TEXT = "number: 3\nword: w\nflag: true\nlist: [1, 2]\nmap: {a: 1}\n"
READS: list[tuple[Callable[[Document], object], object, list[str]]] = [
    (lambda d: d.known(("map",), {"kind": 1}, ("kind", "at"), "key"), None, []),
    (
        lambda d: d.known(("map",), {"kidn": 1, 3: 1}, ("kind", "at"), "key"),
        None,
        [
            "x.yaml:5: map.kidn: no such key (did you mean 'kind'?); known: kind, at",
            "x.yaml:5: map.3: no such key; known: kind, at",
        ],
    ),
    (
        lambda d: d.known(("list",), [1, [2], {"a": 3}], (1,), "number"),
        None,
        [
            "x.yaml:4: list.[2]: no such number; known: 1",
            "x.yaml:4: list.{'a': 3}: no such number; known: 1",
        ],
    ),
]


@pytest.mark.parametrize(("read", "value", "problems"), READS)
def test_a_field_is_what_it_should_be_or_a_problem(
    read: Callable[[Document], Any], value: object, problems: list[str]
) -> None:
    document = parse(TEXT, "x.yaml")
    assert read(document) == value
    assert list(map(str, document.problems)) == problems


@dataclass
class Box:
    size: int = key(whole("a size", 1), 1, required=True)
    note: str = key(text("a note"), "")
    lid: bool | None = key(flag(), None, only=lambda of: of == "closed")
    in_: str = key(text("where it stands"), "")


NUMBER = whole("a number", 0)
NUMBERS = listed(NUMBER, "a list of numbers", 1)
NONE_BUT = listed(NUMBER, "numbers alone", uniform=True)
SOME = one_or_more(NUMBER, "a number or several", 1)
COLOUR = word("colour", lambda: ("red", "green", 1))
TABLE = table(text("a name"), NUMBER, "a mapping of name to number", 1)
ROWS = table(whole("a row"), COLOUR, "a mapping of row to colour")
EITHER = either("a number or a list", NUMBER, NUMBERS)
BOX = record(Box, "key of a box", "closed")
CASES: list[tuple[Form[Any], object, object, list[str]]] = [
    (text("a text"), "a", "a", []),
    (text("a text"), 3, None, ["x: expects a text, not 3"]),
    (text("a text", r"\S"), " ", None, ["x: expects a text, not ' '"]),
    (NUMBER, 3, 3, []),
    (NUMBER, -1, None, ["x: expects a number, not -1"]),
    (whole("a number", 0, 9), 9, 9, []),
    (whole("a number", 0, 9), 10, None, ["x: expects a number, not 10"]),
    (NUMBER, True, None, ["x: expects a number, not True"]),
    (whole("a number"), -1, -1, []),
    (flag(), False, False, []),
    (flag(), 0, None, ["x: expects true or false, not 0"]),
    (constant("none"), "none", None, []),
    (constant("none"), "nane", None, ["x: expects none, not 'nane'"]),
    (anything("a value"), [{}], [{}], []),
    (COLOUR, "red", "red", []),
    (COLOUR, 1, 1, []),
    (COLOUR, True, None, ["x: no such colour True; known: red, green, 1"]),
    (
        COLOUR,
        "gren",
        None,
        ["x: no such colour 'gren' (did you mean 'green'?); known: red, green, 1"],
    ),
    (word("colour", lambda: ("red",), keep=True), 3, 3, ["x: no such colour 3; known: red"]),
    (NUMBERS, [1, 2], (1, 2), []),
    (NUMBERS, [1, "b", 2], (1, 2), ["x.1: expects a number, not 'b'"]),
    (NUMBERS, [], None, ["x: expects a list of numbers, not []"]),
    (NONE_BUT, [1, 2], (1, 2), []),
    (NONE_BUT, [1, "b", 2], None, ["x: expects numbers alone, not [1, 'b', 2]"]),
    (plain_list("a list", 1), [None, "b"], [None, "b"], []),
    (plain_list("a list", 1), [], None, ["x: expects a list, not []"]),
    (plain_mapping("a mapping"), {"a": None}, {"a": None}, []),
    (plain_mapping("a mapping"), [], None, ["x: expects a mapping, not []"]),
    (distinct(NUMBERS), [1, 2], (1, 2), []),
    (distinct(NUMBERS), [2, 1, 2, 2], (2, 1, 2, 2), ["x: 2 appears twice; keep one"]),
    (distinct(NUMBERS), [], None, ["x: expects a list of numbers, not []"]),
    (then(NUMBER, lambda document, where, number: (where, number)), 3, (("x",), 3), []),
    (then(NUMBER, lambda *_: 7), "b", None, ["x: expects a number, not 'b'"]),
    (otherwise(NUMBER, 7), 3, 3, []),
    (otherwise(NUMBER, 7), "b", 7, ["x: expects a number, not 'b'"]),
    (SOME, 1, (1,), []),
    (SOME, [1, 2], (1, 2), []),
    (SOME, [1, "b"], None, ["x: expects a number or several, not [1, 'b']"]),
    (one_or_more(COLOUR, "colours"), "rad", (), ["x: no such colour 'rad' (did you mean 'red'?)"]),
    (TABLE, {"a": 1}, {"a": 1}, []),
    (TABLE, {"a": "b", "c": 1}, {"c": 1}, ["x.a: expects a number, not 'b'"]),
    (TABLE, {3: 1}, {}, ["x.3: expects a name, not 3"]),
    (TABLE, {}, None, ["x: expects a mapping of name to number, not {}"]),
    (ROWS, {1: "red"}, {1: "red"}, []),
    (EITHER, 3, 3, []),
    (EITHER, [3], (3,), []),
    (EITHER, [-3], (), ["x.0: expects a number, not -3"]),
    (EITHER, "b", None, ["x: expects a number or a list, not 'b'"]),
    (BOX, {"size": 3, "lid": True, "in": "a"}, Box(3, "", True, "a"), []),
    (BOX, {"lid": True}, Box(1, "", True), ["x: the key 'size' is missing"]),
    (BOX, {"size": 0}, Box(), ["x.size: expects a size, not 0"]),
    (
        record(Box, "key of a box"),
        {"size": 2, "lid": True},
        Box(2),
        ["x.lid: no such key of a box; known: size, note, in"],
    ),
    (BOX, 3, None, ["x: expects a mapping with some of size, note, lid, in, not 3"]),
]


@pytest.mark.parametrize(("form", "value", "meant", "problems"), CASES)
def test_a_value_in_its_form_and_out_of_it(
    form: Form[Any], value: object, meant: object, problems: list[str]
) -> None:
    document = parse("x: 1", "x.yaml")
    assert form.read(document, ("x",), value) == meant
    said = [str(problem).removeprefix("x.yaml:1: ") for problem in document.problems]
    assert len(said) == len(problems)
    assert all(text.startswith(start) for text, start in zip(said, problems, strict=True)), said


def in_json(value: object) -> object:
    """As JSON has it: every key a string."""
    if isinstance(value, dict):
        return {str(name): in_json(item) for name, item in value.items()}
    return [in_json(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("form", "value", "meant", "problems"), CASES)
def test_the_schema_accepts_what_is_read_without_a_problem(
    form: Form[Any], value: object, meant: object, problems: list[str]
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(form.schema())
    valid = jsonschema.Draft202012Validator(form.schema()).is_valid(in_json(value))
    names_are_texts = value == {3: 1}  # in JSON they always are
    assert valid == (not problems) or names_are_texts
