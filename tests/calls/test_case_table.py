"""Cases become columns and come back as they were, whole, in part, and after others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from opgen.calls.case_table import CaseTable
from opgen.calls.purposes import Purpose
from opgen.model import Argument, Call, Case, Expectation, TensorDesc
from tests.support.bundle_sample import sample

CASES = sample().cases


def case(name: str, **args: Argument) -> Case:
    return Case(name, Call("aclnnX", "ascend910", args), "given", "", Expectation((0,), "valid"))


def test_cases_come_back_as_they_were() -> None:
    table = CaseTable.from_cases(CASES)
    assert len(table) == len(CASES) and list(table) == CASES
    assert [table[row] for row in range(len(CASES))] == CASES
    assert list(CaseTable.from_cases([])) == []


def test_some_cases_are_those_cases() -> None:
    rows = np.array([9, 0, 14, 9])
    taken = CaseTable.from_cases(CASES).take(rows)
    assert list(taken) == [CASES[row] for row in rows]
    assert taken.intent.values == tuple(dict.fromkeys(CASES[row].intent for row in rows))


def test_cases_behind_others_make_their_calls_in_one_table_per_api() -> None:
    parts = [CaseTable.from_cases(CASES[start : start + 5]) for start in range(0, len(CASES), 5)]
    table = CaseTable.concatenate(parts)
    assert list(table) == CASES
    assert [calls.api for calls in table.calls] == ["aclnnOne", "aclnnTwo"]
    assert list(CaseTable.concatenate([])) == []


def test_columns_say_what_the_cases_say() -> None:
    table = CaseTable.from_cases(CASES)
    assert list(table.api) == [one.call.api for one in CASES]
    assert list(table.product) == [one.call.product for one in CASES]
    assert list(table.intent) == [one.intent for one in CASES]
    rows = table.rows_of("aclnnOne", ["ascend910"])
    assert [CASES[row].call.product for row in rows] == ["ascend910"] * 3
    assert table.calls_of(rows).calls() == [CASES[row].call for row in rows]


def test_aims_are_told_in_words() -> None:
    purposes = (Purpose("breaks", ("a", "b")), Purpose("limits", ("c",)))
    one = CaseTable.from_cases(CASES[:1])
    aimed = replace(one, purposes=one.purposes.map(lambda _: purposes))
    assert aimed[0].intent == "breaks a with b; at the limit of c"


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ({"x": 1}, {"y": 1}, "aclnnX: calls with y and with x"),
        ({"x": 1}, {"x": 1, "y": 1}, "aclnnX: calls with x, y and with x"),
        ({"x": 1}, {"x": 1.5}, "aclnnX: x is a double here and a int64 there"),
        ({"x": TensorDesc((), "FLOAT")}, {"x": (1,)}, "x is a int_array here and a tensor there"),
        ({"x": (True,)}, {"x": (1,)}, "x is a bool_array here and a int_array there"),
        ({"x": "text"}, {"x": 1}, "'text' is not an argument of a call"),
        (
            {"x": TensorDesc((1,), "FLOAT7")},
            {"x": None},
            "'FLOAT7' is not a product, dtype or format",
        ),
        ({"x": TensorDesc((), "FLOAT", "CHWN")}, {"x": None}, "'CHWN' is not a product, dtype or"),
        ({"x": 2**64}, {"x": 1}, "aclnnX: a number does not fit 64 bits"),
    ],
)
def test_what_is_no_table_of_calls_is_refused(
    one: dict[str, Argument], other: dict[str, Argument], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        CaseTable.from_cases([case("a", **one), case("b", **other)])


def test_parts_of_one_api_have_the_same_parameters() -> None:
    parts = [CaseTable.from_cases([case("a", x=1)]), CaseTable.from_cases([case("b", y=1)])]
    with pytest.raises(ValueError, match="aclnnX: not all calls have the same parameters"):
        CaseTable.concatenate(parts)


def test_what_is_mixed_is_still_one_kind() -> None:
    cases = [
        case("a", n=True, flags=(), nothing=None, items=[]),
        case("b", n=3, flags=(True,), nothing=None, items=[2]),
        case("c", n=None, flags=None, nothing=None, items=None),
    ]
    made = list(CaseTable.from_cases(cases))
    assert [one.call.args["n"] for one in made] == [1, 3, None]
    assert [one.call.args["flags"] for one in made] == [(), (True,), None]
    assert [one.call.args["items"] for one in made] == [(), (2,), None]
    assert all(one.call.args["nothing"] is None for one in made)


def test_equal_calls_have_one_number_whatever_their_products() -> None:
    table = CaseTable.from_cases(CASES).calls[0]
    number, first = table.alike()
    calls = [one.call.args for one in CASES if one.call.api == "aclnnOne"]
    assert [calls.index(args) for args in calls] == first[number].tolist()
