"""What the standard tier must hold, read off the columns of its calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from opgen.calls.table import from_calls
from opgen.lint.facts import dtypes
from opgen.model import TensorDesc
from opgen.oracle.judgement import Judgement, judge
from opgen.quality.boundaries import UNTESTED
from opgen.quality.coverage import coverage, of_cases
from opgen.spec.spec import Spec
from opgen.suite.planning.strides import LEAST, VIEWS, view_of
from tests.support.suites import PAGES, page, plan, suite

CONV = ("convolution_backward.ascend910b", "convolution_backward.atlas")
POOL, NORM, PAD = "avg_pool2d_backward", "group_norm_backward", "reflection_pad2d_backward"


@cache
def legal(name: str) -> Judgement:
    """The legal calls of a page's standard tier that have data, or are only too large for it."""
    spec = page(name)
    return judge(
        spec,
        from_calls(
            spec.api,
            spec.kinds,
            [case.call for case in suite(name).cases if case.page.bucket == "valid"],
        ),
    )


def column(name: str, reference: tuple) -> np.ndarray:
    value = legal(name).view.get(reference)
    return np.broadcast_to(np.asarray(value.data), len(legal(name).table))[
        np.broadcast_to(value.bound, len(legal(name).table))
    ]


def untried(spec: Spec, seen: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The products that a page judges with the dtypes that it lists for its first input, less those
    that are seen.
    """
    products = [product for product in spec.judges if product in spec.products]
    return {
        (product, dtype)
        for product in products
        for dtype in dtypes(spec, product)[spec.inputs[0].name]
    } - seen


@pytest.mark.parametrize("name", PAGES)
def test_every_product_with_every_dtype(name: str) -> None:
    spec = page(name)
    first = spec.inputs[0].name
    seen = {
        (case.call.product, case.call.args[first].dtype)
        for case in suite(name).cases
        if case.page.bucket == "valid"
    }
    assert untried(spec, seen) == set()
    for one in seen:
        assert untried(spec, seen - {one}) == {one}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("view", VIEWS)
def test_every_view(name: str, view: str) -> None:
    judged = legal(name)
    parameter = judged.spec.inputs[0]
    column = judged.table.columns[parameter.name]
    number = VIEWS.index(view)
    has_axes = LEAST[number] <= column.rank.max()
    assert (number in view_of(column)) == (
        parameter.strided is not False and has_axes or view == "contiguous"
    )


@pytest.mark.parametrize("name", [*CONV, NORM])
def test_every_output_mask(name: str) -> None:
    masks = {tuple(row) for row in legal(name).table.columns["outputMask"].values[:, :3].tolist()}
    assert len(masks) == 8


@pytest.mark.parametrize("name", CONV)
def test_convolutions(name: str) -> None:
    view = {
        key: column(name, (key, "")) for key in ("groups", "Ci", "Co", "transposed", "cubeMathType")
    }
    assert set(view["transposed"].tolist()) == {False, True}
    ranks = set(legal(name).table.columns["input"].rank.tolist())
    assert ranks == ({3, 4, 5} if name == CONV[0] else {3, 4})
    groups, inner, outer = view["groups"], view["Ci"], view["Co"]
    assert (groups == 1).any() and ((groups > 1) & (groups < inner)).any()
    assert ((groups > 1) & (groups == inner) & (groups == outer)).any(), "depthwise"
    assert ((groups > 1) & (groups == inner) & (outer > groups)).any(), (
        "depthwise with a multiplier"
    )
    assert set(view["cubeMathType"].tolist()) == {0, 1, 2, 3}
    table = legal(name).table
    padding, dilation, stride, extra = (
        table.columns[key] for key in ("padding", "dilation", "stride", "outputPadding")
    )
    sides = padding.values[padding.length == 4]
    assert (sides[:, 0] != sides[:, 1]).any() and (sides[:, 2] != sides[:, 3]).any()
    for array in (dilation, stride):
        two = array.values[array.length == 2][:, :2]
        assert (two > 1).all(axis=1).any() and (two[:, 0] != two[:, 1]).any()
    assert (extra.values > 0).any()


def test_pooling() -> None:
    table = legal(POOL).table
    assert {-255, -2, 0, 1, 3, 255} <= set(table.columns["divisorOverride"].values.tolist())
    for flag in ("ceilMode", "countIncludePad"):
        assert set(table.columns[flag].values.tolist()) == {False, True}
    assert set(table.columns["cubeMathType"].values.tolist()) == {0, 1, 2, 3}
    assert set(table.columns["kernelSize"].length.tolist()) == {1, 2}
    assert set(table.columns["stride"].length.tolist()) == {0, 1, 2}
    assert set(table.columns["padding"].length.tolist()) == {1, 2}
    padding, kernel = column(POOL, ("padH", "")), column(POOL, ("kH", ""))
    assert (2 * padding == kernel).any() and (padding == 0).any()
    assert (column(POOL, ("C", "")) == 65535).any()
    assert set(table.columns["self"].rank.tolist()) == {3, 4}


def test_reflection() -> None:
    pads = legal(PAD).table.columns["padding"].values
    shape = legal(PAD).table.columns["self"]
    width, height = column(PAD, ("W", "")), column(PAD, ("H", ""))
    assert (pads[:, 0] == width - 1).any() and (pads[:, 1] == width - 1).any()
    assert (pads[:, 2] == height - 1).any() and (pads[:, 3] == height - 1).any()
    assert (
        (pads[:, 0] != pads[:, 1]).any() and (pads[:, 2] != pads[:, 3]).any() and (pads > 7).any()
    )
    assert set(shape.rank.tolist()) == {3, 4}


def test_normalisation() -> None:
    table = legal(NORM).table
    assert set(table.columns["gradOut"].rank.tolist()) == set(range(9))
    assert ((table.columns["C"].values // table.columns["group"].values) == 8000).any()
    group, channels = (table.columns[key].values for key in ("group", "C"))
    assert (
        (group == channels).any()
        and (group == 1).any()
        and ((group > 1) & (group < channels)).any()
    )
    assert (table.columns["gradInput"].null & ~table.columns["outputMask"].values[:, 0]).any()


@pytest.mark.parametrize(
    ("name", "empty"),
    [
        (POOL, lambda args: args["self"].shape[0] == 0),
        (NORM, lambda args: args["N"] == 0),
        (NORM, lambda args: args["HxW"] == 0),
        (NORM, lambda args: args["C"] == 0),
        (PAD, lambda args: args["self"].shape[0] == 0),
        *((name, lambda args: args["input"].shape[0] == 0) for name in CONV),
        *((name, lambda args: args["input"].shape[1] == 0) for name in CONV),
    ],
)
def test_empty_tensors(name: str, empty: Callable[[dict], bool]) -> None:
    calls = [case.call.args for case in suite(name).cases if case.kind == "handwritten"]
    whole = [args for args in calls if all(arg is not None for arg in args.values())]
    assert any(empty(args) for args in whole)


@pytest.mark.parametrize("name", PAGES)
def test_every_side_of_every_rule_is_tested_or_says_why_not(name: str) -> None:
    made, spec = suite(name), page(name)
    report = coverage(
        of_cases(made.cases, [spec]), {spec.api: plan(spec.op)}, "standard", made.reports
    )
    untested = [
        (rule["rule"], boundary)
        for rule in report["pages"][0]["rules"]
        for boundary in rule["boundaries"]
        if boundary["reason"] == UNTESTED
    ]
    assert untested == []
    assert report["tuples"]["2"] == 100.0 and report["lowest"] == 100.0


@pytest.mark.parametrize("name", PAGES)
def test_views_have_room_in_their_storage(name: str) -> None:
    for case in suite(name).cases:
        for value in case.call.args.values():
            if (
                isinstance(value, TensorDesc)
                and value.strides is not None
                and case.phase == 2
                and all(value.shape)
            ):
                last = value.offset + sum(
                    (extent - 1) * stride
                    for extent, stride in zip(value.shape, value.strides, strict=True)
                )
                assert value.storage_shape is not None and 0 <= last < np.prod(value.storage_shape)
