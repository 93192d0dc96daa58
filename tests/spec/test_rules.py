"""Keys of parameters are short ways to write relations; a rule that does not apply is not
broken.
"""

from __future__ import annotations

import numpy as np
import pytest

from opgen.files.yamlfile import parse
from opgen.spec.parameter_form import PARAMETER, ParameterForm
from opgen.spec.parameter_keys import KEYS, relations

LONGHAND = [
    ("null", "tensor", False, [(None, "x.null == False")]),
    ("null", "tensor", True, []),
    ("null", "output", "not mask[0]", [("not (not mask[0])", "x.null == False")]),
    ("dtype", "tensor", ["FLOAT"], [(None, "x.dtype in ('FLOAT',)")]),
    (
        "dtype",
        "tensor",
        {"any": ["FLOAT"], "ascend910b": ["DOUBLE"]},
        [
            ("product not in ('ascend910b',)", "x.dtype in ('FLOAT',)"),
            ("product == 'ascend910b'", "x.dtype in ('DOUBLE',)"),
        ],
    ),
    (
        "dtype",
        "tensor",
        {"ascend910": ["FLOAT"]},
        [("product == 'ascend910'", "x.dtype in ('FLOAT',)")],
    ),
    ("format", "tensor", ["ND", "NCHW"], [(None, "x.format in ('ND', 'NCHW',)")]),
    ("format", "tensor", {3: ["NCL"]}, [("x.rank == 3", "x.format in ('NCL',)")]),
    ("rank", "tensor", [3, 4], [(None, "x.rank in (3, 4,)")]),
    ("shape", "tensor", {2: ["N", 3]}, [("x.rank == 2", "x.shape == (N, 3,)")]),
    ("shape", "tensor", {0: [], 1: ["N"]}, [("x.rank == 1", "x.shape == (N,)")]),
    ("dims", "tensor", [1, None], [(None, "lowest(x) >= 1")]),
    ("dims", "tensor", [None, 5], [(None, "highest(x) <= 5")]),
    ("empty", "tensor", False, [(None, "x.numel != 0")]),
    ("empty", "tensor", True, []),
    ("length", "int_array", 2, [(None, "len(x) in (2,)")]),
    ("length", "int_array", "w.rank - 2", [(None, "len(x) in (w.rank - 2,)")]),
    (
        "length",
        "int_array",
        {"w.rank": {4: [2, 4], 5: 3}},
        [("w.rank == 4", "len(x) in (2, 4,)"), ("w.rank == 5", "len(x) in (3,)")],
    ),
    ("min", "int_array", 0, [(None, "lowest(x) >= 0")]),
    ("min", "int32", 1, [(None, "x >= 1")]),
    ("max", "int_array", 255, [(None, "highest(x) <= 255")]),
    ("range", "int64", [-255, 255], [(None, "x >= -255"), (None, "x <= 255")]),
    ("range", "int_array", [0, None], [(None, "lowest(x) >= 0")]),
    ("enum", "int8", {0: "A", 2: "B"}, [(None, "x in (0, 2,)")]),
]


def read(key: str, kind: str, value: object) -> tuple[ParameterForm, list[str]]:
    document = parse("x: 1", "x.yaml")
    form = PARAMETER[kind].read(document, ("x",), {"kind": kind, key: value})
    assert form is not None
    return form, list(map(str, document.problems))


@pytest.mark.parametrize(("key", "kind", "value", "pairs"), LONGHAND)
def test_the_longhand_of_a_key(
    key: str, kind: str, value: object, pairs: list[tuple[str | None, str]]
) -> None:
    form, problems = read(key, kind, value)
    assert relations("x", form)[key] == pairs and not problems


def test_every_key_has_its_longhand_tried() -> None:
    assert {key for key, *_ in LONGHAND} == set(KEYS)


def test_a_parameter_has_the_relations_of_all_its_keys() -> None:
    form = ParameterForm("tensor", shape={2: ("N", "C")}, empty=False)
    assert list(relations("x", form)) == ["null", "rank", "shape", "empty"]
    assert list(relations("x", ParameterForm("int64"))) == []


FAULTS = [
    ("null", "tensor", 3, "null: expects false (never), true (always allowed), or the condition"),
    ("dtype", "tensor", "FLOAT", "dtype: expects a list of dtypes, or a mapping of product"),
    ("dtype", "tensor", {}, "dtype: expects a list of dtypes, or a mapping"),
    ("dtype", "tensor", [], "dtype: expects a list of dtypes"),
    ("dtype", "tensor", {"any": ["FLOTA"]}, "dtype.any.0: no such dtype 'FLOTA' (did you mean"),
    ("format", "tensor", {"three": ["ND"]}, "format.three: no such product 'three'; known: any, "),
    ("format", "tensor", {-1: ["ND"]}, "format.-1: no such product -1; known: any, "),
    ("format", "tensor", "ND", "format: expects a list of formats, or a mapping of rank"),
    ("rank", "tensor", [], "rank: expects a number, a term, or a list of them"),
    ("rank", "tensor", [True], "rank: expects a number, a term, or a list of them"),
    ("empty", "tensor", "yes", "empty: expects false (no extent may be 0) or true"),
    ("length", "int_array", {"x": 3}, "length.x: expects a mapping of number to lengths, not 3"),
    ("length", "int_array", [], "expects lengths, or a term and for each of its values the"),
    ("range", "int64", [1], "range: expects [lowest, highest]; null stands for no limit"),
    ("range", "int64", [None, None], "range: expects [lowest, highest]"),
    ("range", "int64", [3, 2], "range: lets nothing pass: 3 is more than 2"),
    ("dims", "tensor", 3, "dims: expects [lowest, highest]"),
    ("enum", "int8", {}, "enum: expects a mapping of number to name"),
    ("enum", "int8", {"a": 1}, "enum.a: expects a number, not 'a'"),
    ("min", "bool_array", 1, "min: no such key of bool_array"),
]


@pytest.mark.parametrize(("key", "kind", "value", "message"), FAULTS)
def test_a_key_with_a_wrong_value(key: str, kind: str, value: object, message: str) -> None:
    problems = read(key, kind, value)[1]
    assert problems and message in problems[0], problems


def test_broken_and_applies_part_the_rows() -> None:
    """A row of a rule is held, broken, or one to which the rule does not apply."""
    from opgen.calls.table import from_calls
    from opgen.spec import specfile
    from opgen.spec.table_view import TableView
    from tests.oracle.test_oracle import window
    from tests.support.spec_sample import TEXT

    spec = specfile.loads(TEXT)
    calls = [
        window(),
        window(self=None),
        window(kernel=(3,), stride=(2, 2)),
        window(kernel=()),
        window(stride=(0,)),
    ]
    view = TableView(spec, from_calls(spec.api, spec.kinds, calls))
    rule = spec.rule["out_width"]
    assert rule.broken(view, 5).tolist() == [False, False, True, False, False]
    assert rule.applies(view, 5).tolist() == [True, False, True, False, False]
    for one in spec.rules:
        assert not np.any(one.broken(view, 5) & ~one.applies(view, 5)), one.id
    half = spec.rule["keep_half"]
    assert half.applies(view, 5).tolist() == [False] * 5
    assert set(half.refs) == {("mode", ""), ("product", ""), ("self", "dtype")}
    assert half.text == "mode != KEEP when product == ascend910 and self.dtype == FLOAT16"
