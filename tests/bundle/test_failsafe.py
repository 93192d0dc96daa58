"""A file that HDF5 writes through Python: one that finds no room at any byte is one message."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

import opgen
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.read.unpack import unpack
from opgen.bundle.write.failsafe import Sink
from opgen.bundle.write.output import partial
from tests.support import unmeasured
from tests.support.bundle_sample import sample
from tests.support.limits import largest_file

LIMITED = """
import resource
from opgen.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
main()
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample().write(tmp_path_factory.mktemp("sink") / "b.h5")


def test_the_program_outlives_a_file_that_cannot_grow(path: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree.h5"
    command = [sys.executable, "-c", LIMITED, "unpack", str(path), "-o", str(tree)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env=unmeasured.ENVIRONMENT,
    )
    assert (done.returncode, done.stderr) == (2, f"{tree}: cannot write: File too large\n")
    assert os.listdir(tmp_path) == []


def test_a_file_may_find_no_room_at_any_byte(path: Path, tmp_path: Path) -> None:
    tree, whole = tmp_path / "tree.h5", tmp_path / "whole.h5"
    with opgen.open(path) as bundle:
        unpack(bundle, whole)
        size = whole.stat().st_size
        for room in range(0, size, size // 29):
            with (
                largest_file(room),
                pytest.raises(opgen.BundleError, match="tree.h5: cannot write: File too large$"),
            ):
                unpack(bundle, tree)
        with largest_file(size):
            unpack(bundle, tree)
    assert tree.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["tree.h5", "whole.h5"]


@pytest.mark.parametrize("left", ["junk", "tree"])
def test_what_a_killed_process_left_is_no_part_of_the_tree(
    path: Path, tmp_path: Path, left: str
) -> None:
    tree, whole = tmp_path / "tree.h5", tmp_path / "whole.h5"
    with opgen.open(path) as bundle:
        unpack(bundle, whole, bundle.ids[:2])
        if left == "tree":
            unpack(bundle, partial(tree), bundle.ids[2:])
        else:
            partial(tree).write_bytes(b"junk" * 100_000)
        with pytest.raises(BundleError, match="tree.h5.partial: .* opgen did not make it"):
            unpack(bundle, tree, bundle.ids[:2])
        unpack(bundle, tree, bundle.ids[:2], force=True)
    assert tree.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["tree.h5", "whole.h5"]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.binary(min_size=1, max_size=30)), max_size=8),
    st.integers(0, 70),
)
def test_what_found_no_room_is_read_all_the_same(
    pieces: list[tuple[int, bytes]], room: int
) -> None:
    with TemporaryFile() as file, largest_file(room):
        held, expected = Sink(file.fileno()), bytearray(80)
        for start, data in pieces:
            held.seek(start)
            assert held.write(data) == len(data)
            expected[start : start + len(data)] = data
        for start in range(0, 80, 16):
            found = bytearray(16)
            held.seek(start)
            assert held.readinto(memoryview(found)) == 16 and found == expected[start : start + 16]
