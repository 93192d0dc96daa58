"""The gradient of max pooling and the indices of its forward, by definition and against torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from opgen.golden.max_pool2d_with_indices_backward import depth, golden, magnitude, saved
from opgen.numerics.bounds import bound
from opgen.spec.language.functions import pooled
from opgen.spec.language.value import constant_value
from tests.golden import distance, torch_or_skip

Names = dict[str, int]


def geometries(seed: int, count: int) -> Iterator[Names]:
    """Windows of at most half padding, as torch has them."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        names, ceil = {}, int(random.integers(2))
        for axis in "HW":
            kernel, dilation = (int(random.integers(1, 4)) for _ in range(2))
            span, pad = dilation * (kernel - 1) + 1, int(random.integers(kernel // 2 + 1))
            stride, extent = int(random.integers(1, 4)), span + int(random.integers(6))
            sizes = (constant_value(value) for value in (extent, span, stride, pad, bool(ceil)))
            values = extent, int(pooled(*sizes).data), kernel, stride, pad, dilation
            names |= dict(zip([f"{axis}in", f"{axis}out"], values, strict=False))
            names |= {f"{what}{axis}": value for what, value in zip("ks", values[2:], strict=False)}
            names |= {f"pad{axis}": pad, f"d{axis}": dilation}
        yield names | {"ceil": ceil}


def window(names: Names, row: int, column: int) -> list[tuple[int, int]]:
    """The places of a window in the image, in the order of memory."""
    places = []
    for i in range(names["kH"]):
        for j in range(names["kW"]):
            h = row * names["sH"] - names["padH"] + i * names["dH"]
            w = column * names["sW"] - names["padW"] + j * names["dW"]
            if 0 <= h < names["Hin"] and 0 <= w < names["Win"]:
                places.append((h, w))
    return places


def test_definition() -> None:
    random = np.random.default_rng(0)
    for names in geometries(1, 60):
        image = random.integers(-3, 4, (2, 3, names["Hin"], names["Win"])).astype(float)
        gradient = random.standard_normal((2, 3, names["Hout"], names["Wout"]))
        index = saved({"self": image, "gradOutput": gradient, "indices": None}, names)["indices"]
        of = {"gradOutput": gradient, "indices": index, "self": image}
        found = golden(of, names, ["gradInput"])["gradInput"]
        expected, terms = np.zeros_like(image), np.zeros(image.shape, dtype=int)
        for case, channel, row, column in np.ndindex(*gradient.shape):
            places = window(names, row, column)
            values = [image[case, channel, h, w] for h, w in places]
            h, w = places[values.index(max(values))]
            assert index[case, channel, row, column] == h * names["Win"] + w
            expected[case, channel, h, w] += gradient[case, channel, row, column]
            terms[case, channel, h, w] += 1
        assert distance(found, expected) <= 1e-15
        assert terms.max() <= depth(names, {}, "gradInput")
        size = magnitude(of, names, ["gradInput"])["gradInput"]
        assert (np.abs(found) <= size + 1e-15).all() and (size[terms == 0] == 0).all()


def test_indices_that_repeat_add_up() -> None:
    names = {"Hin": 2, "Win": 2, "Hout": 1, "Wout": 3}
    of = {"gradOutput": np.array([[[[1.0, 2, 4]]]]), "indices": np.array([[[[3.0, 0, 3]]]])}
    assert golden(of, names, ["gradInput"])["gradInput"].tolist() == [[[[2, 0], [0, 5]]]]


def test_sums_of_more_windows_than_the_forward_lets_have_room_for_as_many_roundings() -> None:
    names = {"Hin": 1, "Win": 9, "Hout": 1, "Wout": 9} | dict.fromkeys(
        ("kH", "kW", "sH", "sW", "dH", "dW"), 1
    )
    random = np.random.default_rng(5)
    of = {"gradOutput": random.random((1, 1, 1, 9)), "indices": np.full((1, 1, 1, 9), 4.0)}
    right = golden(of, names, ["gradInput"])["gradInput"]
    size = magnitude(of, names, ["gradInput"])["gradInput"]
    limit = bound(right, size, depth(names, {}, "gradInput"), "FLOAT")
    assert size[0, 0, 0, 4] == pytest.approx(9 * right[0, 0, 0, 4])
    for _ in range(200):
        terms = random.permutation(of["gradOutput"].reshape(-1)).astype(np.float32)
        total = np.float32(0)
        for term in terms:
            total += term * np.float32(1 + 2.0**-24)
        assert abs(total - right[0, 0, 0, 4]) <= limit[0, 0, 0, 4]


def test_torch() -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(2)
    for names in geometries(3, 60):
        image = torch.from_numpy(random.integers(-3, 4, (2, 3, names["Hin"], names["Win"])) * 1.0)
        steps = [[names[f"{what}{axis}"] for axis in "HW"] for what in ("k", "s", "pad", "d")]
        forward = torch.ops.aten.max_pool2d_with_indices(image, *steps, bool(names["ceil"]))
        gradient = torch.from_numpy(random.standard_normal(forward[0].shape))
        expected = torch.ops.aten.max_pool2d_with_indices_backward(
            gradient, image, *steps, bool(names["ceil"]), forward[1]
        )
        of = {"self": image.numpy(), "gradOutput": gradient.numpy()}
        index = saved({**of, "indices": None}, names)["indices"]
        assert np.array_equal(index, forward[1].numpy())
        found = golden({**of, "indices": index}, names, ["gradInput"])["gradInput"]
        assert distance(found, expected.numpy()) <= 1e-15
