"""The reflection padding kernel against its definition, its adjoint and torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from opgen.golden.reflection_pad2d_backward import depth, golden, magnitude
from tests.golden import distance, scratch, torch_or_skip

Names = dict[str, int]
ENDS = ("padLeft", "padRight", "padTop", "padBottom")


def geometries(seed: int, count: int, largest: int = 9) -> Iterator[tuple[Names, int, int]]:
    random = np.random.default_rng(seed)
    for _ in range(count):
        h, w = (int(extent) for extent in random.integers(1, largest, 2))
        ends = [int(random.integers(extent)) for extent in (w, w, h, h)]
        yield dict(zip(ENDS, ends, strict=True)) | {"H": h, "W": w}, h, w


def equal(end: int, h: int, w: int) -> tuple[Names, int, int]:
    return dict.fromkeys(ENDS, end) | {"H": h, "W": w}, h, w


def values(
    random: np.random.Generator, shape: tuple[int, ...], complex_: bool = False
) -> np.ndarray:
    real = random.standard_normal(shape)
    return real + 1j * random.standard_normal(shape) if complex_ else real


def padded(names: Names, h: int, w: int) -> tuple[int, int]:
    return h + names["padTop"] + names["padBottom"], w + names["padLeft"] + names["padRight"]


def reflect(o: int, before: int, extent: int) -> int:
    q = abs(o - before)
    return 2 * (extent - 1) - q if q > extent - 1 else q


def forward(names: Names, x: np.ndarray) -> np.ndarray:
    h, w = x.shape[-2:]
    rows, columns = padded(names, h, w)
    return x[..., [reflect(o, names["padTop"], h) for o in range(rows)], :][
        ..., [reflect(o, names["padLeft"], w) for o in range(columns)]
    ]


def naive(names: Names, dy: np.ndarray, h: int, w: int) -> np.ndarray:
    result = np.zeros((*dy.shape[:-2], h, w), dy.dtype)
    for index in np.ndindex(*dy.shape):
        i, j = reflect(index[-2], names["padTop"], h), reflect(index[-1], names["padLeft"], w)
        result[(*index[:-2], i, j)] += dy[index]
    return result


def run(names: Names, dy: np.ndarray) -> np.ndarray:
    return golden({"gradOutput": dy, "self": None}, names, ["gradInput"])["gradInput"]


def test_adjoint_identity() -> None:
    random = np.random.default_rng(1)
    for i, (names, h, w) in enumerate(geometries(1, 1200, 12)):
        dy, v = (
            values(random, (2, 2, *padded(names, h, w)), i % 3 == 0),
            values(random, (2, 2, h, w), i % 3 == 0),
        )
        left, right = (run(names, dy) * v).sum(), (dy * forward(names, v)).sum()
        assert abs(left - right) <= 1e-12 * np.linalg.norm(dy) * np.linalg.norm(v), names


def test_naive_twin() -> None:
    random = np.random.default_rng(2)
    for i, (names, h, w) in enumerate(geometries(2, 200, 7)):
        dy = values(random, (2, 2, 2, *padded(names, h, w))[i % 2 :], i % 3 == 0)
        assert distance(run(names, dy), naive(names, dy, h, w)) < 1e-14, names


def test_non_finite_values_go_where_they_came_from() -> None:
    random = np.random.default_rng(3)
    for names, h, w in geometries(3, 200, 7):
        dy = values(random, (1, 2, *padded(names, h, w)))
        dy.flat[random.choice(dy.size, 2)] = random.choice([np.inf, -np.inf, np.nan], 2)
        got = run(names, dy)
        with np.errstate(invalid="ignore"):
            assert distance(got, naive(names, dy, h, w)) < 1e-14, names


@pytest.mark.parametrize("complex_", [False, True])
def test_batch_does_not_matter_whatever_the_data(complex_: bool) -> None:
    random = np.random.default_rng(4)
    for names, h, w in [*geometries(4, 60, 20), equal(3, 150, 200)]:
        dy = values(random, (70 if h < 100 else 4, 2, *padded(names, h, w)), complex_)
        together = run(names, dy)
        for b in (0, len(dy) // 2, len(dy) - 1):
            assert np.array_equal(run(names, dy[b : b + 1])[0], together[b]), names


@pytest.mark.parametrize("seed", range(2))
def test_torch(seed: int) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(seed)
    large = equal(8, 56, 60), equal(3, 300, 420)
    for i, (names, h, w) in enumerate([*geometries(100 + seed, 500, 14), *large]):
        lead = (2, 3) if i % 2 else (3,)
        dy = torch.from_numpy(values(random, (*lead, *padded(names, h, w)), i % 3 == 0))
        want = torch.ops.aten.reflection_pad2d_backward(
            dy, torch.zeros(*lead, h, w, dtype=dy.dtype), [names[end] for end in ENDS]
        ).numpy()
        assert distance(run(names, dy.numpy()[None])[0], want) <= 1e-14, names


FAULTS = {
    "left and right swapped": lambda n: {**n, "padLeft": n["padRight"], "padRight": n["padLeft"]},
    "axes swapped": lambda n: (
        n | dict(zip(ENDS, [n[end] for end in ENDS[2:] + ENDS[:2]], strict=True))
    ),
    "off by one": lambda n: {**n, "padTop": n["padTop"] - 1, "padBottom": n["padBottom"] + 1},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_array_fails(fault: str) -> None:
    names = dict(zip(ENDS, (1, 3, 3, 1), strict=True)) | {"H": 6, "W": 6}
    dy = values(np.random.default_rng(5), (1, 2, 10, 10))
    right = naive(names, dy, 6, 6)
    assert distance(run(names, dy), right) < 1e-14
    assert distance(run(FAULTS[fault](names), dy), right) > 1e-3


def test_symmetric_padding_and_conjugation_fail() -> None:
    names, *_ = equal(2, 5, 5)
    dy = values(np.random.default_rng(6), (1, 1, 9, 9), True)
    right = run(names, dy)
    edges = dy[..., 2:7, 2:7].copy()
    edges[..., :2, :] += dy[..., 1::-1, 2:7]
    assert distance(edges, right) > 1e-3 and distance(right.conj(), right) > 1e-3
    assert distance(right.real, right) == np.inf


@pytest.mark.parametrize("complex_", [False, True])
def test_magnitude_is_the_sum_of_absolute_terms(complex_: bool) -> None:
    random = np.random.default_rng(7)
    for names, h, w in geometries(7, 100):
        dy = values(random, (2, 1, *padded(names, h, w)), complex_)
        value, bound = (
            run(names, dy),
            magnitude({"gradOutput": dy, "self": None}, names, ["gradInput"])["gradInput"],
        )
        assert bound.dtype == value.dtype
        assert (bound.real >= np.abs(value.real)).all() and (bound.imag >= np.abs(value.imag)).all()
        positive = np.abs(dy.real) + 1j * np.abs(dy.imag) if complex_ else np.abs(dy)
        assert np.array_equal(bound, run(names, positive))


def test_depth_bounds_the_number_of_terms() -> None:
    for names, h, w in geometries(8, 300):
        assert run(names, np.ones((1, 1, *padded(names, h, w)))).max() <= depth(
            names, {}, "gradInput"
        ), names
    assert depth(equal(2, 5, 5)[0], {}, "gradInput") == 9
    assert depth(equal(2, 9, 9)[0], {}, "gradInput") == 4


@pytest.mark.parametrize("shape", [(1, 1, 3000, 2000), (2, 700, 70, 70), (8, 4000, 8, 8)])
def test_scratch_memory_is_bounded(shape: tuple[int, ...]) -> None:
    dy = np.ones(shape, np.complex128 if shape[0] == 2 else np.float64)
    names, *_ = equal(2, shape[-2] - 4, shape[-1] - 4)
    assert scratch(lambda: {"gradInput": run(names, dy)}) <= 32 * 2**20


def test_rows_of_a_large_plane_are_folded_like_the_plane() -> None:
    names = dict(zip(ENDS, (40, 2, 700, 650), strict=True)) | {"H": 850, "W": 220}
    dy = values(np.random.default_rng(9), (1, 1, 2200, 262))
    assert distance(run(equal(0, 2200, 262)[0], dy), dy) == 0
    v = values(np.random.default_rng(10), (1, 1, 850, 220))
    left, right = (run(names, dy) * v).sum(), (dy * forward(names, v)).sum()
    assert abs(left - right) <= 1e-12 * np.linalg.norm(dy) * np.linalg.norm(v)


def test_empty_tensors() -> None:
    names, *_ = equal(1, 4, 5)
    for lead in ((2, 0, 3), (2, 0), (0, 1)):
        assert run(names, np.zeros((*lead, 6, 7))).shape == (*lead, 4, 5)
    assert golden({"gradOutput": np.zeros((1, 1, 5, 5)), "self": None}, names, []) == {}
