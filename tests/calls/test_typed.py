"""Kinds beyond tensors and whole numbers: what a call file may say of each, and that it comes back
from columns as it was.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgen.calls import reals, typed
from opgen.calls.call_json import CallFault, make_call, to_json
from opgen.calls.columns import TypedColumn
from opgen.calls.layout import representable
from opgen.calls.table import concatenate, from_calls
from opgen.calls.vocabulary import vocabulary

KINDS = {"n": "uint64", "word": "string", "w": "float_array", "s": "scalar", "small": "int8"}
GOOD: dict[str, Any] = {"n": 1, "word": "mean", "w": [0.5], "s": None, "small": 1}


def call(**args: Any):
    return make_call("aclnnX", "ascend910b", GOOD | args, {"aclnnX": KINDS})


BAD = [
    ({"n": -1}, "args.n: expects a whole number of uint64, 0 to 18446744073709551615, not -1"),
    ({"n": 2**64}, "args.n: expects a whole number of uint64"),
    ({"n": 1.0}, "args.n: expects a whole number of uint64"),
    ({"n": None}, "args.n: expects a whole number of uint64"),
    ({"word": 3}, "args.word: expects a text of at most 1024 characters, without NUL, not 3"),
    ({"word": "a\0b"}, "without NUL"),
    ({"word": "a" * 1025}, "at most 1024 characters"),
    ({"w": 0.5}, "args.w: expects a list of numbers, not 0.5"),
    ({"w": [1, "half"]}, "args.w: 'half' is not a number"),
    ({"w": [True]}, "args.w: True is not a number"),
    ({"s": 0.5}, "args.s: expects an object with value and dtype, or null, not 0.5"),
    ({"s": {"value": 1}}, "args.s: expects an object with value and dtype"),
    ({"s": {"value": 1, "dtype": "FLAOT"}}, "args.s.dtype: no dtype of a scalar is 'FLAOT' (did"),
    ({"s": {"value": 1, "dtype": ["FLOAT"]}}, "args.s.dtype: no dtype of a scalar is ['FLOAT']"),
    ({"s": {"value": 0.5, "dtype": "INT32"}}, "args.s.value: 0.5 is no number that INT32 has"),
    ({"s": {"value": 300, "dtype": "UINT8"}}, "args.s.value: 300 is no number that UINT8 has"),
    ({"s": {"value": 1, "dtype": "BOOL"}}, "args.s.value: 1 is no number that BOOL has"),
    ({"s": {"value": None, "dtype": "FLOAT"}}, "args.s.value: None is no number that FLOAT has"),
]


@pytest.mark.parametrize(("args", "message"), BAD)
def test_what_is_no_value_is_refused(args: dict[str, Any], message: str) -> None:
    with pytest.raises(CallFault) as caught:
        call(**args)
    assert message in str(caught.value)


NUMBERS = st.floats(width=32).map(reals.plain)
SCALARS = st.one_of(
    st.none(),
    st.builds(lambda v: {"value": v, "dtype": "FLOAT"}, NUMBERS),
    st.builds(lambda v: {"value": v, "dtype": "DOUBLE"}, st.floats().map(reals.plain)),
    st.builds(lambda v: {"value": v, "dtype": "INT64"}, st.integers(-(2**53), 2**53)),
    st.builds(lambda v: {"value": v, "dtype": "BOOL"}, st.booleans()),
)
ARGS = st.fixed_dictionaries(
    {
        "n": st.integers(0, 2**64 - 1),
        "word": st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
        "w": st.none() | st.lists(NUMBERS, max_size=5),
        "s": SCALARS,
    }
)


@given(st.lists(ARGS, min_size=1, max_size=6))
def test_calls_come_back_from_columns_and_json(many: list[dict[str, Any]]) -> None:
    calls = [call(**args) for args in many]
    texts = [json.dumps(to_json(each), allow_nan=False) for each in calls]
    table = from_calls("aclnnX", KINDS, calls)
    assert [json.dumps(to_json(each)) for each in table.calls()] == texts
    assert [json.dumps(to_json(call(**json.loads(text)))) for text in texts] == texts
    twice = concatenate([table, table.take(np.arange(len(calls))[::-1])])
    number = twice.alike()[0].tolist()
    same = [texts.index(text) for text in (*texts, *texts[::-1])]
    assert [number.index(n) for n in number] == [same.index(n) for n in same]


def test_a_scalar_is_what_its_dtype_makes_of_it() -> None:
    dtypes = {"FLOAT": 0.10000000149011612, "DOUBLE": 0.1, "FLOAT16": 0.0999755859375}
    for dtype, value in dtypes.items():
        assert to_json(call(s={"value": 0.1, "dtype": dtype}))["s"]["value"] == value
    assert typed.raw(1.0, "FLOAT") == b"\0\0\x80?" and typed.raw(-2, "INT16") == b"\xfe\xff"


def test_numbers_that_their_types_do_not_have_are_not_representable() -> None:
    table = from_calls("aclnnX", KINDS, [call(), call(), call(s={"value": 1, "dtype": "FLOAT"})])
    assert representable(table).all()
    table.columns["small"].values[0] = 128
    column = table.columns["s"]
    assert isinstance(column, TypedColumn)
    column.dtype[2] = vocabulary().index["dtype"]["HIFLOAT8"]
    assert representable(table).tolist() == [False, True, False]
