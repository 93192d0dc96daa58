"""Inputs that a bundle does not hold are drawn again to the same bits, also where a bundle was
joined or continued.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.tensorrow import DRAWN
from opgen.bundle.read.opening import OpenedFile
from opgen.bundle.read.soundness import unsoundness
from opgen.bundle.read.verify import verify
from opgen.generation import engine
from opgen.generation.header import header
from opgen.generation.merging import merge
from opgen.suite.selection import Request

OPERATORS = ["avg_pool2d_backward", "group_norm_backward", "sigmoid_backward"]
OPERATORS += ["max_pool2d_with_indices_backward", "adaptive_max_pool2d_backward"]


def generate(path: Path, **options: object) -> Path:
    return opgen.generate(OPERATORS, **{"output": path, "workers": 1, **options}).path  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("stored") / "suite.h5")


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("seeded") / "suite.h5", inputs="seeded")


def test_every_way_to_read_gives_the_bits_of_a_bundle_that_holds_them(
    stored: Path, seeded: Path
) -> None:
    with opgen.open(stored) as whole, opgen.open(seeded) as bundle:
        drawn = bundle.tables["tensors"]["position"] == DRAWN
        maxima = bundle.tables["maxima"]
        assert len(maxima) > 9 and len({*maxima["rows"].tolist()}) > 5
        assert drawn[maxima["tensor"]].all()
        assert drawn.sum() > 200 and {*bundle.tables["tensors"]["dtype"][drawn]} >= {0, 1, 16, 27}
        assert (whole.tables["tensors"]["digest"] == bundle.tables["tensors"]["digest"]).all()
        for one, other in zip(whole, bundle, strict=True):
            for name in (*one.inputs, *other.inputs):
                assert one.storage[name].tobytes() == other.storage[name].tobytes()
                assert one.inputs[name].shape == other.inputs[name].shape
        stacked = {
            (row, *key): array[i].tobytes()
            for stack in bundle.batches()
            for key, array in stack.arrays.items()
            for i, row in enumerate(stack.rows)
        }
        for stack in whole.batches():
            for key, array in stack.arrays.items():
                for i, row in enumerate(stack.rows):
                    assert stacked.pop((row, *key)) == array[i].tobytes()
        assert not stacked
    assert verify(seeded) == []
    assert seeded.stat().st_size < stored.stat().st_size


def test_other_data_are_told(seeded: Path) -> None:
    with opgen.open(seeded) as bundle:
        row = int(bundle.tables["seeds"]["tensor"][0])
        case = bundle[int(bundle.tables["tensors"]["case"][row])]
        name = bundle.names[bundle.tables["tensors"]["name"][row]]
        bundle.tables["seeds"]["start"][0] ^= 1
        with pytest.raises(BundleError, match=f"damaged: .*{name} does not match its digest"):
            case.inputs[name]


def test_other_windows_are_told(seeded: Path) -> None:
    with opgen.open(seeded) as bundle:
        maxima, tensors = bundle.tables["maxima"], bundle.tables["tensors"]
        starts = bundle.tables["lists"]["start"][maxima["rows"]].astype(int)
        lengths = bundle.tables["lists"]["length"][maxima["rows"]].astype(int)
        integers = bundle.tables["integers"]
        rows = [
            integers[start : start + length] for start, length in zip(starts, lengths, strict=True)
        ]
        first = next(i for i, places in enumerate(rows) if places.size and places.max() > 2)
        rows[first][:] = 0
        case = bundle[int(tensors["case"][maxima["tensor"][first]])]
        with pytest.raises(BundleError, match="damaged: .*indices does not match its digest"):
            case.inputs["indices"]


@pytest.mark.parametrize(
    ("table", "column", "value", "text"),
    [
        ("seeds", "tensor", 1, "the seeds are not those of the drawn tensors"),
        ("tensors", "position", DRAWN, "the seeds are not those of the drawn tensors"),
        ("seeds", "high", -(2**40), "a seed has no steps to draw from"),
        ("seeds", "high", 2**40, "a seed has no steps to draw from"),
        ("seeds", "exponent", 5000, "seeds: exponent cannot be 5000"),
        ("tensors", "role", 2, "a drawn tensor is not an input, or is a view"),
        ("tensors", "offset", 1, "a drawn tensor is not an input, or is a view"),
        ("tensors", "dtype", 3, "a drawn tensor has whole numbers"),
        ("maxima", "tensor", 1, "the seeds are not those of the drawn tensors"),
        ("maxima", "of", 1, "maxima are of another kind of tensor, or case"),
    ],
)
def test_seeds_that_draw_nothing_are_unsound(
    seeded: Path, table: str, column: str, value: int, text: str
) -> None:
    file = OpenedFile(seeded, "bundle")
    file.close()
    drawn = file.tables["tensors"]["position"] == DRAWN
    other = text.startswith("the") and table == "tensors"
    row = 0 if table in ("seeds", "maxima") else int(np.flatnonzero(~drawn if other else drawn)[0])
    file.tables[table][column][row] = value
    assert unsoundness(file) == text or "belongs to no output" in unsoundness(file)


@pytest.mark.parametrize(("column", "place"), [("rows", 999), ("columns", -2)])
def test_windows_that_leave_their_image_are_unsound(seeded: Path, column: str, place: int) -> None:
    file = OpenedFile(seeded, "bundle")
    file.close()
    start, length = file.tables["lists"][file.tables["maxima"][column][0]].tolist()
    assert length
    file.tables["integers"][start] = place
    assert unsoundness(file) == "windows of maxima leave their image"


def test_parts_and_workers_give_the_same_bytes(seeded: Path, tmp_path: Path) -> None:
    whole = seeded.read_bytes()
    assert generate(tmp_path / "two.h5", inputs="seeded", workers=2).read_bytes() == whole
    parts = [generate(tmp_path / f"{i}.h5", inputs="seeded", shard=f"{i}/2") for i in (1, 2)]
    merge(parts, tmp_path / "joined.h5")
    assert (tmp_path / "joined.h5").read_bytes() == whole


def test_an_unfinished_file_is_continued(tmp_path: Path) -> None:
    request = Request(operators=["avg_pool2d_backward"], plan="smoke")
    suite, path = request.suite(), tmp_path / "again.h5"
    done: list[int] = []

    def stops(cases: int) -> None:
        done.append(cases)
        if len(done) == 4:
            raise KeyboardInterrupt

    asked = {"seeded": True, "chunk": 1 << 12}
    said = header(request, suite, 0, True)
    engine.write(suite, tmp_path / "whole.h5", said, **asked)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        engine.write(suite, path, said, progress=stops, **asked)  # type: ignore[arg-type]
    kept: list[int] = []
    engine.write(suite, path, said, resume=True, progress=kept.append, **asked)  # type: ignore[arg-type]
    assert kept[0] > len(suite.cases) - sum(len(batch.ids) for batch in suite.batches)
    assert path.read_bytes() == (tmp_path / "whole.h5").read_bytes()


def test_a_device_is_run_and_judged_as_with_stored_inputs(
    stored: Path, seeded: Path, tmp_path: Path
) -> None:
    for device in ("mutant:nothing", "mutant:channel_block_lost"):
        totals = []
        for number, bundle in enumerate((stored, seeded)):
            results = tmp_path / f"{number}.h5"
            opgen.run(bundle, device, results, force=True)
            totals.append(opgen.diff(bundle, results).totals)
        assert totals[0] == totals[1] and totals[0]["passed"]


def test_another_word_is_refused(tmp_path: Path) -> None:
    with pytest.raises(opgen.FileError, match="`inputs`: none: expects one of stored, seeded"):
        generate(tmp_path / "a.h5", inputs="none")
