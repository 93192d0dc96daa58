"""Lists of tensors in the case files of other tools: what a legal call of LSTM is in each form."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from opgen.calls.call_json import to_json
from opgen.interop import atk_import, ttk_import
from opgen.interop.importing import Imported
from opgen.spec.catalog import catalog
from tests.support import suites

API = "aclnnLstmBackward"
DTYPES = {"FLOAT": "fp32", "FLOAT16": "fp16", "INT64": "int64"}


@cache
def legal() -> dict[str, Any]:
    """The arguments of a call with lists of different lengths, of contiguous tensors."""
    for case in suites.suite("lstm_backward", "smoke").cases:
        args = to_json(case.call)
        if case.page.codes == (0,) and len(args["params"] or ()) > len(args["hx"] or ()) > 1:
            plain = {name: _plain(value) for name, value in args.items()}
            assert all(plain[name] for name in ("input", "dparamsOut"))
            return plain
    raise AssertionError("no such call")


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {fact: value[fact] for fact in ("shape", "dtype", "format")}
    return value


def kinds() -> dict[str, str]:
    (spec,) = catalog().of(API)
    return {name: spec.parameters[name].kind for name in legal()}


def atk(**changes: Any) -> list[dict[str, Any]]:
    """The objects of an ATK case, each list of tensors as a list of objects."""

    def one(name: str, value: Any, type: str) -> dict[str, Any]:
        tensor = value or {"dtype": "FLOAT", "shape": None}
        told = {"dtype": DTYPES[tensor["dtype"]], "shape": tensor["shape"]}
        return {"name": name, "type": type, "range_values": None, **told}

    objects: list[Any] = []
    for name, value in (legal() | changes).items():
        kind = kinds()[name]
        if kind in ("tensor", "output"):
            objects.append(one(name, value, "tensor"))
        elif kind.endswith("_list"):
            several = [one(name, tensor, "tensors") for tensor in value or ()]
            objects.append(several or one(name, None, "tensors"))
        else:
            several = [
                {"name": name, "type": "attr", "shape": None, "range_values": number}
                for number in (value if isinstance(value, list) else [value])
            ]
            objects.append(several if isinstance(value, list) else several[0])
    return objects


def read_atk(folder: Path, objects: list[Any]) -> Imported:
    case = {"id": 1, "aclnn_name": API, "aclnn_api_type": "opgen_lists", "inputs": objects}
    (folder / "cases.json").write_text(json.dumps([case]))
    return atk_import.read(folder / "cases.json", catalog(), ["ascend910b"])


def cells(**changes: Any) -> dict[str, Any]:
    """The cells of a TTK row, each list of tensors as a tuple of what is said of each."""
    tensors = [name for name, kind in kinds().items() if kind.split("_")[0] in ("tensor", "output")]

    def column(fact: str) -> tuple[Any, ...]:
        def said(value: Any) -> Any:
            if isinstance(value, list):
                return tuple(said(item) for item in value)
            return value and (tuple(value[fact]) if fact == "shape" else value[fact])

        return tuple(said(legal()[name]) for name in tensors)

    others = {name: value for name, value in legal().items() if name not in tensors}
    return {
        "testcase_name": "mine",
        "api_name": API,
        "tensor_view_shapes": column("shape"),
        "tensor_dtypes": column("dtype"),
        "attributes": others,
        **changes,
    }


def read_ttk(folder: Path, row: dict[str, Any]) -> Imported:
    with (folder / "cases.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerow(row)
    return ttk_import.read(folder / "cases.csv", catalog(), ["ascend910b"])


def only(found: Imported) -> dict[str, Any]:
    assert not found.unreadable, found.unreadable
    (line,) = found.lines
    args: dict[str, Any] = json.loads(line)["args"]
    return args


def test_a_list_of_objects_is_a_list_of_tensors(tmp_path: Path) -> None:
    assert only(read_atk(tmp_path, atk())) == legal()


def test_an_output_list_that_atk_makes_follows_from_the_page(tmp_path: Path) -> None:
    inputs = [
        one for one, kind in zip(atk(), kinds().values(), strict=True) if "output" not in kind
    ]
    assert only(read_atk(tmp_path, inputs)) == legal()


def test_a_list_without_a_shape_is_a_null_pointer(tmp_path: Path) -> None:
    found = read_atk(tmp_path, atk(hx=None))
    assert only(found) == legal() | {"hx": None}


def test_a_list_that_is_no_list_of_tensors_is_refused(tmp_path: Path) -> None:
    objects = [one for one in atk() if not isinstance(one, list) or one[0]["name"] != "hx"]
    wrong = {"name": "hx", "type": "attr", "range_values": 3}
    (problem,) = read_atk(tmp_path, [*objects, wrong]).unreadable
    assert "hx: 'attr' is no type of tensor_list; known: tensor, tensors" in str(problem)


def test_too_long_a_list_is_refused(tmp_path: Path) -> None:
    hx = legal()["hx"] * 40
    (problem,) = read_atk(tmp_path, atk(hx=hx)).unreadable
    assert "args.hx: " in str(problem)


def test_a_tuple_of_shapes_is_a_list_of_tensors(tmp_path: Path) -> None:
    assert only(read_ttk(tmp_path, cells())) == legal()


def test_what_is_said_once_of_a_list_holds_for_each(tmp_path: Path) -> None:
    row = cells()
    places = [name for name, kind in kinds().items() if kind.split("_")[0] in ("tensor", "output")]
    hx = places.index("hx")
    dtypes = list(row["tensor_dtypes"])
    dtypes[hx] = dtypes[hx][0]
    ranges = [None] * len(places)
    ranges[hx] = (-2, 2)
    found = only(read_ttk(tmp_path, row | {"tensor_dtypes": dtypes, "input_data_ranges": ranges}))
    assert found == legal() | {"hx": [tensor | {"range": [-2, 2]} for tensor in legal()["hx"]]}


@pytest.mark.parametrize(
    ("column", "wrong", "message"),
    [
        ("tensor_view_shapes", 3, "hx: expects a tuple of shapes, one for each tensor, not 3"),
        ("tensor_dtypes", ("float32",), "hx: dtype: ['float32']: expects one for each of 2"),
    ],
)
def test_a_list_that_does_not_fit_is_named(
    tmp_path: Path, column: str, wrong: object, message: str
) -> None:
    row = cells()
    places = [name for name, kind in kinds().items() if kind.split("_")[0] in ("tensor", "output")]
    told = list(row[column])
    told[places.index("hx")] = wrong
    (problem,) = read_ttk(tmp_path, row | {column: told}).unreadable
    assert message in str(problem)
