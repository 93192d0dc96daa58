"""The group normalisation kernel against its definition, its adjoint, finite differences and
torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np
import pytest

from opgen.golden.group_norm_backward import depth, evaluated, golden, magnitude
from tests.golden import distance, grid, scratch, torch_or_skip

Names = dict[str, int]
Arrays = dict[str, np.ndarray | None]
ALL = ("gradInput", "gradGammaOut", "gradBetaOut")


def geometries(seed: int, count: int, largest: int = 12) -> Iterator[Names]:
    random = np.random.default_rng(seed)
    for _ in range(count):
        group = int(random.integers(1, 5))
        yield {
            "N": int(random.integers(1, 4)),
            "C": group * int(random.integers(1, 4)),
            "HxW": int(random.integers(1, largest)),
            "group": group,
        }


def tensors(
    random: np.random.Generator,
    names: Names,
    batch: int = 1,
    gamma: bool = True,
    exact: bool = False,
) -> Arrays:
    """Normal values, or values on a grid with rstd in powers of two."""
    n, c, space, group = (names[key] for key in ("N", "C", "HxW", "group"))
    draw = (
        (lambda *shape: grid(random, shape))
        if exact
        else (lambda *shape: random.standard_normal(shape))
    )
    rstd = (
        2.0 ** random.integers(-2, 3, (batch, n, group))
        if exact
        else random.uniform(0.5, 2, (batch, n, group))
    )
    return {
        "gradOut": draw(batch, n, c, space),
        "input": draw(batch, n, c, space),
        "mean": draw(batch, n, group),
        "rstd": rstd,
        "gamma": draw(batch, c) if gamma else None,
    }


def normalised(names: Names, t: Arrays, b: int = 0) -> tuple[np.ndarray, np.ndarray]:
    n, c, space, group = (names[key] for key in ("N", "C", "HxW", "group"))
    mean, rstd = (t[name][b].reshape(n, group, 1, 1) for name in ("mean", "rstd"))
    x = t["input"][b].reshape(n, group, c // group, space)
    gamma = np.ones(c) if t["gamma"] is None else t["gamma"][b]
    return ((x - mean) * rstd).reshape(n, c, space), gamma


def derivative(names: Names, t: Arrays, v: np.ndarray) -> np.ndarray:
    """What the output changes by when the input changes by v, where mean and rstd are those of the
    input.
    """
    n, c, space, group = (names[key] for key in ("N", "C", "HxW", "group"))
    xhat, gamma = normalised(names, t)
    shape = (n, group, c // group * space)
    change, unit = v.reshape(shape), xhat.reshape(shape)
    inner = change - change.mean(-1, keepdims=True) - unit * (unit * change).mean(-1, keepdims=True)
    return (inner * t["rstd"][0].reshape(n, group, 1)).reshape(n, c, space) * gamma[:, None]


def naive(names: Names, t: Arrays, b: int = 0) -> dict[str, np.ndarray]:
    n, c, space, group = (names[key] for key in ("N", "C", "HxW", "group"))
    d = c // group
    dy = t["gradOut"][b].reshape(n, c, space)
    xhat, gamma = normalised(names, t, b)
    gx, gg, gb = np.zeros((n, c, space)), np.zeros(c), np.zeros(c)
    for s, k, p in np.ndindex(n, c, space):
        gb[k] += dy[s, k, p]
        gg[k] += dy[s, k, p] * xhat[s, k, p]
    for s, g in np.ndindex(n, group):
        total = moment = 0.0
        for k in range(g * d, (g + 1) * d):
            for p in range(space):
                total += dy[s, k, p] * gamma[k]
                moment += dy[s, k, p] * gamma[k] * xhat[s, k, p]
        rstd, m = t["rstd"][b, s, g], d * space
        for k in range(g * d, (g + 1) * d):
            for p in range(space):
                gx[s, k, p] = rstd * (
                    dy[s, k, p] * gamma[k] - total / m - xhat[s, k, p] * (moment / m)
                )
    return {"gradInput": gx, "gradGammaOut": gg, "gradBetaOut": gb}


def worst(
    names: Names, got: dict[str, np.ndarray], want: dict[str, np.ndarray], b: int = 0
) -> float:
    assert got.keys() == want.keys()
    return max(distance(got[name][b].reshape(want[name].shape), want[name]) for name in want)


def test_adjoint_identity() -> None:
    """GradInput is the adjoint of the forward's derivative; the parameters' gradients that of a
    linear map.
    """
    random = np.random.default_rng(1)
    for names in geometries(1, 1100):
        t = tensors(random, names, gamma=bool(random.integers(2)))
        out = golden(t, names, ALL)
        dy, (xhat, gamma) = t["gradOut"][0], normalised(names, t)
        v, u, b = (random.standard_normal(shape) for shape in (dy.shape, gamma.shape, gamma.shape))
        size = np.linalg.norm
        scale = (
            size(dy)
            * (1 + size(xhat)) ** 2
            * (1 + size(v))
            * (1 + size(u))
            * (1 + size(b))
            * (1 + size(gamma))
        )
        assert (
            abs((out["gradInput"][0] * v).sum() - (dy * derivative(names, t, v)).sum())
            <= 1e-12 * scale
        ), names
        assert (
            abs((out["gradGammaOut"][0] * u).sum() - (dy * xhat * u[:, None]).sum())
            <= 1e-12 * scale
        ), names
        assert abs((out["gradBetaOut"][0] * b).sum() - (dy * b[:, None]).sum()) <= 1e-12 * scale, (
            names
        )


def test_finite_differences() -> None:
    """With the mean and rstd of the input, a small step of the input moves the output as gradInput
    says.
    """
    random = np.random.default_rng(2)
    names = {"N": 2, "C": 6, "HxW": 10, "group": 3}

    def output(x: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        rows = x.reshape(2, 3, 20)
        unit = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True))
        return unit.reshape(2, 6, 10) * gamma[:, None]

    for _ in range(20):
        t = tensors(random, names)
        rows = t["input"].reshape(1, 2, 3, 20)
        t |= {"mean": rows.mean(-1), "rstd": 1 / np.sqrt(rows.var(-1))}
        v, step, gamma = random.standard_normal((2, 6, 10)), 1e-5, t["gamma"][0]
        change = (
            output(t["input"][0] + step * v, gamma) - output(t["input"][0] - step * v, gamma)
        ) / (2 * step)
        want = pytest.approx((t["gradOut"][0] * change).sum(), rel=1e-6)
        assert (golden(t, names, ALL)["gradInput"][0] * v).sum() == want


def test_naive_twin() -> None:
    random = np.random.default_rng(3)
    for names in geometries(3, 150, 8):
        for gamma in (True, False):
            t = tensors(random, names, 2, gamma)
            out = golden(t, names, ALL)
            assert max(worst(names, out, naive(names, t, b), b) for b in range(2)) < 1e-12, names


def test_sums_are_exact_on_a_grid() -> None:
    random = np.random.default_rng(4)
    for names in geometries(4, 60, 8):
        t = tensors(random, names, 1, exact=True)
        want = naive(names, t)
        out = golden(t, names, ALL)
        assert all(
            np.array_equal(out[name][0], want[name]) for name in ("gradGammaOut", "gradBetaOut")
        ), names


def test_long_rows_leave_the_buffer_of_ufuncs_as_it_was() -> None:
    """Older numpy kept the small one for the rest of the process."""
    names, before = {"N": 2, "C": 4, "HxW": 300, "group": 2}, np.getbufsize()
    t = tensors(np.random.default_rng(6), names)
    assert worst(names, golden(t, names, ALL), naive(names, t)) < 1e-12
    assert np.getbufsize() == before > 16


def test_non_finite_values_spread_as_in_the_definition() -> None:
    random = np.random.default_rng(5)
    for names in geometries(5, 200, 8):
        t = tensors(random, names)
        for name in random.choice(
            ["gradOut", "input", "mean", "rstd", "gamma"], 1 + random.integers(2)
        ):
            t[name].flat[random.integers(t[name].size)] = random.choice([np.inf, -np.inf, np.nan])
        got = golden(t, names, ALL)
        with np.errstate(invalid="ignore"):
            assert worst(names, got, naive(names, t)) < 1e-12, names


@pytest.mark.parametrize(
    "names",
    [
        *geometries(6, 60, 60),
        {"N": 4, "C": 64, "HxW": 3136, "group": 8},
        {"N": 2, "C": 8, "HxW": 40000, "group": 2},
        {"N": 1, "C": 2, "HxW": 1100000, "group": 1},
        {"N": 300, "C": 512, "HxW": 1, "group": 32},
    ],
    ids=str,
)
def test_batch_does_not_matter_and_both_forms_agree(names: Names) -> None:
    """A NaN in one case sends its whole batch through the other form; the others must not
    change.
    """
    random = np.random.default_rng(6)
    batch = 70 if names["HxW"] < 100 and names["N"] < 10 else 2
    t = tensors(random, names, batch, exact=True)
    together = golden(t, names, ALL)
    for b in {0, batch // 2, batch - 1}:
        alone = golden({name: array[b : b + 1] for name, array in t.items()}, names, ALL)
        assert all(np.array_equal(alone[name][0], together[name][b]) for name in ALL)
    t["gradOut"][-1].flat[0] = np.nan
    other = golden(t, names, ALL)
    assert all(np.array_equal(other[name][0], together[name][0]) for name in ALL)
    assert np.isnan(other["gradInput"][-1]).any()


@pytest.mark.parametrize("seed", range(2))
def test_torch(seed: int) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(seed)
    large = {"N": 4, "C": 64, "HxW": 3136, "group": 8}, {"N": 2, "C": 8, "HxW": 40000, "group": 2}
    for names in [*geometries(100 + seed, 400, 40), *large]:
        t = tensors(random, names, gamma=bool(random.integers(2)))
        n, c, space, group = (names[key] for key in ("N", "C", "HxW", "group"))
        ones = {**t, "gamma": np.ones((1, c)) if t["gamma"] is None else t["gamma"]}
        dy, x, mean, rstd, gamma = (
            torch.from_numpy(ones[name][0])
            for name in ("gradOut", "input", "mean", "rstd", "gamma")
        )
        grads = torch.ops.aten.native_group_norm_backward(
            dy, x, mean, rstd, gamma, n, c, space, group, [True] * 3
        )
        want = {name: grad.numpy() for name, grad in zip(ALL, grads, strict=True)}
        assert worst(names, golden(t, names, ALL), want) <= 1e-12, names


def test_shapes_are_free() -> None:
    names = {"N": 2, "C": 6, "HxW": 20, "group": 3}
    t = tensors(np.random.default_rng(7), names, 3)
    want = golden(t, names, ALL)
    free = {
        "gradOut": t["gradOut"].reshape(3, 240),
        "input": t["input"].reshape(3, 2, 6, 4, 5),
        "mean": t["mean"].reshape(3, 6),
        "rstd": t["rstd"].reshape(3, 3, 2),
        "gamma": t["gamma"].reshape(3, 2, 3),
    }
    out = golden(free, names, ALL)
    assert [out[name].shape for name in ALL] == [(3, 2, 6, 4, 5), (3, 2, 3), (3, 2, 3)]
    assert all(np.array_equal(out[name].ravel(), want[name].ravel()) for name in ALL)
    assert list(golden(free, names, ["gradBetaOut"])) == ["gradBetaOut"]


@pytest.mark.parametrize(
    "fault", [{"group": 2}, {"N": 1, "C": 12, "HxW": 10, "group": 3}, {"HxW": 5, "N": 4}]
)
def test_a_wrong_array_fails(fault: Names) -> None:
    names = {"N": 2, "C": 6, "HxW": 10, "group": 3}
    t = tensors(np.random.default_rng(8), names)
    want = naive(names, t)
    assert worst(names, golden(t, names, ALL), want) < 1e-12
    wrong = {**names, **fault}
    resized = {
        "mean": (wrong["N"], wrong["group"]),
        "rstd": (wrong["N"], wrong["group"]),
        "gamma": (wrong["C"],),
    }
    t |= {name: np.resize(t[name], (1, *shape)) for name, shape in resized.items()}
    assert distance(golden(t, wrong, ALL)["gradInput"].reshape(2, 6, 10), want["gradInput"]) > 1e-3


@pytest.mark.parametrize("lost", ["mean", "rstd", "gamma"])
def test_an_ignored_input_fails(lost: str) -> None:
    names = {"N": 2, "C": 6, "HxW": 10, "group": 3}
    t = tensors(np.random.default_rng(9), names)
    want = naive(names, t)
    neutral = {**t, lost: np.zeros_like(t[lost]) if lost == "mean" else np.ones_like(t[lost])}
    assert distance(golden(neutral, names, ALL)["gradInput"][0], want["gradInput"]) > 1e-3


def test_magnitude_bounds_the_terms() -> None:
    random = np.random.default_rng(10)
    for names in geometries(10, 100):
        t = tensors(random, names, 2, bool(random.integers(2)))
        value, bound = golden(t, names, ALL), magnitude(t, names, ALL)
        assert all(bound[name].shape == value[name].shape for name in ALL)
        assert all((bound[name] >= np.abs(value[name]) * (1 - 1e-12)).all() for name in ALL)
        positive = {name: None if array is None else np.abs(array) for name, array in t.items()}
        assert distance(bound["gradBetaOut"], golden(positive, names, ALL)["gradBetaOut"]) < 1e-14


def test_magnitude_is_the_sum_of_absolute_terms() -> None:
    """Of the definition with plus for minus, term by term."""
    random = np.random.default_rng(15)
    for names in geometries(15, 100):
        t = tensors(random, names, 1, bool(random.integers(2)))
        if random.integers(3) == 0:
            t["gradOut"].flat[random.integers(t["gradOut"].size)] = random.choice([np.inf, np.nan])
        n, c, space, group = (names[key] for key in ("N", "C", "HxW", "group"))
        x, mean, rstd, dy = (np.abs(t[name][0]) for name in ("input", "mean", "rstd", "gradOut"))
        gamma = np.ones(c) if t["gamma"] is None else np.abs(t["gamma"][0])
        shape = (n, group, c // group, space)
        scale = rstd[..., None, None]
        xhat = (x.reshape(shape) + mean[..., None, None]) * scale
        with np.errstate(invalid="ignore"):
            h = (dy * gamma[:, None]).reshape(shape)
            inner = (
                h + h.mean((2, 3), keepdims=True) + xhat * (h * xhat).mean((2, 3), keepdims=True)
            )
            want = {
                "gradInput": (inner * scale).reshape(n, c, space),
                "gradGammaOut": (dy.reshape(shape) * xhat).sum((0, 3)).reshape(c),
                "gradBetaOut": dy.sum((0, 2)),
            }
            assert worst(names, magnitude(t, names, ALL), want) < 1e-13, names


def test_depth_bounds_the_number_of_terms() -> None:
    for names in geometries(11, 300):
        n, c, space, group = (names[key] for key in ("N", "C", "HxW", "group"))
        ones = {
            "gradOut": np.ones((1, n, c, space)),
            "input": np.ones((1, n, c, space)),
            "gamma": None,
            "mean": np.zeros((1, n, group)),
            "rstd": np.ones((1, n, group)),
        }
        terms = golden(ones, names, ALL)
        assert terms["gradBetaOut"].max() <= depth(names, {}, "gradBetaOut")
        assert terms["gradGammaOut"].max() < depth(names, {}, "gradGammaOut")
        assert c // group * space < depth(names, {}, "gradInput")


def one_element(t: Arrays, output: str, errors: np.ndarray) -> np.ndarray:
    """The first element of an output of a single channel, as in the definition; each operation is
    off by an error of its own.
    """
    dy, x, mean, rstd, gamma = (
        t[name].ravel() for name in ("gradOut", "input", "mean", "rstd", "gamma")
    )
    left = iter(errors)

    def op(value: np.ndarray) -> np.ndarray:
        return value * (1 + next(left))

    def added(terms: list[np.ndarray]) -> np.ndarray:
        return reduce(lambda some, term: op(some + term), terms)

    xhat = [op(op(one - mean) * rstd) for one in x]
    if output == "gradGammaOut":
        return added([op(one * unit) for one, unit in zip(dy, xhat, strict=True)])
    h = [op(one * gamma) for one in dy]
    total, moment = added(h), added([op(one * unit) for one, unit in zip(h, xhat, strict=True)])
    return op(rstd * op(h[0] - op(op(total / len(h)) + op(xhat[0] * op(moment / len(h))))))


@pytest.mark.parametrize("space", [1, 2])
@pytest.mark.parametrize(
    ("output", "operations", "spare"), [("gradInput", (10, 16), 0), ("gradGammaOut", (3, 7), 1)]
)
def test_depth_counts_every_rounding_of_small_groups(
    space: int, output: str, operations: tuple[int, int], spare: int
) -> None:
    """In all ways of rounding each operation up or down by u; a spare one is allowed."""
    names, unit, count = {"N": 1, "C": 1, "HxW": space, "group": 1}, 2.0**-20, operations[space - 1]
    errors = (np.arange(2**count) >> np.arange(count)[:, None] & 1) * 2 * unit - unit
    plain, ratios = np.zeros((count, 1)), []
    for x, mean, rstd, gamma in (
        (4096.0, 0.0, 1.0, 1.0),
        (3.0, -1.0, 0.5, -2.0),
        (-0.25, 2.0, 8.0, 3.0),
    ):
        for dy in (np.ones(space), np.linspace(1.0, -0.5, space)):
            t = {
                "gradOut": dy.reshape(1, 1, 1, space),
                "input": np.full((1, 1, 1, space), x),
                "mean": np.full((1, 1, 1), mean),
                "rstd": np.full((1, 1, 1), rstd),
                "gamma": np.full((1, 1), gamma),
            }
            error = np.abs(one_element(t, output, errors) - one_element(t, output, plain)).max()
            ratios.append(error / magnitude(t, names, ALL)[output].flat[0])
    deep = depth(names, {}, output)
    gammas = [k * unit / (1 - k * unit) for k in (deep - spare - 1, deep)]
    assert gammas[0] < max(ratios) <= gammas[1]


def test_batch_does_not_matter_for_data_off_the_grid() -> None:
    random = np.random.default_rng(13)
    for names in [*geometries(13, 60, 70), {"N": 3, "C": 40, "HxW": 1200, "group": 8}]:
        t = tensors(random, names, 40 if names["HxW"] < 100 else 9)
        together = golden(t, names, ALL)
        for b in (0, 5, 8):
            alone = golden({name: array[b : b + 1] for name, array in t.items()}, names, ALL)
            assert all(np.array_equal(alone[name][0], together[name][b]) for name in ALL), names


@pytest.mark.parametrize(
    "names",
    [
        {"N": 1, "C": 2, "HxW": 1500000, "group": 1},
        {"N": 700, "C": 2048, "HxW": 1, "group": 32},
        {"N": 4, "C": 512, "HxW": 900, "group": 2},
    ],
    ids=str,
)
def test_scratch_memory_is_bounded(names: Names) -> None:
    t = tensors(np.random.default_rng(14), names)
    assert scratch(lambda: golden(t, names, ALL)) <= 32 * 2**20
    assert scratch(lambda: evaluated(t, names, ALL, range(1))) <= 32 * 2**20


def test_empty_tensors() -> None:
    for names in (
        {"N": 0, "C": 4, "HxW": 3, "group": 2},
        {"N": 2, "C": 0, "HxW": 3, "group": 2},
        {"N": 2, "C": 4, "HxW": 0, "group": 2},
    ):
        out = golden(tensors(np.random.default_rng(12), names, 3), names, ALL)
        assert out["gradInput"].shape == (3, names["N"], names["C"], names["HxW"])
        assert out["gradGammaOut"].shape == (3, names["C"]) and not out["gradBetaOut"].any()
