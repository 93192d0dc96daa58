"""The gradient of im2col: block by block, and by torch's fold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from opgen.golden.im2col_backward import depth, golden
from tests.golden import distance, torch_or_skip

Names = dict[str, int]


def geometries(seed: int, count: int) -> Iterator[tuple[Names, tuple[int, int]]]:
    """Names of calls, and their blocks along each axis."""
    random, made = np.random.default_rng(seed), 0
    while made < count:
        names: Names = {}
        for a in "HW":
            sizes = random.integers([1, 1, 1, 1, 0], [9, 4, 4, 4, 3])
            keys = (f"{a}in", f"k{a}", f"s{a}", f"d{a}", f"pad{a}")
            names |= dict(zip(keys, sizes.tolist(), strict=True))
        spans = [
            names[f"{a}in"] + 2 * names[f"pad{a}"] - names[f"d{a}"] * (names[f"k{a}"] - 1)
            for a in "HW"
        ]
        if min(spans) >= 1:
            made += 1
            down, across = [
                len(range(0, span, names[f"s{a}"])) for a, span in zip("HW", spans, strict=True)
            ]
            yield names, (down, across)


def test_each_column_goes_back_to_its_block() -> None:
    random = np.random.default_rng(1)
    for names, (down, across) in geometries(1, 80):
        kh, kw = names["kH"], names["kW"]
        dy = random.standard_normal((2, 3 * kh * kw, down * across))
        expected = np.zeros((2, 3, names["Hin"], names["Win"]))
        terms = np.zeros(expected.shape[2:], dtype=int)
        for y, x, i, j in product(range(down), range(across), range(kh), range(kw)):
            row = y * names["sH"] + i * names["dH"] - names["padH"]
            column = x * names["sW"] + j * names["dW"] - names["padW"]
            if 0 <= row < names["Hin"] and 0 <= column < names["Win"]:
                terms[row, column] += 1
                for c in range(3):
                    place = dy[:, (c * kh + i) * kw + j, y * across + x]
                    expected[:, c, row, column] += place
        out = golden({"gradOutput": dy}, names, ["out"])["out"]
        assert distance(out, expected) <= 1e-14
        assert terms.max() <= depth(names, {}, "out")


def test_torch() -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(2)
    wrong = 0
    for names, (down, across) in geometries(2, 80):
        dy = random.standard_normal((2, 2 * names["kH"] * names["kW"], down * across))
        sizes = [
            [names[key.format(a)] for a in "HW"] for key in ("{}in", "k{}", "d{}", "pad{}", "s{}")
        ]
        expected = torch.ops.aten.col2im(torch.from_numpy(dy), *sizes).numpy()
        assert distance(golden({"gradOutput": dy}, names, ["out"])["out"], expected) <= 1e-14
        turned = golden({"gradOutput": dy[:, ::-1]}, names, ["out"])["out"]
        wrong += distance(turned, expected) > 1e-6
    assert wrong > 60
