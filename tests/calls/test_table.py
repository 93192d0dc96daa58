"""Calls become columns and come back as they were, whatever is null, strided, scalar or
enormous.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from opgen.calls.columns import ArrayColumn, TensorColumn
from opgen.calls.jsonl import read_calls
from opgen.calls.table import CallTable, concatenate, from_calls
from opgen.model import Argument, Call, TensorDesc
from opgen.spec.catalog import catalog

KINDS = {
    "x": "tensor",
    "p": "int_array",
    "m": "bool_array",
    "n": "int64",
    "f": "bool",
    "e": "double",
}
TENSORS: list[TensorDesc | None] = [
    None,
    TensorDesc((), "FLOAT"),
    TensorDesc((2, 0, 3), "BFLOAT16", "NCL"),
    TensorDesc((2**63 - 1, 2), "FLOAT16"),
    TensorDesc((-1, 4, 5, 6, 7), "INT8", "NCDHW"),
    TensorDesc((3, 4), "FLOAT", "ND", (1, 3), 7, (40,)),
    TensorDesc((3, 4), "FLOAT", "ND", (0, 0), 0, None),
    TensorDesc((3,), "FLOAT", "ND", None, 2**40, (), (-1.0, 2.5)),
]
ARRAYS: list[tuple[int, ...] | None] = [None, (), (0,), (1, -2, 2**63 - 1), (-(2**63),) * 5]


def some() -> list[Call]:
    calls = []
    for i in range(40):
        flags = [None, (), (True,), (False, True, False)][i % 4]
        args: dict[str, Argument] = {
            "x": TENSORS[i % 8],
            "p": ARRAYS[i % 5],
            "m": flags,
            "n": 2**63 - 1 - i,
            "f": None if i == 7 else i % 2 == 0,
            "e": None if i % 9 == 3 else i * 1e-5,
        }
        calls.append(Call("aclnnX", ["ascend910", "ascend910b"][i % 2], args))
    return calls


def same(a: CallTable, b: CallTable) -> bool:
    pairs = [
        (getattr(x, f.name), getattr(b.columns[name], f.name))
        for name, x in a.columns.items()
        for f in fields(x)
    ]
    return np.array_equal(a.product, b.product) and all(
        x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype == np.float64)
        for x, y in pairs
    )


def test_calls_come_back_as_they_were() -> None:
    assert from_calls("aclnnX", KINDS, some()).calls() == some()


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_a_table_of_any_size(size: int) -> None:
    table = from_calls("aclnnX", KINDS, some()[:size])
    assert len(table) == size and table.calls() == some()[:size]


def test_one_parameter_is_enough() -> None:
    calls = [Call("a", "ascend910", {"n": 3}), Call("a", "ascend910", {"n": -3})]
    assert from_calls("a", {"n": "int64"}, calls).calls() == calls


def test_tensors_that_share_an_object_and_tensors_that_do_not_make_the_same_columns() -> None:
    one = TensorDesc((2, 3), "FLOAT")
    shared = [Call("a", "ascend910", {"x": one}) for _ in range(3)]
    apart = [Call("a", "ascend910", {"x": TensorDesc((2, 3), "FLOAT")}) for _ in range(3)]
    assert same(from_calls("a", {"x": "tensor"}, shared), from_calls("a", {"x": "tensor"}, apart))


def test_rows_are_taken_in_the_order_asked() -> None:
    table = from_calls("aclnnX", KINDS, some())
    assert table.take(np.array([5, 0, 5])).calls() == [some()[i] for i in (5, 0, 5)]
    assert table.take(np.arange(40) % 8 == 3).calls() == some()[3::8]
    assert table.take(slice(2, 4)).calls() == some()[2:4]


def test_tables_one_after_the_other() -> None:
    parts = [from_calls("aclnnX", KINDS, some()[a:b]) for a, b in ((0, 1), (1, 9), (9, 9), (9, 40))]
    assert concatenate(parts).calls() == some()
    assert same(
        concatenate([from_calls("aclnnX", KINDS, some())]), from_calls("aclnnX", KINDS, some())
    )


def test_the_order_of_arguments_does_not_matter() -> None:
    turned = [Call(c.api, c.product, dict(reversed(list(c.args.items())))) for c in some()]
    assert same(from_calls("aclnnX", KINDS, turned), from_calls("aclnnX", KINDS, some()))


def test_beyond_a_row_stand_ones_and_zeros() -> None:
    table = from_calls("aclnnX", KINDS, some()[:3])
    x, p = table.columns["x"], table.columns["p"]
    assert isinstance(x, TensorColumn) and isinstance(p, ArrayColumn)
    assert (
        x.shape.tolist() == [[1, 1, 1], [1, 1, 1], [2, 0, 3]]
        and x.rank.tolist() == [0, 0, 3]
        and x.null.tolist() == [True, False, False]
    )
    assert (
        p.values.tolist() == [[0], [0], [0]]
        and p.length.tolist() == [0, 0, 1]
        and p.null.tolist() == [True, False, False]
    )
    assert x.numel().tolist() == [1, 1, 0]


def test_numel_is_exact_beyond_int64() -> None:
    x = from_calls(
        "a", {"x": "tensor"}, [Call("a", "ascend910", {"x": TensorDesc((2**63 - 1,) * 3, "FLOAT")})]
    ).columns["x"]
    assert isinstance(x, TensorColumn) and x.numel().tolist() == [(2**63 - 1) ** 3]


def test_real_calls_come_back_as_they_were() -> None:
    named = read_calls(
        Path(__file__).parents[1] / "data" / "library_sample.jsonl.gz", catalog().kinds
    )
    for api, kinds in catalog().kinds.items():
        calls = [n.call for n in named if n.call.api == api]
        assert from_calls(api, kinds, calls).calls() == calls
