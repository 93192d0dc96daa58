"""What a forward saved follows from the other inputs, unless a recipe asks for anything else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

import opgen
from opgen.generation.filling import fill
from opgen.golden import kernel
from opgen.model import FileError
from opgen.numerics.recipes import RECIPES
from opgen.numerics.rounding import stored
from opgen.quality.mutants import find
from opgen.quality.mutation_score import score
from opgen.spec.catalog import catalog
from opgen.suite.planning.plan_check import shipped_plan
from opgen.suite.selection import Request
from tests.support import suites

EXEMPT = {
    "dropout_backward": "any bits are those of some forward",
    "dropout_v3_grad": "any bits are those of some forward",
    "clipped_swiglu_grad": "ends of groups, which no forward computes",
    "swiglu_group_grad": "ends of groups, which no forward computes",
    "swiglu_group_quant_grad": "ends of groups, which no forward computes",
    "grid_sampler2d_backward": "coordinates, which no forward computes",
    "roi_align_v2_backward": "coordinates, which no forward computes",
    "roi_pooling_grad_with_arg_max": "boxes, which no forward computes",
    "grouped_bias_add_grad": "ends of groups, which no forward computes",
}
NORMALISED = {
    "layer_norm_backward": ("input", (2, 3, 5), (2, 3, 1), {"R1": 5}),
    "ada_layer_norm_backward": ("input", (2, 3, 5), (2, 3, 1), {}),
    "group_norm_backward": ("input", (2, 3, 5), (6,), {"N": 2, "C": 3, "HxW": 5, "group": 3}),
    "group_norm_swish_grad": ("x", (2, 3, 5), (2, 3), {}),
}
"""Of normalisations of the last axis here: the input, its shape, that of the mean, and names."""


def plan_of(op: str) -> tuple[set[str], set[str]]:
    """The roles of a shipped plan, and the recipes of its tier standard."""
    (spec, *_) = [spec for spec in catalog().specs if spec.op == op]
    plan = shipped_plan(spec.api)
    levels = {
        str(level[0])
        for axis in plan.axes
        if axis.sets == ("recipe",)
        for level in axis.of_tier("standard")
    }
    pinned = {pin.recipe for pin in plan.handwritten if "standard" in pin.tiers}
    return set(plan.roles.values()), levels | pinned


@pytest.mark.parametrize("op", sorted({spec.op for spec in catalog().specs}))
def test_standard_has_a_case_that_no_forward_gives_where_one_saved_something(op: str) -> None:
    roles, recipes = plan_of(op)
    assert ("inconsistent" in recipes) == ("saved" in roles and op not in EXEMPT)


@pytest.mark.parametrize("op", NORMALISED)
def test_saved_statistics_are_those_of_the_data(op: str) -> None:
    name, shape, of_mean, names = NORMALISED[op]
    x = np.random.default_rng(5).normal(3, 2, (4, *shape))
    tensors = {name: x, "mean": np.zeros((4, *of_mean)), "rstd": np.zeros((4, *of_mean))}
    found = kernel(op).saved(tensors, names)
    assert found["mean"].shape == found["rstd"].shape == (4, *of_mean)
    assert np.allclose(found["mean"].ravel(), x.mean(-1).ravel(), rtol=1e-14)
    assert np.allclose(found["rstd"].ravel(), (x.var(-1) + 1e-5).ravel() ** -0.5, rtol=1e-14)


def test_saved_statistics_of_channels_may_have_no_elements_where_nothing_reads_them() -> None:
    x = np.random.default_rng(6).normal(3, 2, (4, 2, 3, 5))
    tensors = {"input": x, "saveMean": np.zeros((4, 3)), "saveInvstd": np.zeros((4, 0))}
    found = kernel("batch_norm_backward").saved(tensors, {"training": 0})
    assert np.allclose(found["saveMean"], x.mean((1, 3)), rtol=1e-14)
    assert found["saveInvstd"].shape == (4, 0)


def test_a_saved_root_mean_square_is_that_of_its_row() -> None:
    x = np.random.default_rng(7).normal(3, 2, (4, 2, 3, 5))
    shaped = dict.fromkeys(("dy", "x"), x)
    tensors = {**shaped, "rstd": np.zeros((4, 2, 3)), "gamma": np.ones((4, 5))}
    found = kernel("rms_norm_grad").saved(tensors, {})["rstd"]
    assert np.allclose(found, ((x * x).mean(-1) + 1e-5) ** -0.5, rtol=1e-14)


def test_saved_rows_of_a_softmax_add_up_to_1_without_what_is_masked() -> None:
    x = np.random.default_rng(8).normal(0, 20, (4, 1, 1, 2, 9))
    y = kernel("softmax_backward").saved({"output": x}, {"dim": 3})["output"]
    assert np.allclose(y.sum(-1), 1, rtol=1e-14) and (np.argmax(y, -1) == np.argmax(x, -1)).all()
    assert kernel("softmax_backward").saved({"output": np.zeros(4)}, {"dim": 0})["output"].all()
    mask = np.zeros(x.shape)
    mask[..., 3:] = 1
    y = kernel("scaled_masked_softmax_backward").saved({"y": x, "mask": mask}, {})["y"]
    assert np.allclose(y[..., :3].sum(-1), 1, rtol=1e-14) and not y[..., 3:].any()


@pytest.mark.parametrize("sizes", [(7, 6, 3, 2), (2, 3, 5, 4), (4, 4, 4, 4)])
def test_saved_indices_of_windows_that_do_not_meet_are_different(sizes: tuple[int, ...]) -> None:
    names = dict(zip(("Hin", "Win", "Hout", "Wout"), sizes, strict=True))
    image = np.random.default_rng(9).normal(size=(4, 3, sizes[2], sizes[3]))
    index = kernel("max_unpool2d_backward").saved({"self": image}, names)["indices"]
    assert index.min() >= 0 and index.max() < sizes[0] * sizes[1]
    if sizes[2] <= sizes[0]:
        assert all(np.unique(plane).size == plane.size for plane in index.reshape(12, -1))


def test_a_recipe_draws_what_no_forward_saved() -> None:
    seen = {True: 0, False: 0}
    for batch in suites.suite("layer_norm_backward", "standard").batches:
        if batch.wanted and batch.elements:
            (found,) = fill([batch], [1], 0)
            follows = RECIPES[batch.recipe].consistent
            kept = kernel("layer_norm_backward").saved(found.values, batch.names)
            for name, array in kept.items():
                of = found.values[name]
                assert of is not None
                rounded = stored(array.ravel(), batch.tensors[name].dtype).astype(np.float64)
                assert np.array_equal(rounded, of.ravel()) == follows, (batch.ids, name)
            seen[follows] += len(batch.ids)
    assert min(seen.values()) > 3


def test_a_device_that_computes_statistics_again_is_caught_by_inconsistent_ones_alone(
    tmp_path: Path,
) -> None:
    outcomes = {}
    for recipe in ("grid", "inconsistent"):
        plan = tmp_path / f"{recipe}.yaml"
        text = {
            "op": "aclnnRmsNormGrad",
            "extends": "default",
            "roles": {"dy": "gradient", "rstd": "saved"},
            "factors": 4,
            "axes": {
                "product": ["ascend910b"],
                "dy.dtype": ["FLOAT"],
                "gamma.dtype": ["FLOAT"],
                "dy.shape": ["(4, 3, 17)"],
                "recipe": [recipe],
            },
            "let": {"gamma.shape": "dy.shape[-1:]", "rstd.shape": "dy.shape[:-1]"},
            "tiers": {"smoke": {"strength": 1, "invalid": 0, "limits": 0}},
        }
        plan.write_text(yaml.safe_dump(text))
        path = tmp_path / f"{recipe}.h5"
        opgen.generate(plan=str(plan), output=str(path), workers=1)
        with opgen.open(path) as bundle:
            (result,) = score(bundle, [find("saved_computed_again")]).of("rms_norm_grad")
        outcomes[recipe] = result.outcome
    assert outcomes == {"grid": "missed", "inconsistent": "caught"}


def test_a_plan_without_saved_inputs_has_no_inconsistent_ones(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        "op: aclnnSiluBackward\nextends: default\naxes:\n  recipe: [grid, inconsistent]\n"
    )
    with pytest.raises(FileError, match=r"plan.yaml:4.*is for an input of the role 'saved'"):
        Request(plan=str(path)).suite()
