"""Cases become columns and come back as they were, whole, in part, and after others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from opgen.calls.case_table import CaseTable
from opgen.calls.purposes import Purpose
from opgen.model import Argument, Call, Case, Expectation
from tests.support.bundle_sample import sample
from tests.support.case_tables import tabulate

CASES = sample().cases


def case(name: str, **args: Argument) -> Case:
    return Case(name, Call("aclnnX", "ascend910", args), "given", "", Expectation((0,), "valid"))


def test_cases_come_back_as_they_were() -> None:
    table = tabulate(CASES)
    assert len(table) == len(CASES) and list(table) == CASES
    assert [table[row] for row in range(len(CASES))] == CASES
    assert list(tabulate([])) == []


def test_some_cases_are_those_cases() -> None:
    rows = np.array([9, 0, 14, 9])
    taken = tabulate(CASES).take(rows)
    assert list(taken) == [CASES[row] for row in rows]
    assert taken.intent.values == tuple(dict.fromkeys(CASES[row].intent for row in rows))


def test_cases_behind_others_make_their_calls_in_one_table_per_api() -> None:
    parts = [tabulate(CASES[start : start + 5]) for start in range(0, len(CASES), 5)]
    table = CaseTable.concatenate(parts)
    assert list(table) == CASES
    assert [calls.api for calls in table.calls] == ["aclnnOne", "aclnnTwo"]
    assert list(CaseTable.concatenate([])) == []


def test_columns_say_what_the_cases_say() -> None:
    table = tabulate(CASES)
    assert list(table.api) == [one.call.api for one in CASES]
    assert list(table.product) == [one.call.product for one in CASES]
    assert list(table.intent) == [one.intent for one in CASES]
    rows = table.rows_of("aclnnOne", ["ascend910"])
    assert [CASES[row].call.product for row in rows] == ["ascend910"] * 3
    assert table.calls_of(rows).calls() == [CASES[row].call for row in rows]


def test_aims_are_told_in_words() -> None:
    purposes = (Purpose("breaks", ("a", "b")), Purpose("limits", ("c",)))
    one = tabulate(CASES[:1])
    aimed = replace(one, purposes=one.purposes.map(lambda _: purposes))
    assert aimed[0].intent == "breaks a with b; at the limit of c"


def test_parts_of_one_api_have_the_same_parameters() -> None:
    parts = [tabulate([case("a", x=1)]), tabulate([case("b", y=1)])]
    with pytest.raises(ValueError, match="aclnnX: not all calls have the same parameters"):
        CaseTable.concatenate(parts)


def test_equal_calls_have_one_number_whatever_their_products() -> None:
    table = tabulate(CASES).calls[0]
    number, first = table.alike()
    calls = [one.call.args for one in CASES if one.call.api == "aclnnOne"]
    assert [calls.index(args) for args in calls] == first[number].tolist()
