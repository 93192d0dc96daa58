"""Single elements of convolution gradients are those of the whole gradients."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden import convolution_backward as kernel
from opgen.numerics.signs import signed_sums


@pytest.mark.parametrize("number", range(len(kernel.PROBES)))
def test_every_element_is_that_of_the_whole_gradient(number: int) -> None:
    probe, rng = kernel.PROBES[number], np.random.default_rng(number)
    tensors = {
        name: rng.integers(-9, 10, (2, *shape)).astype(np.float64)
        for name, shape in probe.shapes.items()
        if shape is not None
    }
    whole = kernel.golden(tensors, probe.names, probe.wanted)
    places = {}
    for out, array in whole.items():
        size = array[0].size
        places[out] = rng.permutation(size)[: min(size, 3000)]
    found = kernel.at(tensors, probe.names, places)
    assert {*found} == {*whole}
    for out, flat in places.items():
        assert np.array_equal(found[out], whole[out].reshape(2, -1)[:, flat]), out


def test_what_meets_padding_alone_is_not_multiplied_by_what_is_not_finite() -> None:
    probe = kernel.PROBES[0]
    tensors = {name: np.ones((1, *shape)) for name, shape in probe.shapes.items() if shape}
    tensors["gradOutput"][0, 0, 0, 0, 0] = np.inf
    whole = kernel.golden(tensors, probe.names, ("gradInput",))["gradInput"]
    places = np.arange(whole.size)
    found = kernel.at(tensors, probe.names, {"gradInput": places})["gradInput"]
    assert np.array_equal(found, whole.reshape(1, -1)) and 0 < np.isinf(found).sum() < whole.size


@pytest.mark.parametrize("number", range(len(kernel.PROBES)))
def test_sums_with_signs_are_those_of_the_whole_gradients(number: int) -> None:
    probe, rng = kernel.PROBES[number], np.random.default_rng(number)
    tensors = {
        name: rng.integers(-9, 10, (2, *shape)).astype(np.float64)
        for name, shape in probe.shapes.items()
        if shape is not None
    }
    whole = kernel.golden(tensors, probe.names, probe.wanted)
    weights = {
        out: [rng.integers(-3, 4, (5, extent)).astype(np.float64) for extent in array.shape[1:]]
        for out, array in whole.items()
    }
    sums = kernel.signed(tensors, probe.names, weights)
    for out, array in whole.items():
        wanted = np.zeros((2, 5))
        for draw in range(5):
            product = array.copy()
            for axis, weight in enumerate(weights[out], 1):
                shape = [-1 if i == axis else 1 for i in range(array.ndim)]
                product *= weight[draw].reshape(shape)
            wanted[:, draw] = product.reshape(2, -1).sum(axis=1)
        assert np.array_equal(sums[out], wanted), out
        assert all(
            np.array_equal(signed_sums(one, weights[out]), row)
            for one, row in zip(array, wanted, strict=True)
        )
    assert np.abs(sums["gradInput"]).max() > 0
