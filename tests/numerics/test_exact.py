"""Split goldens: the same bits in every order of summation and on every BLAS kernel, and the right
ones.
"""

from __future__ import annotations

import doctest
import hashlib
import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opgen.golden.convolution_backward import PARTNERS
from opgen.numerics import exact
from opgen.numerics.exact import golden_exact, magnitude_exact, sliced
from opgen.numerics.fill import draw, keys
from opgen.numerics.input_tensor import InputTensor
from opgen.numerics.recipes import RECIPES
from opgen.numerics.rounding import rounded
from tests.support.processors import environments, working

WANTED = ["gradInput", "gradWeight", "gradBias"]
DEPTH = 300


def product(
    tensors: Mapping[str, Any], names: Mapping[str, int], wanted: Collection[str]
) -> dict[str, np.ndarray]:
    """A fully connected layer, with sums in an order that ``names`` chooses."""
    product.calls += 1

    def summed(terms: np.ndarray) -> np.ndarray:
        order = np.random.default_rng(names["order"]).permutation(terms.shape[1])
        return np.add.accumulate(terms[:, order], axis=1)[:, -1]

    gradient = tensors["gradOutput"]
    results = {
        "gradInput": lambda: summed(
            np.swapaxes(gradient[..., None] * tensors["weight"][:, None], 1, 2)
        ),
        "gradWeight": lambda: summed(gradient[..., None] * tensors["input"][:, :, None]),
        "gradBias": lambda: summed(gradient),
    }
    return {name: results[name]() for name in wanted}


product.calls = 0


def filled(
    recipe: str, cases: list[str], compute: str = "FLOAT", **shapes: tuple[int, ...]
) -> dict[str, np.ndarray]:
    roles = {"gradOutput": "gradient"}
    return {
        name: rounded(
            draw(
                recipe,
                keys(3, cases),
                InputTensor(
                    name, shape, "FLOAT", compute, depth=DEPTH, role=roles.get(name, "operand")
                ),
            ),
            compute,
        )
        for name, shape in shapes.items()
    }


def tensors_of(recipe: str, cases: list[str], compute: str = "FLOAT") -> dict[str, np.ndarray]:
    return filled(recipe, cases, compute, gradOutput=(DEPTH, 12), weight=(12, 7), input=(DEPTH, 7))


def digest(results: Mapping[str, np.ndarray]) -> str:
    return hashlib.sha256(b"".join(results[name].tobytes() for name in sorted(results))).hexdigest()


@pytest.mark.parametrize("compute", ["FLOAT", "HFLOAT32"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_no_order_changes_a_bit(recipe: str, compute: str) -> None:
    tensors = tensors_of(recipe, ["a"], compute)
    if recipe in ("nonfinite", "overflow"):
        tensors = {
            name: np.where(np.isfinite(value), value, 1.0) for name, value in tensors.items()
        }
    before = product.calls
    split = {
        digest(golden_exact(product, tensors, {"order": k}, WANTED, DEPTH, PARTNERS, "gradOutput"))
        for k in range(4)
    }
    calls = (product.calls - before) // 4
    assert len(split) == 1
    plain = {digest(product(tensors, {"order": k}, WANTED)) for k in range(4)}
    if recipe in ("normal", "wide_exponent"):
        assert compute == "HFLOAT32" or len(plain) == 4  # and the orders do differ
        assert 1 <= calls <= 9
    elif recipe != "overflow":  # which says something under FLOAT16 only
        assert len(plain) == 1 and calls == 1
    sizes = {
        digest(
            magnitude_exact(product, tensors, {"order": k}, WANTED, DEPTH, PARTNERS, "gradOutput")
        )
        for k in range(2)
    }
    assert len(sizes) == 1


def test_wide_exponents_are_rounded_once() -> None:
    """Against rational sums: half a unit in the last place, and the last digits of a plain sum are
    wrong.
    """
    tensors = tensors_of("wide_exponent", ["a", "b"])
    got = golden_exact(product, tensors, {"order": 0}, WANTED, DEPTH, PARTNERS, "gradOutput")
    plain = product(tensors, {"order": 0}, WANTED)
    wrong = 0
    for case in range(2):
        for i in range(12):
            for j in range(7):
                column, row = tensors["gradOutput"][case, :, i], tensors["input"][case, :, j]
                true = sum(Fraction(a) * Fraction(b) for a, b in zip(column, row, strict=True))
                assert got["gradWeight"][case, i, j] == float(true)
                wrong += plain["gradWeight"][case, i, j] != float(true)
            assert got["gradBias"][case, i] == float(
                sum(map(Fraction, tensors["gradOutput"][case, :, i]))
            )
    assert wrong > 100
    sizes = magnitude_exact(
        product, tensors, {"order": 0}, ["gradBias"], DEPTH, PARTNERS, "gradOutput"
    )
    assert sizes["gradBias"][1, 3] == float(
        sum(abs(Fraction(x)) for x in tensors["gradOutput"][1, :, 3])
    )


def test_the_gradient_may_have_any_name() -> None:
    def renamed(
        tensors: Mapping[str, Any], names: Mapping[str, int], wanted: Collection[str]
    ) -> dict[str, np.ndarray]:
        return product({**tensors, "gradOutput": tensors["dy"]}, names, wanted)

    tensors = tensors_of("wide_exponent", ["a"])
    other = {"dy" if name == "gradOutput" else name: values for name, values in tensors.items()}
    want = digest(
        golden_exact(product, tensors, {"order": 0}, WANTED, DEPTH, PARTNERS, "gradOutput")
    )
    assert digest(golden_exact(renamed, other, {"order": 0}, WANTED, DEPTH, PARTNERS, "dy")) == want


def test_a_case_is_the_same_in_every_batch() -> None:
    mixed = {
        name: np.concatenate(
            [tensors_of(recipe, ["a"])[name] for recipe in ("grid", "wide_exponent", "normal")]
        )
        for name in ("gradOutput", "weight", "input")
    }
    mixed["gradOutput"][2, 5, 3] = np.nan  # and one that cannot be split
    together = golden_exact(product, mixed, {"order": 0}, WANTED, DEPTH, PARTNERS, "gradOutput")
    for case in range(3):
        one = {name: values[case : case + 1] for name, values in mixed.items()}
        alone = golden_exact(product, one, {"order": 0}, WANTED, DEPTH, PARTNERS, "gradOutput")
        for name in WANTED:
            assert together[name][case].tobytes() == alone[name][0].tobytes()
    assert np.isnan(together["gradBias"][2, 3]) and np.isfinite(together["gradBias"][2, 2])


def test_slices_add_up_and_are_narrow() -> None:
    values = tensors_of("wide_exponent", ["a", "b"])["input"] * np.array([1.0, 2.0**40]).reshape(
        2, 1, 1
    )
    pieces = sliced(values, 11)
    assert np.array_equal(sum(reversed(pieces)), values) and len(pieces) == 5
    for piece in pieces:
        for case in piece:
            top = 2.0 ** np.ceil(np.log2(np.abs(case).max()))
            assert np.array_equal(np.rint(case / top * 2**11), case / top * 2**11)
    assert not np.array_equal(sum(pieces[:-1]), values)
    whole = values[0] + 1j * values[1]
    assert np.array_equal(sum(sliced(whole[None], 20)), whole[None])
    assert [len(sliced(np.zeros(shape), 20)) for shape in ((2, 3), (2, 0))] == [1, 1]


def test_one_call_where_that_is_exact_and_no_further() -> None:
    """8 terms leave 50 bits: 25 for each operand, or 40 for one and 10 for the other."""
    for left, right, once in (
        (25, 25, 1),
        (40, 10, 1),
        (10, 40, 1),
        (40, 11, 0),
        (26, 25, 0),
        (48, 2, 1),
        (49, 2, 0),
    ):
        tensors = {
            "gradOutput": np.array([[[1.0], [1 - 2.0**-left]]]),
            "input": np.array([[[3 * 2.0**60], [4 * 2.0**60 - 2.0 ** (62 - right)]]]),
        }
        before = product.calls
        golden_exact(product, tensors, {"order": 0}, ["gradWeight"], 8, PARTNERS, "gradOutput")
        assert (product.calls - before == 1) == bool(once), (left, right)
    assert exact._span(
        np.array([[0.0, 0.0], [3.0, 1.0], [4.0, 1.0], [-5.0, 2.0**-20]])
    ).tolist() == [0, 2, 2, 23]


def test_huge_values_and_depths() -> None:
    tensors = tensors_of("grid", ["a", "b"])
    tensors["gradOutput"][1] *= 2.0**950
    got = golden_exact(product, tensors, {"order": 0}, WANTED, DEPTH, PARTNERS, "gradOutput")
    assert np.array_equal(got["gradBias"][1], tensors["gradOutput"][1].sum(axis=0))
    with pytest.raises(ValueError, match="no bits"):
        golden_exact(
            product, tensors_of("grid", ["a"]), {"order": 0}, WANTED, 2**53, PARTNERS, "gradOutput"
        )
    zeros = {name: -0.0 * values for name, values in tensors_of("grid", ["a"]).items()}
    zero = golden_exact(product, zeros, {"order": 0}, WANTED, 9, PARTNERS, "gradOutput")
    assert not np.signbit(zero["gradInput"]).any()


SCRIPT = """
import numpy as np
from opgen.golden.convolution_backward import golden as convolution
from tests.numerics.test_exact import PARTNERS, WANTED, digest, filled, golden_exact

def layer(tensors, names, wanted):
    gradient = tensors["gradOutput"]
    return {"gradWeight": np.matmul(gradient.swapaxes(1, 2), tensors["input"])}

tensors = filled("wide_exponent", ["a", "b"], gradOutput=(300, 400), input=(300, 200))
print(digest(golden_exact(layer, tensors, {}, ["gradWeight"], 300, PARTNERS, "gradOutput")), digest(layer(tensors, {}, [])))
tensors = filled("wide_exponent", ["a", "b"], gradOutput=(2, 24, 32, 32), weight=(24, 16, 3, 3), input=(2, 16, 34, 34))
names = dict(rank=4, transposed=0, groups=1, sH=1, sW=1, dH=1, dW=1, padTop=0, padBottom=0, padLeft=0, padRight=0)
print(digest(golden_exact(convolution, tensors, names, WANTED, 2048, PARTNERS, "gradOutput")), digest(convolution(tensors, names, WANTED)))
"""


def test_every_blas_kernel_gives_the_same_bits() -> None:
    """Where the machine has several kernels the plain sums differ; the split ones may not."""
    seen = []
    for environment in working():
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            env=os.environ | environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        seen.append([line.split() for line in done.stdout.splitlines()])
    for number, what in enumerate(("matrix product", "convolution")):
        assert len({run[number][0] for run in seen}) == 1
        plain = {run[number][1] for run in seen}
        several = len(seen) > 2 and len(seen) == len(environments())
        assert len(plain) > 1 or not several, (
            f"{what}: data on which no kernel differs from another prove nothing"
        )


def test_documentation() -> None:
    assert doctest.testmod(exact).failed == 0
