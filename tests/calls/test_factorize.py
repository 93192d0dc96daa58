"""Equal things get one number, in the order of the first; equal answers are one object."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opgen.calls.factorize import factorize, factorize_rows, true_columns


@given(st.lists(st.integers(0, 5)))
def test_numbers_stand_in_the_order_of_the_first(keys: list[int]) -> None:
    number, first = factorize(iter(keys))
    in_order = list(dict.fromkeys(keys))
    assert number.tolist() == [in_order.index(key) for key in keys]
    assert first.tolist() == [keys.index(key) for key in in_order]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2))))
def test_rows_of_a_matrix_are_numbered_like_their_tuples(rows: list[tuple[int, int]]) -> None:
    found, expected = factorize_rows(np.array(rows, dtype=np.int64).reshape(-1, 2)), factorize(rows)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans())))
def test_the_names_whose_columns_hold(rows: list[tuple[bool, ...]]) -> None:
    columns = np.array(rows, dtype=bool).reshape(-1, 3).T
    found = true_columns(dict(zip("abc", columns, strict=True)))
    assert found == [
        tuple(name for name, there in zip("abc", row, strict=True) if there) for row in rows
    ]
    assert len(set(map(id, found))) == len(set(rows))
    assert true_columns({}) == []
