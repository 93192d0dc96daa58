"""Standard suites hold data beyond what a kernel might keep them in on the way."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.generation.computing import compute
from tests.support.suites import suite

INDICES = {
    "adaptive_max_pool2d_backward": "indices",
    "embedding_dense_backward": "indices",
    "grouped_bias_add_grad": "groupIdxOptional",
    "max_pool2d_with_indices_backward": "indices",
    "max_unpool2d_backward": "indices",
    "nll_loss_backward": "target",
    "three_interpolate_backward": "idx",
}
EXPONENTS = {
    "binary_cross_entropy_with_logits_backward": "self",
    "clipped_swiglu_grad": "x",
    "fast_gelu_backward": "self",
    "log_sigmoid_backward": "self",
    "silu_backward": "self",
    "soft_margin_loss_backward": "self",
    "swi_glu_grad": "x",
    "swiglu_group_grad": "x",
}
LARGEST = np.log(np.finfo(np.float32).max)
"""Where the exponential overflows in FLOAT."""


@pytest.mark.parametrize(("name", "index"), INDICES.items())
def test_some_indices_of_float16_data_are_no_numbers_of_float16(name: str, index: str) -> None:
    large = [
        batch
        for batch in suite(name).batches
        if batch.tensors[batch.gradient].dtype == "FLOAT16" and index in batch.inputs
    ]
    chosen = [arrays[index, "input"].astype(np.float64) for arrays in compute(large, 0)]
    with np.errstate(over="ignore"):
        assert any((values != values.astype(np.float16)).any() for values in chosen)


@pytest.mark.parametrize("name", ["embedding_dense_backward", "nll_loss_backward"])
def test_some_indices_of_uint8_are_none_of_int8(name: str) -> None:
    index = INDICES[name]
    bytewise = [b for b in suite(name).batches if b.tensors[index].dtype == "UINT8"]
    assert max(arrays[index, "input"].max(initial=0) for arrays in compute(bytewise, 0)) > 127


@pytest.mark.parametrize(("name", "argument"), EXPONENTS.items())
def test_some_exponentials_overflow_whatever_their_sign(name: str, argument: str) -> None:
    given = [
        np.asarray(batch.given[argument])
        for batch in suite(name).batches
        if argument in batch.given and batch.tensors[argument].dtype == "FLOAT"
    ]
    assert any(values.max() > LARGEST and values.min() < -LARGEST for values in given)
