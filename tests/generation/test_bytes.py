"""Bundles: the same bytes every time, and goldens that are what the definition says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.generation import engine, storage
from opgen.numerics.recipes import RECIPES
from opgen.suite.batch import Batch
from tests.support.enumerations import FOLDER
from tests.support.processors import environments, fault
from tests.support.suites import PAGES, SLOW, suite, together

SCRIPT = """
import sys
from opgen.generation import engine
from tests.support.suites import together
made = together({names!r}, "smoke")
print(engine.write(made, sys.argv[1], {{"seed": 0}}, workers={workers}))
"""
SUMS_AND_FUNCTIONS = ("convolution_backward.atlas", "gelu_backward_v2", "log_softmax_backward")
"""Operators whose goldens need products of matrices, erf, tanh, exp and log."""


def written(path: Path, workers: int = 1, **environment: str) -> bytes:
    """The bytes of the smoke bundle that another process writes; it enumerates what the run does
    not share.
    """
    script = SCRIPT.format(names=SUMS_AND_FUNCTIONS, workers=workers)
    run = [sys.executable, "-c", script, str(path)]
    subprocess.run(
        run,
        check=True,
        env={**os.environ, **environment},
        cwd=Path(__file__).parents[2],
        capture_output=True,
    )
    return path.read_bytes()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = Path(tmp_path_factory.mktemp("reference")) / "suite.h5"
    engine.write(together(SUMS_AND_FUNCTIONS, "smoke"), path, {"seed": 0})
    return path.read_bytes()


def test_two_workers_write_the_same_bytes(reference: bytes, tmp_path: Path) -> None:
    assert written(tmp_path / "suite.h5", workers=2) == reference


@pytest.mark.parametrize("environment", environments(), ids=str)
def test_no_processor_changes_a_bit(
    reference: bytes, tmp_path: Path, environment: dict[str, str]
) -> None:
    if why := fault(environment):
        pytest.skip(why)
    if SLOW or environment == environments()[0]:  # the farthest from this processor enumerates, too
        environment = {**environment, FOLDER: ""}
    assert written(tmp_path / "suite.h5", **environment) == reference


def single(batches: list[Batch]) -> list[Batch]:
    """A batch for each case."""
    return [batch.subset([place]) for batch in batches for place in range(len(batch.ids))]


def joined(batches: list[Batch]) -> list[Batch]:
    """Batches that were cut, in one piece again."""
    whole: list[Batch] = []
    shared = [field.name for field in fields(Batch) if field.name not in ("rows", "ids")]
    for batch in batches:
        if whole and all(getattr(batch, name) == getattr(whole[-1], name) for name in shared):
            rows = np.concatenate([whole[-1].rows, batch.rows])
            whole[-1] = replace(batch, rows=rows, ids=whole[-1].ids + batch.ids)
        else:
            whole.append(batch)
    return whole


@pytest.mark.parametrize(
    ("name", "tier", "cut"),
    [
        ("avg_pool2d_backward", "standard", single),
        ("convolution_backward.atlas", "standard", single),
        ("upsample_bilinear2d_backward_v2", "smoke", joined),
        ("unfold_grad", "smoke", joined),
    ],
)
def test_the_size_of_batches_changes_no_bit(
    tmp_path: Path, name: str, tier: str, cut: Callable[[list[Batch]], list[Batch]]
) -> None:
    whole = suite(name, tier)
    other = replace(whole, batches=cut(whole.batches))
    assert len(other.batches) != len(whole.batches)
    written = []
    for made in (whole, other):
        engine.write(made, tmp_path / "suite.h5", {}, force=True)
        written.append((tmp_path / "suite.h5").read_bytes())
    assert written[0] == written[1]


def test_another_seed_draws_other_data(reference: bytes, tmp_path: Path) -> None:
    made = together(SUMS_AND_FUNCTIONS, "smoke")
    engine.write(made, tmp_path / "other.h5", {"seed": 0}, seed=1)
    assert (tmp_path / "other.h5").read_bytes() != reference


# goldens ------------------------------------------------------------------------------------------
def reflection(call: dict, inputs: dict) -> np.ndarray:
    """By the definition: every element of the gradient goes back to where it was copied from."""
    left, right, top, bottom = call["args"]["padding"]
    shape = call["args"]["self"]["shape"]
    grad = inputs["gradOutput"].astype(
        np.complex128 if np.iscomplexobj(inputs["gradOutput"]) else np.float64
    )
    result = np.zeros(shape, grad.dtype)

    def source(place: int, extent: int) -> int:
        place = abs(place)
        return place if place < extent else 2 * (extent - 1) - place

    for i in range(grad.shape[-2]):
        for j in range(grad.shape[-1]):
            result[..., source(i - top, shape[-2]), source(j - left, shape[-1])] += grad[..., i, j]
    return result


def pooling(call: dict, inputs: dict) -> np.ndarray:
    """By the definition: every window shares its gradient out over what it covers."""
    args = call["args"]
    shape = args["self"]["shape"]
    grad = inputs["gradOutput"].astype(np.float64)

    def two(values: list[int]) -> list[int]:
        return values * 2 if len(values) == 1 else values

    kernel, padding = two(args["kernelSize"]), two(args["padding"])
    stride = two(args["stride"]) or kernel
    result = np.zeros(shape)
    for i in range(grad.shape[-2]):
        for j in range(grad.shape[-1]):
            start = [o * s - p for o, s, p in zip((i, j), stride, padding, strict=True)]
            end = [
                min(a + k, n + p)
                for a, k, n, p in zip(start, kernel, shape[-2:], padding, strict=True)
            ]
            inside = [
                (max(a, 0), min(b, n)) for a, b, n in zip(start, end, shape[-2:], strict=True)
            ]
            counted = (
                (end[0] - start[0]) * (end[1] - start[1])
                if args["countIncludePad"]
                else np.prod([b - a for a, b in inside])
            )
            (top, bottom), (left, right) = inside
            result[..., top:bottom, left:right] += (
                grad[..., i, j] / (args["divisorOverride"] or counted)
            )[..., None, None]
    return result


TWINS = {"reflection_pad2d_backward": reflection, "avg_pool2d_backward": pooling}


@pytest.fixture(scope="module", params=sorted(TWINS))
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    path = Path(tmp_path_factory.mktemp("goldens")) / "suite.h5"
    engine.write(suite(request.param), path, {"seed": 0})
    with opgen.open(path) as opened:
        yield TWINS[request.param], opened


def test_goldens_are_what_the_definition_says(bundle) -> None:
    twin, cases = bundle
    compared = 0
    for case in cases:
        exact = case.inputs and case.compute == case.call["args"]["gradOutput"]["dtype"]
        if (
            exact
            and case.inputs["gradOutput"].size < 5000
            and case.recipe not in ("nonfinite", "overflow")
        ):
            golden, wanted = case.golden["gradInput"], twin(case.call, case.inputs)
            size = np.abs(wanted).max(initial=1e-300)
            wide = 1e-6 if golden.dtype == np.float32 else 1e-12
            assert np.abs(golden - wanted).max(initial=0) <= wide * size, case.id
            compared += 1
    assert compared > 30


def test_a_wrong_golden_fails(bundle) -> None:
    twin, cases = bundle
    case = next(
        case
        for case in cases
        if case.inputs
        and case.recipe == "integers"
        and len(case.call["args"]["self"]["shape"]) == 4
        and min(case.call["args"]["gradOutput"]["shape"][2:]) > 1
        and case.compute == case.call["args"]["gradOutput"]["dtype"]
        and np.diff(case.inputs["gradOutput"]).any()  # not expanded
    )
    wrong = {key: np.roll(value, 1, axis=-1) for key, value in case.inputs.items()}
    assert (
        np.abs(case.golden["gradInput"] - twin(case.call, wrong)).max()
        > 1e-3 * np.abs(case.golden["gradInput"]).max()
    )


def handwritten(cases: Bundle, name: str) -> list[CaseView]:
    """A handwritten call of the plan, with its data, of several products."""
    found = [case for case in cases if case.intent.startswith(f"{name}:")]
    assert len({case.product for case in found}) > 2 and all(case.inputs for case in found)
    return found


@pytest.mark.parametrize("bundle", ["reflection_pad2d_backward"], indirect=True)
def test_given_data_are_what_is_stored(bundle) -> None:
    _, cases = bundle
    for case in handwritten(cases, "nine-by-padding-two"):
        assert case.inputs["gradOutput"][0, 0].tolist() == [8, 7, 6, 7, 8, 7, 6]
        assert case.golden["gradInput"][0].tolist() == [[0, 6, 8], [18, 36, 30], [24, 42, 32]]
    for case in handwritten(cases, "ones-of-seven"):
        assert case.golden["gradInput"][0, 0].tolist() == [1, 2, 1, 2, 1]


@pytest.mark.parametrize("bundle", ["avg_pool2d_backward"], indirect=True)
def test_the_printed_example_of_pooling(bundle) -> None:
    _, cases = bundle
    for case in handwritten(cases, "printed-example"):
        assert (case.inputs["gradOutput"] == 1).all() and (case.golden["gradInput"] == 1 / 16).all()


def test_every_view_is_stored_with_a_gap_wherever_no_element_lies(bundle) -> None:
    _, cases = bundle
    apart = 0
    for case in cases:
        views = [
            (name, desc)
            for name, desc in case.call["args"].items()
            if name in case.inputs and desc["strides"]
        ]
        for name, desc in views:
            axes = zip(np.indices(desc["shape"]), desc["strides"], strict=True)
            places = desc["offset"] + sum(index * stride for index, stride in axes)
            held, between = (
                case.storage[name].astype(np.complex128),
                np.ones(case.storage[name].size, dtype=bool),
            )
            between[places] = False
            assert np.array_equal(
                held[places], case.inputs[name].astype(np.complex128), equal_nan=True
            ), (case.id, name)
            assert (held[between] == storage.GAP).all(), (case.id, name)
            apart += bool(between.any())
    assert apart > 40


@pytest.mark.parametrize("name", ["convolution_backward.ascend910b", "group_norm_backward"])
def test_goldens_agree_with_torch(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from tests.golden.torch_reference import reference

    engine.write(suite(name, "smoke"), tmp_path / "suite.h5", {"seed": 0})
    compared = 0
    with opgen.open(tmp_path / "suite.h5") as bundle:
        for case in bundle:
            plain = case.inputs and case.compute in (
                "FLOAT",
                next(iter(case.call["args"].values()))["dtype"],
            )
            if (
                not plain
                or case.recipe in ("nonfinite", "overflow")
                or case.expect.bucket != "valid"
            ):
                continue
            for output, wanted in reference(torch, case).items():
                golden = case.golden[output].astype(np.float64)
                over = np.isinf(golden)
                if over.any():
                    assert case.call["args"][output]["dtype"] == "FLOAT16", case.id
                    assert (np.abs(wanted[over]) > np.finfo(np.float16).max).all(), case.id
                # a sum that cancels is 0, or what torch's rounding leaves of it
                bound = case.bound[output]
                scale = np.append(np.abs(wanted), bound[np.isfinite(bound)]).max(initial=0)
                error = np.abs(golden[~over] - wanted[~over]).max(initial=0)
                assert error <= 1e-6 * scale, (case.id, output)
                compared += 1
    assert compared > 5


def test_recipes_of_the_plans_are_known() -> None:
    for name in PAGES:
        assert {case.recipe for case in suite(name).cases} <= {"", *RECIPES}
