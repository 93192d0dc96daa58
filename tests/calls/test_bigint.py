"""Integer columns never wrap: they compute what Python computes, inside int64 and beyond it."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen.calls import bigint

EDGES = [
    0,
    1,
    -1,
    2,
    3,
    -7,
    2**31 - 1,
    2**31,
    2**32,
    3037000499,
    3037000500,
    2**62,
    2**63 - 1,
    -(2**63),
    -(2**62) - 1,
]
OPERATIONS: list[tuple[Callable[..., np.ndarray], Callable[[int, int], int]]] = [
    (bigint.add, operator.add),
    (bigint.subtract, operator.sub),
    (bigint.multiply, operator.mul),
    (bigint.smaller, min),
    (bigint.larger, max),
    (bigint.floor_divide, lambda a, b: a // b if b else 0),
    (bigint.remainder, lambda a, b: a % b if b else 0),
]


def agrees(
    operate: Callable[..., np.ndarray],
    plain: Callable[[int, int], int],
    pairs: list[tuple[int, int]],
) -> bool:
    a, b = bigint.as_column([x for x, _ in pairs]), bigint.as_column([y for _, y in pairs])
    return bool(operate(a, b).tolist() == [plain(x, y) for x, y in pairs])


@pytest.mark.parametrize(("operate", "plain"), OPERATIONS)
def test_every_pair_of_edges_alone_and_together(operate: Any, plain: Any) -> None:
    pairs = list(itertools.product(EDGES, repeat=2))
    assert agrees(operate, plain, pairs)
    for pair in pairs:
        assert agrees(operate, plain, [pair]), pair


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(OPERATIONS),
    st.lists(
        st.tuples(st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70)),
        min_size=1,
        max_size=5,
    ),
)
def test_numbers_beyond_int64_stay_exact(operation: Any, pairs: list[tuple[int, int]]) -> None:
    assert agrees(*operation, pairs)


def test_a_column_goes_back_to_int64_where_it_fits() -> None:
    big = bigint.multiply(np.array([2**62, 3]), np.array([4, 5]))
    assert big.dtype == object and big.tolist() == [2**64, 15]
    assert bigint.subtract(big, big).dtype == np.int64
    assert bigint.multiply(np.array([2**31]), np.array([2**31])).dtype == np.int64


def test_constants_broadcast() -> None:
    assert bigint.multiply(bigint.as_column(2**62), np.array([1, 4])).tolist() == [2**62, 2**64]
    assert bigint.floor_divide(np.array([7, -7]), bigint.as_column(0)).tolist() == [0, 0]


def test_products_along_the_last_axis() -> None:
    shapes = [[2**31 - 1] * 5, [2, 3, 1, 1, 1], [0, 2**62, 2**62, 1, 1], [-1, 2**63 - 1, 2, 1, 1]]
    expected = [(2**31 - 1) ** 5, 6, 0, -2 * (2**63 - 1)]
    assert bigint.product_along(bigint.as_column(shapes)).tolist() == expected
    for more, product in ((2, 2 * (2**63 - 1) ** 20), (0, 0)):
        assert bigint.product_along(np.array([[2**63 - 1] * 20 + [more]])).tolist() == [product]
    assert bigint.product_along(np.ones((3, 0), dtype=np.int64)).tolist() == [1, 1, 1]
    assert bigint.extremes(np.zeros((0,), dtype=np.int64)) == (0, 0)


def test_an_operation_that_wraps_is_seen() -> None:
    """What these tests are for: plain int64 arithmetic fails them."""
    with np.errstate(all="ignore"):
        assert not agrees(
            lambda a, b: a.astype(np.int64) * b.astype(np.int64),
            operator.mul,
            [(3037000500, 3037000500)],
        )
        assert not agrees(lambda a, b: a + b, operator.add, [(2**63 - 1, 1)])


@pytest.mark.parametrize("lowest", [True, False])
def test_extremes_are_those_of_the_first_of_each_row(lowest: bool) -> None:
    rows = [[2**63 - 1], [-(2**63), 5, 7], [3, 3, -9], [1, 2], [10**30, 4]]
    width, random = max(map(len, rows)), np.random.default_rng(0)
    padded = [row + [int(n) for n in random.integers(-99, 99, width - len(row))] for row in rows]
    sizes = np.array([len(row) for row in rows])
    expected = [min(row) if lowest else max(row) for row in rows]
    assert bigint.extreme(np.array(padded, dtype=object), sizes, lowest).tolist() == expected
    assert (
        bigint.extreme(np.array(padded[:-1], dtype=np.int64), sizes[:-1], lowest).tolist()
        == expected[:-1]
    )


@pytest.mark.parametrize("numbers", [[3, 4], [3, 2**70]])
def test_what_is_put_behind_rows_is_exact_with_them(numbers: list[int]) -> None:
    """Numpy pads Python's integers with its own, which wrap."""
    rows = bigint.widened(bigint.as_column([numbers]), 3)
    assert rows.tolist() == [[*numbers, 1]]
    assert bigint.product_along(rows * 2**30).tolist() == [numbers[0] * numbers[1] * 2**90]
