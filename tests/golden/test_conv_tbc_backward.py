"""The gradients of a convolution over time against its definition, its forward, and products of
spectra.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opgen.golden.conv_tbc_backward import depth, forward, golden, magnitude
from tests.golden import distance

Names = dict[str, int]
Tensors = dict[str, np.ndarray]
ALL = ("gradInput", "gradWeight", "gradBias")


def calls(seed: int, count: int, fewest: int = 1) -> Iterator[tuple[Names, Tensors]]:
    """Two cases each; some have taps that meet padding alone, or no samples."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        extent, taps, pad = (int(random.integers(*of)) for of in ((0, 8), (fewest, 5), (0, 4)))
        out = extent + 2 * pad - taps + 1
        if out >= 0:
            n, inputs, outputs = (int(random.integers(least, 4)) for least in (0, 1, 1))
            shapes = {
                "self": (out, n, outputs),
                "input": (extent, n, inputs),
                "weight": (taps, inputs, outputs),
                "bias": (outputs,),
            }
            tensors = {name: random.standard_normal((2, *of)) for name, of in shapes.items()}
            yield {"pad": pad}, tensors


def by_definition(names: Names, tensors: Tensors) -> Tensors:
    dy, x, w = (tensors[name] for name in ("self", "input", "weight"))
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for t in range(dy.shape[1]):
        for k in range(w.shape[1]):
            at = t + k - names["pad"]
            if 0 <= at < x.shape[1]:
                dx[:, at] += np.einsum("bno,bio->bni", dy[:, t], w[:, k])
                dw[:, k] += np.einsum("bno,bni->bio", dy[:, t], x[:, at])
    return {"gradInput": dx, "gradWeight": dw, "gradBias": dy.sum((1, 2))}


def by_spectra(names: Names, tensors: Tensors) -> np.ndarray:
    """The gradient of the input: along time a product of spectra, long enough for both."""
    dy, w = tensors["self"], tensors["weight"]
    size = dy.shape[1] + w.shape[1]
    spectra = [np.fft.fft(array, size, axis=1) for array in (dy, w)]
    whole = np.fft.ifft(np.einsum("btno,btio->btni", *spectra), axis=1).real
    extent, pad = tensors["input"].shape[1], names["pad"]
    room = np.zeros((len(whole), pad + extent, *whole.shape[2:]))
    room[:, : min(size, pad + extent)] = whole[:, : pad + extent]
    return room[:, pad:]


def test_definition() -> None:
    for names, tensors in calls(1, 300, fewest=0):
        found, expected = golden(tensors, names, ALL), by_definition(names, tensors)
        absolute = {name: np.abs(array) for name, array in tensors.items()}
        sizes = by_definition(names, absolute)
        for name, size in magnitude(tensors, names, ALL).items():
            assert distance(found[name], expected[name]) <= 1e-14
            assert distance(size, sizes[name]) <= 1e-14


def test_another_algorithm_agrees_and_a_pad_that_is_one_off_does_not() -> None:
    differ = 0
    for names, tensors in calls(2, 100):
        found = golden(tensors, names, ALL)["gradInput"]
        assert distance(found, by_spectra(names, tensors)) <= 1e-13
        other = by_spectra({"pad": names["pad"] + 1}, tensors)
        differ += distance(found, other) > 1e-3
    assert differ > 50


def test_gradients_are_adjoint_to_the_forward() -> None:
    for names, tensors in calls(3, 100):
        if not tensors["input"].size:
            continue
        gradients = golden(tensors, names, ALL)
        zero = {**tensors, "bias": np.zeros_like(tensors["bias"])}
        result = (forward(zero, names)["self"] * tensors["self"]).sum()
        for name, own in (("gradInput", "input"), ("gradWeight", "weight")):
            assert distance((gradients[name] * tensors[own]).sum(), result) <= 1e-12


def test_depth_counts_terms() -> None:
    shapes = {"self": (5, 2, 3), "input": (4, 2, 7), "weight": (4, 7, 3)}
    terms = {name: depth({"pad": 2}, shapes, name) for name in ALL}
    assert terms == {"gradInput": 12, "gradWeight": 10, "gradBias": 10}
