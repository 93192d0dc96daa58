"""The plan that follows from pages: of an operator that nobody has planned, and under a file that
says little.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from opgen.model import FileError
from opgen.quality.coverage import coverage, of_cases
from opgen.spec import specfile
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.default_plan import default_plan
from opgen.suite.planning.plan import Plan, load_plan, plan_for
from opgen.suite.suite import Suite
from tests.support.suites import OF_EACH_KIND, SLOW

SPEC = """
api: aclnnCropBackward
page: none
products: [ascend910b, ascend950]
judges: [ascend310p, ascend910, ascend910b, ascend910_93, ascend950]
parameters:
  gradOutput:
    {kind: tensor, dtype: &some [FLOAT16, FLOAT], format: [ND],
     shape: {3: [N, C, Wout], 2: [C, Wout]}}
  weightOptional: {kind: tensor, dtype: [FLOAT], format: [ND], shape: {1: [C]}, null: true}
  label: {kind: tensor, dtype: [INT32, INT64], format: [ND], shape: {1: [C]}}
  self: {kind: tensor, dtype: *some, format: [ND], shape: {3: [N, C, W], 2: [C, W]}}
  crop: {kind: int_array, length: [2], items: [left, right], min: 0}
  mode: {kind: int64, enum: {0: NONE, 3: ALL}}
  steps: {kind: int64, range: [4, 9]}
  outputMask: {kind: bool_array, length: [2]}
  gradInput:
    {kind: output, dtype: *some, format: [ND], rank: [2, 3], null: "not outputMask[0]",
     mask: "outputMask[0]"}
  gradWeight:
    {kind: output, dtype: [FLOAT], format: [ND], rank: [1], null: "not outputMask[1]",
     mask: "outputMask[1]"}
rules:
  same_dtype: {require: gradOutput.dtype == self.dtype}
  same_rank: {require: gradOutput.rank == self.rank}
  grad_input_dtype: {require: gradInput.dtype == self.dtype}
  grad_input: {require: gradInput.shape == self.shape}
  grad_weight: {require: "gradWeight.shape == (C,)"}
  width: {require: Wout == W - left - right}
  something: {require: Wout >= 1}
returns:
  161001: [gradOutput.null, label.null, self.null, crop.null, outputMask.null, gradInput.null,
           gradWeight.null]
  161002: [gradOutput.dtype, self.dtype, weightOptional.dtype, label.dtype, same_dtype, same_rank,
           width, something, mode.enum, steps.range]
  unstated: [crop.length, crop.min, outputMask.length, grad_input, grad_weight]
  assumed: [product, gradOutput.format, weightOptional.format, label.format, self.format,
            gradInput.format, gradWeight.format, gradOutput.rank, weightOptional.rank, label.rank,
            self.rank, gradInput.rank, gradWeight.rank, gradInput.dtype, gradWeight.dtype,
            weightOptional.shape, label.shape, self.shape, grad_input_dtype]
"""


def made_up() -> Spec:
    return specfile.loads(SPEC)


def planned(tier: str) -> tuple[Plan, Suite]:
    """The plan of the made-up page that nobody has written, and its suite."""
    spec = made_up()
    plan = plan_for(spec.op, Path("nowhere"), [spec])
    return plan, plan_suite([(spec, plan)], tier)


def axes(plan: Plan) -> dict[str, list[object]]:
    return {
        axis.name: [level[0] if len(level) == 1 else list(level) for level in axis.values]
        for axis in plan.axes
    }


def test_a_page_alone_says_what_to_try() -> None:
    plan, _ = planned("smoke")
    tried = axes(plan)
    assert tried["product"] == ["ascend910b", "ascend950"]
    assert tried["dtype"] == ["FLOAT16", "FLOAT"] and tried["label.dtype"] == ["INT32", "INT64"]
    assert tried["self.rank"] == [3, 2] and tried["mode"] == [0, 3] and tried["steps"] == [4, 9]
    assert tried["weightOptional.null"] == [False, True] == tried["gradInput.null"]
    assert tried["outputMask"] == [[True, True], [True, False], [False, True]]
    assert {"N", "C", "W", "left", "right", "recipe"} <= tried.keys()
    assert not {"Wout", "gradOutput.dtype", "gradOutput.rank", "crop.items"} & tried.keys()
    assert tried["label.view"] == ["contiguous", "stepped", "offset", "expanded"]
    assert not any(number < 0 for name in ("left", "right") for number in tried[name])  # type: ignore[operator]


@pytest.mark.parametrize("tier", ["smoke", "standard"])
def test_the_suite_of_a_page_alone_covers_it(tier: str) -> None:
    plan, suite = planned(tier)
    spec = made_up()
    told = coverage(of_cases(suite.cases, [spec]), {spec.api: plan}, tier, suite.reports)
    assert told["tuples"][str(told["strength"])] == 100
    assert tier == "smoke" or told["boundaries"] == 100
    kinds = Counter(case.kind for case in suite.cases)
    assert kinds["valid"] > 10 < kinds["invalid"]
    assert suite.reports[spec.name].dropped == 0


SHAPES_BY_PLAN = {
    "clipped_swiglu_grad",
    "embedding_dense_backward",
    "fused_linear_cross_entropy_loss_grad",
    "ge_glu_backward",
    "layer_norm_backward",
    "prelu_backward",
    "rms_norm_grad",
    "rms_norm_grad_quant",
    "scaled_masked_softmax_backward",
    "swi_glu_grad",
    "swiglu_group_quant_grad",
    "unfold_grad",
}
"""Operators whose shapes no plan reads off the rules: tensors of any ranks with as many elements,
a suffix of another tensor's shape, extents that fit or are 1, a number of blocks, an axis of half
the extent, one element or one for each channel.
"""


LARGE = {"convolution_backward"}
"""Operators whose default plans take seconds."""
PLANNED = {*catalog().operators} if SLOW else OF_EACH_KIND - LARGE | SHAPES_BY_PLAN


@pytest.mark.parametrize("op", sorted(PLANNED))
def test_pages_that_are_known_need_no_plan(op: str) -> None:
    pages = catalog().of(catalog().operators[op])
    if op in SHAPES_BY_PLAN:
        with pytest.raises(FileError, match="makes no legal call"):
            plan_suite([(spec, plan_for(op, Path("nowhere"))) for spec in pages], "smoke")
        return
    plan = plan_for(op, Path("nowhere"))
    for spec in pages:
        model = CompiledPlan(spec, plan, "smoke").constraints
        assert model.tables or not model.sampled
    suite = plan_suite([(spec, plan) for spec in pages], "smoke")
    used = {case.call.product for case in suite.cases if case.kind == "valid"}
    assert used == {
        product for spec in pages for product in spec.judges if product in spec.products
    }
    assert not any(report.dropped or report.untried for report in suite.reports.values())


ROW = """
api: aclnnUnpackBackward
page: none
products: [ascend910b]
parameters:
  gradOutput: {kind: tensor, dtype: [FLOAT], format: [ND], rank: [1, 2, 3]}
  bits: {kind: tensor, dtype: [UINT8], format: [ND], rank: RANKS}
  gradInput: {kind: output, dtype: [FLOAT], format: [ND], rank: [1, 2, 3]}
rules:
  packed: {require: bits.numel == (gradOutput.numel + 7) // 8}
  grad_input: {require: gradInput.shape == gradOutput.shape}
returns:
  161001: [gradOutput.null, bits.null, gradInput.null]
  161002: [bits.rank, packed]
  unstated: [grad_input]
  assumed: [product, gradOutput.dtype, gradOutput.format, gradOutput.rank, bits.dtype, bits.format,
            gradInput.dtype, gradInput.format, gradInput.rank]
"""


@pytest.mark.parametrize(
    ("ranks", "shape"),
    [("[0, 1, 2]", "((gradOutput.numel + 7) // 8,)"), ("[2, 3]", "gradOutput.shape")],
)
def test_a_tensor_of_a_number_of_elements_has_one_axis_where_it_may(ranks: str, shape: str) -> None:
    assert default_plan([specfile.loads(ROW.replace("RANKS", ranks))])["let"] == {
        "bits.shape": shape
    }


def test_a_rank_that_the_shape_waits_for_is_the_first_that_the_page_lists() -> None:
    (page,) = catalog().of(catalog().operators["ada_layer_norm_backward"])
    suite = plan_suite([(page, plan_for("ada_layer_norm_backward", Path("nowhere")))], "smoke")
    covering = [
        case.call.args
        for case in suite.cases
        if case.kind == "valid" and case.intent.startswith("covers every")
    ]
    assert covering
    for args in covering:
        *batch, _, features = args["input"].shape
        assert args["scale"].shape == args["shift"].shape == (*batch, features)


@pytest.mark.parametrize(("tier", "least"), [("smoke", 1.0), ("standard", 0.5)])
def test_numbers_that_axes_are_as_long_as_are_extents(tier: str, least: float) -> None:
    """Images that hold several blocks: their sizes are items of an array, and letters of a shape
    equal them.
    """
    (page,) = catalog().of(catalog().operators["im2col_backward"])
    suite = plan_suite([(page, plan_for(page.op, Path("nowhere")))], tier)
    shapes = [
        (case.call.args["gradOutput"].shape, case.call.args["out"].shape)
        for case in suite.cases
        if case.kind == "valid" and case.intent.startswith("covers every")
    ]
    large = [grad[-1] > 1 and min(out[-2:]) > 1 for grad, out in shapes]
    assert large and sum(large) >= least * len(large)


def test_scalars_that_axes_are_as_long_as_are_extents() -> None:
    (page,) = catalog().of(catalog().operators["roi_align_v2_backward"])
    tried = default_plan([page])["axes"]
    assert max(tried["pooledHeight"]["values"]) > 8 and max(tried["pooledWidth"]["values"]) > 32


EXTENDED = """
op: aclnnReflectionPad2dBackward
extends: default
axes:
  size: {sets: [H, W], values: [[9, 12], [5, 5]], why: large enough}
  recipe: {smoke: [grid]}
let: {N: 2}
tiers:
  smoke: {strength: 1, invalid: 0}
"""


def written(tmp_path: Path, text: str) -> Plan:
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return load_plan(path, "plan.yaml")


def test_a_file_says_only_what_it_adds_or_changes(tmp_path: Path) -> None:
    plan = written(tmp_path, EXTENDED)
    default = axes(plan_for("reflection_pad2d_backward", Path("nowhere")))
    tried = axes(plan)
    assert tried["size"] == [[9, 12], [5, 5]] and not {"H", "W", "N"} & tried.keys()
    assert {name: default[name] for name in default if name not in "HWN"} == {
        name: tried[name] for name in tried if name != "size"
    }
    (recipe,) = [axis for axis in plan.axes if axis.name == "recipe"]
    assert recipe.of_tier("smoke") == (("grid",),) and len(recipe.of_tier("full")) > 5
    assert plan.tiers["smoke"].invalid == 0 and plan.tiers["standard"].strength == 2
    assert plan.chooses("recipe") and not plan.chooses("padLeft")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("extends: default", "extends: defualt", "1: no such plan to extend 'defualt'"),
        ("  recipe: {smoke: [grid]}", "  recpie: {smoke: [grid]}", "the key 'values' is missing"),
        ("  recipe: {smoke: [grid]}", "  ceilMode: default", "the default plan has no 'ceilMode'"),
        ("smoke: [grid]", "smoke: [gird]", "'gird' is none of the axis's values"),
        ("let: {N: 2}", "let: [N]", "plan.yaml:7: let: expects a mapping"),
        ("op: aclnnReflectionPad2dBackward", "op: reflect", "the key 'tiers' is missing"),
    ],
)
def test_what_is_wrong_in_such_a_file_is_told(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = EXTENDED.replace(old, new)
    if "reflect\n" in text:
        text = text[: text.index("tiers:")]
    with pytest.raises(FileError) as caught:
        written(tmp_path, text)
    assert message.removeprefix("1: ") in str(caught.value)


def test_a_file_may_take_single_axes_in_an_order_of_its_own(tmp_path: Path) -> None:
    default = plan_for("reflection_pad2d_backward", Path("nowhere"))
    names = ["gradInput.view", "size", "rank", "dtype", "product"]
    told = "".join(f"  {name}: default\n" for name in names).replace("size: default", "size: [9]")
    plan = written(tmp_path, f"op: aclnnReflectionPad2dBackward\naxes:\n{told}tiers: default\n")
    assert [axis.name for axis in plan.axes] == names
    assert all(axis in default.axes for axis in plan.axes if axis.name != "size")
    assert plan.tiers == default.tiers


def test_a_plan_changes_with_the_pages_that_it_follows_from(tmp_path: Path) -> None:
    plan = written(tmp_path, EXTENDED)
    assert plan.digest == written(tmp_path, EXTENDED + "\n# a remark").digest
    assert plan.document.data["axes"]["dtype"]["values"]
    assert default_plan([made_up()])["axes"].keys() == axes(planned("smoke")[0]).keys()


def test_ranks_mean_nothing_where_no_shape_has_letters(tmp_path: Path) -> None:
    text = "op: aclnnTanhBackward\naxes: {rank: [2, 3]}\ntiers: {smoke: {strength: 1}}\n"
    plan = written(tmp_path, text)
    with pytest.raises(FileError, match="plan.yaml:2: axes.rank: no shape of .* by rank"):
        CompiledPlan(catalog().of(plan.op)[0], plan, "smoke")


def test_a_number_without_a_choice_is_what_the_page_leaves() -> None:
    text = SPEC.replace(
        "steps: {kind: int64, range: [4, 9]}", "steps: {kind: double, range: [0, 0]}"
    )
    spec = specfile.loads(text)
    plan = plan_for(spec.op, Path("nowhere"), [spec])
    valid = [case for case in plan_suite([(spec, plan)], "smoke").cases if case.kind == "valid"]
    assert valid and {case.call.args["steps"] for case in valid} == {0.0}
