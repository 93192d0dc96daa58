"""What follows from what, what an edit changes, and that a built table is the table of
its calls.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from opgen.calls.table import from_calls
from opgen.oracle.judgement import judge
from opgen.spec import specfile
from opgen.spec.language.value import Value
from opgen.suite.enumeration.enumerator import enumerate_calls
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.edits import FOLLOW, FREEZE, HOLD
from opgen.suite.planning.overlay import Overlay
from opgen.suite.planning.plan import read_plan
from tests.support.suites import PAGES, page, plan, suite


@pytest.fixture(scope="module")
def pooling() -> CompiledPlan:
    return CompiledPlan(page("avg_pool2d_backward"), plan("avg_pool2d_backward"), "standard")


def edited(compiled: CompiledPlan, edits: dict, mode: int):
    rows = np.zeros((1, len(compiled.axes)), dtype=np.int64)
    before = compiled.builder(rows)
    held = {
        reference: Value(np.array([value]), np.array([True])) for reference, value in edits.items()
    }
    return before.table().call(0), compiled.builder(
        rows, Overlay(held, before, np.array([0]), np.array([mode]))
    ).table().call(0)


def test_shapes_follow_from_the_page(pooling: CompiledPlan) -> None:
    call = pooling.builder(np.zeros((1, len(pooling.axes)), dtype=np.int64)).table().call(0)
    assert (
        call.args["kernelSize"] == (2, 2)
        and call.args["stride"] == (2, 2)
        and call.args["padding"] == (0, 0)
    )
    assert call.args["self"].shape == call.args["gradInput"].shape == (2, 3, 7, 5)
    assert call.args["gradOutput"].shape == (2, 3, 3, 2)


def test_everything_follows_from_an_edit(pooling: CompiledPlan) -> None:
    before, after = edited(pooling, {("kH", ""): 4}, FOLLOW)
    assert after.args["kernelSize"] == (4, 2)
    assert after.args["self"].shape == (2, 3, 9, 5)  # the plan makes room for the window
    assert after.args["stride"] == before.args["stride"]


def test_a_plans_terms_stand_where_they_are_held(pooling: CompiledPlan) -> None:
    before, after = edited(pooling, {("kH", ""): 4}, HOLD)
    assert after.args["self"].shape == before.args["self"].shape
    assert after.args["gradOutput"].shape == (2, 3, 2, 2)  # the page's equality still holds


def test_nothing_follows_where_all_is_frozen(pooling: CompiledPlan) -> None:
    before, after = edited(pooling, {("gradOutput", ("dim", 2)): 9}, FREEZE)
    assert after.args["gradOutput"].shape == (2, 3, 9, 2)
    assert {name for name in before.args if before.args[name] != after.args[name]} == {"gradOutput"}


def test_an_attribute_of_all_tensors_is_edited_at_once(pooling: CompiledPlan) -> None:
    _, after = edited(pooling, {("dtype", ""): 0, ("self", "dtype"): 1}, FOLLOW)
    assert (
        after.args["gradOutput"].dtype == after.args["gradInput"].dtype != after.args["self"].dtype
    )


@pytest.mark.parametrize(
    ("edit", "shape"), [((), ()), ((7,), (7,)), ((1, 2, 3, 4, 5), (1, 2, 3, 4, 5))]
)
def test_a_whole_shape_is_edited(
    pooling: CompiledPlan, edit: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    rows = np.zeros((1, len(pooling.axes)), dtype=np.int64)
    before = pooling.builder(rows)
    value = Value((np.array([len(edit)]), np.array([edit or (1,)])), np.array([True]))
    after = (
        pooling.builder(
            rows,
            Overlay({("gradInput", "shape"): value}, before, np.array([0]), np.array([FREEZE])),
        )
        .table()
        .call(0)
    )
    assert after.args["gradInput"].shape == shape


def test_a_null_pointer_has_nothing_else(pooling: CompiledPlan) -> None:
    _, after = edited(pooling, {("padding", "null"): 1}, FOLLOW)
    assert after.args["padding"] is None


def test_a_plan_that_names_no_mask_asks_for_every_output(tmp_path: Path) -> None:
    spec = page("group_norm_backward")
    path = tmp_path / "plan.yaml"
    text = "op: group_norm_backward\naxes: {product: [ascend910b]}\ntiers: {smoke: {limits: 0, invalid: 0}}\n"
    path.write_text(text, encoding="utf-8")
    calls = enumerate_calls(spec, read_plan(path), "smoke")
    assert len(calls.kind)
    for call, kind in zip(calls.judged.table.calls(), calls.kind, strict=True):
        if kind == "valid":
            assert call.args["outputMask"] == (True, True, True)


def test_a_length_below_zero_is_an_empty_array() -> None:
    compiled = CompiledPlan(
        page("convolution_backward.ascend910b"), plan("convolution_backward"), "standard"
    )
    rows = np.zeros((1, len(compiled.axes)), dtype=np.int64)
    before = compiled.builder(rows)
    value = Value((np.array([0]), np.array([[1]])), np.array([True]))
    call = (
        compiled.builder(
            rows, Overlay({("weight", "shape"): value}, before, np.array([0]), np.array([FOLLOW]))
        )
        .table()
        .call(0)
    )
    assert call.args["weight"].shape == () and call.args["stride"] == ()


@pytest.mark.parametrize("name", PAGES)
def test_a_built_call_is_the_same_as_a_table(name: str) -> None:
    spec, cases = page(name), suite(name).cases
    table = from_calls(spec.api, spec.kinds, [case.call for case in cases])
    judged = judge(spec, table)
    assert [case.page.codes for case in cases] == [judged.codes(row) for row in range(len(cases))]


def test_what_a_name_was_computed_from_is_known(pooling: CompiledPlan) -> None:
    builder = pooling.builder(np.zeros((1, len(pooling.axes)), dtype=np.int64))
    read = builder.depends(lambda d: d.get(("Hout", "")))
    assert read == {("kH", ""), ("padH", ""), ("growH", ""), ("sH", ""), ("ceilMode", "")}


def test_every_field_of_a_column_has_a_value_per_row(pooling: CompiledPlan) -> None:
    table = pooling.builder(np.zeros((5, len(pooling.axes)), dtype=np.int64)).table()
    assert len(table) == 5
    for column in table.columns.values():
        assert all(len(getattr(column, f.name)) == 5 for f in fields(column))


WHOLE = """
api: aclnnWholeBackward
page: none
products: [ascend910, ascend910b, ascend310p, ascend910_93]
parameters:
  g: {kind: tensor, dtype: [FLOAT], format: [ND], shape: {1: [N]}}
  w: {kind: tensor, null: true, dtype: [FLOAT], format: [ND], shape: {1: [N]}}
  k: {kind: int_array, length: [1, 2], items: {1: [b], 2: [a, b]}}
  mask: {kind: bool_array, length: [2]}
rules: {RULES}
returns:
  assumed: [product, g.dtype, g.format, g.rank, g.null, w.dtype, w.format, w.rank, w.shape, k.null, k.length, mask.null, mask.length, rule]
"""
TIERS = (
    "tiers: {smoke: {strength: 2, limits: 0}, standard: {strength: 2, limits: 0}, full: {strength:"
    " 2, limits: 0}}\n"
)


def made(rule: str, axes: str, folder: Path) -> set[tuple[object, ...]]:
    """The calls that a plan of some axes makes of a page with one rule, by what the axes choose."""
    file = folder / "plan.yaml"
    file.write_text(f"op: aclnnWholeBackward\naxes:\n{axes}{TIERS}", encoding="utf-8")
    found = enumerate_calls(
        specfile.loads(WHOLE.replace("RULES", f"rule: {{{rule}}}"), "whole", "whole.yaml"),
        read_plan(file),
        "smoke",
    )
    return {
        (call.args["w"] is None, call.args["mask"], call.args["k"], call.args["g"].shape)
        for call in found.judged.table.calls()
    }


@pytest.mark.parametrize(
    "require", ["mask[1] == False", "False == mask[1]", "mask[1] != True", "mask[1] in (False,)"]
)
def test_an_equality_does_not_undo_a_list_that_is_chosen_whole(
    require: str, tmp_path: Path
) -> None:
    axes = (
        "  w.null: [false, true]\n  N: [3, 5]\n  mask: [[true, true], [true, false], [false,"
        " true]]\n"
    )
    calls = made(f"when: w.null, require: '{require}'", axes, tmp_path)
    masks = {(null, mask) for null, mask, *_ in calls}
    assert masks == {
        (False, (True, True)),
        (False, (True, False)),
        (False, (False, True)),
        (True, (True, False)),
    }
    assert {(null, shape) for null, _, _, shape in calls} == {
        (null, (n,)) for null in (False, True) for n in (3, 5)
    }


@pytest.mark.parametrize(
    ("equality", "axes", "expected"),
    [
        ("N == b", "  k: [[3], [2, 5]]\n", {((3,), (3,)), ((2, 5), (5,))}),
        ("N == b", "  k: [[3], [2, 5]]\n  w.null: [true]\n", {((3,), (3,)), ((2, 5), (5,))}),
        ("b == N", "  N: [3, 5]\n", {((1, 3), (3,)), ((1, 5), (5,))}),
        ("b == N", "  g.shape: ['(3,)', '(5,)']\n", {((1, 3), (3,)), ((1, 5), (5,))}),
    ],
)
def test_what_is_chosen_whole_says_its_slots_and_letters(
    equality: str, axes: str, expected: set[tuple[object, ...]], tmp_path: Path
) -> None:
    assert {call[2:] for call in made(f"require: {equality}", axes, tmp_path)} == expected
