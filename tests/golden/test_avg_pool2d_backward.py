"""The average pooling kernel against its definition, its adjoint and torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from opgen.golden._absolute import GOLDEN
from opgen.golden.avg_pool2d_backward import depth, golden, magnitude
from opgen.golden.avg_pool2d_backward import forward as forward_of
from tests.golden import distance, grid, scratch, torch_or_skip

Names = dict[str, int]


def pooled(extent: int, kernel: int, stride: int, pad: int, ceil: int) -> int:
    size = (
        -(-(extent + 2 * pad - kernel) // stride) if ceil else (extent + 2 * pad - kernel) // stride
    )
    return size if ceil and size * stride >= extent + pad else size + 1


def geometries(seed: int, count: int, largest: int = 11) -> Iterator[Names]:
    random = np.random.default_rng(seed)
    made = 0
    while made < count:
        names: Names = {
            "ceilMode": int(random.integers(2)),
            "countIncludePad": int(random.integers(2)),
            "divisorOverride": int(random.choice([0, 0, 0, 1, 3, -2, 255, -255])),
        }
        for axis in "HW":
            kernel = int(random.integers(1, 8))
            names |= {
                f"{axis}in": int(random.integers(1, largest)),
                f"k{axis}": kernel,
                f"s{axis}": int(random.integers(1, 5)),
                f"pad{axis}": int(random.integers(0, kernel // 2 + 1)),
            }
        if all(names[f"{a}in"] + 2 * names[f"pad{a}"] >= names[f"k{a}"] for a in "HW"):
            made += 1
            yield sized(names)


def sized(names: Names) -> Names:
    out = {
        f"{a}out": pooled(
            names[f"{a}in"], names[f"k{a}"], names[f"s{a}"], names[f"pad{a}"], names["ceilMode"]
        )
        for a in "HW"
    }
    return {**names, **out}


def pool(kernel: int, stride: int, pad: int, extent: int = 40, **others: int) -> Names:
    names = {
        "ceilMode": 0,
        "countIncludePad": 1,
        "divisorOverride": 0,
        "Hin": extent,
        "Win": extent + 1,
    } | others
    return sized(
        names
        | {f"{k}{a}": v for a in "HW" for k, v in (("k", kernel), ("s", stride), ("pad", pad))}
    )


def gradient(random: np.random.Generator, names: Names, *leading: int) -> np.ndarray:
    """On a grid, in multiples of what each window is divided by, so that quotients are exact."""
    values = grid(random, (*leading, names["Hout"], names["Wout"]))
    return values * (names["divisorOverride"] or np.lcm.reduce(np.arange(1, 8)))


def windows(names: Names) -> Iterator[tuple[int, int, slice, slice, float]]:
    """Every window: its place, what it covers, and its factor, from the definition."""
    for oh, ow in np.ndindex(names["Hout"], names["Wout"]):
        pool_size = valid_size = 1
        covered = []
        for axis, o in (("H", oh), ("W", ow)):
            extent, pad = names[f"{axis}in"], names[f"pad{axis}"]
            start = o * names[f"s{axis}"] - pad
            end = min(start + names[f"k{axis}"], extent + pad)
            pool_size *= end - start
            start, end = max(start, 0), min(end, extent)
            valid_size *= end - start
            covered.append(slice(start, end))
        divisor = names["divisorOverride"] or (
            pool_size if names["countIncludePad"] else valid_size
        )
        yield oh, ow, covered[0], covered[1], divisor


def forward(names: Names, x: np.ndarray) -> np.ndarray:
    result = np.zeros((*x.shape[:-2], names["Hout"], names["Wout"]))
    for oh, ow, rows, columns, divisor in windows(names):
        result[..., oh, ow] = x[..., rows, columns].sum((-2, -1)) / divisor
    return result


def naive(names: Names, dy: np.ndarray) -> np.ndarray:
    result = np.zeros((*dy.shape[:-2], names["Hin"], names["Win"]))
    for oh, ow, rows, columns, divisor in windows(names):
        for lead in np.ndindex(*dy.shape[:-2]):
            for i in range(rows.start, rows.stop):
                for j in range(columns.start, columns.stop):
                    result[(*lead, i, j)] += dy[(*lead, oh, ow)] / divisor
    return result


def run(names: Names, dy: np.ndarray) -> np.ndarray:
    return golden({"gradOutput": dy, "self": None}, names, ["gradInput"])["gradInput"]


def test_adjoint_identity() -> None:
    random = np.random.default_rng(1)
    for names in geometries(1, 1100):
        dy = random.standard_normal((2, 1, 2, names["Hout"], names["Wout"]))
        v = random.standard_normal((2, 1, 2, names["Hin"], names["Win"]))
        left, right = (run(names, dy) * v).sum(), (dy * forward(names, v)).sum()
        assert abs(left - right) <= 1e-12 * np.linalg.norm(dy) * np.linalg.norm(v), names


def test_naive_twin() -> None:
    random = np.random.default_rng(2)
    for names in geometries(2, 250, 8):
        dy = gradient(random, names, 2, *((2, 1) if random.random() < 0.5 else (2,)))
        assert distance(run(names, dy), naive(names, dy)) < (
            1e-15 if names["divisorOverride"] == 0 else 1e-30
        ), names


def test_non_finite_values_reach_their_window_alone() -> None:
    random = np.random.default_rng(3)
    for names in geometries(3, 150, 8):
        dy = random.standard_normal((1, 2, names["Hout"], names["Wout"]))
        dy.flat[random.choice(dy.size, 2)] = random.choice([np.inf, -np.inf, np.nan], 2)
        got = run(names, dy)
        with np.errstate(invalid="ignore"):
            assert distance(got, naive(names, dy)) < 1e-14, names


LARGE = [
    pool(3, 2, 1, 56),
    pool(3, 1, 1, 56),
    pool(7, 1, 3, 56, divisorOverride=10),
    pool(2, 2, 0, 56),
    pool(8, 8, 0, 56),
    pool(5, 2, 2, 30, ceilMode=1, countIncludePad=0),
    pool(3, 2, 1, 300),
    pool(255, 1, 0, 300, divisorOverride=-3),
    pool(1, 1, 0, 20),
    pool(2, 3, 1, 200, ceilMode=1),
]


@pytest.mark.parametrize("names", LARGE)
def test_large_shapes_in_both_forms(names: Names) -> None:
    """A NaN in one case sends its batch through the form that adds slices; the other case must not
    change.
    """
    random = np.random.default_rng(4)
    for values in (
        gradient(random, names, 2, 3, 2),
        random.standard_normal((2, 5, names["Hout"], names["Wout"])),
    ):
        want = run(names, values)
        v = random.standard_normal(want.shape)
        left, right = (want * v).sum(), (values * forward(names, v)).sum()
        assert abs(left - right) <= 1e-12 * np.linalg.norm(values) * np.linalg.norm(v)
        values[1].flat[0] = np.nan
        assert np.array_equal(run(names, values)[0], want[0])


def test_batch_does_not_matter_whatever_the_data() -> None:
    random = np.random.default_rng(5)
    for names in [*geometries(5, 80), *LARGE[:4]]:
        dy = random.standard_normal(
            (70, 3, 2, names["Hout"], names["Wout"])
        ) * 2.0 ** random.integers(-40, 40)
        together = run(names, dy)
        for b in (0, 33, 69):
            assert np.array_equal(run(names, dy[b : b + 1])[0], together[b]), names


@pytest.mark.parametrize("seed", range(2))
def test_torch(seed: int) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(seed)
    for names in [*geometries(100 + seed, 400), *LARGE]:
        lead = (2, 3) if random.random() < 0.5 else (3,)
        dy = random.standard_normal((*lead, names["Hout"], names["Wout"]))
        want = torch.ops.aten.avg_pool2d_backward(
            torch.from_numpy(dy),
            torch.zeros(*lead, names["Hin"], names["Win"], dtype=torch.float64),
            [names["kH"], names["kW"]],
            [names["sH"], names["sW"]],
            [names["padH"], names["padW"]],
            bool(names["ceilMode"]),
            bool(names["countIncludePad"]),
            names["divisorOverride"] or None,
        ).numpy()
        assert distance(run(names, dy[None])[0], want) <= 1e-12, names


@pytest.mark.parametrize(
    "fault",
    [
        {"sH": 2, "sW": 1},
        {"padH": 0, "padW": 1},
        {"countIncludePad": 0},
        {"divisorOverride": 7},
        {"kH": 2, "kW": 3},
    ],
)
def test_a_wrong_array_fails(fault: Names) -> None:
    names = {
        "Hin": 6,
        "Win": 6,
        "kH": 3,
        "kW": 2,
        "sH": 1,
        "sW": 2,
        "padH": 1,
        "padW": 0,
        "ceilMode": 0,
        "countIncludePad": 1,
        "divisorOverride": 0,
        "Hout": 3,
        "Wout": 3,
    }
    dy = gradient(np.random.default_rng(6), names, 1, 2)
    right = naive(names, dy)
    assert distance(run(names, dy), right) < 1e-15
    assert distance(run({**names, **fault}, dy), right) > 1e-3


def test_an_array_off_by_one_and_a_lost_sign_fail() -> None:
    names = pool(3, 2, 1, 9, divisorOverride=-4)
    dy = gradient(np.random.default_rng(7), names, 1, 2)
    right = naive(names, dy)
    assert distance(run(names, dy), right) == 0
    assert distance(-right, right) > 1 and distance(np.roll(right, 1, -1), right) > 1e-3
    assert distance(right[..., :-1], right) == np.inf


def test_the_ceiling_clips_the_last_window() -> None:
    names = pool(2, 2, 0, 3, Win=3, ceilMode=1)
    assert (names["Hout"], names["Wout"]) == (2, 2)
    assert run(names, np.ones((1, 1, 2, 2))).tolist() == [
        [[[0.25, 0.25, 0.5], [0.25, 0.25, 0.5], [0.5, 0.5, 1]]]
    ]


def test_magnitude_is_the_sum_of_absolute_terms() -> None:
    random = np.random.default_rng(8)
    for names in geometries(8, 100):
        dy = gradient(random, names, 2, 3)
        bound = magnitude({"gradOutput": dy, "self": None}, names, ["gradInput"])["gradInput"]
        positive = {**names, "divisorOverride": abs(names["divisorOverride"])}
        assert (bound >= np.abs(run(names, dy))).all()
        assert np.array_equal(bound, run(positive, np.abs(dy)))


def test_depth_bounds_the_number_of_terms() -> None:
    for names in geometries(9, 300):
        counting = {**names, "divisorOverride": 1}
        terms = run(counting, np.ones((1, 1, names["Hout"], names["Wout"])))
        assert terms.max() + 1 <= depth(names, {}, "gradInput"), names
    assert depth(pool(3, 2, 1), {}, "gradInput") == 2 * 2 + 2


def test_scratch_memory_is_bounded() -> None:
    for lead, names in (
        ((1, 1), pool(3, 1, 1, 2100)),
        ((4, 600), pool(3, 2, 1, 40)),
        ((30, 50, 40), pool(3, 2, 1, 8)),
    ):
        dy = np.ones((*lead, names["Hout"], names["Wout"]))
        assert scratch(lambda dy=dy, names=names: {"gradInput": run(names, dy)}) <= 32 * 2**20


def test_pieces_of_a_plane_are_pooled_like_the_plane() -> None:
    random = np.random.default_rng(12)
    for names in geometries(12, 200, 14):
        dy = random.standard_normal((2, 3, names["Hout"], names["Wout"]))
        block = int(random.integers(1, 30))
        pieces = forward_of(names).adjoint(dy, GOLDEN, block)
        assert np.array_equal(pieces, run(names, dy)), names


def test_empty_tensors() -> None:
    names = pool(3, 2, 1, 9)
    for lead in ((2, 0, 3), (2, 3, 0), (2, 0), (0, 1, 1)):
        assert run(names, np.zeros((*lead, names["Hout"], names["Wout"]))).shape == (*lead, 9, 10)
    assert golden({"gradOutput": np.zeros((1, 1, 5, 5)), "self": None}, names, []) == {}
