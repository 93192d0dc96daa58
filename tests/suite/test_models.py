"""The shipped layers of models: calls that the pages allow, at three batches, with their source."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from opgen.files.resources import cases_folder
from opgen.generation import kernels
from opgen.generation.filling import fill
from opgen.generation.resources import memory_of, needs
from opgen.generation.seeding import seeds
from opgen.model import FileError, TensorDesc
from opgen.suite.remarks import remarks
from opgen.suite.selection import Request

LISTS = sorted((cases_folder() / "models").glob("*.jsonl"))
BATCHES = (1, 8, 32)
LARGE = "stable_diffusion.b64.decoder.up3.conv1"
"""Whose tensors have more elements than 32 bits count."""
PARAMETERS = {"resnet50.b1.layer4.1.conv2": 512 * 512 * 9, "vit_b16.b1.patches": 768 * 3 * 256}


def test_every_layer_stands_there_at_each_batch_with_its_source() -> None:
    lines = [json.loads(line) for path in LISTS for line in path.read_text("utf-8").splitlines()]
    assert all(line["source"] for line in lines)
    layers = Counter(
        line["id"].replace(f".b{batch}.", ".", 1)
        for line in lines
        for batch in BATCHES
        if f".b{batch}." in line["id"]
    )
    (large,) = (
        line["id"] for line in lines if line["id"].split(".")[1][1:] not in map(str, BATCHES)
    )
    assert large == LARGE
    assert len(layers) == 70 and set(layers.values()) == {len(BATCHES)}
    assert {line["id"].partition(".")[0] for line in lines} == {path.stem for path in LISTS}


def test_a_device_may_accept_every_layer_and_each_has_a_golden() -> None:
    suite = Request(plan="models").suite()
    assert len(suite.cases) == 211
    assert all(0 in case.page.codes for case in suite.cases)
    assert suite.without_data == {}
    assert all(batch.wanted for batch in suite.batches)


def test_convolutions_with_long_sums_have_data_whose_sums_are_exact() -> None:
    """Bounds of longer sums of other data are no small share of any golden: a pass proves
    nothing.
    """
    suite = Request(["aclnnConvolutionBackward"], plan="models").suite()
    depths = {batch.ids[0]: max(kernels.depths(batch).values()) for batch in suite.batches}
    long = {name for name, depth in depths.items() if depth > 2**14}
    assert 70 < len(long) < len(depths) / 2
    assert long == {case.id for case in suite.cases if case.recipe == "integers"}


def test_batches_differ_in_the_batch_alone_and_weights_are_those_of_the_models() -> None:
    calls = {entry.id: entry.call for entry, _ in Request(plan="models").given}
    for name, size in PARAMETERS.items():
        weight = calls[name].args["weight"]
        assert isinstance(weight, TensorDesc) and weight.storage_elements == size
    for name, call in calls.items():
        if ".b1." in name:
            for batch in BATCHES[1:]:
                other = calls[name.replace(".b1.", f".b{batch}.")]
                for key, desc in call.args.items():
                    again = other.args[key]
                    if isinstance(desc, TensorDesc) and isinstance(again, TensorDesc):
                        assert again.shape in (desc.shape, (batch, *desc.shape[1:])), (name, key)


def test_the_largest_layer_has_more_elements_than_32_bits_count_and_needs_no_such_memory() -> None:
    suite = Request(plan="models", patterns=(LARGE,)).suite()
    [batch] = suite.batches
    sizes = {name: desc.storage_elements for name, desc in batch.tensors.items()}
    assert sizes["input"] == sizes["gradInput"] == 2**32 and sizes["gradOutput"] == 2**31
    assert suite.cases[0].page.codes == (0,)
    assert memory_of(batch, 1024, True) < 2 * sizes["input"] < memory_of(batch) / 16
    assert needs(suite, seeds(suite.batches, 0), 1024).bytes < 1 << 20


@pytest.mark.parametrize("batch", [1, 8])
def test_softmax_layers_take_the_result_of_a_forward(batch: int) -> None:
    [layer] = Request(plan="models", patterns=(f"vit_b16.b{batch}.attention",)).suite().batches
    [inputs] = fill([layer], [1], 0)
    output = inputs.values["output"]
    assert output is not None and abs(output.sum(axis=-1) - 1).max() < 197 * 2.0**-16


def test_they_are_chosen_like_other_cases_and_take_a_recipe() -> None:
    asked = Request(
        ["aclnnAvgPool2dBackward"], plan="models", patterns=["*.b8.*"], recipe="integers"
    )
    suite = asked.suite()
    assert (asked.name, list(suite.cases.id)) == ("models", ["resnet50.b8.avgpool"])
    assert suite.cases[0].recipe == "integers" and remarks(asked, suite) == []
    with pytest.raises(FileError, match="did you mean 'models'"):
        Request(plan="model").check()


def test_the_plan_for_determinism_has_long_sums_of_everyday_data() -> None:
    """Of FLOAT alone: results in 16 bits hide the order in which partial sums are added."""
    suite = Request(plan="determinism").suite()
    assert all(case.page.bucket == "valid" and case.phase == 2 for case in suite.cases)
    assert {case.recipe for case in suite.cases} == {"normal"}
    depths = {
        name: max(kernels.depths(batch).values()) for batch in suite.batches for name in batch.ids
    }
    assert len(depths) == len(suite.cases) >= 20 and min(depths.values()) >= 9
    assert sum(depth >= 64 for depth in depths.values()) >= 20
