"""Values that a correct device may disagree on are not asked for: overflow in storage, Inf and NaN
beside padding and in differences.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from opgen.calls.call_json import make_call
from opgen.calls.jsonl import NamedCall
from opgen.generation import computing, engine
from opgen.generation.engine import compute, together
from opgen.golden import kernel
from opgen.golden._sampling import NEAREST
from opgen.golden.convolution_backward import places
from opgen.spec.catalog import catalog
from opgen.suite.batch import Batch
from opgen.suite.suite import Suite
from tests.support import device_sample as sample
from tests.support import suites
from tests.support.suites import of_calls

PADDED: list[dict[str, Any]] = [
    {},
    {"padding": [2, 0, 0, 1], "gradOutput": sample.tensor([2, 4, 5, 5], "FLOAT16", "NCHW")},
    {"stride": [2, 3], "gradOutput": sample.tensor([2, 4, 3, 2], "FLOAT16", "NCHW")},
    {"dilation": [2, 1], "gradOutput": sample.tensor([2, 4, 3, 6], "FLOAT16", "NCHW")},
]


def batch_of(call: dict[str, Any], recipe: str, count: int = 8) -> Batch:
    kinds = catalog().kinds
    named = [
        NamedCall(f"c{i}", make_call(call["op"], call["product"], call["args"], kinds), {})
        for i in range(count)
    ]
    suite = of_calls(named)
    assert len(suite.batches) == 1
    return replace(suite.batches[0], recipe=recipe)


@pytest.mark.parametrize("changes", PADDED)
@pytest.mark.parametrize("recipe", ["nonfinite", "overflow"])
def test_padding_is_never_multiplied_by_inf(changes, recipe):
    """The golden of an input with its padding inside: zeros that are multiplied make the same
    numbers.
    """
    batch = batch_of(sample.convolution(**changes), recipe)
    arrays = compute(batch, 0)
    names = dict(batch.names)
    sides = [names[name] for name in ("padTop", "padBottom", "padLeft", "padRight")]
    tensors = {
        name: arrays[name, "input"].astype(np.float64).reshape(-1, *batch.tensors[name].shape)
        for name in batch.inputs
    }
    assert not np.isfinite(tensors["gradOutput"]).all()
    tensors["input"] = np.pad(
        tensors["input"], ((0, 0), (0, 0), (0, 0), (sides[0], sides[1]), (sides[2], sides[3]))
    )
    names.update(padTop=0, padBottom=0, padLeft=0, padRight=0)
    with np.errstate(invalid="ignore"):
        expected = kernel(batch.op).golden(tensors, names, ("gradWeight",))["gradWeight"]
    golden = arrays["gradWeight", "golden"]
    assert np.array_equal(np.isfinite(expected), np.isfinite(golden))
    assert np.allclose(expected, golden, equal_nan=True)


def test_places_of_foreign_values_by_brute_force() -> None:
    batch = batch_of(
        sample.convolution(
            padding=[2, 0, 0, 1], gradOutput=sample.tensor([2, 4, 5, 5], "FLOAT16", "NCHW")
        ),
        "nonfinite",
        1,
    )
    shapes = {name: desc.shape for name, desc in batch.tensors.items()}
    found = set(places(batch.names, shapes, batch.wanted, True).tolist())
    flat = np.arange(2 * 4 * 5 * 5).reshape(2, 4, 5, 5)
    expected = {
        int(flat[n, c, i, j])
        for n in range(2)
        for c in range(4)
        for i in range(5)
        for j in range(5)
        if i - 2 >= 0 and j + 2 < 6
    }
    assert found == expected
    assert found < set(places(batch.names, shapes, ["gradInput"], True).tolist())
    assert len(places(batch.names, shapes, ["gradBias"], True)) == flat.size


GAPS: list[tuple[dict[str, int], tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    (
        {"transposed": 0, "padding": 2, "stride": 1, "dilation": 2},
        (2, 3, 3),
        (2, 4, 1),
        (3, 4, 2),
    ),  # elements between taps
    (
        {"transposed": 0, "padding": 2, "stride": 2, "dilation": 1},
        (2, 3, 3),
        (2, 4, 2),
        (3, 4, 2),
    ),  # windows of padding alone
    (
        {"transposed": 1, "padding": 1, "stride": 3, "dilation": 1},
        (2, 3, 11),
        (2, 4, 4),
        (4, 3, 2),
    ),  # elements between windows
    ({"transposed": 1, "padding": 0, "stride": 2, "dilation": 2}, (2, 3, 10), (2, 4, 3), (4, 3, 3)),
]


@pytest.mark.parametrize(
    "wanted",
    [("gradInput",), ("gradWeight", "gradInput"), ("gradBias",), ("gradBias", "gradWeight")],
)
@pytest.mark.parametrize(("call", "upstream", "source", "weight"), GAPS)
def test_places_are_those_on_which_every_wanted_output_depends(
    call, upstream, source, weight, wanted
) -> None:
    names = {
        "transposed": call["transposed"],
        "groups": 1,
        "sW": call["stride"],
        "dW": call["dilation"],
        "padLeft": call["padding"],
    }
    each = np.eye(int(np.prod(upstream))).reshape(-1, *upstream)
    ones = [np.ones((len(each), *shape)) for shape in (source, weight)]
    found = kernel("convolution_backward").golden(
        {"gradOutput": each, "input": ones[0], "weight": ones[1]}, names, wanted
    )
    reached = np.logical_and.reduce(
        [found[name].reshape(len(each), -1).any(axis=1) for name in wanted]
    )
    shapes = {"gradOutput": upstream, "input": source, "weight": weight}
    assert places(names, shapes, wanted, False).tolist() == np.flatnonzero(reached).tolist()
    assert reached.any() and reached.all() == (wanted == ("gradBias",))


def is_flat(batch: Batch, output: str) -> bool:
    """Whether an output is zero whatever the gradient: no element is nearer if a place moves, and
    none is off the mean that it has for itself, and expanded inputs may not have it.
    """
    nearest = output == "gridGrad" and batch.names["interpolationMode"] == NEAREST
    return nearest or suites.sharing_a_mean(batch) == 1 or suites.expanded(batch)


@pytest.mark.parametrize("name", suites.PAGES)
def test_every_one_hot_is_seen_in_every_output(name: str) -> None:
    """They show indices, so every operator has them but those whose kernel is a formula of a
    function's arguments or a derivative from its result, which may be 0 where the 1 stands. An
    index may leave the 1 out, in fewer than half of the cases.
    """
    batches = [
        batch for batch in suites.suite(name, "standard").batches if batch.recipe == "one_hot"
    ]
    of_a_function = {"formula", "derivative"} & vars(kernel(suites.page(name).op)).keys()
    assert of_a_function or len(batches) >= 3
    lost: list[tuple[str, str]] = []
    cases = 0
    for some in together(batches):
        for batch, arrays in zip(some, computing.compute(some, 0), strict=True):
            for out in batch.wanted:
                if not arrays[out, "golden"].size or is_flat(batch, out):
                    continue  # nothing is seen
                seen = arrays[out, "golden"].reshape(len(batch.ids), -1).any(axis=1)
                lost += [
                    (name, out) for name, found in zip(batch.ids, seen, strict=True) if not found
                ]
                cases += len(seen)
    chooses = any("index" in batch.roles.values() or "target" in batch.roles for batch in batches)
    assert len(lost) <= (cases - 1) // 2 * chooses, lost


def test_what_storage_cannot_hold_is_read_back_as_inf():
    arrays = compute(batch_of(sample.pool("FLOAT16"), "overflow"), 0)
    assert np.isinf(arrays["gradOutput", "input"]).any()
    assert np.isinf(arrays["gradInput", "golden"]).any()
    assert not (
        np.isfinite(arrays["gradInput", "golden"]) & (np.abs(arrays["gradInput", "golden"]) > 1e4)
    ).any()


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_differences_of_sums_may_be_inf_or_nan_where_an_inf_comes_in_and_are_nan_where_a_nan_does(
    value: float,
) -> None:
    batch = batch_of(sample.norm(), "grid")
    size = batch.tensors["gradOut"].storage_elements
    arrays = compute(replace(batch, given={"gradOut": [value] + [1.0] * (size - 1)}), 0)
    for name in ("gradInput", "gradGammaOut"):
        golden, bound = arrays[name, "golden"], arrays[name, "bound"]
        lost = ~np.isfinite(golden)
        assert lost.any() and np.isnan(golden[lost]).all() == np.isnan(value)
        assert (bound[lost] == (0 if np.isnan(value) else np.inf)).all()
        assert np.isfinite(bound[~lost]).all()
    arrays = compute(batch_of(sample.norm(), "nonfinite"), 0)
    beta = arrays["gradBetaOut", "golden"]
    assert (arrays["gradBetaOut", "bound"][~np.isfinite(beta)] == 0).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_what_certainly_overflows_keeps_its_sign(sign: int) -> None:
    """Windows of 2 by 2 that overlap: only the corners get a single gradient."""
    batch = batch_of(
        sample.pool(
            "FLOAT16",
            stride=[1, 1],
            divisorOverride=1,
            gradOutput=sample.tensor([2, 3, 5, 5], "FLOAT16", "NCHW"),
        ),
        "grid",
        1,
    )
    arrays = compute(replace(batch, given={"gradOutput": [sign * 65024.0] * 150}), 0)
    golden, limit = arrays["gradInput", "golden"][0], arrays["gradInput", "bound"][0]
    expected = np.full((2, 3, 6, 6), sign * np.inf)
    expected[..., ::5, ::5] = sign * 65024.0
    assert np.array_equal(golden, expected) and not limit[np.isinf(golden)].any()


def test_differences_of_sums_that_certainly_overflow_may_be_anything() -> None:
    batch = batch_of(sample.norm("FLOAT16"), "grid", 1)
    sizes, draw = (
        {name: batch.tensors[name].storage_elements for name in ("gradOut", "rstd")},
        np.random.default_rng(0),
    )
    arrays = compute(
        replace(
            batch,
            given={
                "gradOut": draw.uniform(3e4, 6e4, sizes["gradOut"]),
                "rstd": [1e3] * sizes["rstd"],
            },
        ),
        0,
    )
    for name, limit in (("gradInput", np.inf), ("gradGammaOut", np.inf), ("gradBetaOut", 0)):
        lost = np.isinf(arrays[name, "golden"])
        assert lost.any() and (arrays[name, "bound"][lost] == limit).all(), name


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_chunks_are_neighbours_of_a_bounded_size(workers: int, small_suite: Suite) -> None:
    for most in (1, 1 << 12, 1 << 30):
        chunks = list(together(small_suite.batches, workers, most, 1 << 10))
        assert [batch for chunk in chunks for batch in chunk] == list(small_suite.batches) and all(
            chunks
        )
        held = [
            [len(batch.ids) * (batch.elements + engine.BESIDE) for batch in chunk]
            for chunk in chunks
        ]
        sizes = list(map(sum, held))
        assert all(
            size <= most or len(chunk) == 1 for size, chunk in zip(sizes, chunks, strict=True)
        )
        assert workers > 1 or all(
            one + other[0] > most
            for (one, _), (_, other) in pairwise(zip(sizes, held, strict=True))
        )
        if most == 1 << 30:
            assert (
                len(chunks) == 1
                if workers == 1
                else len(chunks) > engine.SHARE * workers and sizes[-1] < sizes[0] / 4
            )


def of_size(size: int) -> Batch:
    plain = batch_of(sample.pad(), "grid", 1)
    return replace(plain, elements=size - engine.BESIDE)


@pytest.mark.parametrize(
    ("workers", "most", "lengths"),
    [
        (1, 60_000, [60]),
        (1, 59_999, [59, 1]),
        (1, 25_000, [25, 25, 10]),
        (1, 999, [1] * 60),
        (2, 60_000, [10, 8, 7, 5, 5, 4, 3, 3, *[2] * 7, 1]),
        (2, 6_500, [6, 6, 6, 6, 6, 5, 4, 3, 3, *[2] * 7, 1]),
        (10, 60_000, [2] * 30),
        (2, 1_500, [1] * 60),
    ],
)
def test_a_worker_takes_a_third_of_its_share_of_what_is_left(
    workers: int, most: int, lengths: list[int]
) -> None:
    assert list(map(len, together([of_size(1_000)] * 60, workers, most, 2_000))) == lengths


def test_a_batch_that_is_larger_than_a_chunk_counts_as_one() -> None:
    batches = [*[of_size(1_000)] * 24, of_size(10**9), *[of_size(1_000)] * 24]
    lengths = list(map(len, together(batches, 2, 12_000, 2_000)))
    assert lengths == [10, 8, 6, 1, 4, 3, *[2] * 8, 1]


def test_what_a_view_holds_counts_and_so_does_a_case_of_nothing() -> None:
    far = sample.pad(
        gradOutput={
            **sample.tensor([2, 3, 7, 8]),
            "strides": [168, 56, 8, 1],
            "storage_shape": [5_000],
        }
    )
    plain, viewed = batch_of(sample.pad(), "grid"), batch_of(far, "grid")
    assert viewed.elements == plain.elements - 2 * 3 * 7 * 8 + 5_000
    nothing = [replace(plain, elements=0, ids=plain.ids[:1], rows=plain.rows[:1])] * (
        2 * engine.TOGETHER // engine.BESIDE
    )
    assert len(list(together(nothing))) == 2
