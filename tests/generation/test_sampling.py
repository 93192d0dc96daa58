"""Goldens of some elements are those of whole outputs, and a device is judged by them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.bundle.read.opening import OpenedFile
from opgen.bundle.read.soundness import unsoundness
from opgen.bundle.read.verify import verify
from opgen.comparison import signed_sums
from opgen.comparison.alignment import goldens_of
from opgen.generation.merging import merge
from opgen.generation.sampling import TILES, _of_shape
from opgen.numerics.signs import signed_sums as signed_sums_of
from opgen.numerics.signs import signs

OPERATORS = ["avg_pool2d_backward", "convolution_backward", "upsample_bilinear2d_backward"]
MOST = 100


def generate(path: Path, **options: object) -> Path:
    asked = {"products": ["ascend910b"], "output": path, "workers": 1, **options}
    return opgen.generate(OPERATORS, **asked).path  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("whole") / "suite.h5")


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("sampled") / "suite.h5", golden=f"sampled:{MOST}")


def test_sampled_goldens_and_bounds_are_those_of_the_whole_outputs(
    whole: Path, sampled: Path
) -> None:
    seen = set()
    with opgen.open(whole) as one, opgen.open(sampled) as other:
        for case, some in zip(one, other, strict=True):
            assert {*case.golden} == {*some.golden}
            for name, golden in case.golden.items():
                bound, places = case.bound[name], some.places.get(name)
                assert (places is not None) == (
                    golden.size > MOST and case.call["args"][name]["format"] != "NHWC"
                )
                if places is not None:
                    assert len({*places.tolist()}) == MOST and (np.diff(places) > 0).all()
                    assert {0, golden.size - 1} <= {*places.tolist()}
                    seen.add((case.op, case.recipe, name))
                at = slice(None) if places is None else places
                assert some.golden[name].reshape(-1).tobytes() == golden.reshape(-1)[at].tobytes()
                assert some.bound[name].reshape(-1).tobytes() == bound.reshape(-1)[at].tobytes()
    assert len(seen) > 15 and verify(sampled) == []


def test_each_axis_is_looked_at_where_faults_begin_and_end() -> None:
    shape, groups = (4, 96, 67, 300), 3
    places = np.unravel_index(_of_shape(shape, groups, 1024), shape)
    for axis, extent in enumerate(shape):
        looked = {*places[axis].tolist()}
        tiles = {end for tile in TILES for end in (tile - 1, tile) if end < extent}
        edges = {0, 31, 32, 63, 64, 95} if extent == 96 else set()
        assert looked >= {*range(min(16, extent)), extent - 1} | tiles | edges
    corners = {tuple(at) for at in np.stack(places, axis=1).tolist()}
    assert corners >= {(0, 0, 0, 0), (3, 95, 66, 299), (3, 0, 66, 0)}
    assert len(_of_shape((5, 7), 1, 20)) == 20


def test_a_right_device_passes_and_wrong_ones_fail_at_places_of_the_output(
    sampled: Path, tmp_path: Path
) -> None:
    results = tmp_path / "r.h5"
    opgen.run(sampled, "mutant:nothing", results)
    report = opgen.diff(sampled, results)
    assert report.totals.keys() <= {"passed", "inconclusive"}
    (note,) = [note for note in report.notes if "were looked at" in note]
    outputs, seen, every = map(int, re.findall(r"\d+", note))
    assert seen == outputs * MOST and every > 2 * seen
    opgen.run(sampled, "mutant:channel_block_lost", results, force=True)
    report = opgen.diff(sampled, results)
    failed = [verdict for verdict in report if verdict.verdict == "failed"]
    told = [verdict.detail for verdict in failed if f"of {MOST} elements beyond" in verdict.detail]
    assert told and all("16" in detail.partition("worst at ")[2] for detail in told)


CALL = {
    "op": "aclnnConvolutionBackward",
    "product": "ascend910b",
    "args": {
        "gradOutput": {"shape": [2, 24, 30, 28], "dtype": "FLOAT", "format": "NCHW"},
        "input": {"shape": [2, 16, 30, 28], "dtype": "FLOAT", "format": "NCHW"},
        "weight": {"shape": [24, 16, 3, 3], "dtype": "FLOAT", "format": "NCHW"},
        "biasSizes": [24],
        "stride": [1, 1],
        "padding": [1, 1],
        "dilation": [1, 1],
        "transposed": False,
        "outputPadding": [0, 0],
        "groups": 1,
        "outputMask": [True, True, True],
        "cubeMathType": 0,
        "gradInput": {"shape": [2, 16, 30, 28], "dtype": "FLOAT", "format": "NCHW"},
        "gradWeight": {"shape": [24, 16, 3, 3], "dtype": "FLOAT", "format": "NCHW"},
        "gradBias": {"shape": [24], "dtype": "FLOAT", "format": "ND"},
    },
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One call, in integers whose sums a device has exactly, and in halves, which round."""
    folder = tmp_path_factory.mktemp("large")
    halves = json.loads(json.dumps(CALL).replace('"FLOAT"', '"FLOAT16"'))
    lines = [json.dumps({"id": name, **call}) for name, call in (("a", CALL), ("b", halves))]
    (folder / "calls.jsonl").write_text("\n".join(lines), encoding="utf-8")
    opgen.generate(
        calls=folder / "calls.jsonl",
        recipe="integers",
        output=folder / "large.h5",
        golden="sampled:64",
        workers=1,
    )
    opgen.generate(
        calls=folder / "calls.jsonl",
        recipe="integers",
        output=folder / "whole.h5",
        workers=1,
    )
    return folder


def answers(folder: Path, spoil: Callable[[np.ndarray, np.ndarray], None]) -> Path:
    """What a device returns that is right but for what ``spoil`` does to each gradInput, given
    places that no golden is known of.
    """
    path = folder / "answers.h5"
    with (
        opgen.open(folder / "large.h5") as bundle,
        opgen.open(folder / "whole.h5") as whole,
        opgen.Results.create(path, bundle, force=True) as results,
    ):
        for case in bundle:
            outputs = {}
            for name, golden in whole[case.id].golden.items():
                dtype = case.call["args"][name]["dtype"]
                outputs[name] = golden.astype({"FLOAT": "f4", "FLOAT16": "f2"}[dtype])
            flat = outputs["gradInput"].reshape(-1)
            spoil(flat, np.setdiff1d(np.arange(flat.size), case.places["gradInput"]))
            results.add(case.id, 0, outputs)
    return path


def test_a_right_device_has_the_signed_sums(large: Path) -> None:
    report = opgen.diff(large / "large.h5", answers(large, lambda flat, others: None))
    assert report.totals == {"passed": 2}
    (note,) = [note for note in report.notes if "signed sums" in note]
    assert note.startswith("signed sums show any single wrong element in 2 of them")
    with opgen.open(large / "large.h5") as bundle:
        goldens = goldens_of(bundle)
        bounds = {
            (bundle.ids[goldens.case[i]], bundle.names[goldens.name[i]]): bound.max()
            for i in np.flatnonzero(goldens.sums >= 0).tolist()
            for _, bound in [signed_sums.expected(bundle, goldens, i)]
        }
    assert bounds["a", "gradInput"] == bounds["a", "gradWeight"] == 0 < bounds["b", "gradInput"]


def one(draw: np.random.Generator, flat: np.ndarray, others: np.ndarray) -> None:
    flat[draw.choice(others)] += 1


def two_that_cancel(draw: np.random.Generator, flat: np.ndarray, others: np.ndarray) -> None:
    first, second = draw.choice(others, 2, replace=False)
    flat[first] += 1
    flat[second] -= 1


def a_row(draw: np.random.Generator, flat: np.ndarray, others: np.ndarray) -> None:
    start = int(draw.integers(flat.size // 28)) * 28
    flat[start : start + 28] = 0


SPOIL = (one, two_that_cancel, a_row)


@pytest.mark.parametrize("spoil", SPOIL)
def test_a_wrong_element_that_nobody_looked_at_fails(large: Path, spoil: Callable) -> None:
    path = answers(large, partial(spoil, np.random.default_rng(1)))
    exact = next(verdict for verdict in opgen.diff(large / "large.h5", path) if verdict.case == "a")
    assert exact.verdict == "failed"
    assert "signed sums over all elements are wrong" in exact.detail or spoil is a_row


def test_no_wrong_element_leaves_all_sums_as_they_are(large: Path) -> None:
    with opgen.open(large / "large.h5") as bundle, opgen.open(large / "whole.h5") as whole:
        right, goldens = whole["a"].golden["gradInput"], goldens_of(bundle)
        sums, _ = signed_sums.expected(bundle, goldens, 0)
    weights, every = signs(right.shape), np.arange(right.size)
    assert np.array_equal(signed_sums_of(right, weights), sums)
    for spoil in SPOIL:
        for attempt in range(20):
            wrong = right.copy()
            spoil(np.random.default_rng(attempt), wrong.reshape(-1), every)
            assert (signed_sums_of(wrong, weights) != sums).any(), (spoil, attempt)


def test_parts_join_to_the_bytes_of_the_whole(sampled: Path, tmp_path: Path) -> None:
    parts = [
        generate(tmp_path / f"{i}.h5", golden=f"sampled:{MOST}", shard=f"{i}/2") for i in (1, 2)
    ]
    merge(parts, tmp_path / "joined.h5")
    assert (tmp_path / "joined.h5").read_bytes() == sampled.read_bytes()


@pytest.mark.parametrize(
    ("role", "column", "text"),
    [
        (4, "dtype", "places are not INT64"),
        (4, "name", "places belong to no golden of as many elements"),
        (4, "role", "a golden belongs to no output of its shape"),
        (5, "dtype", "sums are not pairs of DOUBLE"),
        (5, "name", "sums belong to no output with places"),
    ],
)
def test_places_that_belong_to_nothing_are_unsound(
    sampled: Path, role: int, column: str, text: str
) -> None:
    file = OpenedFile(sampled, "bundle")
    file.close()
    tensors = file.tables["tensors"]
    row = int(np.flatnonzero(tensors["role"] == role)[0])
    case = tensors["case"] == tensors["case"][row]
    others = {*tensors["name"][case & (tensors["role"] < 2)].tolist()} - {tensors["name"][row]}
    value = {"dtype": 0, "name": min(others), "role": 3}[column]
    tensors[column][row] = value
    assert unsoundness(file) in (text, "a case has the same tensor twice")


@pytest.mark.parametrize("golden", ["some", "sampled:", "sampled:0", "sampled:x", "whole:3"])
def test_other_words_are_refused(golden: str, tmp_path: Path) -> None:
    with pytest.raises(opgen.FileError, match="expects whole, sampled or sampled:N"):
        generate(tmp_path / "a.h5", golden=golden)
