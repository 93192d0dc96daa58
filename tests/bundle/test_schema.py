"""The declared tables: what the writer makes is what readers take, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import opgen
from opgen.bundle.format import schema
from opgen.bundle.format.dtypes import KINDS, enum, named, text
from opgen.bundle.format.schema import Column
from tests.support.bundle_sample import sample


def test_every_column_that_is_written_is_declared(tmp_path: Path) -> None:
    with opgen.open(sample().write(tmp_path / "b.h5")) as bundle:
        for name, columns in schema.BUNDLE.items():
            kind = bundle.tables[name].dtype
            assert (kind.names or ("",)) == tuple(columns)
            for title, column in columns.items():
                assert column.fits(kind[title] if title else kind), (name, title)


@pytest.mark.parametrize(
    ("column", "right", "wrong"),
    [
        (Column("<u4"), ["<u4"], [">u4", "<i4", "<f4", "<u8", "V4", ("<u4", 2)]),
        (Column("[|<]i[1248]"), ["i1", "<i8"], ["u1", ">i2", "?"]),
        (Column("|S*"), [text(1), text(40)], ["<U4", "O"]),
        (
            Column("|i1", KINDS),
            [enum(KINDS, "i1"), enum({"valid": 0}, "i1")],
            ["i1", enum({"valid": 1}, "i1"), enum({"other": 0}, "i1"), enum(KINDS, "<i2")],
        ),
        (
            Column("[|<]u[12]", {}),
            [named(["a", "b2"]), named([f"n{i}" for i in range(300)])],
            [
                "u1",
                named(["a b"]),
                named(["1"]),
                named(["é"]),
                named(['x"); system("id']),
                h5py.enum_dtype({"a": 1}, basetype="u1"),
            ],
        ),
    ],
    ids=str,
)
def test_a_column_is_of_its_type_and_of_its_words(
    column: Column, right: list[str], wrong: list[str]
) -> None:
    assert all(column.fits(np.dtype(kind)) for kind in right)
    assert not any(column.fits(np.dtype(kind)) for kind in wrong)


def test_a_table_has_the_types_that_are_declared_and_those_of_the_file() -> None:
    columns = {"case": Column("<u4"), "name": Column("[|<]u[12]", {})}
    made = schema.table(columns, {"case": np.arange(3), "name": [1, 0, 1]}, name=named(["a", "b"]))
    assert made.tolist() == [(0, 1), (1, 0), (2, 1)] and made.dtype["case"] == "<u4"
    assert h5py.check_enum_dtype(made.dtype["name"]) == {"a": 0, "b": 1}
