"""The bound holds for float32 sums in any order, is not much too wide, and wrong devices exceed
it.
"""

from __future__ import annotations

import doctest
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from opgen.golden import convolution_backward as convolution
from opgen.numerics import bounds
from opgen.numerics.bounds import Limits, Sums, bound, bounded, certain_overflows, gamma
from opgen.numerics.exact import golden_exact, magnitude_exact
from opgen.numerics.fill import draw, keys
from opgen.numerics.formats import DTYPES, FORMATS, Format
from opgen.numerics.input_tensor import InputTensor
from opgen.numerics.optional_rounding import share, without_subnormals
from opgen.numerics.recipes import quantum
from opgen.numerics.rounding import rounded, stored
from opgen.numerics.rounding_model import RoundingModel
from tests.numerics.naive_bound import naive_bound

RNG = np.random.default_rng(20240229)
FRESH = RNG.bit_generator.state
DEVICES = [
    ("FLOAT", "FLOAT"),
    ("FLOAT", "HFLOAT32"),
    ("FLOAT16", "FLOAT16"),
    ("BFLOAT16", "BFLOAT16"),
]
DEPTHS = [1, 2, 5, 64, 511, 4096]
RECIPES = ["grid", "normal", "wide_exponent", "cancellation", "ones", "integers", "subnormals"]
ROWS = 16


def joint_bounds(model: RoundingModel, sums: Sums, limits: Limits) -> np.ndarray:
    """Bounds of several outputs that are found together, flat."""
    with np.errstate(all="ignore"):
        pieces = [limit for _, _, limit in bounded(model, sums, limits)]
    flat = np.concatenate([np.zeros(0, dtype=np.float32), *pieces])
    return flat.view(np.complex64) if sums.complex else flat


@pytest.fixture(autouse=True)
def the_same_data_whichever_tests_run() -> None:
    RNG.bit_generator.state = FRESH


def in_order(products: np.ndarray) -> np.ndarray:
    return np.add.accumulate(products, axis=1)[:, -1]


def shuffled(products: np.ndarray) -> np.ndarray:
    return in_order(RNG.permuted(products, axis=1))


def positive_first(products: np.ndarray) -> np.ndarray:
    return in_order(np.sort(products, axis=1)[:, ::-1])


def pairwise(products: np.ndarray) -> np.ndarray:
    while products.shape[1] > 1:
        if products.shape[1] % 2:
            products = np.pad(products, ((0, 0), (0, 1)))
        products = products[:, ::2] + products[:, 1::2]
    return products[:, 0]


def blocked(products: np.ndarray) -> np.ndarray:
    padded = np.pad(products, ((0, 0), (0, -products.shape[1] % 16)))
    return in_order(np.add.accumulate(padded.reshape(len(padded), -1, 16), axis=2)[:, :, -1])


ORDERS: list[Callable[[np.ndarray], np.ndarray]] = [
    in_order,
    shuffled,
    positive_first,
    pairwise,
    blocked,
]


def operands(
    recipe: str, storage: str, compute: str, depth: int
) -> tuple[np.ndarray, np.ndarray, float | None]:
    """Two sets of rows as the device reads them, and what their products are multiples of."""
    pair, step = [], 1.0
    for role, name in (("gradient", "gradOutput"), ("operand", "input")):
        tensor = InputTensor(name, (depth,), storage, compute, depth=depth, role=role)
        rows = draw(recipe, keys(depth, [str(row) for row in range(ROWS)]), tensor)
        pair.append(rounded(rows, compute))
        one = quantum(recipe, tensor)
        step = step * one if step and one else 0.0
    return pair[0], pair[1], step or None


def ratios(device: np.ndarray, golden: np.ndarray, limit: np.ndarray, storage: str) -> np.ndarray:
    error = np.abs(device.astype(np.float64) - rounded(golden, DTYPES[storage].golden))
    return np.where(error == 0, 0.0, error / np.where(limit > 0, limit, np.finfo(np.float32).tiny))


def test_ten_thousand_accumulations() -> None:
    worst: dict[tuple[str, int], float] = {}
    count = 0
    for storage, compute in DEVICES:
        for recipe in RECIPES:
            for depth in DEPTHS:
                a, b, step = operands(recipe, storage, compute, depth)
                golden, magnitude = (a * b).sum(axis=1), np.abs(a * b).sum(axis=1)
                assert np.isfinite(golden).all()
                plain = bound(golden, magnitude, depth, storage)
                sharp = bound(golden, magnitude, depth, storage, quantum=step)
                assert (sharp <= plain).all() and np.isfinite(plain).all()
                products = a.astype(np.float32) * b.astype(np.float32)
                for order in ORDERS:
                    device = stored(order(products).astype(np.float64), storage)
                    count += len(device)
                    assert (ratios(device, golden, sharp, storage) < 1).all()
                    ratio = float(ratios(device, golden, plain, storage).max())
                    worst[compute, depth] = max(worst.get((compute, depth), 0.0), ratio)
    print(
        f"\n{count} accumulations, worst error / bound by depth:\n{'':9}"
        + "".join(f"{d:8}" for d in DEPTHS)
    )
    for _, compute in DEVICES:
        print(f"{compute:9}" + "".join(f"{worst[compute, depth]:8.3f}" for depth in DEPTHS))
    assert count >= 10_000
    assert max(worst.values()) < 1
    worst.pop(("HFLOAT32", 1))  # 12 bits by 12 bits: exact
    assert all(
        ratio > (0.01 if depth < 1000 else 0.001) for (_, depth), ratio in worst.items()
    )  # it falls like a root


def test_worst_ratio_of_deep_float32_sums() -> None:
    """Without the output's rounding in the way: float32 sums alone, data that round one way every
    time.
    """
    seen = []
    for depth in (16, 256, 4096):
        terms = np.full(
            (1, depth), 2.0**-24, dtype=np.float32
        )  # half a unit each: every one is lost
        terms[0, 0] = 1
        golden = terms.astype(np.float64).sum(axis=1)
        limit = bound(golden, golden, depth, "FLOAT")
        seen.append(float(ratios(in_order(terms), golden, limit, "FLOAT")[0]))
    print("\nrounding one way at depth 16, 256, 4096:", [f"{ratio:.3f}" for ratio in seen])
    assert all(0.1 < ratio < 1 for ratio in seen)


@pytest.mark.parametrize("depth", [64, 511])
@pytest.mark.parametrize("storage", ["FLOAT", "FLOAT16"])
def test_wrong_devices_exceed_it(depth: int, storage: str) -> None:
    a, b, step = operands("grid", storage, storage, depth)
    products = a * b
    golden, magnitude = products.sum(axis=1), np.abs(products).sum(axis=1)
    limit = bound(golden, magnitude, depth, storage, quantum=step)
    half = np.add.accumulate(products.astype(np.float16), axis=1)[:, -1]
    assert (ratios(half, golden, limit, storage) > 1).mean() > 0.6
    dropped = stored(golden - products[:, 3], storage)
    assert (ratios(dropped, golden, limit, storage) > 1).mean() > 0.9
    swapped = stored((a * b[:, ::-1]).sum(axis=1), storage)
    assert (ratios(swapped, golden, limit, storage) > 10).mean() > 0.9
    good = stored(in_order(products.astype(np.float32)).astype(np.float64), storage)
    assert (ratios(good, golden, limit, storage) < 1).all()


@pytest.mark.parametrize("depth", [1, 64, 4096])
def test_integers_must_match_bit_for_bit(depth: int) -> None:
    for storage in ("FLOAT", "FLOAT16", "BFLOAT16"):
        a, b, step = operands("integers", storage, storage, depth)
        golden, magnitude = (a * b).sum(axis=1), np.abs(a * b).sum(axis=1)
        limit = bound(golden, magnitude, depth, storage, quantum=step)
        right = stored(golden, storage)
        assert (ratios(right, golden, limit, storage) <= 1).all()
        if storage == "FLOAT":
            assert (limit == 0).all()
        next_but_one = right.view(f"u{right.itemsize}") + 2
        assert (ratios(next_but_one.view(right.dtype), golden, limit, storage) > 1).all()


def test_never_below_the_formula_and_hardly_above() -> None:
    """The same formula in rationals."""
    unit = Fraction(1, 2**24)
    for _ in range(300):
        depth = int(RNG.integers(1, 5000))
        magnitude = float(np.exp(RNG.normal() * 5))
        golden = magnitude * float(RNG.uniform(-1, 1))
        sum_error = depth * unit / (1 - depth * unit) * Fraction(magnitude)
        largest = abs(Fraction(golden)) + sum_error
        for output in ("FLOAT", "FLOAT16", "BFLOAT16"):
            form = FORMATS[output]
            exponent = form.low
            while Fraction(2) ** (exponent + 1) <= largest:
                exponent += 1
            total = sum_error + (
                0 if output == "FLOAT" else Fraction(2) ** (exponent - form.digits)
            )
            got = bound(np.array([golden]), np.array([magnitude]), depth, output)
            assert got.dtype == np.float32
            if largest >= form.max:
                assert got[0] == np.inf
                continue
            slack = (
                Fraction(2) ** (form.low + 1)
                if abs(golden) < form.min_normal * 2
                else Fraction(golden) / 2**23
            )
            assert total <= Fraction(float(got[0])) <= total * (1 + Fraction(1, 2**20)) + abs(slack)


def test_binade_boundary() -> None:
    """A golden just below a power of two: the device may round above it, where steps are twice as
    wide.
    """
    golden = np.array([1 - 2.0**-14])
    limit = bound(golden, golden * 1000, 1000, "FLOAT16")
    assert limit[0] > 1000 * 2.0**-24 * 999 + 2.0**-11
    sharp = bound(golden, golden, 1, "FLOAT16", quantum=2.0**-14)
    assert sharp[0] == np.float32(2.0**-14) or 2.0**-14 < sharp[0] < 2.0**-14 * (1 + 1e-6)


def test_overflow() -> None:
    golden = np.array([65000.0, 65519.99, 65520.01, -1e6, 3e38])
    limit = bound(golden, np.abs(golden), 64, "FLOAT16")
    assert np.isfinite(limit[0]) and np.isinf(limit[1:]).all()
    sums, limits = Sums([golden], [np.abs(golden)]), Limits.of([golden.size], [64], [None], [1.0])
    assert certain_overflows(RoundingModel.of("FLOAT16", None, None), sums, limits).tolist() == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert not certain_overflows(RoundingModel.of("BFLOAT16", None, None), sums, limits).any()
    assert np.isinf(
        bound(np.array([1.0]), np.array([1e39]), 64, "FLOAT")
    )  # partial sums may overflow
    assert np.isinf(bound(golden[3:4], golden[3:4] * -1, 4, "FLOAT", through="FLOAT16"))


def test_non_finite_goldens_must_be_met() -> None:
    golden = np.array([np.inf, -np.inf, np.nan, 1.0, 1.0])
    limit = bound(golden, np.array([np.inf, np.inf, np.nan, np.inf, np.nan]), 4, "FLOAT16")
    assert limit.tolist() == [0, 0, 0, np.inf, np.inf]
    assert np.isinf(bound(np.array([1.0]), np.array([1.0]), 2**24, "FLOAT")).all()


def test_zero_sums_are_zero() -> None:
    assert bound(np.zeros(3), np.zeros(3), 64, "FLOAT16").tolist() == [0, 0, 0]


def test_flush_to_zero() -> None:
    """Products, sums and results below the smallest normal may vanish; so may inputs, if the caller
    says which.
    """
    tiny = FORMATS["FLOAT"].min_normal
    a, b = RNG.uniform(0.5, 2, (50, 64)) * 2.0**-70, RNG.uniform(-2, 2, (50, 64)) * 2.0**-56
    golden, magnitude = (a * b).sum(axis=1), np.abs(a * b).sum(axis=1)
    assert (np.abs(golden) <= bound(golden, magnitude, 64, "FLOAT")).all()
    half = np.array([2.0**-15, 2.0**-24, 2.0**-14 * 0.99])
    assert (half <= bound(half, half, 4, "FLOAT16")).all()
    normal = np.array([2.0**-13])
    assert bound(normal, normal, 4, "FLOAT16")[0] < 2.0**-13  # a normal value may not be flushed

    def sums(tensors: dict) -> tuple[np.ndarray, np.ndarray]:
        terms = tensors["gradOutput"] * tensors["weight"]
        return terms.sum(axis=1), np.abs(terms).sum(axis=1)

    tensors = {
        "gradOutput": RNG.normal(size=(5, 64)),
        "weight": RNG.normal(size=(5, 64)) * 2.0**100,
        "input": None,
    }
    read = ("gradOutput", "weight")
    assert all(
        np.array_equal(values, tensors[name])
        for name, values in without_subnormals(tensors, read, "FLOAT").items()
        if name in read
    )
    tensors["gradOutput"][:, ::2] *= tiny / 8
    normal = without_subnormals(tensors, read, "FLOAT")
    assert (normal["gradOutput"][:, ::2] == 0).all() and without_subnormals(
        tensors, ("weight",), "FLOAT"
    )["gradOutput"].all()
    (golden, magnitude), (device, kept) = sums(tensors), sums(normal)
    lost = share(magnitude, kept, golden, device)
    assert (np.abs(device - golden) <= bound(golden, magnitude, 64, "FLOAT", share=lost)).all()
    assert (lost <= 2 * (magnitude - kept)).all() and not share(
        magnitude, magnitude, golden, golden
    ).any()
    alone = {
        **tensors,
        "gradOutput": np.where(np.abs(tensors["gradOutput"]) < tiny, tensors["gradOutput"], 0.0),
    }
    golden, magnitude = sums(alone)
    assert (
        np.abs(golden) > bound(golden, magnitude, 64, "FLOAT")
    ).all()  # without it the flush would be too much
    nothing = np.zeros(5)
    lost = share(magnitude, nothing, golden, nothing)
    assert (np.abs(golden) <= bound(golden, magnitude, 64, "FLOAT", share=lost)).all()
    some = np.array([np.inf, 1 + 2j]), np.array([np.inf, 1 + 1j])
    assert share(*some, *some).tolist()[0] == 0


def test_what_may_be_flushed_on_the_way_may_be_zero_in_the_end() -> None:
    """Subnormal in FLOAT16, normal in BFLOAT16."""
    golden = np.array([1.25 * 2.0**-16])
    assert bound(golden, golden, 1, "BFLOAT16", through="FLOAT16")[0] >= golden[0]
    assert bound(golden, golden, 1, "BFLOAT16")[0] < golden[0] / 100


def test_through_a_narrower_dtype() -> None:
    a = RNG.uniform(-1, 1, (2000, 16))
    golden, magnitude = a.sum(axis=1), np.abs(a).sum(axis=1)
    device = rounded(golden, "FLOAT16")
    through = bound(golden, magnitude, 16, "FLOAT", through="FLOAT16")
    assert (np.abs(device - golden) < through).all()
    assert (np.abs(device - golden) > bound(golden, magnitude, 16, "FLOAT")).mean() > 0.9


def test_wide_and_complex_outputs() -> None:
    a = RNG.normal(size=(300, 100))
    golden, magnitude = a.sum(axis=1), np.abs(a).sum(axis=1)
    limit = bound(golden, magnitude, 100, "DOUBLE")
    assert limit.dtype == np.float32 and (limit <= 2.01 * 100 * 2.0**-53 * magnitude).all()
    assert (
        limit >= 2 * 100 * 2.0**-53 * magnitude
    ).all()  # the golden may be as far from the truth as the device
    assert (bound(golden, magnitude, 100, "DOUBLE", quantum=2.0**-40) == 0).all()
    assert (np.abs(in_order(np.sort(a, axis=1)) - golden) <= limit).all()
    assert (np.abs(in_order(a.astype(np.float32)) - golden) > limit).all()
    whole, size = golden + 1j * golden[::-1], magnitude + 1j * magnitude[::-1]
    parts = bound(whole, size, 100, "COMPLEX64")
    assert parts.dtype == np.complex64 and parts.shape == golden.shape
    real = bound(golden, magnitude, 100, "FLOAT")
    assert np.array_equal(parts.real, real) and np.array_equal(parts.imag, real[::-1])
    assert np.array_equal(bound(whole, size, 100, "COMPLEX128").real, limit)


@pytest.mark.parametrize(
    ("part", "least", "most"), [(0.999, 0.0, 0.0), (1.01, 2.0, 2.01), (1.99, 2.0, 2.01)]
)
def test_our_own_sum_is_exact_as_long_as_53_bits_hold_it(
    part: float, least: float, most: float
) -> None:
    magnitude = part * 2.0**53 * 2.0**-30
    limit = bound(np.array([1.0]), np.array([magnitude]), 64, "DOUBLE", quantum=2.0**-30)[0]
    assert least * 64 * 2.0**-53 * magnitude <= limit <= most * 64 * 2.0**-53 * magnitude


def test_shapes_and_blocks() -> None:
    golden = RNG.normal(size=(3, 5, 7000))
    limit = bound(golden, np.abs(golden) * 9, 9, "BFLOAT16")
    assert limit.shape == golden.shape
    assert np.array_equal(limit[1, 2], bound(golden[1, 2], np.abs(golden[1, 2]) * 9, 9, "BFLOAT16"))
    assert bound(np.zeros((0, 3)), np.zeros((0, 3)), 9, "FLOAT").shape == (0, 3)
    assert bound(np.array(1.0), np.array(2.0), 9, "FLOAT").shape == ()
    assert gamma(2**24, 2.0**-24) == np.inf


@pytest.mark.parametrize("recipe", ["grid", "normal", "wide_exponent", "cancellation", "integers"])
def test_torch_in_float32_is_a_correct_device(recipe: str) -> None:
    torch = pytest.importorskip("torch")
    shapes = {"gradOutput": (2, 16, 7, 7), "input": (2, 8, 16, 16), "weight": (16, 8, 3, 3)}
    names = {
        "rank": 4,
        "transposed": 0,
        "groups": 1,
        "sH": 2,
        "sW": 2,
        "dH": 1,
        "dW": 1,
        "padTop": 0,
        "padBottom": 0,
        "padLeft": 0,
        "padRight": 0,
    }
    wanted = {
        name: convolution.depth(names, shapes, name)
        for name in ("gradInput", "gradWeight", "gradBias")
    }
    deepest = max(wanted.values())
    asked = {
        name: InputTensor(name, shape, "FLOAT", "FLOAT", deepest, "operand")
        for name, shape in shapes.items()
    }
    asked["gradOutput"] = replace(asked["gradOutput"], role="gradient")
    tensors = {name: draw(recipe, keys(0, ["a"]), tensor) for name, tensor in asked.items()}
    golden = golden_exact(
        convolution.golden, tensors, names, wanted, deepest, convolution.PARTNERS, "gradOutput"
    )
    size = magnitude_exact(
        convolution.golden, tensors, names, wanted, deepest, convolution.PARTNERS, "gradOutput"
    )
    typed = [torch.from_numpy(tensors[name][0].astype(np.float32)) for name in shapes]
    results = torch.ops.aten.convolution_backward(
        *typed, [16], [2, 2], [0, 0], [1, 1], False, [0, 0], 1, [True] * 3
    )
    for (name, depth), result, other in zip(
        wanted.items(), results, ("weight", "input", None), strict=True
    ):
        steps = [quantum(recipe, asked[tensor]) for tensor in ("gradOutput", other) if tensor]
        step = None if None in steps else float(np.prod(steps))
        limit = bound(golden[name], size[name], depth, "FLOAT", quantum=step)[0]
        error = np.abs(result.numpy().astype(np.float64) - golden[name][0])
        assert (error <= limit).all()
        wrong = result.numpy()[..., ::-1]
        if name == "gradInput":  # not symmetric by chance
            assert (np.abs(wrong - golden[name][0]) > limit).mean() > 0.8


def test_documentation() -> None:
    assert doctest.testmod(bounds).failed == 0


CHAINS = [  # output, accumulator, through: the formats of the way
    ("FLOAT", None, None, ["FLOAT"]),
    ("FLOAT16", None, None, ["FLOAT", "FLOAT16"]),
    ("BFLOAT16", None, None, ["FLOAT", "BFLOAT16"]),
    ("FLOAT", None, "FLOAT16", ["FLOAT", "FLOAT16"]),
    ("FLOAT", None, "BFLOAT16", ["FLOAT", "BFLOAT16"]),
    ("BFLOAT16", None, "FLOAT16", ["FLOAT", "FLOAT16", "BFLOAT16"]),
    ("FLOAT16", None, "BFLOAT16", ["FLOAT", "BFLOAT16", "FLOAT16"]),
    ("FLOAT16", None, "FLOAT", ["FLOAT", "FLOAT16"]),
    ("DOUBLE", None, None, ["DOUBLE"]),
    ("FLOAT", "DOUBLE", None, ["DOUBLE", "FLOAT"]),
    ("DOUBLE", "FLOAT", None, ["FLOAT"]),
]


def some_sum(
    form: Format, *written: Format
) -> tuple[float, float, int, float | None, float, float]:
    """A golden and what is known of it, mostly where something changes: at a binade, at both ends
    of a range, where sums are exact.
    """
    depth = int(RNG.choice([1, 2, 3, 9, 64, 5000, 2**22, 2**25]))
    ends = [
        end
        for one in written or (form,)
        for end in (one.low, one.low + 1, one.low - 2, one.low - 5, one.high, one.high - 1)
    ]
    scale = 2.0 ** int(RNG.choice([0, -1, 5, *ends, form.low, form.high - 2]))
    golden = (
        scale
        * float(RNG.choice([1.0, 1 - 2.0**-13, 1 - 2.0**-30, 1.999, RNG.uniform(0.5, 2), 0.0]))
        * float(RNG.choice([-1, 1]))
    )
    magnitude = max(abs(golden), 2.0**form.low * float(RNG.choice([0, 1]))) * float(
        RNG.choice([1.0, 1.0, RNG.uniform(1, 40), 2.0**20])
    )
    magnitude = magnitude if RNG.random() < 0.95 else form.max * float(RNG.choice([1.0, 0.5]))
    quantum = (
        None
        if RNG.random() < 0.4
        else scale * 2.0 ** -int(RNG.choice([4, 10, form.digits - 2, form.digits + 2, 52, 56]))
    )
    share_ = 0.0 if RNG.random() < 0.7 else scale * float(RNG.choice([2.0**-40, 2.0**-8, 1.0]))
    return golden, magnitude, depth, quantum, share_, float(RNG.choice([1.0, 3.0, 2.0**10]))


@pytest.mark.parametrize(("output", "accumulator", "through", "chain"), CHAINS)
def test_the_same_in_rational_numbers(
    output: str, accumulator: str | None, through: str | None, chain: list[str]
) -> None:
    infinite = zero = 0
    for _ in range(400):
        golden, magnitude, depth, quantum, share_, gain = some_sum(
            *(FORMATS[name] for name in chain)
        )
        one = np.array([golden]), np.array([magnitude])
        if not np.isfinite(magnitude):
            continue
        known = {"quantum": quantum, "share": np.array([share_]) if share_ else None, "gain": gain}
        got = float(bound(*one, depth, output, accumulator, through=through, **known)[0])
        expected = naive_bound(
            golden, magnitude, depth, chain, DTYPES[output].golden, quantum, share_, gain
        )
        infinite, zero = infinite + (expected == np.inf), zero + (expected == 0)
        if got == np.inf:  # at the very edge all is rounded up; a bound is a FLOAT
            more = [
                Fraction(value) * (1 + Fraction(1, 2**36)) for value in (golden, magnitude, share_)
            ]
            assert (
                naive_bound(*more[:2], depth, chain, DTYPES[output].golden, quantum, more[2], gain)
                > FORMATS["FLOAT"].max
            )
            continue
        assert (
            expected <= Fraction(got) <= expected * (1 + Fraction(1, 2**22)) + Fraction(1, 2**148)
        ), (golden, magnitude, depth, known)
    assert infinite and zero


@pytest.mark.parametrize("output", ["FLOAT", "FLOAT16", "COMPLEX64"])
def test_outputs_that_are_bounded_together_are_bounded_as_each_alone(output: str) -> None:
    """Both ways of writing the sums down: the short one, and the one for data that may be flushed,
    overflow or are rounded.
    """
    unit = 1 + 1j if DTYPES[output].complex else 1
    long = bounds.ALONE
    empty, mixed = (
        ((0, 2), (0,), (0, 0, 0), (0, long), (0, long, 0), (long, 0, 3)),
        ((3, long, 5), (long - 1, 0, 2 * long)),
    )
    for low, count in (
        (0, (1, 5, 3)),
        (-140, (7, 2)),
        (0, (4,)),
        (-140, (9 * long, long - 1)),
        *((0, count) for count in (*empty, *mixed)),
    ):
        goldens = [
            RNG.normal(size=size) * 2.0 ** RNG.integers(low, 12, size) * unit for size in count
        ]
        sizes = [
            np.abs(golden.real) * 3 + np.abs(golden.imag) * 1j * (unit != 1) for golden in goldens
        ]
        sizes = [size if unit != 1 else size.real for size in sizes]
        rows = [
            (golden.size, depth, quantum, gain)
            for golden, depth, quantum, gain in zip(
                goldens, (900, 7, 1), (None, 2.0**-20, 2.0**-135), (1.0, 5.0, 1.0), strict=False
            )
        ]
        together = joint_bounds(
            RoundingModel.of(output, None, None),
            Sums(goldens, sizes),
            Limits.of(*zip(*rows, strict=True)),
        )
        alone = [
            bound(golden, size, depth, output, quantum=quantum, gain=gain)
            for golden, size, (_, depth, quantum, gain) in zip(goldens, sizes, rows, strict=True)
        ]
        assert together.dtype == DTYPES[DTYPES[output].bound].numpy and np.array_equal(
            together, np.concatenate(alone)
        )
        if len(count) > 1 and all(count):  # numbers of their own matter
            sums = Sums([np.concatenate(goldens)], [np.concatenate(sizes)])
            one_for_all = joint_bounds(
                RoundingModel.of(output, None, None),
                sums,
                Limits.of([sum(count)], *([one] for one in rows[0][1:])),
            )
            assert not np.array_equal(together, one_for_all)


def test_a_real_share_counts_for_both_parts() -> None:
    golden, magnitude = np.array([1 + 2j]), np.array([3 + 5j])
    shared = bound(golden, magnitude, 4, "COMPLEX64", share=np.array([0.5]))
    parts = [
        bound(*part, 4, "FLOAT", share=np.array([0.5]))
        for part in ((golden.real, magnitude.real), (golden.imag, magnitude.imag))
    ]
    assert shared.real == parts[0] and shared.imag == parts[1]
    own = bound(golden, magnitude, 4, "COMPLEX64", share=np.array([0.5 + 0.25j]))
    assert own.real == shared.real and np.isclose(own.imag, shared.imag - 0.25, rtol=1e-6)


def test_what_rounds_to_itself_or_was_rounded_to_less_is_not_rounded_again() -> None:
    def written(output: str, accumulator: str | None, through: str | None) -> list[str]:
        return [form.name for form in RoundingModel.of(output, accumulator, through).written]

    assert (
        written("FLOAT", None, None) == []
        and written("DOUBLE", None, None) == []
        and written("FLOAT", "DOUBLE", None) == ["FLOAT"]
    )
    assert written("FLOAT", None, "FLOAT16") == ["FLOAT16"] and written(
        "FLOAT16", None, "FLOAT"
    ) == ["FLOAT16"]
    assert written("FLOAT16", None, "BFLOAT16") == [
        "BFLOAT16",
        "FLOAT16",
    ]  # a smaller range, although more digits
    assert written("BFLOAT16", None, "FLOAT16") == ["FLOAT16", "BFLOAT16"]


@pytest.mark.parametrize("to_whole", [np.trunc, np.rint, np.floor, np.ceil])
def test_whole_numbers_hold_for_every_way_of_making_them(to_whole: Callable) -> None:
    """Of sums in float32, in whatever way a device leaves out what is not whole."""
    terms = RNG.normal(0, 40, (4000, 6)).astype(np.float32)
    golden = terms.astype(np.float64).sum(axis=1)
    magnitude = np.abs(terms.astype(np.float64)).sum(axis=1)
    limit = bound(golden, magnitude, 5, "INT32")
    device = to_whole(in_order(terms)).astype(np.int32)
    assert (np.abs(device - golden) <= limit).all() and (limit < 1.001).all()
    assert (np.abs(device + 2 - golden) > limit).all()


def test_exact_whole_numbers_have_no_room() -> None:
    """Up to what each dtype holds, and to where float64 no longer tells neighbours apart."""
    values = np.array([0.0, -5, 127, 2.0**24 + 1, 2.0**53 - 1])
    exact = bound(values, np.abs(values), 1, "INT64", "DOUBLE", quantum=1.0)
    assert exact.tolist() == [0, 0, 0, 0, 0]
    wide = np.array([-129.0, 128.0, 300.0, 127.5])
    assert (bound(wide, np.abs(wide), 1, "INT8", "DOUBLE", quantum=1.0) == np.inf).all()
    edge = np.array([2.0**53])
    assert bound(edge, edge, 1, "INT64", "DOUBLE", quantum=1.0).tolist() == [np.inf]


def test_what_is_not_finite_may_become_any_whole_number() -> None:
    lost = np.array([np.nan, np.inf, -np.inf])
    assert (bound(lost, np.abs(lost), 1, "INT32") == np.inf).all()
