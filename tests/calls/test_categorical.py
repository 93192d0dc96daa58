"""A categorical column says what its rows say, with each value once and in the order of first
use.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opgen.calls.categorical import Categorical

TEXTS = st.lists(st.sampled_from("abcde"), max_size=12)


def sound(column: Categorical[str], rows: list[str]) -> bool:
    return (
        list(column) == rows
        and column.values == tuple(dict.fromkeys(rows))
        and column.first.tolist() == [rows.index(value) for value in column.values]
    )


@given(TEXTS, TEXTS, st.data())
def test_every_operation_says_what_lists_say(
    rows: list[str], more: list[str], data: st.DataObject
) -> None:
    column = Categorical.of(rows)
    some = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else []
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    mask = mask.astype(bool)
    assert sound(column, rows) and len(column) == len(rows)
    assert sound(column.take(np.array(some, dtype=int)), [rows[i] for i in some])
    assert sound(column.take(mask), [row for row, kept in zip(rows, mask, strict=True) if kept])
    assert sound(
        column.where(mask, "z"),
        [row if kept else "z" for row, kept in zip(rows, mask, strict=True)],
    )
    assert sound(
        column.map(lambda value: value > "b" and "x" or value), [r > "b" and "x" or r for r in rows]
    )
    assert sound(Categorical.concatenate([column, Categorical.of(more)]), rows + more)
    assert column.array(ord).tolist() == list(map(ord, rows))
    assert column.mask(lambda value: value == "a").tolist() == [row == "a" for row in rows]
    assert all(column[i] == row for i, row in enumerate(rows))


def test_a_coding_may_repeat_values_and_leave_some_out() -> None:
    column = Categorical.coded(["x", "y", "x", "z"], np.array([3, 2, 0, 3]))
    assert sound(column, ["z", "x", "x", "z"])
    assert sound(Categorical.constant("x", 3), ["x"] * 3) and sound(
        Categorical.constant("x", 0), []
    )
    assert sound(Categorical.concatenate([]), [])
