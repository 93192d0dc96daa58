"""Results files joined are the file that one device would have written; what does not belong
together is refused.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.read.reader import Bundle
from opgen.bundle.read.unpack import unpack
from opgen.bundle.results.joining import join
from opgen.bundle.results.reader import ResultsFile
from opgen.bundle.write.output import partial
from opgen.cli import main
from tests.bundle.test_ledger import begun
from tests.bundle.test_results import answers, bundle
from tests.bundle.test_verify import cell, resign
from tests.support.bundle_sample import sample

__all__ = ["bundle"]
HEADER = {
    "device": "npu:0",
    "backend": "mine",
    "environment": {"b": 1, "a": 2},
    "drivers": ["x", "y"],
}


def write(path: Path, bundle: Bundle, names: list[str], **header: Any) -> Path:
    found = answers(bundle)
    with opgen.Results.create(path, bundle, header={**HEADER, **header}) as results:
        for name in names:
            results.add(name, **found[name])
    return path


@pytest.fixture
def shares(bundle: Bundle, tmp_path: Path) -> list[Path]:
    names = list(answers(bundle))
    return [write(tmp_path / f"{at}.h5", bundle, names[at::3]) for at in range(3)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_joined_in_any_order_they_are_the_whole(
    bundle: Bundle, tmp_path: Path, shares: list[Path], order: tuple[int, ...]
) -> None:
    told: list[int] = []
    expected = write(tmp_path / "whole.h5", bundle, list(answers(bundle)))
    digest = join([shares[at] for at in order], tmp_path / "joined.h5", progress=told.append)
    assert (tmp_path / "joined.h5").read_bytes() == expected.read_bytes()
    with ResultsFile(expected) as file:
        assert file.digest == digest and len(file) == sum(told)


def test_what_only_one_file_says_of_the_device_stays(bundle: Bundle, tmp_path: Path) -> None:
    some = [
        write(tmp_path / "a.h5", bundle, ["one/given"], driver="1.2"),
        write(tmp_path / "b.h5", bundle, [], room=7),
    ]
    join(some, tmp_path / "joined.h5")
    with ResultsFile(tmp_path / "joined.h5") as file:
        assert {
            **HEADER,
            "driver": "1.2",
            "room": 7,
        }.items() <= file.header.items() and file.ids == ["one/given"]


def test_a_case_that_two_answer(bundle: Bundle, tmp_path: Path, shares: list[Path]) -> None:
    again = write(tmp_path / "again.h5", bundle, ["one/invalid"])
    refused([*shares, again], tmp_path, r"again.h5: answers 'one/invalid', and so does .*[012].h5$")
    refused(
        [shares[1], shares[1]], tmp_path, r"1.h5: answers 'one/BFLOAT16/1', and so does .*1.h5$"
    )


def test_an_answer_with_a_status_goes_before_one_without(bundle: Bundle, tmp_path: Path) -> None:
    paths = [tmp_path / "a.h5", tmp_path / "b.h5", tmp_path / "c.h5"]
    for path, status, error in zip(paths, (None, None, 7), ("first", "second", ""), strict=True):
        with opgen.Results.create(path, bundle) as results:
            results.add("one/given", status, error=error)
    for order, found in (([0, 1, 2], 7), ([2, 0, 1], 7), ([0, 2, 1], 7), ([0, 1], None)):
        join([paths[at] for at in order], tmp_path / "joined.h5", force=True)
        with ResultsFile(tmp_path / "joined.h5") as file:
            assert [one.status for one in file] == [found]
    refused(
        [paths[2], paths[0], paths[2]],
        tmp_path / "none",
        "c.h5: answers 'one/given', and so does .*c.h5$",
    )


def test_files_that_contradict_each_other(
    bundle: Bundle, tmp_path: Path, shares: list[Path]
) -> None:
    other = write(tmp_path / "other.h5", bundle, [], device="npu:1")
    message = (
        "other.h5: cannot be joined with .*0.h5: device 'npu:0' and 'npu:1' differ; judge each"
        " by itself$"
    )
    refused([*shares, other], tmp_path, message)


@pytest.mark.parametrize("first", [True, False])
def test_results_of_nobody_are_not_those_of_a_device(
    bundle: Bundle, tmp_path: Path, shares: list[Path], first: bool
) -> None:
    with opgen.Results.create(tmp_path / "nameless.h5", bundle):
        pass
    files = [tmp_path / "nameless.h5", *shares]
    message = "nameless.h5: names no device: cannot be joined with .*; judge each by itself$"
    refused(files if first else files[::-1], tmp_path, message)
    join(files[:1], tmp_path / "joined.h5")


def test_a_fact_that_is_no_number_contradicts_nothing(bundle: Bundle, tmp_path: Path) -> None:
    said = {"volts": np.nan, "room": {"b": [np.nan], "a": 1}}
    paths = [
        write(tmp_path / "a.h5", bundle, ["one/given"], **said),
        write(tmp_path / "b.h5", bundle, ["one/handwritten"], **said),
    ]
    join(paths, tmp_path / "joined.h5")
    with opgen.Results.create(
        tmp_path / "joined.h5", bundle, header={"volts": np.nan}, resume=True
    ) as results:
        assert len(results) == 2
    other = write(tmp_path / "other.h5", bundle, [], volts=5.0)
    refused([*paths, other], tmp_path / "none", "volts nan and 5.0 differ")


def test_results_of_another_bundle(bundle: Bundle, tmp_path: Path, shares: list[Path]) -> None:
    with opgen.open(sample(seed=1).write(tmp_path / "bundle.h5")) as another:
        other = write(tmp_path / "other.h5", another, [])
    refused(
        [*shares, other],
        tmp_path,
        "other.h5: results of another bundle than .*0.h5: cannot be joined",
    )


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("digest", bytes(16), "damaged: .*: gradInput does not match its digest"),
        ("position", 1 << 40, "unsound: a tensor lies outside the data of its dtype"),
        ("elements", 24, "unsound: a tensor has another number of elements"),
    ],
)
def test_a_damaged_file_ends_it(
    tmp_path: Path, shares: list[Path], column: str, value: object, message: str
) -> None:
    with h5py.File(shares[0], "r+") as file:
        cell("tensors", column, value)(file)
    resign(shares[0])
    refused(shares, tmp_path, f"0.h5: {message}")


def test_what_can_be_gone_on_from_is_not_dropped(
    bundle: Bundle, tmp_path: Path, shares: list[Path]
) -> None:
    out, descriptors = tmp_path / "joined.h5", len(os.listdir("/proc/self/fd"))
    left, before = begun(out, bundle, ["one/given", "one/handwritten"]), partial(out).read_bytes()
    held = (
        "joined.h5.partial: holds answers of an unfinished run, which opgen run --resume continues"
        " from; name another file, or --force"
    )
    for write_it in (
        lambda: join(shares, out),
        lambda: unpack(bundle, out),
        lambda: sample().write(out),
    ):
        with pytest.raises(BundleError, match=held):
            write_it()
        assert left.read_bytes() == before and not out.exists()
    left.write_bytes(b"opgen bundle 4\nrequest of somebody\n")
    create = opgen.Results.create
    for write_it in (
        lambda: join(shares, out),
        lambda: create(out, bundle),
        lambda: create(out, bundle, resume=True),
    ):
        with pytest.raises(
            BundleError,
            match=(
                "joined.h5.partial: holds an unfinished bundle, which opgen generate"
                " --resume continues from"
            ),
        ):
            write_it()
        assert left.read_bytes() == b"opgen bundle 4\nrequest of somebody\n" and not out.exists()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    join(shares, out, force=True)
    assert not left.exists()
    begun(tmp_path / "suite.h5", bundle, ["one/given"])
    sample().write(tmp_path / "suite.h5", force=True)
    assert not partial(tmp_path / "suite.h5").exists()


def refused(some: list[Path], folder: Path, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        join(some, folder / "joined.h5")
    assert not list(folder.glob("joined.h5*"))


def test_the_command(bundle: Bundle, tmp_path: Path, shares: list[Path]) -> None:
    def merge(*words: object) -> tuple[int, str]:
        told = CliRunner().invoke(main, ["merge", *map(str, words)], prog_name="opgen")
        return told.exit_code, told.stderr

    out = tmp_path / "joined.h5"
    code, said = merge(*shares, "-o", out)
    assert (
        code == 0
        and said.startswith(f"{out}: 3 parts, ")
        and len(opgen.Results.open(out)) == len(answers(bundle))
    )
    assert merge(*shares, "-o", out) == (2, f"{out}: exists already; --force replaces it\n")
    Path(shares[0]).unlink()
    assert merge(*shares[1:], "-o", out, "--force", "--quiet") == (0, "")
    assert merge(bundle.path, shares[1], "-o", tmp_path / "no.h5") == (
        2,
        f"{shares[1]}: is a results file, and {bundle.path} is a bundle; join files of one kind\n",
    )
