"""YAML that a person wrote: every surprise is a problem with its line, and all of a file come at
once.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from opgen.files import yamlfile
from opgen.files.resources import cases_folder, specs_folder
from opgen.model import FileError
from tests.support.suites import SLOW

SURPRISES = [
    ("a: no", 1, "a", "YAML 1.1 reads 'no' as bool; quote it"),
    ("a: on", 1, "a", "YAML 1.1 reads 'on' as bool"),
    ("a: Yes", 1, "a", "YAML 1.1 reads 'Yes' as bool"),
    ("a: True", 1, "a", "YAML 1.1 reads 'True' as bool"),
    ("a: NULL", 1, "a", "YAML 1.1 reads 'NULL' as null"),
    ("a: 1:30", 1, "a", "YAML 1.1 reads '1:30' as int"),
    ("a: 010", 1, "a", "YAML 1.1 reads '010' as int"),
    ("a: 0x10", 1, "a", "YAML 1.1 reads '0x10' as int"),
    ("a: 1_000", 1, "a", "YAML 1.1 reads '1_000' as int"),
    ("a: 2024-01-02", 1, "a", "YAML 1.1 reads '2024-01-02' as timestamp"),
    ("a: .inf", 1, "a", "YAML 1.1 reads '.inf' as float"),
    ("a: .nan", 1, "a", "YAML 1.1 reads '.nan' as float"),
    ("a: [1, off]", 1, "a.1", "YAML 1.1 reads 'off' as bool"),
    ("a:\n  b: 1\n  b: 2", 3, "a.b", "the key appears twice; keep one"),
    ("a: 1\na: 1", 2, "a", "the key appears twice"),
    ("on: 1", 1, "", "YAML 1.1 reads 'on' as bool"),
    ("true: 1", 1, "", "the key 'true' must be a word or a number; quote it"),
    ("1.5: 1\n1.50: 2", 2, "1.5", "the key appears twice"),
    ("null: 1\nnull: 2", 2, "null", "the key appears twice"),
    (".nan: 1", 1, "", "YAML 1.1 reads '.nan' as float"),
    ("? [1, 2]\n: 3", 1, "", "a key must be a word or a number"),
    ("<<: {a: 1}", 1, "", "YAML 1.1 reads '<<' as merge"),
    ("a:", 1, "a", "no value; write null where none is meant"),
    ("a: {b: }", 1, "a.b", "no value"),
    (
        "a: !!python/tuple [1]",
        1,
        "a",
        "the tag tag:yaml.org,2002:python/tuple means nothing here; leave it out",
    ),
    ("a: !mine {b: 1}", 1, "a", "the tag !mine means nothing here"),
    ("!mine\na: 1", 1, "", "the tag !mine means nothing here"),
    ("a: !!int '3'", 1, "a", "the tag tag:yaml.org,2002:int means nothing here"),
    ("a: !!float 3", 1, "a", "YAML 1.1 reads '3' as float"),
    ("a: !mine b", 1, "a", "YAML 1.1 reads 'b' as !mine"),
]


@pytest.mark.parametrize(("text", "line", "where", "message"), SURPRISES)
def test_a_surprise_is_a_problem(text: str, line: int, where: str, message: str) -> None:
    document = yamlfile.parse(text, "x.yaml")
    assert [(p.line, p.where) for p in document.problems][:1] == [(line, where)]
    assert message in document.problems[0].text
    with pytest.raises(FileError, match=f"^x.yaml:{line}: "):
        document.raise_problems()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: true, b: false, c: null, d: ~}", {"a": True, "b": False, "c": None, "d": None}),
        ("{a: 0, b: -7, c: +7, d: 2147483648}", {"a": 0, "b": -7, "c": 7, "d": 2**31}),
        ("{a: 1.5, b: 1e3, c: -2.}", {"a": 1.5, "b": 1000.0, "c": -2.0}),
        ("{a: 'no', b: \"010\", c: '1:30', d: ''}", {"a": "no", "b": "010", "c": "1:30", "d": ""}),
        ("{a: word, b: len(x) >= 1, 3: x}", {"a": "word", "b": "len(x) >= 1", 3: "x"}),
        ("null: 1", {"null": 1}),
        (
            "{a: !!str 3, b: !!str true, c: !!int 3, d: !!str 'x', e: !!seq [1]}",
            {"a": "3", "b": "true", "c": 3, "d": "x", "e": [1]},
        ),
        ("'no': 1", {"no": 1}),
        ("a: &x [1, 2]\nb: *x", {"a": [1, 2], "b": [1, 2]}),
        ("", None),
    ],
)
def test_honest_values_are_what_they_look_like(text: str, value: object) -> None:
    document = yamlfile.parse(text)
    document.raise_problems()
    assert document.data == value
    assert repr(document.data) == repr(value)  # True is no 1


BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in pairwise("abcdefghij")
)
BROKEN = [
    ("a: 1\nb: -" + "9" * 5000, "x.yaml:2: b: a whole number of 5001 digits; at most 1000"),
    ("? " + "9" * 5000 + "\n: 1", "x.yaml:1: a whole number of 5000 digits; at most 1000"),
    ("a: [1, 2", "x.yaml:1: not YAML: "),
    ("a: *nobody", "x.yaml:1: not YAML: found undefined alias"),
    ("a: b: c", "x.yaml:1: not YAML: mapping values are not allowed here"),
    ("\ta: 1", "x.yaml:1: not YAML: "),
    ("a: 1\n---\nb: 2", "not YAML: "),
    ("a: \x00", "x.yaml: not YAML: "),
    ("[" * 5000, "x.yaml: nested too deeply"),
    ("a: " + "[" * 60 + "]" * 60, "40 levels"),
    (BOMB, "aliases that repeat each other?"),
    ("a: &a [*a]", "aliases that repeat each other?"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_what_is_no_yaml_is_one_problem(text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        yamlfile.parse(text, "x.yaml").raise_problems()
    assert message in str(caught.value)


def test_all_problems_come_at_once_in_the_order_of_lines() -> None:
    document = yamlfile.parse("b: no\na: 010\nb: 1\n", "x.yaml")
    document.problem(("a",), "too small", name="the a")
    document.problem(("a", "deep", 3), "is not there")
    with pytest.raises(FileError) as caught:
        document.raise_problems()
    assert str(caught.value).splitlines() == [
        (
            "x.yaml:1: b: YAML 1.1 reads 'no' as bool; quote it, or write true, false or a plain"
            " number"
        ),
        (
            "x.yaml:2: a: YAML 1.1 reads '010' as int; quote it, or write true, false or a plain"
            " number"
        ),
        "x.yaml:2: a.deep.3: is not there",
        "x.yaml:2: the a: too small",
        "x.yaml:3: b: the key appears twice; keep one",
    ]


def test_lines_are_those_of_keys_and_items() -> None:
    document = yamlfile.parse("a:\n  - 1\n  - {b: 2}\nc: 3\n")
    assert [
        document.line(where) for where in [("a",), ("a", 0), ("a", 1, "b"), ("c",), ("a", 9)]
    ] == [1, 2, 3, 4, 1]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes("a: \xe9".encode("latin-1"))
    cases = [
        ("latin.yaml", "not UTF-8: byte 3 is 0xe9"),
        ("no.yaml", "cannot be read: No such file"),
        (".", "cannot be read: "),
    ]
    for name, message in cases:
        with pytest.raises(FileError) as caught:
            yamlfile.read(tmp_path / name, "shown.yaml")
        assert str(caught.value).startswith("shown.yaml: ") and message in str(caught.value)


def outcome(text: str, **parser: bool) -> object:
    """The data with their lines and problems, or the error."""
    try:
        document = yamlfile.parse(text, **parser)
    except FileError as error:
        return error.problems
    return repr(document.data), document.lines, document.problems


LAX = [
    "a: |# b",
    "a: >-#b\n c",
    "!*a b",
    "!@!!str ",
    "- !'!t x",
    "a: !b,c d",
    "[a?]",
    "[!a, b]",
    "a:\t1",
    "a: b\u2028c",
    "a: b != c",
]
"""What libyaml alone takes, mostly."""


def test_both_parsers_read_the_same() -> None:
    """Libyaml's where it is there, and PyYAML's own: the project's files, with an end cut off or a
    letter exchanged too.
    """
    draw = Random(0)
    whole = [
        path.read_text(encoding="utf-8")
        for folder in (specs_folder(), cases_folder())
        for path in sorted(folder.rglob("*.yaml"))
    ]
    texts = [text for text, *_ in SURPRISES] + LAX + whole[:: 1 if SLOW else 5]
    for _ in range(60):
        lines = draw.choice(whole).splitlines(keepends=True)
        start = draw.randrange(len(lines))
        part = "".join(lines[start : start + 20])
        at = draw.randrange(len(part))
        texts += [
            part,
            part[:at],
            part[:at]
            + draw.choice("\t:-#{}[],'\"&*!|>%@`\r\x00\x85\u2028\ufeff\ud800é ")
            + part[at + 1 :],
        ]
    quick = [outcome(text) for text in texts]
    assert quick == [outcome(text, libyaml=False) for text in texts]
    assert sum(isinstance(one, tuple) for one in quick) > 60
