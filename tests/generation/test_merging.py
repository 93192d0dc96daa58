"""Parts joined are the bytes of the whole; what does not fit together is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import opgen
from opgen.bundle.format.dtypes import BundleError
from opgen.generation import engine, merging
from opgen.generation.header import header
from opgen.generation.merging import merge
from opgen.suite.selection import Request
from tests.support.suites import OF_EACH_KIND, SLOW

SOME: dict[str, object] = {} if SLOW else {"operators": sorted(OF_EACH_KIND)[::4]}
"""Whose cases are shared out: some operators, and all where the tests take their time."""

PADDED = {"shape": [1, 2, 5, 5], "dtype": "FLOAT", "format": "ND"}
IMAGE = {**PADDED, "shape": [1, 2, 3, 3]}
CALL = {
    "op": "aclnnReflectionPad2dBackward",
    "product": "ascend910b",
    "args": {"gradOutput": PADDED, "self": IMAGE, "padding": [1, 1, 1, 1], "gradInput": IMAGE},
}


def write(path: Path, seed: int = 0, **asked: object) -> Path:
    request = Request(**{"plan": "smoke", **asked})  # type: ignore[arg-type]
    suite = request.suite()
    engine.write(suite, path, header(request, suite, seed), seed=seed)
    return path


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("parts")
    return [write(folder / f"{i}.h5", shard=f"{i}/3", **SOME) for i in (1, 2, 3)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write(tmp_path_factory.mktemp("whole") / "whole.h5", **SOME).read_bytes()


def test_what_generate_left_unfinished_is_not_replaced(
    parts: list[Path], whole: bytes, tmp_path: Path
) -> None:
    left = tmp_path / "joined.h5.partial"
    left.write_bytes(b"opgen bundle 9\nrequest of somebody\n")
    with pytest.raises(
        BundleError,
        match=(
            r"joined.h5.partial: holds an unfinished bundle, which opgen generate"
            r" --resume continues from"
        ),
    ):
        merge(parts, tmp_path / "joined.h5")
    assert left.read_bytes() == b"opgen bundle 9\nrequest of somebody\n"
    merge(parts, tmp_path / "joined.h5", force=True)
    assert (tmp_path / "joined.h5").read_bytes() == whole and not left.exists()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_all_parts_in_any_order_are_the_whole(
    parts: list[Path], whole: bytes, tmp_path: Path, order: tuple[int, ...]
) -> None:
    told: list[int] = []
    digest = merge([parts[i] for i in order], tmp_path / "joined.h5", progress=told.append)
    assert (tmp_path / "joined.h5").read_bytes() == whole
    with opgen.open(tmp_path / "joined.h5") as bundle:
        assert (bundle.digest, len(bundle)) == (digest, sum(told))


def test_one_part_of_one_is_the_whole(whole: bytes, tmp_path: Path) -> None:
    merge([write(tmp_path / "all.h5", shard="1/1", **SOME)], tmp_path / "joined.h5")
    assert (tmp_path / "joined.h5").read_bytes() == whole


def test_a_part_per_case(tmp_path: Path) -> None:
    asked = {"operators": ["reflection_pad2d_backward"], "patterns": ["*.310p.handwritten.*"]}
    expected = write(tmp_path / "whole.h5", **asked).read_bytes()
    count = len(opgen.open(tmp_path / "whole.h5"))
    some = [write(tmp_path / f"{i}.h5", shard=f"{i}/{count}", **asked) for i in range(1, count + 1)]
    merge(some, tmp_path / "joined.h5")
    assert (tmp_path / "joined.h5").read_bytes() == expected


def test_what_is_missing_is_named(parts: list[Path], tmp_path: Path) -> None:
    refused(parts[:2], tmp_path, "part 3/3 is missing")
    refused(parts[2:], tmp_path, "parts 1/3, 2/3 are missing")


def test_a_part_twice(parts: list[Path], tmp_path: Path) -> None:
    refused([*parts, parts[1]], tmp_path, "2.h5: is part 2/3, and so is .*2.h5")


def test_a_part_of_another_seed(parts: list[Path], tmp_path: Path) -> None:
    other = write(tmp_path / "other.h5", 7, shard="3/3", **SOME)
    refused(
        [*parts[:2], other],
        tmp_path,
        "other.h5: comes from another request than .*1.h5: seed 7 and 0",
    )


def test_a_part_of_another_plan(parts: list[Path], tmp_path: Path) -> None:
    other = write(tmp_path / "other.h5", shard="3/3", operators=["reflection_pad2d_backward"])
    refused([*parts[:2], other], tmp_path, "other.h5: comes from another request")


def test_a_part_of_another_split(parts: list[Path], tmp_path: Path) -> None:
    refused(
        [*parts[:2], write(tmp_path / "other.h5", shard="3/4", **SOME)],
        tmp_path,
        "other.h5: is part 3/4, and .*1.h5 is part 1/3",
    )


def test_other_cases_of_the_same_plan(parts: list[Path], tmp_path: Path) -> None:
    other = write(tmp_path / "other.h5", shard="3/3", patterns=["*.invalid.*"], **SOME)
    refused(
        [*parts[:2], other],
        tmp_path,
        r"other.h5: comes from another request than .*1.h5: chosen \['\*.invalid.\*'\] and",
    )


@pytest.mark.parametrize(("calls", "count"), [(1, 2), (3, 5)])
def test_more_parts_than_calls(tmp_path: Path, calls: int, count: int) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps({"id": f"n{at}", **CALL}) + "\n" for at in range(calls)))
    whole, *some = (
        write(tmp_path / f"{i}.h5", shard=i and f"{i}/{count}", calls=str(path))
        for i in ("", *range(1, count + 1))
    )
    merge(some[::-1], tmp_path / "joined.h5")
    assert (tmp_path / "joined.h5").read_bytes() == whole.read_bytes()


def test_parts_of_calls_with_a_recipe(tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    calls.write_text("".join(json.dumps({"id": f"n{at}", **CALL}) + "\n" for at in range(3)))
    one, two, whole = (
        write(tmp_path / f"{i}.h5", shard=i and f"{i}/2", calls=str(calls), recipe="integers")
        for i in (1, 2, "")
    )
    merge([one, two], tmp_path / "all.h5")
    assert (tmp_path / "all.h5").read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("way", ["calls", "seed_calls"])
def test_parts_of_calls(tmp_path: Path, way: str) -> None:
    calls, asked = (
        tmp_path / "calls.jsonl",
        {} if way == "calls" else {"operators": [CALL["op"]], "products": ["ascend910b"]},
    )
    lines = [json.dumps({"id": f"n{at}", **CALL}) + "\n" for at in range(5)]
    calls.write_text("".join(lines))
    one, two, whole = (
        write(tmp_path / f"{i}.h5", shard=i and f"{i}/2", **{way: str(calls)}, **asked)
        for i in (1, 2, "")
    )
    merge([one, two], tmp_path / "all.h5")
    assert (tmp_path / "all.h5").read_bytes() == whole.read_bytes()
    calls.write_text("".join(line.replace('"n1"', '"m1"') for line in lines))
    other = write(tmp_path / "other.h5", shard="2/2", **{way: str(calls)}, **asked)
    refused([one, other], tmp_path, "other.h5: comes from another request than .*1.h5: given")


def test_a_part_of_another_size(parts: list[Path]) -> None:
    found = [merging._part(path) for path in parts]
    with pytest.raises(BundleError, match="2.h5 has 2, .* cases: no suite has such parts"):
        merging.fitting([found[0], replace(found[1], cases=2), found[2]])


def test_a_whole_suite_is_no_part(tmp_path: Path) -> None:
    asked = {"operators": ["reflection_pad2d_backward"]}
    refused(
        [write(tmp_path / "whole.h5", **asked)],
        tmp_path,
        "whole.h5: is not a part of a suite; opgen generate --shard",
    )


def test_a_damaged_part_ends_it(parts: list[Path], tmp_path: Path) -> None:
    content = bytearray(parts[0].read_bytes())
    with opgen.open(parts[0]) as bundle:
        start = min(first for _, first, size in bundle.blobs.values() if size)
    content[start] ^= 1
    (tmp_path / "torn.h5").write_bytes(content)
    refused([tmp_path / "torn.h5", *parts[1:]], tmp_path, "torn.h5: damaged")


def refused(some: list[Path], folder: Path, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        merge(some, folder / "joined.h5")
    assert not list(folder.glob("joined.h5*"))
