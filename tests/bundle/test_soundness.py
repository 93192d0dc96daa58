"""Tables whose numbers stand for nothing are told, each by its line; those that opgen writes stand
for something.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen
from opgen.bundle.format.tensorrow import NO_DATA
from opgen.bundle.read.opening import OpenedFile
from opgen.bundle.read.soundness import unsoundness
from tests.support import device_sample as sample

Tables = dict[str, np.ndarray]
POOL, CONVOLUTION = "attributes/aclnnAvgPool2dBackward", "attributes/aclnnConvolutionBackward"


def opened(path: Path, kind: str) -> OpenedFile:
    file = OpenedFile(path, kind)
    file.close()
    return file


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Legal and forbidden calls, a view, a tensor with a range."""
    view = sample.tensor([2, 4, 5, 6], "FLOAT", "NCHW")
    view |= {"strides": [120, 30, 1, 5], "offset": 3, "storage_shape": [250], "range": [0, 1]}
    path = tmp_path_factory.mktemp("sound") / "suite.h5"
    return sample.write(
        path, {**sample.CALLS, "view": sample.convolution("FLOAT", gradOutput=view)}
    )


@pytest.fixture(scope="module")
def results(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "results.h5"
    with opgen.open(bundle) as suite, opgen.Results.create(path, suite) as made:
        for case in suite:
            made.add(
                case.id,
                0 if case.golden else 161002,
                sample.right(case) if case.golden else {},
                error="some",
            )
    return path


def test_what_opgen_writes_is_sound(bundle: Path, results: Path) -> None:
    for path, kind in ((bundle, "bundle"), (results, "results")):
        file = opened(path, kind)
        assert len(file.tables["tensors"]) > 20 and unsoundness(file) == ""


def cell(table: str, column: str, value: int, row: int = 0) -> Callable[[Tables], None]:
    def change(tables: Tables) -> None:
        tables[table][column][row] = value

    return change


def where(tables: Tables, **of: int) -> int:
    """The first tensor with data and these values."""
    rows = tables["tensors"]
    found = (rows["position"] != NO_DATA) & np.logical_and.reduce(
        [rows[name] == value for name, value in of.items()]
    )
    return int(np.flatnonzero(found)[0])


def view(tables: Tables) -> int:
    return int(
        np.flatnonzero(
            (tables["tensors"]["strides"] > 0) & (tables["tensors"]["position"] != NO_DATA)
        )[0]
    )


def integer(tables: Tables, row: int, column: str, value: int, at: int = 0) -> None:
    """Another number in the list of a tensor, for it alone."""
    tables["integers"] = np.append(tables["integers"], [0] * 4)
    start, length = tables["lists"][tables["tensors"][column][row]].tolist()
    end = len(tables["integers"]) - 4
    tables["integers"][end : end + length] = tables["integers"][start : start + length]
    tables["integers"][end + at] = value
    tables["lists"] = np.append(
        tables["lists"], np.array([(end, length)], dtype=tables["lists"].dtype)
    )
    tables["tensors"][column][row] = len(tables["lists"]) - 1


def other_name(tables: Tables) -> None:
    """A tensor of convolution in a case of pooling."""
    ops, rows = tables["cases"]["op"][tables["tensors"]["case"]], tables["tensors"]
    pool = int(np.flatnonzero(ops == ops[-1])[0])
    rows["name"][pool] = next(
        name
        for name in rows["name"].tolist()
        if name not in rows["name"][ops == ops[pool]].tolist()
    )


CHANGES: list[tuple[Callable[[Tables], Any], str]] = [
    (cell("cases", "kind", 99), "cases: 99 is not a kind"),
    (cell("tensors", "dtype", 77), "tensors: 77 is not a dtype"),
    (cell("parameters", "kind", 99), "parameters: 99 is not a kind"),
    (cell("cases", "intent", 10**6), "cases: intent names none of the "),
    (cell("cases", "library_release", 10**6), "cases: library_release names none of the "),
    (cell("breaks", "found", 10**6), "breaks: found names none of the "),
    (cell("cases", "codes", 10**6), "cases: codes names none of the "),
    (cell("tensors", "strides", 10**6), "tensors: strides names none of the "),
    (cell(POOL, "kernelSize", 10**6), f"{POOL}: kernelSize names none of the "),
    (cell(CONVOLUTION, "outputMask", 10**6), f"{CONVOLUTION}: outputMask names none of the "),
    (cell("ranges", "tensor", 10**6), "ranges: tensor names none of the "),
    (cell(POOL, "case", 10**6), f"{POOL}: case names none of the "),
    (cell("lists", "start", 10**6, -1), "a list reaches beyond the integers"),
    (cell("cases", "attributes_row", 10**6), "cases: attributes_row names none of the "),
    (cell("cases", "first_tensor", 1, 2), "the tensors do not follow their cases"),
    (cell("cases", "tensors", 1, -1), "the tensors do not follow their cases"),
    (
        cell("tensors", "case", 1),
        "a row of tensors names another case than the one that it belongs to",
    ),
    (cell("cases", "first_break", 9, 2), "the breaks do not follow their cases"),
    (
        cell("breaks", "case", 0),
        "a row of breaks names another case than the one that it belongs to",
    ),
    (other_name, "a tensor is not a parameter of its case's API"),
    (lambda tables: tables["cases"]["id"].__setitem__(0, b"\xff"), "an id is not UTF-8"),
    (
        lambda tables: integer(tables, where(tables, role=0), "shape", -1),
        "a tensor with data has fewer elements than none",
    ),
    (
        lambda tables: cell("tensors", "elements", -1, where(tables, role=2))(tables),
        "tensors: elements cannot be -1",
    ),
    (
        lambda tables: integer(tables, where(tables, role=2), "shape", 9),
        "a golden belongs to no output of its shape",
    ),
    (
        lambda tables: integer(tables, where(tables, role=0), "shape", 9),
        "a tensor has another number of elements than its shape",
    ),
    (
        lambda tables: integer(tables, view(tables), "storage_shape", 251),
        "a tensor has another number of elements than its shape",
    ),
    (
        lambda tables: cell(
            "tensors",
            "strides",
            int(tables["tensors"]["storage_shape"][view(tables)]),
            view(tables),
        )(tables),
        "a tensor with data has strides of another rank",
    ),
    (lambda tables: integer(tables, view(tables), "strides", -120), "a view leaves its data"),
    (lambda tables: integer(tables, view(tables), "strides", 128), "a view leaves its data"),
    (lambda tables: cell("tensors", "offset", 11, view(tables))(tables), "a view leaves its data"),
    (lambda tables: cell("tensors", "offset", -1, view(tables))(tables), "a view leaves its data"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_a_number_that_stands_for_nothing_is_told(
    bundle: Path, change: Callable[[Tables], Any], message: str
) -> None:
    file = opened(bundle, "bundle")
    change(file.tables)
    assert unsoundness(file).startswith(message)


@pytest.mark.parametrize(
    "change",
    [
        lambda tables: cell("tensors", "offset", 10, view(tables))(tables),
        lambda tables: integer(tables, view(tables), "strides", 127),
    ],
)
def test_a_view_may_reach_the_last_element(bundle: Path, change: Callable[[Tables], Any]) -> None:
    file = opened(bundle, "bundle")
    change(file.tables)
    assert unsoundness(file) == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cell("results", "status_word", 10**6), "results: status_word names none of the "),
        (cell("results", "error", 10**6), "results: error names none of the "),
        (
            cell("tensors", "result", 5),
            "a row of tensors names another result than the one that it belongs to",
        ),
        (cell("tensors", "elements", 5), "a tensor has another number of elements than its shape"),
        (cell("tensors", "dtype", 77), "tensors: 77 is not a dtype"),
        (cell("tensors", "unwritten", -2), "tensors: unwritten cannot be -2"),
        (cell("tensors", "unwritten", 10**6), "more elements of an output were left unwritten"),
        (cell("results", "time", -1), "results: time cannot be -1.0"),
        (cell("results", "status_word", 2), "results: 'some' is not a status_word"),
    ],
)
def test_the_same_of_results(results: Path, change: Callable[[Tables], Any], message: str) -> None:
    file = opened(results, "results")
    change(file.tables)
    assert unsoundness(file).startswith(message)


@pytest.mark.parametrize("name", ["cases", "tensors", "lists", "integers", "breaks", POOL])
def test_a_table_that_is_missing_is_told(bundle: Path, name: str) -> None:
    file = opened(bundle, "bundle")
    del file.tables[name]
    assert unsoundness(file) == f"there is no table {name}"
