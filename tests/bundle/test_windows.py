"""All data of a file, piece by piece: every tensor once, in order, and the bytes around them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.bundle.format.tensorrow import NO_DATA
from opgen.bundle.read.windows import windows
from tests.support.bundle_sample import sample


@pytest.mark.parametrize("limit", [64, 512, 1 << 20])
def test_every_byte_of_the_data_is_in_one_window(tmp_path: Path, limit: int) -> None:
    with opgen.open(sample().write(tmp_path / "b.h5")) as bundle:
        there = list(windows(bundle, limit))
        tensors = bundle.tables["tensors"]
        for number, (kind, start, elements) in bundle.blobs.items():
            mine = [window for window in there if window.dtype == number]
            size = elements * kind.itemsize
            assert b"".join(window.bytes for window in mine) == bundle.bytes(start, size).tobytes()
            assert sum(window.padding.size + sum(map(len, window.data)) for window in mine) == size
        rows = np.concatenate([window.rows for window in there])
        assert sorted(rows) == np.flatnonzero(tensors["position"] != NO_DATA).tolist()
        for window in there:
            for row, data in zip(window.rows.tolist(), window.data, strict=True):
                _, name, _, dtype, *_, count, position, digest = tensors[row].tolist()
                assert data == bundle.elements(0, name, dtype, count, position, digest).tobytes()
    assert len(there) > len(bundle.blobs) or limit == 1 << 20
