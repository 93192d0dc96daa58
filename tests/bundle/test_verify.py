"""Damage: nothing that is not exactly what was written is ever read as good."""

from __future__ import annotations

import os
import random
import resource
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import opgen
from opgen.bundle.format import file_bytes, first_block
from opgen.bundle.format.dtypes import DTYPES, BundleError
from opgen.bundle.read.reader import Bundle
from opgen.bundle.read.verify import verify
from opgen.bundle.results.joining import join
from opgen.model import Argument, Call, Case, TensorDesc
from tests.support.bundle_sample import VALID, Sample, sample
from tests.support.suites import SLOW

SAMPLE = sample()
TURNS, FLIPS = 10, 1_000 if SLOW else 200
"""Ten turns, so that tests that run side by side share them."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return SAMPLE.write(tmp_path_factory.mktemp("verify") / "good.h5")


def read_all(path: Path) -> None:
    """Touch everything in a file; BundleError if any of it is damaged."""
    with opgen.open(path) as bundle:
        for case in bundle:
            assert case.call["id"] == case.id and case.expect.codes
            for tensors in (case.inputs, case.storage, case.golden, case.bound):
                assert all(array.shape is not None for array in tensors.values())


def test_a_good_file_has_no_findings(good: Path) -> None:
    assert verify(good) == []
    read_all(good)


@pytest.mark.parametrize("turn", range(TURNS))
def test_a_flipped_bit_is_found(good: Path, tmp_path: Path, turn: int) -> None:
    whole = good.read_bytes()
    draw = random.Random(turn)
    target = tmp_path / "flipped.h5"
    blobs = data_ranges(whole)
    target.write_bytes(whole)
    with open(target, "r+b", buffering=0) as file:
        for _ in range(FLIPS):
            at, bit = draw.randrange(len(whole)), draw.randrange(8)
            os.pwrite(file.fileno(), bytes([whole[at] ^ 1 << bit]), at)
            assert verify(target), f"byte {at}, bit {bit}"
            if not any(start <= at < end for start, end in blobs):
                with pytest.raises(BundleError):
                    opgen.open(target)
            os.pwrite(file.fileno(), whole[at : at + 1], at)
    assert target.read_bytes() == whole and not verify(target)


def test_a_flipped_bit_in_any_tensor_is_found_when_it_is_read(good: Path, tmp_path: Path) -> None:
    whole = good.read_bytes()
    target = tmp_path / "flipped.h5"
    with opgen.open(good) as bundle:
        spots = [
            bundle.blobs[row.dtype][1] + row.position * bundle.blobs[row.dtype][0].itemsize
            for case in bundle
            for row in case.tensor_rows
            if row.has_data and row.elements
        ]
    for at in spots:
        torn = bytearray(whole)
        torn[at] ^= 1
        target.write_bytes(torn)
        with pytest.raises(BundleError, match="does not match its digest"):
            read_all(target)
        assert len(verify(target)) == 1


def test_a_blob_is_read_to_its_end(good: Path, tmp_path: Path) -> None:
    """What is wrong in its last byte is found: the last tensor's, or one behind it."""
    assert verify(good) == []
    whole = good.read_bytes()
    target = tmp_path / "flipped.h5"
    with opgen.open(good) as bundle:
        last = {}
        for case in bundle:
            for row in case.tensor_rows:
                if row.has_data and row.elements:
                    kind, start, _ = bundle.blobs[row.dtype]
                    last[row.dtype] = max(
                        last.get(row.dtype, 0),
                        start + (row.position + row.elements) * kind.itemsize,
                    )
    wrong = [(end, "does not match its digest") for end in last.values()]
    wrong += [(end, "bytes between tensors of") for _, end in data_ranges(whole)]
    for end, what in wrong:
        torn = bytearray(whole)
        torn[end - 1] ^= 1
        target.write_bytes(torn)
        (found,) = verify(target)
        assert what in found


@pytest.mark.parametrize(
    "args",
    [{"n": 1}, {"x": None}, {"x": TensorDesc((2, 3), "INT8")}, {"x": TensorDesc((), "INT8")}],
    ids=str,
)
def test_a_file_without_tensors_or_without_their_data_is_whole(
    tmp_path: Path, args: dict[str, Argument]
) -> None:
    case = Case("one", Call("aclnnOne", "ascend910b", args), "valid", "", VALID, phase=1)
    path = Sample([case], [{}]).write(tmp_path / "calls.h5")
    assert verify(path) == []
    read_all(path)


@pytest.mark.parametrize("elements", [1023, 1024, 1025, 2048])
def test_tensors_may_fill_their_blob_to_the_last_byte(tmp_path: Path, elements: int) -> None:
    """A blob is a multiple of 4096 bytes."""
    x = np.arange(elements, dtype=np.float32)
    case = Case(
        "one",
        Call("aclnnOne", "ascend910b", {"x": TensorDesc((elements,), "FLOAT")}),
        "valid",
        "",
        VALID,
    )
    path = Sample([case], [{("x", "input"): x}]).write(tmp_path / "full.h5")
    assert verify(path) == []
    with opgen.open(path) as bundle:
        assert np.array_equal(bundle["one"].inputs["x"], x)
    ((start, end),) = data_ranges(path.read_bytes())
    assert end - start == -(-4 * elements // 4096) * 4096


def test_a_truncated_file_is_found(good: Path, tmp_path: Path) -> None:
    whole = good.read_bytes()
    target = tmp_path / "torn.h5"
    for size in [0, 1, 100, 4095, 4096, *range(5000, len(whole), 1777), len(whole) - 1]:
        target.write_bytes(whole[:size])
        assert verify(target), size
        with pytest.raises(BundleError):
            opgen.open(target)
    target.write_bytes(whole + b"\0")
    assert verify(target)


def test_pieces_of_the_file_in_another_order_are_found(good: Path, tmp_path: Path) -> None:
    whole = good.read_bytes()
    target = tmp_path / "moved.h5"
    pages = [whole[at : at + 4096] for at in range(0, len(whole), 4096)]
    for one in range(len(pages)):
        for other in range(one):
            if pages[one] != pages[other]:
                moved = list(pages)
                moved[one], moved[other] = pages[other], pages[one]
                target.write_bytes(b"".join(moved))
                assert verify(target)


def test_two_tensors_swapped_are_found(good: Path, tmp_path: Path) -> None:
    target = tmp_path / "swapped.h5"
    target.write_bytes(good.read_bytes())
    with h5py.File(target, "r+") as file:
        blob, rows = file["data/DOUBLE"], file["tensors"][:]
        size = int(rows["elements"].max())
        blob[: 2 * size] = np.concatenate([blob[size : 2 * size], blob[:size]])
    assert verify(target)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda f: f["tensors"].write_direct(f["tensors"][:][::-1].copy()),
            "a row of tensors names another case than the one that it belongs to",
        ),
        (
            lambda f: f["breaks"].write_direct(np.zeros_like(f["breaks"][:])),
            "a row of breaks names another case than the one that it belongs to",
        ),
        (lambda f: f.attrs.modify("seed", 8), "/ does not match its digest"),
        (lambda f: f["strings"].__setitem__(1, "another"), "strings does not match its digest"),
    ],
)
def test_changed_tables_are_found_even_with_a_new_first_block(
    good: Path, tmp_path: Path, change: object, message: str
) -> None:
    target = tmp_path / "changed.h5"
    target.write_bytes(good.read_bytes())
    with h5py.File(target, "r+") as file:
        change(file)  # type: ignore[operator]
    resign(target)
    assert verify(target) == [f"{target}: unsound: {message}"]


def texts_of_nothing(file: h5py.File) -> None:
    """In chunks that nobody wrote, and that take no room."""
    del file["strings"]
    file.create_dataset("strings", (60_000_000,), chunks=(1_000_000,), dtype=h5py.string_dtype())


def cell(table: str, column: str, value: object, row: int = 0) -> Callable[[h5py.File], None]:
    """A change of one cell of a table; a function of the table makes the value."""

    def change(file: h5py.File) -> None:
        rows = file[table][:]
        rows[column][row] = value(rows) if callable(value) else value
        file[table][...] = rows

    return change


def retyped(table: str, **kinds: object) -> Callable[[h5py.File], None]:
    """A change of the types of some columns of a table."""

    def change(file: h5py.File) -> None:
        rows = file[table][:]
        described = [(name, kinds.get(name, rows.dtype[name])) for name in rows.dtype.names]
        del file[table]
        made = file.create_dataset(table, (len(rows),), dtype=described)
        made[...] = np.zeros(len(rows), dtype=described)

    return change


def replaced(table: str, value: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[table]
        file[table] = value

    return change


INJECTED = h5py.enum_dtype({'x"); system("id': 0, "ascend910b": 1}, basetype="u1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (retyped("breaks", at="<f8"), "breaks: at is of another type than it can be"),
        (retyped("tensors", digest="V8"), "tensors: digest is of another type than it can be"),
        (retyped("cases", product=INJECTED), "cases: product is of another type than it can be"),
        (retyped("parameters", name=INJECTED), "parameters: name is of another type than it"),
        (replaced("integers", 3), "it does not hold the 1 rows of integers"),
        (replaced("lists", np.zeros((2, 2))), "it does not hold the 4 rows of lists"),
        (replaced("breaks", np.zeros(3)), "breaks: has other columns than case, rule, clause"),
        (lambda file: file.__delitem__("ranges"), "there is no table ranges"),
        (lambda file: file.__delitem__("strings"), "names none of the 0 strings"),
        (lambda file: file.attrs.__delitem__("opgen_version"), "opgen_version is missing"),
        (lambda file: file.attrs.__delitem__("complete"), "complete is missing"),
        (lambda file: file.attrs.create("seed", 1.5), "the attribute seed is 1.5"),
        (
            lambda file: file.attrs.create("plan", "smoke"),
            "the attribute plan does not say how long it is",
        ),
        (cell("lists", "start", 10**6, -1), "a list reaches beyond the integers"),
        (cell("tensors", "shape", 10**6), "tensors: shape names none of the "),
        (cell("tensors", "strides", 10**6), "tensors: strides names none of the "),
        (cell("cases", "first_tensor", 3, 1), "the tensors do not follow their cases"),
        (
            cell("cases", "tensors", lambda rows: rows["tensors"][-1] - 1, -1),
            "the tensors do not follow their cases",
        ),
        (cell("cases", "id", lambda rows: rows["id"][0], 1), "two cases have the same id"),
        (
            lambda file: file.create_dataset("more", data=np.zeros(3)),
            "more is not a table that it can have",
        ),
        (texts_of_nothing, "does not hold the 60000000 rows of strings"),
        (cell("tensors", "position", 10**6, 0), "a tensor lies outside the data of its dtype"),
        (cell("tensors", "position", -64, 0), "tensors: position cannot be -64"),
        (cell("tensors", "position", 1, 0), "tensors of FLOAT16 do not lie one after the other"),
        (cell("tensors", "position", 32, 0), "tensors of FLOAT16 do not lie one after the other"),
        (
            cell("tensors", "dtype", DTYPES["INT8"], 0),
            "a tensor lies outside the data of its dtype",
        ),
    ],
)
def test_tables_that_contradict_each_other_are_named(
    good: Path, tmp_path: Path, change: Callable[[h5py.File], None], message: str
) -> None:
    target = tmp_path / "changed.h5"
    target.write_bytes(good.read_bytes())
    with h5py.File(target, "r+") as file:
        change(file)
    resign(target)
    found = verify(target)
    assert f"{target}: unsound: " in found[0] and any(message in line for line in found), found
    if "one after the other" not in message:
        with pytest.raises(BundleError, match="unsound: "):
            opgen.open(target)


def test_data_that_the_first_block_does_not_name_are_refused(good: Path, tmp_path: Path) -> None:
    whole = good.read_bytes()
    target = tmp_path / "unnamed.h5"
    assert len(data_ranges(whole)) > 1
    for start, end in data_ranges(whole):
        for line in (
            b"",
            b"data %d %d\n" % (start, end - 4096),
            b"data %d %d\n" % (start + 4096, end),
        ):
            block = whole[:4096].rstrip(b"\0").replace(b"data %d %d\n" % (start, end), line)
            target.write_bytes(block.ljust(4096, b"\0") + whole[4096:])
            resign(target)
            with pytest.raises(BundleError, match="data/.* lies outside the data$"):
                opgen.open(target)
            assert len(verify(target)) == 1


def resign(path: Path) -> None:
    """Make the first block agree with a file that was changed behind its back."""
    whole = bytearray(path.read_bytes())
    lines = bytes(whole[:4096]).split(b"\n")
    lines[2] = b"bytes %d" % len(whole)
    whole[:4096] = b"\n".join(lines).rstrip(b"\0").ljust(4096, b"\0")
    path.write_bytes(whole)
    with open(path, "r+b") as raw:
        digest = first_block.file_digest(path, raw.fileno(), data_ranges(whole), len(whole))
        raw.seek(first_block.FIELD[0])
        raw.write(digest.encode())


def data_ranges(whole: bytes | bytearray) -> list[tuple[int, int]]:
    lines = bytes(whole[:4096]).split(b"\n")
    return [
        (int(a), int(b))
        for _, a, b in (line.split() for line in lines if line.startswith(b"data "))
    ]


def beginning(line: bytes, digit: bytes = b"1") -> bytes:
    return (line.ljust(31) + b"\nxxh3 " + digit * 32 + b"\nbytes 4096\n").ljust(4096, b"\0")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read: No such file"),
        (b"", "not an opgen bundle"),
        (b"\x89HDF\r\n\x1a\n" * 2000, "not an opgen bundle"),
        (beginning(b"opgen bundle 99"), "format 99 is newer than this opgen: update opgen"),
        (
            beginning(b"opgen bundle 1"),
            "format 1 was never released, and opgen does not read it: write it again",
        ),
        (beginning(b"opgen bundle 9", b"0"), "was interrupted"),
        (beginning(b"opgen bundle 9"), "do not match their digest"),
        (beginning(b"opgen bundle 9") + b"more", "has 4100 bytes and was written with 4096"),
        (
            beginning(b"opgen bundle 9").replace(b"bytes", b"data 9 8\nbytes"),
            "not an opgen bundle",
        ),
        *(
            (
                beginning(b"opgen bundle 9")
                .replace(b"bytes 4096\n", b"bytes 8192\n" + ranges)
                .ljust(8192, b"\0"),
                "contradicts itself",
            )
            for ranges in (
                b"data 9 4096\n",
                b"data 8192 4096\n",
                b"data 4096 8193\n",
                b"data 4096 6000\ndata 5000 8192\n",
            )
        ),
        (
            beginning(b"opgen results 2"),
            "is an opgen results file, not a bundle file; opgen generate writes one",
        ),
    ],
)
def test_other_files_are_refused_in_one_line(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    target = tmp_path / "other.h5"
    if content is not None:
        target.write_bytes(content)
    with pytest.raises(BundleError, match=message) as caught:
        opgen.open(target)
    assert "\n" not in str(caught.value) and str(target) in str(caught.value)
    assert len(verify(target)) == 1


def test_a_file_that_is_refused_is_closed(good: Path, tmp_path: Path) -> None:
    whole = good.read_bytes()
    target = tmp_path / "bad.h5"
    descriptors = len(os.listdir("/proc/self/fd"))
    for content in (
        b"",
        whole[:-1],
        whole.replace(b"opgen bundle ", b"opgen results"),
        whole[:5000] + b"?" + whole[5001:],
    ):
        target.write_bytes(content)
        with pytest.raises(BundleError) as kept:
            opgen.open(target)
        assert verify(target) and len(os.listdir("/proc/self/fd")) == descriptors, kept
    target.write_bytes(whole)
    with h5py.File(target, "r+") as file:
        del file["digests"]
    resign(target)
    with pytest.raises(BundleError, match="unsound: there is no table digests") as kept:
        opgen.open(target)
    assert verify(target) and len(os.listdir("/proc/self/fd")) == descriptors, kept
    assert verify(good) == [] and len(os.listdir("/proc/self/fd")) == descriptors


def test_a_system_that_reads_less_than_it_is_asked_for_loses_nothing(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opgen.open(good) as bundle:
        tables = {name: table.tobytes() for name, table in bundle.tables.items()}
        parts = [write_results(tmp_path / f"{i}.h5", bundle, bundle.ids[i::2]) for i in range(2)]
        whole = write_results(tmp_path / "whole.h5", bundle, bundle.ids).read_bytes()
    assert max(map(len, tables.values())) > 3000
    read = os.preadv
    monkeypatch.setattr(
        os, "preadv", lambda fd, views, at: read(fd, [memoryview(views[0])[:100]], at)
    )
    with opgen.open(good) as bundle:
        assert {name: table.tobytes() for name, table in bundle.tables.items()} == tables
    read_all(good)
    assert verify(good) == []
    join(parts, tmp_path / "joined.h5")
    assert (tmp_path / "joined.h5").read_bytes() == whole


def write_results(path: Path, bundle: Bundle, ids: list[str]) -> Path:
    """Answers that are the goldens."""
    with opgen.Results.create(path, bundle) as results:
        for name in ids:
            results.add(name, 0, dict(bundle[name].golden))
    return path


def test_bytes_that_the_system_cannot_read_are_one_message() -> None:
    with (
        open("/proc/self/mem", "rb") as file,
        pytest.raises(BundleError, match="^x: cannot read: Input/output error$"),
    ):
        file_bytes.read_at(Path("x"), file.fileno(), np.empty(8, dtype=np.uint8), 0)


def test_a_folder_and_an_unreadable_file(tmp_path: Path) -> None:
    assert "Is a directory" in verify(tmp_path)[0]
    with pytest.raises(BundleError, match="cannot read"):
        opgen.open(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_text_that_claims_gigabytes_takes_none(good: Path, tmp_path: Path) -> None:
    """What stands in the place of a text says how long it is."""
    whole, target = bytearray(good.read_bytes()), tmp_path / "claim.h5"
    with h5py.File(good) as file:
        place = file["strings"].id.get_offset() + 16
    whole[place : place + 4] = (0x7FFFFFFF).to_bytes(4, "little")
    target.write_bytes(whole)
    resign(target)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert verify(target) == [
        f"{target}: unsound: it does not hold the texts of strings: its texts are longer than the"
        " file"
    ]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
