"""The proof of single faults: what a written bundle holds, judged anew, breaks exactly what its
cases say.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import opgen
from opgen.calls.call_json import make_call
from opgen.calls.table import from_calls
from opgen.generation import engine
from opgen.model import TensorDesc
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from opgen.suite.planned_suite import plan_suite
from tests.support.suites import PAGES, SUITES, page, plan, suite

SIDE_VIOLATIONS = {  # rules that cannot be broken alone: what always breaks along, and why
    "avg_pool2d_backward": {
        "self.dtype": "same_dtype and grad_dtype tie it to tensors with the same list",
        "self.format": "same_format and grad_format tie it to tensors with the same list",
        "self.dims": (
            "grad_input_shape gives gradInput the same extent; out_height has no window below"
        ),
        "kernelSize.min": (
            "a kernel below 0 is below 1 as well, and its half is below every padding"
        ),
        "gradInput.dtype": "same_dtype ties it to self, whose list is the same",
        "gradInput.format": "same_format ties it to self, whose list is the same",
        "gradInput.dims": "grad_input_shape gives self the same extent",
        "out_height_rounded_up": "last_window_height asks for one of its two extents",
        "out_width_rounded_up": "last_window_width asks for one of its two extents",
    },
    "convolution_backward.ascend910b": {
        "gradOutput.rank": "input_rank ties it to input, whose list is the same",
        "input.rank": "input_rank and weight_rank tie it to tensors with the same list",
        "weight.rank": "weight_rank ties it to input, whose list is the same",
        "groups.min": "groups_in or groups_out makes an extent 0 or negative, or breaks",
        "gradInput.dtype": "grad_input_dtype ties it to input, whose list is the same",
        "gradInput.format": "grad_input_format ties it to input, whose list is the same",
        "gradWeight.dtype": "grad_weight_dtype ties it to weight, whose list is the same",
        "gradWeight.format": "grad_weight_format ties it to input, whose list is the same",
        "gradBias.dtype": "grad_bias_dtype ties it to gradOutput, whose list is the same",
        **{
            f"{name}_negative": "an empty input breaks a rule itself where not transposed"
            for name in ("grad_output", "input", "weight")
        },
    },
    "convolution_backward.atlas": {
        "gradOutput.format": "input_format ties it to input, whose list is the same",
        "gradOutput.rank": "input_rank ties it to input, whose list is the same",
        "input.format": "input_format and weight_format tie it to tensors with the same list",
        "input.rank": "input_rank and weight_rank tie it to tensors with the same list",
        "weight.format": "weight_format ties it to input, whose list is the same",
        "weight.rank": "weight_rank ties it to input, whose list is the same",
        "gradOutput.dtype": "grad_bias_dtype gives gradBias, which is no null, the same dtype",
        "bias_sizes_of_empty_input": "only an empty input forbids it, and that is disputed itself",
        "gradInput.dtype": (
            "grad_input_dtype ties it to input and gradOutput, whose lists are the same"
        ),
        "gradInput.format": "grad_input_format ties it to input, whose list is the same",
        "gradWeight.dtype": (
            "grad_weight_dtype ties it to weight and gradOutput, whose lists are the same"
        ),
        "gradWeight.format": "grad_weight_format ties it to input, whose list is the same",
        "gradBias.dtype": "grad_bias_dtype ties it to gradOutput, whose list is the same",
        "bf16_any_mode": "BFLOAT16 is on no list of the products that this page judges",
        "depthwise_3d_bf16_out": (
            "BFLOAT16 and 3D are on no list of the products that this page judges"
        ),
        "depthwise_3d_bf16_in": (
            "BFLOAT16 and 3D are on no list of the products that this page judges"
        ),
        "out_depth": "only 3D has a depth, and no_3d forbids it",
        "grown_depth": "only 3D has a depth, and no_3d forbids it",
        "input_depth_empty": "only 3D has a depth, and no_3d forbids it",
    },
    "group_norm_backward": {
        "gradOut.dtype": "the relations to every other tensor tie it to tensors with the same list",
        **{
            f"{name}.dtype": "its relation to gradOut ties it to a tensor with the same list"
            for name in (
                "input",
                "mean",
                "rstd",
                "gamma",
                "gradInput",
                "gradGammaOut",
                "gradBetaOut",
            )
        },
    },
    "reflection_pad2d_backward": {
        "gradOutput.dtype": "grad_dtype ties it to self, whose list is the same",
        "gradOutput.rank": "grad_rank ties it to self, whose list is the same",
        "self.dtype": "grad_dtype and grad_input_dtype tie it to tensors with the same list",
        "self.rank": "grad_rank and grad_input_rank tie it to tensors with the same list",
        "gradInput.dtype": "grad_input_dtype ties it to self, whose list is the same",
        "gradInput.rank": "grad_input_rank ties it to self, whose list is the same",
    },
    "layer_norm_backward": {
        "gradBiasOut.dtype": "grad_bias_dtype asks for a dtype of the list",
        "gradOut.rank": "grad_shape gives it the rank of input, whose list is the same",
        "gradWeightOut.dtype": "grad_weight_dtype asks for a dtype of the list",
        "input.rank": "mean_shape and grad_input_shape tie it to tensors with the same list",
        "weightOptional.rank": "weight_shape gives it no more axes than input has",
        "biasOptional.rank": "bias_shape gives it no more axes than input has",
        "gradInputOut.dtype": "grad_input_dtype ties it to input, whose list is the same",
    },
    "sigmoid_backward": {
        "gradOutput.rank": "grad_input_shape gives gradInput as many axes",
        "output.rank": "grad_input_shape gives gradInput as many axes",
        "gradInput.rank": "grad_input_shape gives it as many axes as gradOutput or output has",
        "result_at_least_1_axis": "grad_input_shape gives it the axes of gradOutput and output",
    },
    "softmax_backward": {
        "output.rank": "output_shape gives it the rank of gradOutput, whose list is the same",
        "out.rank": "out_shape gives it the rank of gradOutput, whose list is the same",
    },
    "tanh_backward": {
        "gradOutput.dtype": "output_dtype and grad_input_dtype tie it to tensors with one list",
        "output.dtype": "output_dtype ties it to gradOutput, whose list is the same",
        "gradInput.dtype": "grad_input_dtype ties it to gradOutput, whose list is the same",
    },
}


@pytest.fixture(scope="module", params=PAGES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """(spec, the cases of a written standard bundle without their data, the judgement of the calls
    that it stores).
    """
    spec, made = page(request.param), suite(request.param)
    path = Path(tmp_path_factory.mktemp("faults")) / "suite.h5"
    engine.write(
        made.subset([i for i, case in enumerate(made.cases) if case.phase == 1 or not i]),
        path,
        {"seed": 0},
    )
    with opgen.open(path) as bundle:
        cases = [
            (case.id, case.call, case.expect, case.intent, case.nearest_valid) for case in bundle
        ]
    calls = [
        make_call(call["op"], call["product"], call["args"], catalog().kinds)
        for _, call, *_ in cases
    ]
    return spec, cases, judge(spec, from_calls(spec.api, spec.kinds, calls))


def test_stored_calls_break_what_is_stored(written) -> None:
    spec, cases, judged = written
    for row, (name, _, expect, _, _) in enumerate(cases):
        assert tuple(one.rule for one in expect.breaks) == tuple(
            r.id for i, r in enumerate(spec.rules) if judged.broken[i, row]
        ), name
        assert expect.codes == judged.codes(row)


def test_one_fault_or_its_listed_company(written) -> None:
    spec, cases, judged = written
    alone: Counter[str] = Counter()
    aimed: Counter[str] = Counter()
    for row, (name, _, _, intent, _) in enumerate(cases):
        broken = {rule.id for i, rule in enumerate(spec.rules) if judged.broken[i, row]}
        for part in intent.split("; "):
            if part.startswith("breaks "):
                rule, _, others = part.removeprefix("breaks ").partition(" with ")
                assert broken == {rule, *filter(None, others.split(", "))}, name
                aimed[rule] += 1
                alone[rule] += not others
    if spec.name in SIDE_VIOLATIONS:
        assert {rule for rule in aimed if not alone[rule]} == set(SIDE_VIOLATIONS[spec.name])


DIMS = (
    "input_dims",
    "input_depth_empty",
    "grad_output_negative",
    "input_negative",
    "weight_negative",
)
"""Rules that no edit breaks in company without an extent below 0, beside those of the key `dims`:
they speak of such extents, or their company does."""


@pytest.mark.parametrize(("name", "tier"), SUITES)
def test_a_null_pointer_or_an_extent_below_zero_is_no_company(name: str, tier: str) -> None:
    """A device that checks these first, and not the rule that the call is for, would pass."""
    spec, made = page(name), suite(name, tier)
    for case, purposes in zip(made.cases, made.cases.purposes, strict=True):
        extents = [
            extent
            for arg in case.call.args.values()
            if isinstance(arg, TensorDesc)
            for extent in arg.shape
        ]
        for rule, *company in [purpose.rules for purpose in purposes if purpose.verb == "breaks"]:
            assert not any(spec.rule[other].key == "null" for other in company), case.id
            of_extents = spec.rule[rule].key == "dims" or rule in DIMS
            assert not company or of_extents or min(extents, default=0) >= 0, case.id


@pytest.mark.parametrize("tier", ["smoke", "standard"])
def test_groups_below_one_are_tried_on_tensors_that_are_otherwise_legal(tier: str) -> None:
    for product in ("ascend910b", "ascend910_93"):
        cases = [
            case
            for case in suite("convolution_backward.ascend910b", tier).cases
            if case.call.product == product
        ]
        broken = [
            {one.rule for one in case.page.breaks}
            for case in cases
            if "breaks groups.min" in case.intent
        ]
        assert {"groups.min", "groups_in"} in broken


@pytest.mark.parametrize("name", PAGES)
def test_a_single_edit_lies_between_a_case_and_its_twin(name: str) -> None:
    """Most twins differ in one argument; where shapes follow from each other, in those that
    follow.
    """
    cases = {case.id: case for case in suite(name).cases}
    differing = Counter()
    for case in cases.values():
        if case.intent.startswith("breaks"):
            twin = cases[case.nearest_valid].call
            differing[
                sum(twin.args[key] != value for key, value in case.call.args.items())
                + (twin.product != case.call.product)
            ] += 1
    assert differing[0] == 0
    assert differing[1] >= 0.4 * differing.total()


@pytest.mark.parametrize("name", ["avg_pool2d_backward", "convolution_backward.ascend910b"])
def test_two_faults_tell_the_order(name: str) -> None:
    spec = page(name)
    pairs = set()
    standard = plan(spec.op).tiers["standard"]
    ordering = replace(
        plan(spec.op),
        tiers={"standard": replace(standard, strength=1, groups=(), limits=0, pairs=1)},
    )
    for case in plan_suite([(spec, ordering)], "standard").cases:
        if case.intent.startswith("orders "):
            broken = tuple(one.rule for one in case.page.breaks)
            assert len(broken) == 2 and len(case.page.codes) == 2
            assert all(rule in case.intent for rule in broken)
            pairs.add(frozenset(broken))
    stated = [
        rule
        for rule in spec.rules
        if rule.code is not None and rule.id not in SIDE_VIOLATIONS[name]
    ]
    possible = {frozenset((a.id, b.id)) for a in stated for b in stated if a.code != b.code}
    assert len(pairs & possible) >= 0.6 * len(possible), (len(pairs & possible), len(possible))
