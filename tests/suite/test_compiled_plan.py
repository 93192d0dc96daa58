"""Axes against a page: what the tables of allowed combinations say, held against judging every
combination.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opgen.oracle.judgement import judge
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.overlay import flat
from opgen.suite.planning.plan import load_plan
from tests.support.suites import page, plan

PLANS = {
    "reflection_pad2d_backward": (
        """
op: aclnnReflectionPad2dBackward
axes:
  product: [ascend910b, ascend310p]
  dtype: [FLOAT, BFLOAT16]
  gradOutput.dtype: [FLOAT, DOUBLE]
  rank: [4, 3, 2]
  horizontal: {sets: [padLeft, padRight], values: [[0, 1], [3, 0], [5, 5]]}
  W: [3, 4, 6]
  H: [2]
let: {padTop: "1", padBottom: "0", N: "2", C: "3"}
tiers: {standard: {strength: 2}}
"""
    ),
    "avg_pool2d_backward": (
        """
op: aclnnAvgPool2dBackward
axes:
  product: [ascend910b, ascend910]
  dtype: [FLOAT, FLOAT16, BFLOAT16]
  rank: [4]
  kernel: {sets: [kH, kW], values: [[2, 2], [3, 2], [1, 4]]}
  padding: {sets: [padH, padW], values: [[0, 0], [1, 0], [1, 2]]}
  kernelSize.items: {sets: len(kernelSize), values: [1, 2, 3]}
  padding.items: {sets: len(padding), values: [1, 2]}
  stride: {sets: [sH, sW], values: [[2, 2], [kH, kW], [1, 3]]}
  stride.items: {sets: len(stride), values: [0, 1, 2]}
  cubeMathType: [0, 1, 4]
let: {Hin: "9", Win: "8", N: "1", C: "2"}
tiers: {standard: {strength: 2}}
"""
    ),
}


def compiled(op: str, tmp_path: Path) -> CompiledPlan:
    path = tmp_path / "plan.yaml"
    path.write_text(PLANS[op], encoding="utf-8")
    return CompiledPlan(page(op), load_plan(path), "standard")


def every(shape: tuple[int, ...]) -> np.ndarray:
    return np.indices(shape).reshape(len(shape), -1).T


def allowed(tables, rows: np.ndarray) -> np.ndarray:
    result = np.ones(len(rows), dtype=bool)
    for axes, table, _ in tables:
        result &= table[tuple(rows[:, list(axes)].T)]
    return result


@pytest.mark.parametrize("op", PLANS)
def test_the_tables_allow_what_the_page_allows(op: str, tmp_path: Path) -> None:
    made = compiled(op, tmp_path)
    rows = every(made.shape)
    legal = judge(made.spec, made.builder(rows).table()).valid
    by_tables = allowed(made.constraints.tables, rows)
    assert not (by_tables & ~legal).any()
    assert made.constraints.sampled == ()
    assert 0 < by_tables.sum() < len(rows)


def test_a_name_that_a_plan_gives_by_a_fraction_is_that_fraction(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        PLANS["avg_pool2d_backward"].replace('Win: "8"', 'Win: "(kW + 2) * 4 / 2"'),
        encoding="utf-8",
    )
    made = CompiledPlan(page("avg_pool2d_backward"), load_plan(path), "standard")
    drafted = made.builder(every(made.shape)[::97])
    assert (flat(drafted, "Win", "") == (flat(drafted, "kW", "") + 2) * 2).all()


def test_one_item_stands_for_two_values_only_where_they_are_equal(tmp_path: Path) -> None:
    made = compiled("avg_pool2d_backward", tmp_path)
    names = {name for *_, named in made.constraints.tables for name in named}
    assert {
        "kernelSize.items",
        "padding.items",
        "stride.items",
        "kernelSize.length",
        "pad_height",
        "cubeMathType.enum",
    } <= names
    rows = every(made.shape)
    rows = rows[allowed(made.constraints.tables, rows)]
    drafted = made.builder(rows)
    kernel = [flat(drafted, name, "") for name in ("kH", "kW")]
    one = flat(drafted, "kernelSize", "len") == 1
    assert (kernel[0][one] == kernel[1][one]).all() and one.any() and (~one).any()


def test_a_table_says_which_rules_it_stands_for(tmp_path: Path) -> None:
    made = compiled("reflection_pad2d_backward", tmp_path)
    axes = {
        name: [made.axes[i].name for i in axes]
        for axes, _, names in made.constraints.tables
        for name in names
    }
    assert axes["self.rank"] == ["rank"]
    assert axes["left_below_width"] == ["horizontal", "W"]
    assert axes["grad_dtype"] == ["dtype", "gradOutput.dtype"]


@pytest.mark.parametrize("op", ["avg_pool2d_backward", "convolution_backward.ascend910b"])
def test_recipes_that_say_nothing_are_left_out(op: str) -> None:
    spec = page(op)
    made = CompiledPlan(spec, plan(spec.op), "full")
    (table,) = [
        (axes, table) for axes, table, names in made.constraints.tables if "recipe" in names
    ]
    overflow = made.axes[made.position("recipe")].of_tier("full").index(("overflow",))
    where = table[0].index(made.position("recipe"))
    assert not table[1].take(overflow, axis=where).all()
    assert table[1].take(0, axis=where).any()


def test_what_a_plan_calls_vacuous_is_not_tried() -> None:
    spec = page("convolution_backward.ascend910b")
    made = CompiledPlan(spec, plan(spec.op), "standard")
    names = [name for *_, named in made.constraints.tables for name in named]
    assert "vacuous: dilation of a kernel of one element" in names


def test_the_product_axis_keeps_to_what_a_page_judges() -> None:
    for name, products in (
        ("convolution_backward.ascend910b", 2),
        ("convolution_backward.atlas", 2),
        ("avg_pool2d_backward", 3),
    ):
        made = CompiledPlan(page(name), plan(page(name).op), "standard")
        assert made.shape[made.position("product")] == products
