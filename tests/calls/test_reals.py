"""Real numbers: rounded as C rounds them, told apart by their bits, and next to each other."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgen.calls import reals
from opgen.calls.call_json import CallFault, make_call, to_json
from opgen.calls.table import concatenate, from_calls

KINDS = {"p": "double", "e": "float"}
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def call(p: object, e: object):
    return make_call("aclnnX", "ascend910b", {"p": p, "e": e}, {"aclnnX": KINDS})


@pytest.mark.parametrize("dtype", [np.dtype(np.float64), np.dtype(np.float32)])
@given(value=FINITE)
def test_ordinals_count_the_steps_of_nextafter(dtype: np.dtype, value: float) -> None:
    start = np.array([reals.rounded(value, dtype)], dtype)
    if not np.isfinite(start[0]):
        return
    with np.errstate(all="ignore"):
        above = np.nextafter(start, np.array(np.inf, dtype))
    here, next_ = reals.ordinals(start), reals.ordinals(above)
    assert next_ - here == 1
    assert reals.of_ordinals(here, dtype) == start and reals.of_ordinals(next_, dtype) == above


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=9))
def test_ordinals_are_in_the_order_of_the_numbers(values: list[float]) -> None:
    column = np.array(values)
    order = reals.ordinals(column)
    assert ((column[:-1] < column[1:]) == (order[:-1] < order[1:])).all()
    assert (reals.ordinals(np.array([np.nan])) > order).all()


@pytest.mark.parametrize(
    ("json_text", "double", "single"),
    [
        ("0.1", 0.1, 0.10000000149011612),
        ("1", 1.0, 1.0),
        ("-0.0", -0.0, -0.0),
        ('"nan"', math.nan, math.nan),
        ('"-inf"', -math.inf, -math.inf),
        ("1e39", 1e39, math.inf),
        ("5e-324", 5e-324, 0.0),
        ("1e-45", 1e-45, 1.401298464324817e-45),
        ("16777217", 16777217.0, 16777216.0),
        ("9007199254740993", 9007199254740992.0, 9007199254740992.0),
    ],
)
def test_a_number_is_what_its_type_in_c_makes_of_it(
    json_text: str, double: float, single: float
) -> None:
    value = json.loads(json_text)
    read = call(value, value).args
    assert np.array([read["p"], read["e"]]).tobytes() == np.array([double, single]).tobytes()


@pytest.mark.parametrize("value", [True, None, "1", "NaN", [1.0], 10**400, {}])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(CallFault, match=r'args\.p: expects a number, or one of "nan"'):
        call(value, 1.0)


@given(st.floats(), st.floats(width=32))
def test_special_values_survive_json_and_columns(p: float, e: float) -> None:
    first = call(reals.plain(p), reals.plain(e))
    text = json.dumps(to_json(first), allow_nan=False)
    again = call(**json.loads(text))
    table = from_calls("aclnnX", KINDS, [first, again])
    for column, dtype in (("p", np.float64), ("e", np.float32)):
        values = table.columns[column].values
        assert values.dtype == dtype and values[:1].tobytes() == values[1:].tobytes()
    back = concatenate([table, from_calls("aclnnX", KINDS, table.calls())])
    assert back.alike()[0].tolist() == [0] * 4


def test_calls_are_alike_by_the_bits_of_their_numbers() -> None:
    values = [0.0, -0.0, math.nan, math.nan, 5e-324, 0.0]
    table = from_calls("aclnnX", KINDS, [call(reals.plain(value), 1.0) for value in values])
    assert table.alike()[0].tolist() == [0, 1, 2, 2, 3, 0]
    table = from_calls("aclnnX", KINDS, [call(1, reals.plain(value)) for value in values])
    assert table.alike()[0].tolist() == [0, 1, 2, 2, 0, 0]
