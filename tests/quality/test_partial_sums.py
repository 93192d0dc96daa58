"""A device that leaves out one element of a long sum, or counts it twice, is seen wherever that
element stands.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.quality.mutants.bundle_cases import cases_by_page, device_batches
from opgen.quality.mutants.mutant import Computation, Mutant, on_gradient
from opgen.quality.tiling_score import failing

DEPTHS = (10**4, 10**5, 10**6)
PLACES = 12
"""Elements of each sum that are tried, spread over all."""


def weighted(place: int, weight: int) -> Mutant:
    """A device that counts one element of the gradient so many times."""

    def gradient(given: Computation) -> np.ndarray:
        held = np.array(given.gradient)
        held.reshape(len(held), -1)[:, place] *= weight
        return held

    return Mutant("weighted", "counts one element otherwise", kernel=on_gradient(gradient))


def norm(dtype: str, depth: int, output: str, recipe: str) -> dict[str, object]:
    """A group norm whose gamma or beta has one sum of so many terms."""
    whole, few, one = ({"shape": s, "dtype": dtype} for s in ([1, 1, depth], [1, 1], [1]))
    inputs = {"gradOut": whole, "input": whole, "mean": few, "rstd": few, "gamma": one}
    outputs = {"gradInput": None, "gradGammaOut": None, "gradBetaOut": None, output: one}
    asked = [outputs[name] is not None for name in outputs]
    numbers = {"N": 1, "C": 1, "HxW": depth, "group": 1, "outputMask": asked}
    args = {**inputs, **numbers, **outputs}
    call = {"id": "sum", "op": "aclnnGroupNormBackward", "product": "ascend910b", "args": args}
    return {**call, "recipe": recipe}


def seen(folder: Path, dtype: str, depth: int, output: str, recipe: str) -> int:
    """Of the wrong devices how many fail."""
    calls, suite = folder / "sums.jsonl", folder / "sums.h5"
    calls.write_text(json.dumps(norm(dtype, depth, output, recipe)) + "\n")
    opgen.generate(calls=calls, output=suite, workers=1, force=True)
    with opgen.open(suite) as bundle:
        (cases,) = cases_by_page(bundle)
        (work,) = device_batches(bundle, cases)
        assert not [*failing(bundle, work, weighted(0, 1))]
        places = np.linspace(0, depth - 1, PLACES).astype(int).tolist()
        wrong = [weighted(place, weight) for place in places for weight in (0, 2)]
        return sum(bool([*failing(bundle, work, mutant)]) for mutant in wrong)


@pytest.mark.parametrize("output", ["gradGammaOut", "gradBetaOut"])
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("dtype", ["FLOAT", "FLOAT16", "BFLOAT16"])
def test_each_element_of_a_sum_is_seen(dtype: str, depth: int, output: str, tmp_path: Path) -> None:
    assert seen(tmp_path, dtype, depth, output, "partial_sums") == 2 * PLACES


def test_other_data_do_not_show_it(tmp_path: Path) -> None:
    assert seen(tmp_path, "FLOAT", 10**5, "gradBetaOut", "grid") == 0
    assert seen(tmp_path, "FLOAT", 10**5, "gradGammaOut", "integers") == 0
