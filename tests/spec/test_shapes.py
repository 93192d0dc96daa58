"""Shapes in the rule language: on columns they are what Python and numpy say of one call after the
other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen.calls.table import from_calls
from opgen.model import Call, TensorDesc
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from opgen.spec.language import parse
from opgen.spec.spec import Spec
from opgen.spec.specfile import loads
from opgen.spec.table_view import TableView

SPEC = """
api: aclnnShapesBackward
page: none
products: [ascend910]
parameters:
  x: {kind: tensor, null: true}
  y: {kind: tensor, null: true}
  n: {kind: int_array, null: true}
  k: {kind: int64}
  dim: {kind: int64}
returns: {assumed: [product]}
"""


@cache
def shapes_spec() -> Spec:
    return loads(SPEC)


class Unbound(Exception):
    """What a call does not have."""


Names: TypeAlias = dict[str, Any]
Twin: TypeAlias = tuple[str, Callable[[Names], Any]]
"""A term, and what computes it of one call, plainly."""


def known(name: str) -> Callable[[Names], Any]:
    def read(names: Names) -> Any:
        if names[name] is None:
            raise Unbound
        return names[name]

    return read


def place(shape: tuple[int, ...], index: int, last: int) -> int:
    if not -len(shape) <= index <= last:
        raise Unbound
    return index % len(shape) if index < 0 else index


def axis(shape: tuple[int, ...], index: int) -> int:
    return shape[place(shape, index, len(shape) - 1)]


def suffix(shape: tuple[int, ...], index: int) -> tuple[int, ...]:
    return shape[place(shape, index, len(shape)) :]


def prefix(shape: tuple[int, ...], index: int) -> tuple[int, ...]:
    return shape[: place(shape, index, len(shape))]


def last(shape: tuple[int, ...], axes: int) -> tuple[int, ...]:
    return shape[place(shape, len(shape) - axes if 0 <= axes <= len(shape) else 99, len(shape)) :]


def all_but_last(shape: tuple[int, ...], axes: int) -> tuple[int, ...]:
    return shape[: len(shape) - len(last(shape, axes))]


def without(shape: tuple[int, ...], index: int) -> tuple[int, ...]:
    return tuple(np.delete(np.array(shape, dtype=object), place(shape, index, len(shape) - 1)))


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """By numpy itself; of extents that it does not hold, by small ones that are as equal."""
    small = {0: 0, 1: 1}
    for extent in (*a, *b):
        small.setdefault(extent, len(small) + 1)
    large = {number: extent for extent, number in small.items()}
    try:
        together = np.broadcast_shapes(*(tuple(small[e] for e in shape) for shape in (a, b)))
    except ValueError:
        raise Unbound from None
    return tuple(large[number] for number in together)


def apply(function: Callable[..., Any], *parts: Twin) -> Callable[[Names], Any]:
    return lambda names: function(*(of(names) for _, of in parts))


NUMBERS: st.SearchStrategy[Twin] = st.one_of(
    st.sampled_from(["k", "dim"]).map(lambda name: (name, known(name))),
    st.integers(0, 3).map(lambda n: (f"(k - k + {n})", lambda names: n)),
    st.just(("len(n)", apply(len, ("n", known("n"))))),
    st.just(("x.rank", apply(len, ("x", known("x"))))),
)
LEAVES: st.SearchStrategy[Twin] = st.one_of(
    st.sampled_from(["x", "y"]).map(lambda name: (f"{name}.shape", known(name))),
    st.just(("n", known("n"))),
    st.just(("(1,)", lambda names: (1,))),
    st.just(("()", lambda names: ())),
    st.just(("(k, 2)", lambda names: (names["k"], 2))),
)


def larger(inner: st.SearchStrategy[Twin]) -> st.SearchStrategy[Twin]:
    def of(text: str, function: Callable[..., Any], *parts: Any) -> st.SearchStrategy[Twin]:
        return st.tuples(*parts).map(
            lambda twins: (text.format(*(t for t, _ in twins)), apply(function, *twins))
        )

    return st.one_of(
        of("{}[{}:]", suffix, inner, NUMBERS),
        of("{}[:{}]", prefix, inner, NUMBERS),
        of("{}[-{}:]", last, inner, NUMBERS),
        of("{}[:-{}]", all_but_last, inner, NUMBERS),
        of("{}[{}:][:{}]", lambda s, a, b: prefix(suffix(s, a), b), inner, NUMBERS, NUMBERS),
        of("without({}, {})", without, inner, NUMBERS),
        of("({} + {})", lambda a, b: a + b, inner, inner),
        of("({} * {})", lambda a, n: a * n, inner, NUMBERS),
        of("broadcast({}, {})", broadcast, inner, inner),
    )


SHAPES = st.recursive(LEAVES, larger, max_leaves=4)
EXTENT = st.one_of(st.integers(0, 3), st.sampled_from([2**31, 2**62, 2**63 - 1]))
SHAPE = st.one_of(st.none(), st.lists(EXTENT, max_size=4).map(tuple))
ROWS = st.lists(
    st.tuples(SHAPE, SHAPE, SHAPE, st.integers(-3, 3), st.integers(-5, 5)), min_size=1, max_size=5
)


def columns(rows: Sequence[tuple[Any, ...]]) -> TableView:
    spec = shapes_spec()
    calls = []
    for x, y, n, k, dim in rows:
        tensors = {
            name: None if shape is None else TensorDesc(shape, "FLOAT")
            for name, shape in (("x", x), ("y", y))
        }
        calls.append(Call(spec.api, "ascend910", {**tensors, "n": n, "k": k, "dim": dim}))
    return TableView(spec, from_calls(spec.api, spec.kinds, calls))


def read(text: str, view: TableView) -> list[Any]:
    """What a term says of each row; None where it is unbound."""
    term = parse.term(text, view.spec.scope)
    value, rows = term.read(view), len(view.table)
    bound = np.broadcast_to(value.bound, rows).tolist()
    if term.kind == "shape":
        rank, extents = value.data
        listed = np.broadcast_to(extents, (rows, extents.shape[1])).tolist()
        sizes = np.broadcast_to(rank, rows).tolist()
        said = [tuple(row[:size]) for row, size in zip(listed, sizes, strict=True)]
    else:
        said = np.broadcast_to(value.data, rows).tolist()
    return [what if known else None for what, known in zip(said, bound, strict=True)]


def plainly(of: Callable[[Names], Any], rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    said = []
    for row in rows:
        try:
            said.append(of(dict(zip(("x", "y", "n", "k", "dim"), row, strict=True))))
        except Unbound:
            said.append(None)
    return said


@settings(max_examples=150, deadline=None, derandomize=True)
@given(SHAPES, ROWS)
def test_shapes_are_what_they_are_of_each_call_alone(twin: Twin, rows: Any) -> None:
    text, of = twin
    assert read(text, columns(rows)) == plainly(of, rows), text


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SHAPES, SHAPES, NUMBERS, ROWS)
def test_numbers_and_truths_of_shapes(a: Twin, b: Twin, index: Twin, rows: Any) -> None:
    view = columns(rows)
    assert read(f"prod({a[0]})", view) == plainly(apply(prod, a), rows)
    assert read(f"sum({a[0]})", view) == plainly(apply(sum, a), rows)
    assert read(f"{a[0]}[{index[0]}]", view) == plainly(apply(axis, a, index), rows)
    assert read(f"{a[0]} == {b[0]}", view) == plainly(apply(lambda x, y: x == y, a, b), rows)

    def exists(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
        try:
            return bool(broadcast(x, y)) or True
        except Unbound:
            return False

    assert read(f"broadcastable({a[0]}, {b[0]})", view) == plainly(apply(exists, a, b), rows)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x.shape[-len(n):]", [(), (3,), (2, 3), None]),
        ("x.shape[:-len(n)]", [(2, 3), (2,), (), None]),
        ("x.shape[dim]", [2, 3, 3, None]),
        ("x.shape[-2]", [2, 2, 2, None]),
        ("x.shape[-2:]", [(2, 3), (2, 3), (2, 3), None]),
        ("without(x.shape, dim)", [(3,), (2,), (2,), None]),
        ("x.shape[:-len(n)] + (1,) * len(n)", [(2, 3), (2, 1), (1, 1), None]),
        ("broadcast(x.shape, n)", [(2, 3), (2, 3), None, (3,)]),
        ("prod(n)", [1, 3, 12, 3]),
        ("sum(n)", [0, 3, 7, 3]),
        ("x.shape[1] == sum(n)", [False, True, False, None]),
    ],
)
def test_a_suffix_of_no_axis_is_empty_and_what_is_beyond_a_shape_unbound(
    text: str, said: list[Any]
) -> None:
    rows = [
        ((2, 3), None, (), 0, 0),
        ((2, 3), None, (3,), 0, 1),
        ((2, 3), None, (4, 3), 0, -1),
        ((), None, (3,), 0, 0),
    ]
    assert read(text, columns(rows)) == said


def test_every_pair_of_small_shapes_broadcasts_as_in_numpy() -> None:
    small = [shape for rank in range(3) for shape in product(range(3), repeat=rank)]
    rows = [(x, y, (), 0, 0) for x in small for y in small]
    expected = plainly(apply(broadcast, ("", known("x")), ("", known("y"))), rows)
    assert read("broadcast(x.shape, y.shape)", columns(rows)) == expected
    exist = [said is not None for said in expected]
    assert read("broadcastable(x.shape, y.shape)", columns(rows)) == exist


def test_no_rows_say_nothing() -> None:
    view = columns([((2,), (2,), (2,), 0, 0)])
    none = TableView(view.spec, view.table.take(np.zeros(0, dtype=np.int64)))
    for text in ("broadcast(x.shape, (1, k))", "without(x.shape, dim)", "x.shape[:k] + n * k"):
        assert read(text, none) == []


RULES = (
    SPEC.replace("returns: {assumed: [product]}", "")
    + """
rules:
  fits: {require: "broadcastable(x.shape, y.shape)"}
  suffix: {require: "x.shape[-len(n):] == n"}
  inside: {require: "dim < max(x.rank, 1)"}
returns: {unstated: [product, fits, suffix, inside]}
"""
)


def test_a_rule_names_the_shapes_that_break_it() -> None:
    spec = loads(RULES)
    x, y = TensorDesc((2, 3), "FLOAT"), TensorDesc((4,), "FLOAT")
    call = Call(spec.api, "ascend910", {"x": x, "y": y, "n": (5,), "k": 0, "dim": 2})
    said = judge(spec, from_calls(spec.api, spec.kinds, [call])).expectation(0)
    assert [(one.rule, one.found) for one in said.breaks] == [
        ("fits", "x.shape=[2, 3], y.shape=[4]"),
        ("suffix", "x.shape=[2, 3], len(n)=1, n=[5]"),
        ("inside", "dim=2, x.rank=2"),
    ]


def test_a_page_of_suffixes_takes_few_rules() -> None:
    """Eleven parameters of up to eight axes, of which one rule speaks, not one of each rank."""
    spec = catalog().by_page["aclnnLayerNormBackward", "ascend910b"]
    assert len(spec.rules) <= 63
    input_, axes, mean = TensorDesc((2, 3, 4), "FLOAT"), (3, 4), TensorDesc((2, 1, 1), "FLOAT")
    weight = TensorDesc((3, 4), "FLOAT")
    given = {"gradOut": input_, "input": input_, "normalizedShape": axes, "mean": mean}
    given |= {"rstd": mean, "weightOptional": weight, "biasOptional": None}
    given |= {"outputMask": (True, True, True), "gradInputOut": input_}
    given |= {"gradWeightOut": weight, "gradBiasOut": weight}
    changes: list[dict[str, Any]] = [
        {},
        {"normalizedShape": (4, 3)},
        {"normalizedShape": (1, 2, 3, 4)},
        {"mean": TensorDesc((1, 2, 1), "FLOAT"), "rstd": TensorDesc((1, 2, 1), "FLOAT")},
        {"gradOut": TensorDesc((2, 3, 5), "FLOAT")},
    ]
    calls = [Call(spec.api, "ascend910b", given | change) for change in changes]
    judged = judge(spec, from_calls(spec.api, spec.kinds, calls))
    broken = [{rule.id for rule, here in judged.breaking if here[i]} for i in range(len(calls))]
    assert broken == [
        set(),
        {"suffix", "weight_shape", "grad_weight_shape", "grad_bias_shape"},
        {"axes_at_most_rank", "weight_shape", "grad_weight_shape", "grad_bias_shape"},
        {"mean_shape"},
        {"grad_shape"},
    ]
