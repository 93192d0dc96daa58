"""Bundles: what is written is read, to the bit; the file depends on nothing but its contents."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from xxhash import xxh3_128

import opgen
from opgen import model
from opgen.bundle.format import container
from opgen.bundle.format.dtypes import BUCKETS, DTYPES, FORMATS, KINDS, BundleError, numpy_dtype
from opgen.bundle.format.layout import Layout
from opgen.bundle.format.tensorrow import TensorRow
from opgen.bundle.read.readback import case_table, kinds_of, outputs, pieces, stored_tensors
from opgen.bundle.read.unpack import unpack
from opgen.bundle.read.verify import verify
from opgen.bundle.write.output import LockedOutput, write_errors
from opgen.bundle.write.writer import Writer
from opgen.calls.vocabulary import vocabulary
from opgen.model import Call, Case, TensorDesc
from tests.support import unmeasured
from tests.support.bundle_sample import (
    BFLOAT16,
    HEADER,
    VALID,
    bits,
    plain,
    planned,
    row,
    same_bits,
    sample,
)
from tests.support.case_tables import tabulate
from tests.support.limits import largest_file, run_on_small_disk

SAMPLE = sample()
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return SAMPLE.write(tmp_path_factory.mktemp("bundle") / "sample.h5")


def test_every_case_is_read_as_it_was_written(path: Path) -> None:
    with opgen.open(path) as bundle:
        assert len(bundle) == len(SAMPLE.cases)
        assert {k: bundle.header[k] for k in HEADER} == HEADER
        for case, found, arrays in zip(SAMPLE.cases, bundle, SAMPLE.arrays, strict=True):
            assert found.id == case.id and bundle[case.id].row == found.row
            assert found.call == plain(case.call, case.id)
            assert list(found.call["args"]) == list(case.call.args)
            assert found.expect == case.page and found.library == case.library
            for side in (found.expect, found.library):
                assert side is None or (
                    side.codes and side.bucket and all(one.rule for one in side.breaks)
                )
            for name in (
                "kind",
                "intent",
                "recipe",
                "phase",
                "nearest_valid",
                "compute",
                "inconclusive",
            ):
                assert getattr(found, name) == getattr(case, name)
            for role in ("input", "golden", "bound"):
                stored = {"input": found.storage, "golden": found.golden, "bound": found.bound}[
                    role
                ]
                wanted = {name: array for (name, r), array in arrays.items() if r == role}
                assert list(stored) == list(wanted)
                for name, array in wanted.items():
                    assert same_bits(stored[name], array.reshape(-1) if role == "input" else array)


def test_a_bundle_and_its_cases_say_what_they_are(path: Path) -> None:
    with opgen.open(path) as bundle:
        assert repr(bundle) == f"<bundle {path}: {len(SAMPLE.cases)} cases>"
        assert repr(bundle["one/given"]) == (
            "<case one/given: given, aclnnOne on ascend910, a status only>"
        )
        listed = {"kind", "intent", "recipe", "nearest_valid", "compute", "inconclusive", "phase"}
        assert listed <= set(dir(bundle["one/given"]))
        assert not hasattr(bundle["one/given"], "purposes")
        bundle.tables["cases"]["phase"][0] = 2
        assert repr(bundle[0]) == "<case one/FLOAT16/0: valid, aclnnOne on ascend910b, data>"


def test_cases_are_read_back_as_they_were(path: Path) -> None:
    with opgen.open(path) as bundle:
        assert list(case_table(bundle, kinds_of(bundle))) == SAMPLE.cases
        stored = stored_tensors(bundle)
        rows = [row(item) for arrays in SAMPLE.arrays for item in arrays.items()]
        assert list(stored.kind) == [(name, role, dtype) for name, role, dtype, _ in rows]
        assert stored.counts.tolist() == list(map(len, SAMPLE.arrays))
        assert outputs(bundle) == {"aclnnOne": {"gradInput"}, "aclnnTwo": {"gradInput"}}
        found = {
            int(at): bytes(piece)
            for rows, some in pieces(bundle, 100)
            for at, piece in zip(rows, some, strict=True)
        }
        tensors = map(TensorRow._make, bundle.tables["tensors"].tolist())
        assert found == {
            at: bundle.tensor(one).tobytes() for at, one in enumerate(tensors) if one.has_data
        }


def test_rows_of_tensors_have_the_columns_of_the_table(path: Path) -> None:
    with opgen.open(path) as bundle:
        assert bundle.tables["tensors"].dtype.names == TensorRow._fields


def test_booleans_and_nulls_keep_their_kind(path: Path) -> None:
    with opgen.open(path) as bundle:
        args = [case.call["args"] for case in bundle][:4]
    assert [a["padding"] for a in args] == [[], [1, 2], None, [2**31, -1]]
    assert [a["outputMask"] for a in args] == [[True, False, True], None, [], [False]]
    assert all(type(a["transposed"]) is bool and type(a["groups"]) is int for a in args)
    assert args[1]["cubeMathType"] is None and args[2]["self"] is None


def test_inputs_are_logical_views(path: Path) -> None:
    with opgen.open(path) as bundle:
        moved, back, empty, scalar = (bundle[f"two {n}"] for n in range(4))
        buffer = moved.storage["input"]
        assert buffer.dtype == BFLOAT16 and moved.inputs["input"].dtype == BFLOAT16
        wanted = np.array([[buffer[5 + i + 4 * j] for j in range(3)] for i in range(2)])
        assert same_bits(np.ascontiguousarray(moved.inputs["input"]), wanted)
        assert same_bits(
            np.ascontiguousarray(back.inputs["input"]), back.storage["input"].reshape(3, 2)[::-1]
        )
        assert empty.inputs["input"].shape == (0, 3) and scalar.inputs["input"].shape == ()
        assert not bundle["one/invalid"].inputs and not bundle["one/invalid"].golden


def test_a_view_outside_its_storage_is_refused(tmp_path: Path) -> None:
    desc = TensorDesc((2, 2), "FLOAT", "ND", (3, 1), 0, (4,))
    case = Case("bad", Call("aclnnOne", "ascend910b", {"self": desc}), "given", "", VALID)
    with Writer(
        tmp_path / "b.h5",
        {},
        tabulate([case]),
        planned([[("self", "input", "FLOAT", 4)]]),
    ) as writer:
        writer.write([([0], {("self", "input"): np.zeros((1, 4), np.float32)})])
    with pytest.raises(BundleError, match="b.h5: unsound: a view leaves its data"):
        opgen.open(tmp_path / "b.h5")


@pytest.mark.parametrize("limit", [1, 1000, 1 << 20])
def test_batches_hold_what_the_cases_hold(path: Path, tmp_path: Path, limit: int) -> None:
    cases, layout = many(20)
    with Writer(tmp_path / "many.h5", {}, tabulate(cases), layout) as writer:
        for (name, role), dtype in MANY.items():
            writer.write(
                [(np.arange(20), {(name, role): bits(np.random.default_rng(0), dtype, (20, 3, 5))})]
            )
    for file in (path, tmp_path / "many.h5"):
        with opgen.open(file) as bundle:
            rows = []
            for batch in bundle.batches(limit):
                rows += list(batch.rows)
                for (name, role), stack in batch.arrays.items():
                    for array, row in zip(stack, batch.rows, strict=True):
                        case = bundle[row]
                        wanted = {
                            "input": case.storage,
                            "golden": case.golden,
                            "bound": case.bound,
                        }[role][name]
                        assert array.tobytes() == wanted.tobytes() and array.dtype == wanted.dtype
                one = bundle[batch.rows[0]]
                found = {"input": one.inputs, "golden": one.golden, "bound": one.bound}
                assert set(batch.arrays) == {
                    (name, role) for role, tensors in found.items() for name in tensors
                }
            assert rows == list(range(len(bundle)))


@pytest.mark.parametrize(
    "header", [{"digest": "x"}, {"a": None}, {"a": "{"}, {"a": "\0"}, {"a": {"b": {1}}}]
)
def test_a_header_that_cannot_be_kept(tmp_path: Path, header: dict[str, object]) -> None:
    with pytest.raises(BundleError, match="header|NUL"):
        Writer(tmp_path / "b.h5", header, tabulate([]), planned([]))
    assert os.listdir(tmp_path) == []


def test_an_empty_bundle(tmp_path: Path) -> None:
    with Writer(
        tmp_path / "b.h5",
        {"products": [], "seeds": [1, 2]},
        tabulate([]),
        planned([]),
    ):
        pass
    with opgen.open(tmp_path / "b.h5") as bundle:
        assert (len(bundle), len(bundle.cases), list(bundle), list(bundle.batches())) == (
            0,
            0,
            [],
            [],
        )
        assert bundle.header["products"] == [] and bundle.header["seeds"] == ["1", "2"]
    assert verify(tmp_path / "b.h5") == []


def test_cases_as_a_structured_array(path: Path) -> None:
    with opgen.open(path) as bundle:
        cases = bundle.cases
    assert cases["id"].tolist() == [case.id for case in SAMPLE.cases]
    assert set(cases[cases["kind"] == "invalid"]["op"]) == {"aclnnOne"}
    assert cases["codes"].tolist() == [case.page.codes for case in SAMPLE.cases]
    assert set(cases["product"]) == {"ascend910b", "ascend910"}


def test_two_writes_and_any_order_of_writing_give_the_same_bytes(
    path: Path, tmp_path: Path
) -> None:
    first = path.read_bytes()
    assert SAMPLE.write(tmp_path / "again.h5").read_bytes() == first
    assert (
        SAMPLE.write(
            tmp_path / "backwards.h5", rows=range(len(SAMPLE.cases) - 1, -1, -1)
        ).read_bytes()
        == first
    )


MANY = {
    ("gradOutput", "input"): "FLOAT16",
    ("gradInput", "golden"): "FLOAT",
    ("gradInput", "bound"): "FLOAT",
}


def many(count: int) -> tuple[list[Case], Layout]:
    desc = TensorDesc((3, 5), "FLOAT16")
    args = {"gradOutput": desc, "padding": (1, 1), "gradInput": desc}
    cases = [
        Case(f"many/{n}", Call("aclnnOne", "ascend910b", args), "valid", "many", VALID)
        for n in range(count)
    ]
    tensors = [(name, role, dtype, (3, 5)) for (name, role), dtype in MANY.items()]
    return cases, planned([tensors] * count)


@pytest.mark.parametrize("step", [1, 7, 50])
def test_blocks_write_the_same_bytes_as_single_tensors(tmp_path: Path, step: int) -> None:
    cases, layout = many(50)
    draw = np.random.default_rng(1)
    data = {key: bits(draw, dtype, (50, 3, 5)) for key, dtype in MANY.items()}
    with Writer(tmp_path / "single.h5", HEADER, tabulate(cases), layout) as writer:
        for at in range(50):
            for (name, role), stack in data.items():
                writer.write([([at], {(name, role): stack[at : at + 1]})])
    with Writer(tmp_path / "block.h5", HEADER, tabulate(cases), layout) as writer:
        port = writer.port()
        for start in range(0, 50, step):
            rows = np.arange(start, min(50, start + step))[::-1]
            if start == 0:
                writer.accept(
                    *port.write([(rows, {key: stack[rows] for key, stack in data.items()})])
                )
            elif start % 2:
                writer.write([(rows, {key: stack[rows] for key, stack in data.items()})])
            else:
                for (name, role), stack in data.items():
                    writer.write([(rows, {(name, role): stack[rows]})])
        port.close()
    assert (tmp_path / "single.h5").read_bytes() == (tmp_path / "block.h5").read_bytes()


def test_large_tensors_beside_small_ones_have_their_own_digests(tmp_path: Path) -> None:
    sizes = {"a": 1 << 18, "b": 3, "c": 0, "d": (1 << 17) + 1, "e": 1 << 16}
    call = Call(
        "aclnnOne",
        "ascend910b",
        {name: TensorDesc((size,), "DOUBLE") for name, size in sizes.items()},
    )
    cases = [Case(name, call, "given", "", VALID) for name in ("one", "two")]
    layout = planned([[(name, "input", "DOUBLE", size) for name, size in sizes.items()]] * 2)
    arrays = {
        name: bits(np.random.default_rng(size), "DOUBLE", (2, size)) for name, size in sizes.items()
    }
    with Writer(tmp_path / "b.h5", {}, tabulate(cases), layout) as writer:
        writer.write([([1, 0], {(name, "input"): stack for name, stack in arrays.items()})])
    with opgen.open(tmp_path / "b.h5") as bundle:
        digests = bundle.tables["tensors"]["digest"].reshape(2, len(sizes))
        for row, at in ((1, 0), (0, 1)):
            assert digests[row].tolist() == [
                xxh3_128(stack[at].tobytes()).digest() for stack in arrays.values()
            ]
            assert all(
                same_bits(bundle[row].inputs[name], stack[at]) for name, stack in arrays.items()
            )


def test_what_an_unfinished_file_holds_is_room_for_it(tmp_path: Path) -> None:
    cases, layout = many(10_000)
    with (
        pytest.raises(KeyboardInterrupt),
        Writer(tmp_path / "b.h5", {}, tabulate(cases), layout, keep=True) as writer,
    ):
        writer.write(
            [
                (
                    range(10_000),
                    {
                        key: np.zeros((10_000, 3, 5), numpy_dtype(word))
                        for key, word in MANY.items()
                    },
                )
            ]
        )
        raise KeyboardInterrupt
    held = (tmp_path / "b.h5.partial").stat().st_blocks * 512

    def room(folder: Path) -> int:
        return layout.bytes - held // 2

    LockedOutput(tmp_path / "b.h5", layout.bytes, False, room=room).leave()
    with pytest.raises(BundleError, match=r"other\.h5: needs"):
        LockedOutput(tmp_path / "other.h5", layout.bytes, False, room=room)
    with Writer(tmp_path / "b.h5", {}, tabulate(cases), layout, keep=True, resume=True) as writer:
        assert writer.written.all()


def test_tensors_are_aligned_and_the_size_is_foreseen(path: Path) -> None:
    layout = SAMPLE.layout()
    assert abs(layout.bytes - path.stat().st_size) < 64 << 10
    with h5py.File(path) as file:
        for name, blob in file["data"].items():
            assert blob.id.get_offset() % 64 == 0
            rows = file["tensors"][:]
            positions = rows["position"][(rows["dtype"] == DTYPES[name]) & (rows["position"] >= 0)]
            assert (positions * blob.dtype.itemsize % 64 == 0).all() or name == "BFLOAT16"


def test_readable_with_h5py_alone(path: Path) -> None:
    with h5py.File(path) as file:
        assert file.attrs["complete"] == 1 and file.attrs["format"] == b"opgen bundle"
        cases, tensors = file["cases"][:], file["tensors"][:]
        roles = {n: w for w, n in h5py.check_enum_dtype(file["tensors"].dtype["role"]).items()}
        one = next(t for t in tensors[cases["first_tensor"][4] :] if roles[t["role"]] == "golden")
        found = file["data/COMPLEX128"][one["position"] : one["position"] + one["elements"]]
        assert same_bits(found, SAMPLE.arrays[4]["gradInput", "golden"].reshape(-1))
        assert file["strings"].asstr()[cases["intent"][0]] == "各轴两两组合"
        number = file["data/BFLOAT16"][0]
        assert (
            np.float32(SAMPLE.arrays[1]["gradOutput", "input"].flat[0]).tobytes()
            == np.float32(number).tobytes()
        )


def test_not_a_time_in_the_file(path: Path) -> None:
    with h5py.File(path) as file:
        found: list[h5py.Dataset] = []
        file.visititems(
            lambda _, item: found.append(item) if isinstance(item, h5py.Dataset) else None
        )
        assert len(found) > 10 and not any(
            item.id.get_create_plist().get_obj_track_times() for item in found
        )


@pytest.mark.parametrize("far", [2**62, 2**63 - 1, -(2**63)])
def test_a_stride_along_an_axis_of_extent_1_leads_nowhere(tmp_path: Path, far: int) -> None:
    desc = TensorDesc((1, 2, 1, 2), "DOUBLE", "NCHW", (far, 1, far, 2), 0, (4,))
    case = Case("b", Call("aclnnOne", "ascend910b", {"self": desc}), "given", "", VALID)
    with Writer(
        tmp_path / "b.h5",
        {},
        tabulate([case]),
        planned([[("self", "input", "DOUBLE", 4)]]),
    ) as writer:
        writer.write([([0], {("self", "input"): np.arange(4.0)[None]})])
    with opgen.open(tmp_path / "b.h5") as bundle:
        assert bundle["b"].inputs["self"].tolist() == [[[[0, 2]], [[1, 3]]]]


@pytest.mark.skipif(shutil.which("h5dump") is None, reason="h5dump is not installed")
def test_h5dump_prints_bfloat16_numbers(tmp_path: Path) -> None:
    desc = TensorDesc((4,), "BFLOAT16")
    case = Case("b", Call("aclnnOne", "ascend910b", {"self": desc}), "given", "", VALID)
    with Writer(
        tmp_path / "b.h5",
        {},
        tabulate([case]),
        planned([[("self", "input", "BFLOAT16", 4)]]),
    ) as writer:
        numbers = np.array([[1.5, -0.15625, 3e38, 2**-130]], BFLOAT16)
        writer.write([([0], {("self", "input"): numbers})])
    printed = subprocess.run(
        ["h5dump", "-d", "/data/BFLOAT16", "-c", "4", tmp_path / "b.h5"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "(0): 1.5, -0.15625, 3.00406e+38, 7.34684e-40" in printed


def test_the_tables_of_words_agree_with_the_specs() -> None:
    assert {name: facts["acl"] for name, facts in vocabulary().dtypes.items()} == DTYPES
    assert vocabulary().formats == FORMATS
    assert tuple(KINDS) == model.KINDS and tuple(BUCKETS) == model.BUCKETS


def test_an_existing_file_is_refused_and_stays(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "there.h5"
    target.write_bytes(b"mine")
    with pytest.raises(BundleError, match="exists already; --force replaces it"):
        SAMPLE.write(target)
    assert target.read_bytes() == b"mine" and os.listdir(tmp_path) == ["there.h5"]
    SAMPLE.write(target, force=True)
    assert target.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: SAMPLE.write(Path("/nowhere/at/all.h5")), "there is no folder /nowhere/at"),
        (lambda: SAMPLE.write(Path("/")), "is a folder"),
        (
            lambda: planned([[("x", "input", "HIFLOAT8", 1)]]),
            "cannot store data as HIFLOAT8",
        ),
        (lambda: planned([[("x", "input", "FLOAT", 2**60)]]), "which no file can hold"),
        (
            lambda: planned([[("x", "input", "FLOAT", 2**46), ("y", "input", "FLOAT", 8)]] * 2),
            "more than a file can hold",
        ),
        (
            lambda: planned([[("x", "input", "FLOAT", 2**46)] * 2] * (1 << 17)),
            "more than a file can hold",
        ),
    ],
)
def test_what_cannot_be_written_is_said_in_one_line(change: object, message: str) -> None:
    with pytest.raises(BundleError, match=message) as caught:
        change()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"id": "a\0b"}, "NUL"),
        ({"id": "\ud800"}, "not Unicode"),
        ({"id": "x" * 2000}, "at most 1024"),
        ({"args": {"self": TensorDesc((2**70,), "FLOAT")}}, "64 bits"),
        ({"args": {"padding": (1, -(2**63) - 1)}}, "-9223372036854775809 does not fit the 64 bits"),
    ],
)
def test_a_case_that_no_bundle_can_keep(
    tmp_path: Path, field: dict[str, object], message: str
) -> None:
    call = Call("aclnnOne", "ascend910b", field.get("args", {"groups": 1}))  # type: ignore[arg-type]
    case = Case(str(field.get("id", "a")), call, "given", "", VALID)
    with pytest.raises(BundleError, match=message):
        Writer(tmp_path / "b.h5", {}, tabulate([case]), planned([[]])).close()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ([("other", "golden", "FLOAT", 3)], "a: data for other, which is not a tensor of the call"),
        ([("none", "input", "FLOAT", 3)], "a: data for none, which is not a tensor of the call"),
        ([("self", "bound", "FLOAT", 3)] * 2, "a: a tensor has two sets of data"),
        ([("self", "input", "INT8", 3)], "a: self is FLOAT, its data are not"),
    ],
)
def test_data_that_no_call_describes(
    tmp_path: Path, tensors: list[tuple[str, str, str, int]], message: str
) -> None:
    call = Call("aclnnOne", "ascend910b", {"self": TensorDesc((3,), "FLOAT"), "none": None})
    cases = [Case(name, call, "given", "", VALID) for name in ("fine", "a", "b")]
    with pytest.raises(BundleError, match=message):
        Writer(
            tmp_path / "b.h5",
            {},
            tabulate(cases),
            planned([[("self", "input", "FLOAT", 3)], tensors, tensors]),
        ).close()


def test_two_cases_of_one_id(tmp_path: Path) -> None:
    cases, layout = many(3)
    cases[2] = cases[2]._replace(id=cases[0].id)
    arrays = {("gradOutput", "input"): np.zeros((3, 15), np.float16)}
    with (
        pytest.raises(BundleError, match="two cases have the id 'many/0'"),
        Writer(tmp_path / "b.h5", {}, tabulate(cases), layout, keep=True) as writer,
    ):
        writer.write([([0, 1, 2], arrays)])
    assert os.listdir(tmp_path) == []


def test_wrong_arrays_and_missing_ones(tmp_path: Path) -> None:
    target = tmp_path / "b.h5"
    cases, layout = many(3)
    with (
        pytest.raises(
            BundleError, match="9 tensors were never written, the first is gradOutput of many/0"
        ),
        Writer(target, {}, tabulate(cases), layout),
    ):
        pass
    for arrays, message in (
        (
            {("gradOutput", "input"): np.zeros((3, 15), np.float32)},
            "an array of float32 where FLOAT16 is planned",
        ),
        ({("gradOutput", "input"): np.zeros((3, 14), np.float16)}, "are not as planned"),
        ({("gradOutput", "input"): np.zeros((2, 15), np.float16)}, "2 arrays for 3 cases"),
        ({("weight", "input"): np.zeros((3, 15), np.float16)}, "no input weight"),
    ):
        with (
            pytest.raises(BundleError, match=message),
            Writer(target, {}, tabulate(cases), layout) as writer,
        ):
            writer.write([([0, 1, 2], arrays)])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interruption_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    with (
        pytest.raises(error),
        Writer(tmp_path / "b.h5", HEADER, tabulate(SAMPLE.cases), SAMPLE.layout()),
    ):
        raise error
    assert os.listdir(tmp_path) == []


def test_two_writers_of_one_file(tmp_path: Path) -> None:
    cases, layout = many(1)
    writer = Writer(tmp_path / "b.h5", {}, tabulate(cases), layout)
    with pytest.raises(BundleError, match="another process is writing it"):
        Writer(tmp_path / "b.h5", {}, tabulate(cases), layout)
    writer.abort()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("needed", "free", "told"),
    [
        (3_204_608, 200_000, "needs 3.2 MB, and {} has 200.0 kB left"),
        (5_000_000_000, 0, "needs 5.0 GB, and {} has 0 B left"),
    ],
)
def test_a_disk_without_room_is_told_in_units_that_show_the_numbers(
    tmp_path: Path, needed: int, free: int, told: str
) -> None:
    with pytest.raises(BundleError, match=f"b.h5: {told.format(tmp_path)}$"):
        LockedOutput(tmp_path / "b.h5", needed, False, room=lambda folder: free)
    assert os.listdir(tmp_path) == []


def refusing(code: int) -> Callable[[int, int, int], None]:
    def keep(fd: int, start: int, size: int) -> None:
        raise OSError(code, os.strerror(code))

    return keep


@pytest.mark.skipif(
    not hasattr(os, "posix_fallocate"), reason="this system keeps no room for files"
)
def test_room_for_all_data_is_taken_before_any_are_written(tmp_path: Path) -> None:
    cases, layout = many(10_000)
    left, table = tmp_path / "b.h5.partial", tabulate(cases)
    with pytest.raises(KeyboardInterrupt), Writer(tmp_path / "b.h5", {}, table, layout, keep=True):
        assert left.stat().st_blocks * 512 >= layout.data_bytes
        raise KeyboardInterrupt
    container.begin(tmp_path / "fresh", "bundle", {}, layout.blobs, keep=False)
    assert (tmp_path / "fresh").stat().st_blocks * 512 < layout.data_bytes  # others take the room
    (tmp_path / "fresh").unlink()
    with (
        largest_file(layout.data_bytes // 2),
        pytest.raises(BundleError, match=r"b.h5: cannot write: File too large$"),
    ):
        Writer(tmp_path / "b.h5", {}, table, layout)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EINVAL, None])
def test_a_file_system_that_keeps_no_room_has_the_same_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: Path, code: int | None
) -> None:
    if code is None:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    else:
        monkeypatch.setattr(os, "posix_fallocate", refusing(code))
    assert SAMPLE.write(tmp_path / "sample.h5").read_bytes() == path.read_bytes()


BEYOND_A_LIMIT = """
import resource, sys
from pathlib import Path
from opgen.bundle.format.dtypes import BundleError
from tests.support.bundle_sample import sample
folder, made = Path(sys.argv[1]), sample()
whole = made.write(folder / "whole.h5").stat().st_size
for limit in [*range(4096, whole, 8192), whole - 1]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        made.write(folder / "some.h5")
    except BundleError as error:
        assert str(error).endswith("some.h5: cannot write: File too large"), error
    else:
        raise AssertionError(f"{limit} of {whole} bytes")
print("done", sorted(path.name for path in folder.iterdir()))
"""


def test_a_file_that_may_not_grow_is_refused_before_hdf5_writes(tmp_path: Path) -> None:
    """HDF5 writes late: a failure there would end the program."""
    command = [sys.executable, "-c", BEYOND_A_LIMIT, str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=unmeasured.ENVIRONMENT
    )
    assert (done.returncode, done.stdout.strip()) == (0, "done ['whole.h5']"), done.stderr[-2000:]


ON_A_FULL_DISK = """
import os, sys
from pathlib import Path
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.write.writer import Writer
from tests.support.case_tables import tabulate
from tests.bundle.test_bundle import many, written
disk, page = Path(sys.argv[1]), os.sysconf("SC_PAGESIZE")
whole, refused = written(disk / "b.h5").read_bytes(), 0
for pages in range(0, 1 << 10, 2):
    (disk / "b.h5").unlink()
    def fill():
        left = os.statvfs(disk)
        with open(disk / "filler", "wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, (left.f_bavail - pages) * page)
    try:
        written(disk / "b.h5", fill)
        break
    except BundleError as error:
        assert str(error) == f"{disk / 'b.h5'}: cannot write: No space left on device", error
        assert os.listdir(disk) == ["filler"], os.listdir(disk)
        refused += 1
        (disk / "b.h5").write_bytes(b"")
    finally:
        (disk / "filler").unlink()
assert (disk / "b.h5").read_bytes() == whole
print(refused)
"""


def written(path: Path, begun: Callable[[], object] = lambda: None) -> Path:
    """A bundle of many cases; ``begun`` is called once its file is there."""
    cases, layout = many(400)
    with Writer(path, {}, tabulate(cases), layout) as writer:
        begun()
        for (name, role), dtype in MANY.items():
            data = bits(np.random.default_rng(0), dtype, (400, 3, 5))
            writer.write([(np.arange(400), {(name, role): data})])
    return path


def test_a_disk_that_others_fill_meanwhile(tmp_path: Path) -> None:
    """Whatever is left of it, the bundle is whole, or there is one message and nothing else."""
    done = run_on_small_disk(ON_A_FULL_DISK, tmp_path, 8 << 20)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 2


def test_cases_that_a_layout_is_not_of(tmp_path: Path) -> None:
    cases, layout = many(3)
    for others in (cases[:2], many(4)[0]):
        with pytest.raises(BundleError, match=f"b.h5: {len(others)} cases for a layout of 3$"):
            Writer(tmp_path / "b.h5", {}, tabulate(others), layout)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("kept", [True, False])
def test_a_writer_that_ends_while_another_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: bool, force: bool
) -> None:
    """Between the second writer's opening of the unfinished file and its lock the first one gives
    it its name, or removes it.
    """
    target = tmp_path / "x"
    first = LockedOutput(target, 0, False)
    os.write(first.fd, b"the first's")
    flock, ends = fcntl.flock, [first.keep if kept else first.drop]

    def slow(fd: int, operation: int) -> None:
        while ends:
            ends.pop()()
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", slow)
    if kept and not force:
        with pytest.raises(BundleError, match="exists already"):
            LockedOutput(target, 0, force)
    else:
        second = LockedOutput(target, 0, force)
        os.write(second.fd, b"the second's")
        assert target.exists() == kept and (not kept or target.read_bytes() == b"the first's")
        with pytest.raises(BundleError, match="another process is writing it"):
            LockedOutput(target, 0, force)
        second.keep()
        assert target.read_bytes() == b"the second's"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(), "OSError"), (OSError("a\nb"), "a"), (OSError(13, ""), "Permission denied")],
)
def test_a_write_that_fails_has_one_reason(error: OSError, reason: str) -> None:
    with pytest.raises(BundleError, match=f"^x: cannot write: {reason}$"), write_errors(Path("x")):
        raise error


def test_a_file_that_shrinks_while_it_is_open_is_one_message(tmp_path: Path) -> None:
    path = sample().write(tmp_path / "suite.h5")
    with opgen.open(path) as bundle:
        case = bundle["one/FLOAT16/0"]
        os.truncate(path, 4096)
        with pytest.raises(BundleError, match=f"^{re.escape(str(path))}: truncated$"):
            list(case.inputs.values())


def test_what_is_read_after_the_end_says_that_the_file_is_closed(tmp_path: Path) -> None:
    with opgen.open(sample().write(tmp_path / "suite.h5")) as bundle:
        case = bundle["one/FLOAT16/0"]
        (before,) = list(case.inputs.values())[:1]
    kept = before.copy()
    with pytest.raises(
        BundleError, match="suite.h5: is closed; read what you need before the file is$"
    ):
        list(case.golden.values())
    assert same_bits(before, kept)


def test_a_kill_leaves_no_file_under_the_final_name(tmp_path: Path) -> None:
    script = """
        import sys
        from pathlib import Path
        from opgen.bundle.write.writer import Writer
        from tests.support.case_tables import tabulate
        from tests.support.bundle_sample import HEADER, sample
        one = sample()
        cases = tabulate(one.cases)
        with Writer(Path(sys.argv[1]), HEADER, cases, one.layout()) as writer:
            while True:
                for at, found in enumerate(one.arrays):
                    for (name, role), array in found.items():
                        writer.write([([at], {(name, role): array[None]})])
                print("written", flush=True)
    """
    target = tmp_path / "b.h5"
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), target], stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    assert not target.exists()
    with pytest.raises(BundleError, match="writing it was interrupted"):
        opgen.open(tmp_path / "b.h5.partial")
    SAMPLE.write(target)
    assert os.listdir(tmp_path) == ["b.h5"]


def test_unpacked_for_people(path: Path, tmp_path: Path) -> None:
    with opgen.open(path) as bundle:
        assert unpack(bundle, tmp_path / "tree.h5") == len(bundle)
        with pytest.raises(KeyError, match="no case 'nobody'"):
            unpack(bundle, tmp_path / "other.h5", ["nobody"])
    with h5py.File(tmp_path / "tree.h5") as file:
        group = file["one/COMPLEX64/4"]
        assert same_bits(group["golden/gradInput"][:], SAMPLE.arrays[4]["gradInput", "golden"])
        assert (
            group["arguments"].attrs["transposed"]
            and file["one/invalid"].attrs["codes"] == "161002 any_error"
        )
        assert file["two 0/storage/input"].shape == (20,) and file["two 0/inputs/input"].shape == (
            2,
            3,
        )
    assert os.listdir(tmp_path) == ["tree.h5"]


def test_every_case_is_unpacked_into_a_group_of_its_own(tmp_path: Path) -> None:
    ids = ["a/b", "%a", "a", "%%25a", "a/b/c", "%a/b", "b/", "%b%2F", ".", "%%2E"]
    call = Call("aclnnOne", "ascend910b", {"self": TensorDesc((4,), "FLOAT")})
    cases = [Case(name, call, "given", "", VALID, phase=1) for name in ids]
    with Writer(tmp_path / "b.h5", {}, tabulate(cases), planned([[] for _ in cases])):
        pass
    with opgen.open(tmp_path / "b.h5") as bundle:
        assert unpack(bundle, tmp_path / "tree.h5") == len(ids)
    found = []
    with h5py.File(tmp_path / "tree.h5") as file:
        file.visititems(
            lambda _, item: found.append(item.attrs["id"]) if "id" in item.attrs else None
        )
    assert sorted(found) == sorted(ids)


def test_importing_opgen_is_cheap() -> None:
    script = (
        "import sys, opgen; print(opgen.__version__, 'numpy' in sys.modules or 'h5py' in"
        " sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == f"{opgen.__version__} False\n"


@pytest.mark.parametrize("number", [(), (27,)])
def test_what_hdf5_says_of_a_failed_write_is_one_reason(
    number: tuple[int, ...], tmp_path: Path
) -> None:
    said = (
        "Unable to write (file write failed: time = Sun\n, filename = 'x', errno = 27, error"
        " message = 'File too large', buf = 0x5)"
    )
    with (
        pytest.raises(BundleError, match=r"x.h5: cannot write: File too large$"),
        write_errors(tmp_path / "x.h5"),
    ):
        raise OSError(*number, said)


def test_a_file_that_h5py_has_open_is_read_all_the_same(tmp_path: Path) -> None:
    """As every notebook does: whoever opened it first, and with whatever flags."""
    path = sample().write(tmp_path / "b.h5")
    for flags in ({}, {"locking": False}, {"locking": True}):
        with h5py.File(path, "r", **flags) as file, opgen.open(path) as bundle:
            assert len(bundle) == len(file["cases"]) > 0
            assert verify(path) == []
            with h5py.File(path, "r", **flags) as again:
                assert len(again["cases"]) == len(bundle)
