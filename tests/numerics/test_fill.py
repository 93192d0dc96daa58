"""Data: the same bits everywhere, exact where a recipe says so, and each recipe what it claims to
be.
"""

from __future__ import annotations

import doctest
import hashlib
from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen.numerics import fill, input_tensor
from opgen.numerics.fill import Streams, draw, draw_alike, keys
from opgen.numerics.formats import DTYPES, format_of
from opgen.numerics.input_tensor import InputTensor, Role, grid_bits
from opgen.numerics.recipes import RECIPES, applies, quantum
from opgen.numerics.rounding import is_tie, rounded, stored

PAIRS = [
    ("FLOAT", "FLOAT"),
    ("FLOAT", "HFLOAT32"),
    ("FLOAT", "FLOAT16"),
    ("FLOAT16", "FLOAT16"),
    ("FLOAT16", "FLOAT"),
    ("BFLOAT16", "BFLOAT16"),
    ("BFLOAT16", "FLOAT16"),
    ("DOUBLE", "DOUBLE"),
    ("COMPLEX64", "COMPLEX64"),
    ("COMPLEX128", "COMPLEX128"),
]
SHAPE = (2, 3, 5, 7)


def one(
    recipe: str, *, seed: int = 0, cases: Sequence[str] = ("a", "b", "c"), **given: object
) -> np.ndarray:
    fields = {
        "name": "gradOutput",
        "shape": SHAPE,
        "dtype": "FLOAT",
        "compute": "FLOAT",
        "depth": 64,
    }
    return draw(recipe, keys(seed, cases), InputTensor(**fields | given))


def digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def splitmix(state: int, count: int) -> list[int]:
    """SplitMix64 from its definition (Steele, Lea, Flood 2014)."""
    words = []
    for _ in range(count):
        state = z = (state + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        words.append(z ^ z >> 31)
    return words


def test_streams_are_splitmix() -> None:
    """Each tensor has its own, cut anywhere; the first word before those of the numbers is the
    choice.
    """
    tensors = [
        ("gradOutput", ["id", "other"], 5),
        ("weight", ["id"], 0),
        ("weight", ["other", "third"], 4),
    ]
    for lanes in (0, 1, 2, 7):
        streams, words = (
            Streams([(keys(5, ids), name, count) for name, ids, count in tensors], lanes),
            (lanes + 1) // 2,
        )
        expected, choices = [], []
        for name, ids, count in tensors:
            for one in ids:
                hidden = digest(f"5:{one}") ^ digest(name)
                start = splitmix(hidden - 0x9E3779B97F4A7C15, 1)[0]
                choices += splitmix(start - 0x9E3779B97F4A7C15, 1)
                found = splitmix(start, count * words)
                halves = [half for word in found for half in (word >> 32, word % 2**32)]
                expected += [halves[2 * words * i :][:lanes] for i in range(count)]
        assert streams.total == len(expected) == 18 and streams.choices.tolist() == choices
        for cuts in ([0, 18], [0, 1, 2, 5, 9, 10, 11, 17, 18]):
            got = np.concatenate([streams.lanes(slice(*cut)) for cut in pairwise(cuts)], axis=1)
            assert got.shape == (lanes, 18) and got.T.tolist() == expected


def test_streams_differ_by_seed_case_and_tensor() -> None:
    found = {
        tuple(Streams([(keys(seed, [one]), name, 9)], 1).lanes(slice(0, 9))[0].tolist())
        for seed, one, name in [
            (5, "id", "gradOutput"),
            (6, "id", "gradOutput"),
            (5, "i", "gradOutput"),
            (5, "id", "weight"),
            (55, "id", "input"),
        ]
    }
    assert len(found) == 5


@pytest.mark.parametrize("recipe", RECIPES)
def test_batches_and_order_do_not_matter(recipe: str) -> None:
    together = one(recipe, cases=["a", "b", "c"])
    apart = np.concatenate([one(recipe, cases=[name]) for name in ("c", "b", "a")])[::-1]
    assert together.tobytes() == apart.tobytes()
    if recipe not in ("zeros", "ones"):
        assert len({row.tobytes() for row in together}) == 3
        assert one(recipe, seed=1).tobytes() != together.tobytes()


@pytest.mark.parametrize("recipe", [name for name in RECIPES if RECIPES[name].operand.key])
@pytest.mark.parametrize("dtype", ["FLOAT", "COMPLEX64"])
def test_tensors_drawn_together_have_their_own_values(recipe: str, dtype: str) -> None:
    """Odd counts, none at all, and more than is worked on at a time."""
    shapes = {"input": (3, 5), "weight": (0,), "other": (20_001,), "last": (2, 1, 4)}
    asked = [InputTensor(name, shape, dtype, dtype, 64) for name, shape in shapes.items()]
    ids = [("a", "b"), ("a",), ("c",), ("b", "c", "d")]
    tensors = [(keys(0, some), one.name, one.count) for some, one in zip(ids, asked, strict=True)]
    together = draw_alike(recipe, asked[-1], tensors)
    apart = [
        draw(recipe, keys(0, some), one).reshape(-1) for some, one in zip(ids, asked, strict=True)
    ]
    assert (
        together.dtype == DTYPES[dtype].wide
        and together.tobytes() == np.concatenate(apart).tobytes()
    )


def test_handwritten_bits() -> None:
    """A change here changes every bundle: the format of the data, not a detail."""
    got = {
        name: hashlib.sha256(one(name, role="gradient").astype("<f8").tobytes()).hexdigest()[:8]
        for name in RECIPES
    }
    assert got == {
        "grid": "bfc2f3f2",
        "integers": "642fda37",
        "normal": "183652ea",
        "wide_exponent": "53b4aa22",
        "cancellation": "085884f9",
        "subnormals": "40e638a1",
        "zeros": "12e60e57",
        "ones": "d1a99ceb",
        "one_hot": "f74595a5",
        "nonfinite": "58cba73a",
        "overflow": "fb7dfd66",
        "inconsistent": "bfc2f3f2",
        "partial_sums": "617f72e4",
    }


@pytest.mark.parametrize(("storage", "compute"), PAIRS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_representable(recipe: str, storage: str, compute: str) -> None:
    if not applies(recipe, storage, compute):
        return
    for role in ("gradient", "operand", "centre", "scale"):
        fields = {"dtype": storage, "compute": compute}
        values = one(recipe, role=role, **fields)
        assert values.dtype == DTYPES[storage].wide and values.shape == (3, *SHAPE)
        assert np.array_equal(rounded(values, storage), values, equal_nan=True)
        step = quantum(recipe, InputTensor("gradOutput", SHAPE, role=role, depth=64, **fields))
        if step is not None and recipe != "overflow":
            assert np.array_equal(rounded(values, compute), values, equal_nan=True)
        if step is not None:
            steps = values.view(np.float64) / step
            steps = steps[np.isfinite(steps)]
            assert (steps == np.rint(steps)).all() and steps.size
        if (
            recipe
            in (
                "grid",
                "integers",
                "normal",
                "wide_exponent",
                "cancellation",
                "ones",
                "partial_sums",
            )
            and role != "centre"
        ):
            assert (values.view(np.float64) != 0).all()
        if role == "scale":
            assert (values.real > 0).all()


@pytest.mark.parametrize(
    "limits", [(0.1, 0.3), (-1e-7, 1e-7), (1e5, 1e10), (-3.3, 1e38), (0.0, 1e300), (1e-320, 1e-310)]
)
@pytest.mark.parametrize(
    "recipe", [name for name, recipe in RECIPES.items() if not recipe.gradient.planted]
)
def test_storage_holds_what_is_drawn_from_any_range(
    recipe: str, limits: tuple[float, float]
) -> None:
    """So that data are computed with as they are drawn: what is read back from storage has the same
    bits.
    """
    for (storage, compute), role in product(PAIRS, ("gradient", "operand", "centre", "scale")):
        with np.errstate(over="ignore", under="ignore"):
            values = draw(
                recipe,
                keys(0, ["a"]),
                InputTensor("x", (99,), storage, compute, 64, role, range=limits),
            )
            assert (
                stored(values, storage).astype(DTYPES[storage].wide).tobytes() == values.tobytes()
            )


@given(st.integers(1, 2**22), st.sampled_from(PAIRS[:7]), st.sampled_from([1, 2, 4]))
@settings(max_examples=150, deadline=None)
def test_grid_bits_are_enough_and_no_more(depth: int, pair: tuple[str, str], factors: int) -> None:
    bits = grid_bits(depth, *pair, factors)
    assert depth * 2 ** (factors * bits) <= 2**53
    cap = grid_bits(1, *pair, 1)
    assert (
        bits == min(cap, 30) or depth * 2 ** (factors * (bits + 1)) > 2**52
    )  # one bit more could be too many


@pytest.mark.parametrize("recipe", [name for name in RECIPES if RECIPES[name].on_grid])
@pytest.mark.parametrize("depth", [1, 7, 4096, 2**20])
def test_sums_of_grid_data_are_exact_in_float64(recipe: str, depth: int) -> None:
    worst = float(depth)
    for role in ("gradient", "operand"):
        fields = {"dtype": "FLOAT", "compute": "FLOAT", "depth": depth, "role": role}
        values = one(recipe, **fields)
        worst *= np.abs(values[np.isfinite(values)]).max() / quantum(
            recipe, InputTensor("gradOutput", SHAPE, **fields)
        )
    assert worst <= 2**53 * (2**22 if recipe == "overflow" else 1)


@pytest.mark.parametrize(
    ("storage", "compute", "limit"), [("FLOAT", "FLOAT", 2**24), ("FLOAT16", "FLOAT16", 65504)]
)
@pytest.mark.parametrize("depth", [1, 9, 4096, 2**14])
def test_integers_are_exact_in_float32(storage: str, compute: str, limit: int, depth: int) -> None:
    values = one(
        "integers", dtype=storage, compute=compute, depth=depth, cases=[str(i) for i in range(50)]
    )
    assert depth * np.abs(values).max() ** 2 <= limit
    pooled = one("integers", dtype=storage, compute=compute, depth=depth, factors=1)
    assert depth * np.abs(pooled).max() <= limit


def test_group_norm_sums_are_exact() -> None:
    for depth in (10, 4096, 2**20):
        fields = {
            "dtype": "FLOAT",
            "compute": "FLOAT",
            "depth": depth,
            "factors": 4,
            "shape": (4096,),
            "cases": ["a"],
        }
        gradient, x = one("grid", role="gradient", **fields), one("grid", name="input", **fields)
        mean, gamma = (
            one("grid", name="mean", role="centre", **fields),
            one("grid", name="gamma", **fields),
        )
        scale = one("grid", name="rstd", role="scale", **fields)
        step = 2.0 ** -(3 * grid_bits(depth, "FLOAT", "FLOAT", 4) + 2)
        worst = (
            depth
            * np.abs(gradient).max()
            * np.abs(gamma).max()
            * np.abs(x - mean).max()
            * scale.max()
        )
        assert worst / step <= 2**53
        assert set(np.unique(scale)) == {0.25, 0.5, 1, 2, 4}


@pytest.mark.parametrize(
    ("dtype", "compute"), [("FLOAT16", "FLOAT16"), ("FLOAT", "FLOAT16"), ("FLOAT16", "FLOAT")]
)
@pytest.mark.parametrize("recipe", ["grid", "integers", "normal"])
def test_everyday_data_of_group_norm_stay_in_the_range_of_half(
    recipe: str, dtype: str, compute: str
) -> None:
    """The largest term of a group of one element: dy * gamma * (x - mean)**2 * rstd**3."""
    fields = {
        "dtype": dtype,
        "compute": compute,
        "depth": 11,
        "factors": 4,
        "shape": (4096,),
        "cases": ["a"],
    }
    names = {
        "dy": "gradient",
        "gamma": "operand",
        "x": "operand",
        "mean": "centre",
        "rstd": "scale",
    }
    most = {
        name: np.abs(one(recipe, name=name, role=role, **fields)).max()
        for name, role in names.items()
    }
    assert most["dy"] * most["gamma"] * (most["x"] + most["mean"]) ** 2 * most["rstd"] ** 3 < 65504
    assert set(np.unique(one(recipe, name="rstd", role="scale", **fields))) == {0.25, 0.5, 1}


@given(st.floats(-1e4, 1e4), st.floats(0, 1e4), st.sampled_from(PAIRS[:7]))
@settings(max_examples=100, deadline=None)
def test_ranges(low: float, width: float, pair: tuple[str, str]) -> None:
    values = one(
        "grid", range=(low, low + width), dtype=pair[0], compute=pair[1], shape=(9,), cases=["a"]
    )
    assert np.array_equal(rounded(values, pair[1]), values)
    slack = 2.0**-24 + (
        abs(low) * 2.0**-7 if width < 1e3 else 0
    )  # nothing may lie between two neighbours
    assert (values >= low - slack).all() and (values <= low + width + slack).all()


@pytest.mark.parametrize("dtype", ["FLOAT", "FLOAT16", "BFLOAT16"])
@pytest.mark.parametrize(
    ("asked", "powers"),
    [
        ((2, 3), [2]),
        ((0.5, 8), [0.5, 1, 2, 4, 8]),
        ((0.1, 0.3), [0.125, 0.25]),
        ((0, 2), [0.125, 0.25, 0.5, 1, 2]),
        ((-9, 1), None),
        ((1.25, 1.75), None),
        ((-3, -2), None),
        ((5, 5), None),
        ((1e5, 1e9), None),
        ((3, np.inf), [4]),
    ],
)
def test_a_scale_lies_where_it_is_asked_to(
    dtype: str, asked: tuple[float, float], powers: list[float] | None
) -> None:
    """A power of two where the range holds one, else whatever lies in it."""
    values = one("grid", role="scale", dtype=dtype, compute=dtype, range=asked, factors=4)
    step = quantum(
        "grid",
        InputTensor("rstd", SHAPE, dtype, dtype, depth=64, role="scale", factors=4, range=asked),
    )
    assert step is not None and (values / step == np.rint(values / step)).all()
    largest = format_of(dtype).max
    assert (min(asked[0], largest) <= values).all() and (values <= min(asked[1], largest)).all()
    assert powers is None or np.unique(values).tolist() == powers


@pytest.mark.parametrize(
    ("asked", "step", "values"),
    [
        ((-2, 2), 1, [-2, -1, 1, 2]),
        ((0.5, 3.5), 1, [1, 2, 3]),
        ((-3, -3), 1, [-3]),
        ((0, 0), 1, [0]),
        ((0.25, 0.75), None, None),
        ((1000, 60000), None, None),
        ((-9e4, -300), None, None),
    ],
)
def test_integers_lie_where_they_are_asked_to(
    asked: tuple[float, float], step: float | None, values: list[int] | None
) -> None:
    """Small ones where the range holds any, else whatever lies in it."""
    drawn = one("integers", dtype="FLOAT", compute="FLOAT", range=asked)
    known = quantum(
        "integers", InputTensor("gradOutput", SHAPE, "FLOAT", "FLOAT", depth=64, range=asked)
    )
    assert (
        known is not None
        and (step is None or known == step)
        and (drawn / known == np.rint(drawn / known)).all()
    )
    assert (asked[0] <= drawn).all() and (drawn <= asked[1]).all()
    assert np.unique(drawn).tolist() == values if values else len(np.unique(drawn)) > 100


@pytest.mark.parametrize("recipe", ["grid", "integers", "normal"])
@pytest.mark.parametrize("role", ["operand", "scale", "argument"])
@pytest.mark.parametrize("end", [0.0, 2.5, -3.0, 100.0])
def test_one_end_of_a_range_holds_and_the_other_is_as_far_as_usual(
    recipe: str, role: Role, end: float
) -> None:
    """Which is the same on either side of 0."""
    fields = {"role": role, "dtype": "FLOAT", "compute": "FLOAT"}
    above = one(recipe, range=(end, np.inf), **fields)
    assert (above >= end).all() and above.max() <= end + 2.0**8 + abs(end)
    assert len(np.unique(above)) > 1 or role == "scale"
    if role != "scale":
        below = one(recipe, range=(-np.inf, -end), **fields)
        assert (below <= -end).all() and below.min() >= -end - 2.0**8 - abs(end)


def test_a_scale_is_positive_anyway() -> None:
    drawn = [one("grid", role="scale", range=ends) for ends in (None, (0.0, np.inf))]
    assert np.array_equal(*drawn)


def test_arguments_above_an_end_are_as_fine_as_any() -> None:
    """Half of them are below 1 in size, some at a threshold, as without a range."""
    fields = {"role": "argument", "dtype": "FLOAT", "compute": "FLOAT", "thresholds": (1.5,)}
    above, anywhere = one("grid", range=(0.0, np.inf), **fields), one("grid", **fields)
    assert np.array_equal(above, np.abs(anywhere)) and (anywhere < 0).any()
    assert (above == 1.5).any()


def test_a_range_that_the_dtype_cannot_reach_ends_where_it_does() -> None:
    for recipe in ("grid", "normal"):
        values = one(recipe, dtype="FLOAT16", compute="FLOAT16", range=(-1e38, 1e38))
        assert np.isfinite(values).all() and np.abs(values).max() > 1e3


def test_one_hot() -> None:
    values = one("one_hot", role="gradient", cases=[str(i) for i in range(300)])
    flat = values.reshape(300, -1)
    assert (flat.sum(axis=1) == 1).all() and (np.sort(flat, axis=1)[:, -2] == 0).all()
    assert len(set(flat.argmax(axis=1))) > 100
    assert np.array_equal(one("one_hot", role="operand"), one("grid", role="operand"))


@pytest.mark.parametrize(("dtype", "parts"), [("FLOAT", 1), ("COMPLEX64", 2)])
def test_one_hot_keeps_to_its_places(dtype: str, parts: int) -> None:
    places = np.array([3, 8, 9])
    cases = [str(i) for i in range(100)]
    chosen = one(
        "one_hot", role="gradient", cases=cases, dtype=dtype, compute=dtype, places=places
    ).reshape(100, -1)
    found = set(chosen.view(np.float64).reshape(100, -1).nonzero()[1])
    assert found == {place * parts + part for place in (3, 8, 9) for part in range(parts)}
    nowhere = one(
        "one_hot", role="gradient", cases=cases, dtype=dtype, compute=dtype, places=places[:0]
    )
    assert np.array_equal(
        nowhere, one("one_hot", role="gradient", cases=cases, dtype=dtype, compute=dtype)
    )


def test_nonfinite_keeps_away_from_padding() -> None:
    values = one("nonfinite", role="gradient", cases=[str(i) for i in range(50)])
    for row in values:
        assert (
            np.isnan(row).sum() == 1 and (row == np.inf).sum() == 1 and (row == -np.inf).sum() == 1
        )
    where = np.argwhere(~np.isfinite(values))
    assert (where[:, 3:] == [2, 3]).all()
    assert len(np.unique(where[:, 1:3], axis=0)) == 6
    assert np.isfinite(one("nonfinite", role="operand")).all()
    chosen = one("nonfinite", role="gradient", places=np.array([5]))
    assert (~np.isfinite(chosen.reshape(3, -1))).nonzero()[1].tolist() == [5, 5, 5]
    assert np.isfinite(one("nonfinite", role="gradient", places=np.array([], dtype=np.int64))).all()
    assert (
        ~np.isfinite(one("nonfinite", role="gradient", dtype="COMPLEX64", compute="COMPLEX64"))
    ).sum() == 9


def test_overflow() -> None:
    values = one("overflow", role="gradient", dtype="BFLOAT16", compute="FLOAT16")
    inf = np.isinf(rounded(values, "FLOAT16"))
    assert np.isfinite(values).all() and inf.sum() == 9 and np.abs(values[~inf]).max() <= 1
    assert not applies("overflow", "FLOAT16", "FLOAT16") and not applies(
        "overflow", "FLOAT", "FLOAT"
    )


def test_cancellation() -> None:
    a, b = one("cancellation", role="gradient").reshape(3, -1), one("cancellation").reshape(3, -1)
    ratio = np.abs((a * b)[:, :-1].sum(axis=1)) / np.abs(a * b).sum(axis=1)
    plain = one("grid", role="gradient").reshape(3, -1) * one("grid", name="input").reshape(3, -1)
    assert (ratio < 2e-2).all() and (ratio < np.abs(plain).sum(axis=1)).all()


def test_normal_and_wide() -> None:
    values = one("normal", shape=(200_000,), cases=["a"])
    assert abs(values.mean()) < 0.01 and abs(values.std() - 1) < 0.01
    assert abs((values**4).mean() - 3) < 0.15 and 3.8 < np.abs(values).max() < 6.1
    assert len(np.unique(values)) > 150_000
    inside = one("normal", shape=(1000,), range=(2.0, 10.0))
    assert inside.min() >= 2 and inside.max() <= 10 and abs(inside.mean() - 6) < 0.2
    exponents = np.frexp(one("wide_exponent", shape=(5000,)))[1]
    assert exponents.min() == -15 and exponents.max() == 16 and len(np.unique(exponents)) == 32


def test_hfloat32_ties_are_avoided_and_rounding_is_not() -> None:
    for recipe in ("normal", "wide_exponent"):
        plain = one(recipe, shape=(100_000,), cases=["a"])
        values = one(recipe, shape=(100_000,), cases=["a"], compute="HFLOAT32")
        assert is_tie(plain).any() and is_tie(plain, mantissa=10).any()
        assert not is_tie(values).any() and not is_tie(values, mantissa=10).any()
        assert (
            np.abs(values) <= np.abs(plain)
        ).all()  # a tie moves towards zero, where no binade ends
        assert (rounded(values, "HFLOAT32") != values).mean() > 0.9
        assert np.array_equal(rounded(values, "FLOAT"), values)


def test_subnormals() -> None:
    for storage, compute in PAIRS:
        values = one("subnormals", role="gradient", dtype=storage, compute=compute)
        assert (
            np.abs(values.view(np.float64)) < DTYPES[storage].part.min_normal
        ).all() or compute == "FLOAT16"
        assert (values.view(np.float64) != 0).all()
    assert np.abs(values.view(np.float64)).max() < 2.0**-1022


def test_scales_and_empty() -> None:
    for recipe in RECIPES:
        assert one(recipe, role="gradient", shape=(0, 3, 4, 4)).shape == (3, 0, 3, 4, 4)
        assert one(recipe, role="gradient", shape=()).shape == (3,)
        assert one(recipe, role="gradient", shape=(2, 3, 0, 4)).shape == (3, 2, 3, 0, 4)
        assert len(RECIPES[recipe].finds) < 90


def test_documentation() -> None:
    assert doctest.testmod(fill).failed == 0 and doctest.testmod(input_tensor).failed == 0
