"""Bundles in the form of other tools, read back whole: by the importer where there is one, else by
a reader written here from the format's description.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.calls.call_json import to_json
from opgen.calls.jsonl import read_calls
from opgen.calls.vocabulary import vocabulary
from opgen.cli import main
from opgen.generation import engine
from opgen.generation.header import header
from opgen.interop import (
    atk_export,
    atk_import,
    gtest_export,
    npz_export,
    ttk_aclnn,
    ttk_export,
    ttk_import,
)
from opgen.interop.folder import MANIFEST, file_name, new_folder
from opgen.model import CRASH, FileError
from opgen.numerics import views
from opgen.spec.catalog import catalog
from opgen.suite.selection import Request
from tests import loopback
from tests.bundle.test_verify import resign
from tests.support.limits import run_on_small_disk
from tests.support.suites import SLOW

NUMPY = {"bfloat16": np.dtype(ml_dtypes.bfloat16)}


def bundle_of(path: Path, **asked: Any) -> Path:
    request = Request(**asked)
    suite = request.suite()
    engine.write(suite, path, header(request, suite, 0))
    return path


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    """Every operator of two products; of their cases every eighth, with ``OPGEN_SLOW=1`` all."""
    path = tmp_path_factory.mktemp("smoke") / "smoke.h5"
    products, part = ("ascend910b", "ascend310p"), "" if SLOW else "1/8"
    with opgen.open(bundle_of(path, products=products, shard=part)) as bundle:
        own = [spec for spec in catalog().specs if {*products} & {*spec.judges} & {*spec.products}]
        assert {case.op for case in bundle} >= {spec.api for spec in own}
        yield bundle


def _tensor(*shape: int, dtype: str = "BFLOAT16", **more: Any) -> dict[str, Any]:
    return {"shape": list(shape), "dtype": dtype, "format": "ND", **more}


def _pad(name: str, **more: Any) -> dict[str, Any]:
    args = {
        "gradOutput": _tensor(2, 5, 6),
        "self": _tensor(2, 3, 4),
        "padding": [1, 1, 1, 1],
        "gradInput": _tensor(2, 3, 4),
    }
    return {
        "id": name,
        "op": "aclnnReflectionPad2dBackward",
        "product": "ascend910b",
        "args": {**args, **more},
    }


def _norm(name: str, grad: dict[str, Any], **more: Any) -> dict[str, Any]:
    args = {
        "gradOut": grad,
        "input": _tensor(2, 4, 3),
        "mean": _tensor(2, 2),
        "rstd": _tensor(2, 2),
        "gamma": _tensor(4),
        "N": 2,
        "C": 4,
        "HxW": 3,
        "group": 2,
        "outputMask": [True, True, False],
        "gradInput": _tensor(2, 4, 3),
        "gradGammaOut": _tensor(4),
        "gradBetaOut": None,
    }
    return {
        "id": name,
        "op": "aclnnGroupNormBackward",
        "product": "ascend910b",
        "args": {**args, **more},
    }


ODD = [
    _norm("a plain bfloat16 norm", _tensor(2, 4, 3)),
    _norm(
        "norm/slash-ü",
        _tensor(2, 4, 3, strides=[48, 6, 2], offset=1, storage_shape=[2, 8, 6], range=[-2, 2]),
    ),
    _norm("x" * 150, _tensor(2, 4, 3, strides=[12, 1, 4], offset=0, storage_shape=[2, 3, 4])),
    _norm(
        "..",
        _tensor(2, 4, 3),
        gradInput=_tensor(2, 4, 3, strides=[24, 6, 2], offset=0, storage_shape=[2, 4, 6]),
    ),
    _pad(
        "a view that says nothing of its storage", gradOutput=_tensor(2, 5, 6, strides=[50, 6, 1])
    ),
    _pad(
        "backwards",
        gradOutput=_tensor(2, 5, 6, strides=[30, 6, -1], offset=5),
        gradInput=_tensor(2, 3, 4, offset=7),
    ),
    _pad("room behind", gradOutput=_tensor(2, 5, 6, storage_shape=[80])),
    _pad('bad "quoted" ??/ \\', gradOutput=_tensor(2, 5, 7)),
    _pad("huge", padding=[-(2**63), 2**63 - 1, 0, 0], self=_tensor(2**40, 1, 1)),
    _pad("null", padding=None, gradOutput=None),
    _pad("none", padding=[]),
]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    """Ids and descriptors that are hard to write."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "calls.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in ODD), encoding="utf-8"
    )
    with opgen.open(bundle_of(folder / "odd.h5", calls=str(folder / "calls.jsonl"))) as bundle:
        yield bundle


@pytest.fixture(params=["smoke", "odd"])
def bundle(request: pytest.FixtureRequest) -> Bundle:
    found: Bundle = request.getfixturevalue(request.param)
    return found


def positive(bundle: Bundle) -> dict[str, CaseView]:
    return {case.id: case for case in bundle if case.expect.codes == (0,) and case.phase == 2}


def with_list(case: CaseView) -> bool:
    """Whether an argument is a list of tensors, for which ATK and TTK have no form."""
    return any(
        isinstance(each, dict)
        for value in case.call["args"].values()
        if isinstance(value, list)
        for each in value
    )


def imported(lines: list[str], tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Lines of a call file by id, with the args as a bundle has them."""
    path = tmp_path / "imported.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = read_calls(path, catalog().kinds)
    return {
        one.id: {
            "product": one.call.product,
            "op": one.call.api,
            "args": _whole(to_json(one.call)),
        }
        for one in found
    }


def _whole(args: dict[str, Any]) -> dict[str, Any]:
    absent = {"strides": None, "offset": 0, "storage_shape": None}
    return {
        name: absent | value if isinstance(value, dict) and "shape" in value else value
        for name, value in args.items()
    }


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
    )


# npz ----------------------------------------------------------------------------------------------
def test_npz_holds_everything(bundle: Bundle, tmp_path: Path) -> None:
    done = npz_export.export(bundle, tmp_path / "out", bundle.ids)
    assert len(done.cases) == len(bundle) and done.left_out == {}
    lines = [
        json.loads(line)
        for line in (tmp_path / "out" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [line["id"] for line in lines] == bundle.ids
    read_calls(tmp_path / "out" / "cases.jsonl", catalog().kinds)
    for line, case in zip(lines, bundle, strict=True):
        assert {key: line[key] for key in ("id", "op", "product", "args")} == case.call
        assert (tuple(line["expect"]["codes"]), line["expect"]["bucket"]) == (
            case.expect.codes,
            case.expect.bucket,
        )
        assert (line["file"] is None) == (case.phase == 1)
        if line["file"]:
            check_arrays(case, np.load(tmp_path / "out" / line["file"]), line["args"])


def check_arrays(case: CaseView, found: Any, args: dict[str, Any]) -> None:
    """An archive holds all data of a case: keys, bits, shapes, and nothing else."""
    stored = {
        "input": case.inputs,
        "golden": case.golden,
        "bound": case.bound,
        "storage": case.storage,
    }
    expected = {
        f"{role}.{name}"
        for role, tensors in stored.items()
        if role != "storage"
        for name in tensors
    }
    args = {
        **args,
        **{
            f"{name}[{i}]": tensor
            for name, value in args.items()
            if isinstance(value, list) and any(isinstance(each, dict) for each in value)
            for i, tensor in enumerate(value)
        },
    }
    moved = {
        f"storage.{name}"
        for name in case.inputs
        if args[name]["strides"] or args[name]["offset"] or args[name]["storage_shape"]
    }
    assert set(found.files) == expected | moved
    for key in found.files:
        role, _, name = key.partition(".")
        array = found[key]
        if role in ("input", "storage") and args[name]["dtype"] == "BFLOAT16":
            assert array.dtype == np.uint16
            array = array.view(ml_dtypes.bfloat16)
        assert same(array, stored[role][name]), key


def test_npz_is_the_same_bytes_again(odd: Bundle, tmp_path: Path) -> None:
    for name in ("a", "b"):
        npz_export.export(odd, tmp_path / name, odd.ids)
    first, second = (
        sorted(p for p in (tmp_path / name).rglob("*") if p.is_file()) for name in ("a", "b")
    )
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second] and len(
        first
    ) == len(second) > 3


# TTK ----------------------------------------------------------------------------------------------
def test_the_table_of_ttk_is_imported_whole(bundle: Bundle, tmp_path: Path) -> None:
    done = ttk_export.export(bundle, tmp_path / "out", bundle.ids)
    found = ttk_import.read(tmp_path / "out" / "cases.csv", catalog(), [])
    assert found.unreadable == [] and found.left_out == []
    wanted = {
        name: {"product": case.product, "op": case.op, "args": case.call["args"]}
        for name, case in positive(bundle).items()
        if not with_list(case)
    }
    assert imported(found.lines, tmp_path) == wanted and len(done.cases) == len(wanted) > 0
    assert sum(map(len, done.left_out.values())) == len(bundle) - len(wanted)
    assert json.loads((tmp_path / "out" / MANIFEST).read_text())["left_out"] == done.left_out


def test_the_data_of_ttk_follow_the_protocol(bundle: Bundle, tmp_path: Path) -> None:
    ttk_export.export(bundle, tmp_path / "out", bundle.ids)
    with open(tmp_path / "out" / "cases.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == ttk_aclnn.COLUMNS and len(ttk_aclnn.COLUMNS) == 27
    folders = {path.name for path in (tmp_path / "out" / "manual").iterdir()}
    assert len(folders) == len(rows)
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,120}", name) and name.strip(".") for name in folders)
    for row in rows:
        check_replay(
            row,
            tmp_path / "out" / "manual" / file_name(row["testcase_name"], distinct=False),
            bundle[row["testcase_name"]],
        )


def check_replay(row: dict[str, str], folder: Path, case: CaseView) -> None:
    """What a replay makes of a folder: inputs and goldens in their order, by name and by bytes; no
    file too many.
    """
    shapes, outputs = (
        ast.literal_eval(row["tensor_view_shapes"]),
        ast.literal_eval(row["output_tensor_indexes"]),
    )
    storages = ast.literal_eval(row["tensor_storage_shapes"] or "None")
    args = case.call["args"]
    tensors = [name for name, kind in catalog().kinds[case.op].items() if kind == "tensor"]
    inputs = [i for i in range(len(shapes)) if i not in outputs]
    files = {path.name for path in folder.iterdir()}
    for place, i in enumerate(inputs):
        [name] = [file for file in files if file.startswith(f"input_{place}_")]
        files.discard(name)
        data = (folder / name).read_bytes()
        if shapes[i] is None:
            assert name == f"input_{place}_none.bin" and data == b"" and args[tensors[i]] is None
            continue
        word = name.removeprefix(f"input_{place}_").removesuffix(".bin")
        array = np.frombuffer(data, dtype=NUMPY.get(word) or np.dtype(word))
        assert array.size == np.prod(
            storages[i] if storages and storages[i] else shapes[i], dtype=int
        ), "the whole storage"
        assert same(array, case.storage[tensors[i]])
    for place, i in enumerate(outputs):
        [name] = [file for file in files if file.startswith(f"golden_{place}_")]
        files.discard(name)
        data = (folder / name).read_bytes()
        if tensors[i] not in case.golden:
            assert name == f"golden_{place}_none.bin" and data == b""
            continue
        found = re.fullmatch(rf"golden_{place}_(\w+?)__shape_(scalar|\d+(?:x\d+)*)\.bin", name)
        assert found is not None
        shape = () if found[2] == "scalar" else tuple(map(int, found[2].split("x")))
        assert same(np.frombuffer(data, dtype=found[1]).reshape(shape), case.golden[tensors[i]])
    assert files == set()


def test_a_damaged_value_is_seen(odd: Bundle, tmp_path: Path) -> None:
    """The check above fails for one wrong bit."""
    ttk_export.export(odd, tmp_path / "out", odd.ids[:1])
    folder = next((tmp_path / "out" / "manual").iterdir())
    with open(tmp_path / "out" / "cases.csv", encoding="utf-8", newline="") as stream:
        row = next(csv.DictReader(stream))
    check_replay(row, folder, odd[0])
    data = bytearray((folder / "input_1_bfloat16.bin").read_bytes())
    data[0] ^= 1
    (folder / "input_1_bfloat16.bin").write_bytes(data)
    with pytest.raises(AssertionError):
        check_replay(row, folder, odd[0])


# ATK ----------------------------------------------------------------------------------------------
def executor(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("executor_opgen", folder / "executor_opgen.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def bare(args: dict[str, Any]) -> dict[str, Any]:
    """Args without what ATK's case file has no place for: how tensors lie, and the range of
    outputs.
    """
    kept = ("shape", "dtype", "format", "range", "value")
    return {
        name: (
            {key: value[key] for key in kept if key in value} if isinstance(value, dict) else value
        )
        for name, value in args.items()
    }


def test_the_cases_of_atk_are_imported(bundle: Bundle, tmp_path: Path) -> None:
    """All of them. ATK's file has no formats, so that a tensor for which a page lists several may
    come back in another.
    """
    done, known = atk_export.export(bundle, tmp_path / "out", bundle.ids), positive(bundle)
    read = 0
    for path in sorted((tmp_path / "out").glob("atk_*.json")):
        found = atk_import.read(path, catalog(), [path.stem.removeprefix("atk_")])
        assert not found.unreadable
        for name, call in imported(found.lines, tmp_path).items():
            case = known[name]
            args, whole = bare(call["args"]), bare(case.call["args"])
            assert (call["op"], call["product"]) == (case.op, case.product)
            assert (
                args
                == whole
                | {
                    parameter: {**whole[parameter], "format": args[parameter]["format"]}
                    for parameter in args
                    if isinstance(args[parameter], dict)
                    and args[parameter].get("format") in listed(case.op, parameter)
                }
                or args == whole
            )
            read += 1
    assert read == len(done.cases) > 0
    assert len(done.cases) + sum(map(len, done.left_out.values())) == len(bundle)


def listed(op: str, parameter: str) -> set[str]:
    """The formats that a page lists for a tensor; none where it lists one alone."""
    (spec, *_) = catalog().of(op)
    words = {
        term.text.strip("'")
        for guard in spec.memberships.get((parameter, "format"), ())
        for term in guard.require.right
    }
    return words if len(words) > 1 else set()


def test_the_attributes_of_atk_have_the_types_that_it_knows(smoke: Bundle, tmp_path: Path) -> None:
    """It reads no int8 and no int32 from JSON: an executor makes them. A scalar has the dtype of a
    tensor.
    """
    some = bundle_of(
        tmp_path / "some.h5", operators=("threshold_backward", "group_norm_backward"), shard="1/2"
    )
    with opgen.open(some) as bundle:
        atk_export.export(bundle, tmp_path / "some", bundle.ids)
    atk_export.export(smoke, tmp_path / "out", smoke.ids)
    types: dict[str, set[str]] = {}
    scalars: set[str] = set()
    for path in tmp_path.glob("*/atk_*.json"):
        for given in (given for case in json.loads(path.read_text()) for given in case["inputs"]):
            for part in given if isinstance(given, list) else [given]:
                if part["type"] == "scalar":
                    scalars.add(part["dtype"])
                elif part["type"] != "tensor":
                    types.setdefault(part["name"], set()).add(part["dtype"])
    assert types["cubeMathType"] == {"int8_t"} and types["transposed"] == {"bool"}
    assert types["groups"] == types["padding"] == types["N"] == {"int"}
    assert set.union(*types.values()) <= {"int8_t", "int", "bool", "float", "string"}
    whole = {"int8", "int16", "int32", "int64", "uint8"}
    assert {"fp32", "bf16", "int32"} <= scalars <= whole | {"fp16", "fp32", "fp64", "bf16", "bool"}


def test_the_executor_of_atk_gives_what_is_frozen(bundle: Bundle, tmp_path: Path) -> None:
    done = atk_export.export(bundle, tmp_path / "out", bundle.ids)
    module = executor(tmp_path / "out")
    index = module.index()
    assert len(index) == len(done.cases)
    for number in index:
        case = bundle[number - 1]
        line, inputs, goldens = module.load(number)
        assert {key: line[key] for key in ("id", "op", "product", "args")} == case.call
        check_arrays(case, np.load(tmp_path / "out" / line["file"]), line["args"])
        assert list(inputs) == list(case.inputs) and list(goldens) == list(case.golden)
        for name, (storage, desc) in inputs.items():
            extents = module.storage_shape_of(storage, desc)
            assert prod(extents) == storage.size
            assert extents == (
                desc["storage_shape"]
                or (desc["shape"] if case.args[name].plain else [storage.size])
            )
            flat = storage.view(ml_dtypes.bfloat16) if desc["dtype"] == "BFLOAT16" else storage
            strides = [step * flat.itemsize for step in module.strides_of(desc)]
            assert same(flat, case.storage[name])
            if flat.size:
                assert same(
                    np.lib.stride_tricks.as_strided(flat[desc["offset"] :], desc["shape"], strides),
                    case.inputs[name],
                )


ATK_STUB = {
    "atk/tasks/api_execute/__init__.py": (
        "found = {}\ndef register(name):\n    return lambda made: found.setdefault(name, made)\n"
    ),
    "atk/tasks/api_execute/base_api.py": "class BaseApi:\n    pass\n",
    "atk/tasks/api_execute/aclnn_base_api.py": (
        "class AclnnBaseApi:\n    def init_by_input_data(self, data):\n        return data.kwargs\n"
    ),
    "atk/tasks/backends/lib_interface/acl_wrapper.py": (
        "class AclFormat:\n    ACL_FORMAT_ND, ACL_FORMAT_NCHW, ACL_FORMAT_NCL = 2, 0, 47\n"
    ),
}


def test_the_classes_of_atk_with_torch(
    odd: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under stand-ins for ATK's classes: frozen inputs as strided torch tensors, goldens in the
    dtype of the outputs.
    """
    torch = pytest.importorskip("torch")
    for name, text in ATK_STUB.items():
        path = tmp_path / "stub" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "stub"))
    atk_export.export(odd, tmp_path / "out", odd.ids)
    executor(tmp_path / "out")
    from atk.tasks.api_execute import found  # type: ignore[import-not-found]

    case = odd[1]
    config = type("Config", (), {"id": case.row + 1})
    data = type("Data", (), {"kwargs": {"gradOut": torch.zeros(1)}})
    reference, device = found["opgen_frozen"](), found["opgen_frozen_aclnn"]()
    reference.task_result = device.task_result = type("Task", (), {"case_config": config})
    grads = reference(data)
    assert [None if g is None else g.dtype for g in grads] == [torch.bfloat16, torch.bfloat16, None]
    kwargs = device.init_by_input_data(data)
    assert kwargs["gradOut"].stride() == (48, 6, 2) and kwargs["gradOut"].storage_offset() == 1
    assert np.array_equal(
        kwargs["gradOut"].float().numpy(), case.inputs["gradOut"].astype(np.float32)
    )
    assert device.get_format(data, index=0) == 2 == device.get_format(data, name="gradOut")
    assert device.get_storage_shape(data, name="gradOut") == [2, 8, 6]
    assert device.get_storage_shape(data, name="input") == [2, 4, 3]
    assert device.get_storage_shape(data, index=1) == [4]
    data.kwargs = {"gradOut": torch.zeros(1, device="meta")}
    moved = device.init_by_input_data(data)["gradOut"]
    assert (moved.device.type, moved.stride(), moved.storage_offset()) == ("meta", (48, 6, 2), 1)


@pytest.fixture
def convolutions(tmp_path: Path) -> Iterator[Bundle]:
    """Those of two axes that compute all of their gradients."""
    some = "weight.format == 'NCHW' and outputMask[0] and outputMask[1] and outputMask[2]"
    asked = {"operators": ("convolution_backward",), "products": ("ascend910b",), "where": some}
    with opgen.open(bundle_of(tmp_path / "convolutions.h5", **asked)) as bundle:
        yield bundle


def test_the_executor_of_atk_counts_outputs_and_asks_for_inputs_by_name(
    convolutions: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third output of a convolution is ND, and its third input is not."""
    pytest.importorskip("torch")
    for name, text in ATK_STUB.items():
        path = tmp_path / "stub" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "stub"))
    for name in [name for name in sys.modules if name.split(".")[0] == "atk"]:
        monkeypatch.delitem(sys.modules, name)
    case = next(case for case in positive(convolutions).values() if len(case.golden) == 3)
    atk_export.export(convolutions, tmp_path / "out", [case.id])
    executor(tmp_path / "out")
    from atk.tasks.api_execute import found  # type: ignore[import-not-found]

    device = found["opgen_frozen_aclnn"]()
    config = type("Config", (), {"id": case.row + 1})
    device.task_result = type("Task", (), {"case_config": config})
    asked = [device.get_format(None, index=place) for place in range(3)]
    named = [device.get_format(None, index=2, name=name) for name in ("input", "weight")]
    assert (asked, named) == ([0, 0, 2], [0, 0])


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_folder_keeps_the_umask(odd: Bundle, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        npz_export.export(odd, tmp_path / "out", odd.ids[:1])
    finally:
        os.umask(before)
    made = [tmp_path / "out", *(tmp_path / "out").rglob("*")]
    assert len(made) > 3
    for path in made:
        whole = 0o777 if path.is_dir() else 0o666
        assert path.stat().st_mode & 0o777 == whole & ~umask, path


@pytest.mark.parametrize(
    ("case", "folder"),
    [
        ("pool_1", "pool_1"),
        ("a b!?c", "a_b_c-6a1f45bc6b68"),
        ("._ x ._", "x-134383578829"),
        ("pool_1-101a2a9cc845", "pool_1-101a2a9cc845"),
        ("y" * 120, "y" * 120),
        ("y" * 121, "y" * 96 + "-" + hashlib.sha256(b"y" * 121).hexdigest()[:12]),
    ],
)
def test_folders_of_cases_are_called_as_ttk_calls_them(
    tmp_path: Path, case: str, folder: str
) -> None:
    (tmp_path / "calls.jsonl").write_text(json.dumps(_norm(case, _tensor(2, 4, 3))) + "\n")
    with opgen.open(bundle_of(tmp_path / "b.h5", calls=str(tmp_path / "calls.jsonl"))) as bundle:
        ttk_export.export(bundle, tmp_path / "out", bundle.ids)
    assert [path.name for path in (tmp_path / "out" / "manual").iterdir()] == [folder]


def test_two_cases_never_share_a_folder_of_ttk(tmp_path: Path) -> None:
    calls = [_norm(name, _tensor(2, 4, 3)) for name in ("pool/1", "pool_1-101a2a9cc845")]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    with opgen.open(bundle_of(tmp_path / "b.h5", calls=str(tmp_path / "calls.jsonl"))) as bundle:
        done = ttk_export.export(bundle, tmp_path / "out", bundle.ids)
    assert done.left_out == {"its folder would be that of another case": ["pool/1"]}
    assert [case.id for case in done.cases] == ["pool_1-101a2a9cc845"]


@pytest.mark.parametrize("sign", "=+-@")
def test_a_table_holds_no_formula_for_a_spreadsheet(tmp_path: Path, sign: str) -> None:
    """Whoever opens the table must not run what a stranger called a case."""
    calls = [_norm(name, _tensor(2, 4, 3)) for name in (f"{sign}cmd()", "norm")]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    with opgen.open(bundle_of(tmp_path / "b.h5", calls=str(tmp_path / "calls.jsonl"))) as bundle:
        done = ttk_export.export(bundle, tmp_path / "out", bundle.ids)
    assert done.left_out == {"a table cannot hold its id": [f"{sign}cmd()"]}
    assert ttk_export.cell(f"{sign}{sign}cmd()") == "cmd()"


def test_the_ranges_of_ttk_run_over_all_tensors(odd: Bundle, tmp_path: Path) -> None:
    ttk_export.export(odd, tmp_path / "out", ["norm/slash-ü"])
    with open(tmp_path / "out" / "cases.csv", encoding="utf-8", newline="") as stream:
        [row] = csv.DictReader(stream)
    ranges = ast.literal_eval(row["input_data_ranges"])
    assert ranges == ((-2.0, 2.0), *[(None, None)] * 7)
    assert row["soc_series"] == "('Ascend910B',)"


# gtest --------------------------------------------------------------------------------------------
STUBS = {
    "gtest/gtest.h": (
        """
#pragma once
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
namespace testing {
struct Environment { virtual ~Environment() = default; virtual void SetUp() {} virtual void TearDown() {} };
inline std::vector<Environment*> environments;
inline Environment* AddGlobalTestEnvironment(Environment* one) { environments.push_back(one); return one; }
struct One { const char* suite; const char* name; void (*run)(); };
inline std::vector<One> tests;
inline bool failed = false, skipped = false;
struct Added { Added(const char* suite, const char* name, void (*run)()) { tests.push_back({suite, name, run}); } };
struct Said { template <class T> Said& operator<<(const T&) { return *this; } };
struct Return { void operator=(const Said&) const {} };
inline Said Check(bool held) { failed |= !held; return {}; }
}
#define TEST(s, n) static void s##_##n(); static ::testing::Added s##_##n##_added(#s, #n, s##_##n); static void s##_##n()
#define EXPECT_TRUE(a) ::testing::Check(a)
#define EXPECT_EQ(a, b) ::testing::Check((a) == (b))
#define EXPECT_NE(a, b) ::testing::Check((a) != (b))
#define ASSERT_TRUE(a) if (a) {} else return ::testing::Return() = ::testing::Check(false)
#define ASSERT_EQ(a, b) ASSERT_TRUE((a) == (b))
#define GTEST_SKIP() return ::testing::Return() = (::testing::skipped = true, ::testing::Said())
"""
    ),
    "acl/acl.h": (
        """
#pragma once
#include <cstddef>
#include <cstdint>
typedef int aclError; typedef void* aclrtStream; typedef enum { ACL_FLOAT = 0 } aclDataType; typedef enum { ACL_FORMAT_ND = 2 } aclFormat;
typedef enum { ACL_MEM_MALLOC_HUGE_FIRST } aclrtMemMallocPolicy;
extern "C" {
aclError aclInit(const char*); aclError aclrtSetDevice(int32_t); aclError aclrtCreateStream(aclrtStream*); const char* aclrtGetSocName();
aclError aclrtMalloc(void**, size_t, aclrtMemMallocPolicy); aclError aclrtMemset(void*, size_t, int32_t, size_t); aclError aclrtFree(void*);
aclError aclrtSynchronizeStream(aclrtStream); const char* aclGetRecentErrMsg();
}
"""
    ),
    "aclnn/acl_meta.h": (
        """
#pragma once
#include "acl/acl.h"
typedef int32_t aclnnStatus;
struct aclTensor; struct aclTensorList; struct aclIntArray; struct aclBoolArray; struct aclFloatArray; struct aclScalar; struct aclOpExecutor;
extern "C" {
aclTensor* aclCreateTensor(const int64_t*, uint64_t, aclDataType, const int64_t*, int64_t, aclFormat, const int64_t*, uint64_t, void*);
aclIntArray* aclCreateIntArray(const int64_t*, uint64_t); aclBoolArray* aclCreateBoolArray(const bool*, uint64_t);
aclnnStatus aclDestroyTensor(const aclTensor*); aclnnStatus aclDestroyIntArray(const aclIntArray*);
aclnnStatus aclDestroyBoolArray(const aclBoolArray*);
aclFloatArray* aclCreateFloatArray(const float*, uint64_t); aclnnStatus aclDestroyFloatArray(const aclFloatArray*);
aclScalar* aclCreateScalar(void*, aclDataType); aclnnStatus aclDestroyScalar(const aclScalar*);
aclTensorList* aclCreateTensorList(const aclTensor* const*, uint64_t); aclnnStatus aclDestroyTensorList(const aclTensorList*);
}
"""
    ),
}
RECORDER = r"""
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>
#include <gtest/gtest.h>
#include "aclnn/acl_meta.h"
// What is alive, and what goes with it: who destroys twice, or what a list owns, ends the program.
static std::map<const void*, std::vector<const void*>> alive;
static std::string* kept(std::string text, std::vector<const void*> owned = {}) {
    auto* made = new std::string(std::move(text));
    alive[made] = std::move(owned);
    return made;
}
static int destroyed(const void* made) {
    if (!alive.count(made)) abort();
    for (const void* each : alive[made]) destroyed(each);
    return alive.erase(made) - 1;
}
template <class T> static std::string list(const T* values, uint64_t count) {
    std::string text = "[";
    for (uint64_t i = 0; i < count; i++) text += (i ? "," : "") + std::to_string((long long)values[i]);
    return text + "]";
}
static std::string real(double v) {
    char text[40]; std::snprintf(text, sizeof text, "%.17g", v);
    return v != v ? "NaN" : v - v != 0 ? (v > 0 ? "Infinity" : "-Infinity") : text;
}
// SIZES
static long allocated = 0, runs = 0;
extern "C" {
aclError aclInit(const char*) { return 100002; } aclError aclrtSetDevice(int32_t) { return 0; }
aclError aclrtCreateStream(aclrtStream* s) { *s = nullptr; return 0; } const char* aclrtGetSocName() { return nullptr; }
aclError aclrtMalloc(void** p, size_t n, aclrtMemMallocPolicy) { allocated++; *p = new std::string(std::to_string(n)); return 0; }
aclError aclrtMemset(void*, size_t, int32_t, size_t) { return 0; } aclError aclrtFree(void*) { allocated--; return 0; }
aclError aclrtSynchronizeStream(aclrtStream) { return 0; } const char* aclGetRecentErrMsg() { return nullptr; }
aclTensor* aclCreateTensor(const int64_t* d, uint64_t n, aclDataType t, const int64_t* s, int64_t o, aclFormat f, const int64_t* e, uint64_t m, void* p) {
    return (aclTensor*)kept("{\"shape\":" + list(d, n) + ",\"dtype\":" + std::to_string((int)t) + ",\"strides\":" + (s ? list(s, n) : "null") +
        ",\"offset\":" + std::to_string(o) + ",\"format\":" + std::to_string((int)f) + ",\"storage\":" + list(e, m) +
        ",\"bytes\":" + (p ? *(std::string*)p : "0") + "}");
}
aclIntArray* aclCreateIntArray(const int64_t* v, uint64_t n) { return (aclIntArray*)kept(list(v, n)); }
aclBoolArray* aclCreateBoolArray(const bool* v, uint64_t n) { return (aclBoolArray*)kept(list(v, n)); }
aclnnStatus aclDestroyTensor(const aclTensor* p) { return destroyed(p); } aclnnStatus aclDestroyIntArray(const aclIntArray* p) { return destroyed(p); }
aclnnStatus aclDestroyBoolArray(const aclBoolArray* p) { return destroyed(p); }
aclTensorList* aclCreateTensorList(const aclTensor* const* v, uint64_t n) {
    std::string text = "[";
    std::vector<const void*> owned;
    for (uint64_t i = 0; i < n; i++) {
        text += (i ? "," : "") + (v[i] ? *(const std::string*)v[i] : std::string("null"));
        if (v[i]) owned.push_back(v[i]);
    }
    return (aclTensorList*)kept(text + "]", owned);
}
aclnnStatus aclDestroyTensorList(const aclTensorList* p) { return destroyed(p); }
aclFloatArray* aclCreateFloatArray(const float* v, uint64_t n) {
    std::string text = "[";
    for (uint64_t i = 0; i < n; i++) text += (i ? "," : "") + real(v[i]);
    return (aclFloatArray*)kept(text + "]");
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* p) { return destroyed(p); }
aclScalar* aclCreateScalar(void* v, aclDataType t) {
    std::string bytes;
    for (int i = 0; i < size_of(t); i++) {
        char text[3]; std::snprintf(text, sizeof text, "%02x", ((unsigned char*)v)[i]);
        bytes += text;
    }
    return (aclScalar*)kept("{\"dtype\":" + std::to_string((int)t) + ",\"bytes\":\"" + bytes + "\"}");
}
aclnnStatus aclDestroyScalar(const aclScalar* p) { return destroyed(p); }
}
static std::string line;
static void say(const void* p) { line += (line.back() == '[' ? "" : ",") + (p ? *(const std::string*)p : std::string("null")); }
[[maybe_unused]] static void say(const char* p) { line += (line.back() == '[' ? "" : ",") + (p ? "\"" + std::string(p) + "\"" : "null"); }
[[maybe_unused]] static void say(double v) { line += (line.back() == '[' ? "" : ",") + real(v); }
static void say(int64_t v) { line += (line.back() == '[' ? "" : ",") + std::to_string((long long)v); }
[[maybe_unused]] static void say(uint64_t v) { line += (line.back() == '[' ? "" : ",") + std::to_string((unsigned long long)v); }
static int32_t answer = 0;
// APIS
int main(int, char** argv) {
    answer = std::atoi(argv[1]);
    for (auto* one : testing::environments) one->SetUp();
    for (auto& one : testing::tests) {
        testing::failed = testing::skipped = false; line = "["; runs = 0;
        one.run();
        std::printf("{\"test\":\"%s.%s\",\"failed\":%d,\"skipped\":%d,\"runs\":%ld,\"left\":%ld,\"args\":%s]}\n", one.suite, one.name, testing::failed,
            testing::skipped, runs, allocated + (long)alive.size(), line.c_str());
    }
    testing::failed = false;
    for (auto* one : testing::environments) one->TearDown();
    return testing::failed;
}
"""
C_KINDS = {
    **{"int8": "int8_t", "int32": "int32_t", "int64": "int64_t", "uint64": "uint64_t"},
    **{"bool": "bool", "float": "float", "double": "double", "string": "const char*"},
}
SAID = {"float": "(double)", "double": "", "string": "", "uint64": ""}
"""What a number is turned into before it is written down; any other is a whole one."""


def stubs(folder: Path) -> None:
    for name, text in STUBS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def recorder() -> str:
    """A library that writes down every call of a first phase, in the order of its arguments."""
    apis = []
    for api, all_kinds in catalog().kinds.items():
        kinds = [kind for name, kind in all_kinds.items() if "[" not in name]
        taken = ", ".join(
            f"{C_KINDS.get(kind, 'const void*')} a{i}" for i, kind in enumerate(kinds)
        )
        says = " ".join(
            f"say({SAID.get(kind, '(int64_t)') if kind in C_KINDS else ''}a{i});"
            for i, kind in enumerate(kinds)
        )
        apis.append(
            f'extern "C" int32_t {api}GetWorkspaceSize({taken}, uint64_t* n, void**) {{ {says} *n ='
            " 8; return answer; }"
        )
        apis.append(
            f'extern "C" int32_t {api}(void*, uint64_t, void*, void*) {{ runs++; return 0; }}'
        )
    sizes = "".join(
        f"case {facts['acl']}: return {facts['bits'] // 8}; "
        for facts in vocabulary().dtypes.values()
    )
    sizes = f"static int size_of(int dtype) {{ switch (dtype) {{ {sizes}default: abort(); }} }}"
    return RECORDER.replace("// SIZES", sizes).replace("// APIS", "\n".join(apis))


def some(bundle: Bundle) -> list[str]:
    """Up to three cases of every operator, kind and bucket."""
    groups: dict[Any, list[str]] = {}
    for case in bundle:
        groups.setdefault(
            (case.op, case.expect.bucket, case.phase, len(case.expect.codes)), []
        ).append(case.id)
    return [name for ids in groups.values() for name in ids[:3]]


@pytest.mark.parametrize("which", ["smoke", "odd"])
def test_the_tests_of_gtest_make_the_calls(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Compiled against stand-ins that write down what they are given: every argument, and which
    statuses a test lets pass.
    """
    bundle: Bundle = request.getfixturevalue(which)
    ids = some(bundle) if which == "smoke" else bundle.ids
    run = [loopback.compiler("g++"), "-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-I."]
    stubs(tmp_path)
    gtest_export.export(bundle, tmp_path / "suite.cpp", ids)
    (tmp_path / "recorder.cpp").write_text(recorder())
    made = subprocess.run(
        [*run, "suite.cpp", "recorder.cpp", "-o", "suite"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr[-3000:]
    for status in (0, 161001, 161002, 361001, 561103, 507899, -1):
        soc = {"OPGEN_SOC": "Ascend910B3"}
        shown = subprocess.run(
            [tmp_path / "suite", str(status)], capture_output=True, text=True, check=True, env=soc
        )
        tests = [json.loads(line) for line in shown.stdout.splitlines()]
        assert len(tests) == len(ids)
        for one, name in zip(tests, ids, strict=True):
            check_test(one, bundle[name], status)
    for name in (
        "Ascend310P3",
        "Ascend910",
        "Ascend910ProB",
        "Ascend910B",
        "Ascend910B3",
        "Ascend910_9391",
        "Ascend950PR",
    ):
        shown = subprocess.run(
            [tmp_path / "suite", "0"], capture_output=True, text=True, env={"OPGEN_SOC": name}
        )
        skipped = [bool(json.loads(line)["skipped"]) for line in shown.stdout.splitlines()]
        assert skipped == [bundle[one].product != vocabulary().product_of(name) for one in ids], (
            name
        )
        assert shown.returncode == all(skipped), "what skips everything has tested nothing"


GTEST_MAIN = """
int main() {
    std::vector<testing::One> enabled;
    for (auto& one : testing::tests) if (std::strncmp(one.name, "DISABLED_", 9) != 0) enabled.push_back(one);
    if (enabled.empty()) return 0;
    for (auto* one : testing::environments) one->SetUp();
    for (auto& one : enabled) one.run();
    for (auto* one : testing::environments) one->TearDown();
    return testing::failed;
}
"""
"""As gtest does: where no test is to run, no environment is set up and torn down."""


def test_a_program_whose_cases_are_all_disabled_is_not_green(tmp_path: Path) -> None:
    path = bundle_of(tmp_path / "b.h5", operators=("avg_pool2d_backward",), plan="crash")
    stubs(tmp_path)
    main = recorder().partition("int main(")[0] + GTEST_MAIN
    (tmp_path / "main.cpp").write_text(main.replace("// APIS", ""))
    with opgen.open(path) as bundle:
        dying = [case.id for case in bundle if case.library and CRASH in case.library.codes]
        assert dying
        gtest_export.export(bundle, tmp_path / "suite.cpp", dying)
    command = [loopback.compiler("g++"), "-std=c++17", "-O0", "-I.", "suite.cpp", "main.cpp"]
    subprocess.run([*command, "-o", "suite"], cwd=tmp_path, check=True)
    code = subprocess.run([tmp_path / "suite"], env={"OPGEN_SOC": "Ascend910B3"}).returncode
    assert code == 1, "what is all disabled has tested nothing"


def check_test(one: dict[str, Any], case: CaseView, status: int) -> None:
    library = case.library
    dies = library is not None and "crash" in library.codes
    name = re.sub(r"\W", "_", case.id, flags=re.ASCII)
    assert one["test"] == f"{case.op}.{'DISABLED_' * dies}{name}"
    assert one["skipped"] == (case.product != "ascend910b")
    if one["skipped"]:
        return
    refused = status in (161001, 161002, 561103)
    admitted = status in case.expect.codes or (refused and "any_error" in case.expect.codes)
    assert one["failed"] == (not admitted), (case.id, case.expect.codes, status)
    assert one["runs"] == (case.phase == 2 and status == 0) and one["left"] == 0
    assert len(one["args"]) == len(case.call["args"])
    for found, (name, value) in zip(one["args"], case.call["args"].items(), strict=True):
        if isinstance(value, list) and any(isinstance(each, dict) for each in value):
            assert len(found) == len(value), name
            for place, (each, desc) in enumerate(zip(found, value, strict=True)):
                check_argument(each, f"{name}[{place}]", desc, case)
        else:
            check_argument(found, name, value, case)


def check_argument(found: Any, name: str, value: Any, case: CaseView) -> None:
    """One argument, or one tensor of a list, as it was written down."""
    words = case.bundle.words
    dtypes = {word: number for number, word in words["tensors.dtype"].items()}
    if isinstance(value, dict) and "value" in value:
        assert found["dtype"] == dtypes[value["dtype"]]
        own = {"FLOAT": "float32", "DOUBLE": "float64"}.get(value["dtype"], value["dtype"].lower())
        wanted = np.array(float(value["value"])).astype(np.dtype(own))
        assert bytes.fromhex(found["bytes"]) == wanted.tobytes(), name
    elif isinstance(value, dict):
        formats = {word: number for number, word in words["tensors.format"].items()}
        size, extents = found.pop("bytes"), value["storage_shape"] or value["shape"]
        if value["storage_shape"] is None and (value["strides"] or value["offset"]):
            extents = [
                views.index(tuple(value["shape"]), case.args[name].steps, value["offset"]).max() + 1
            ]
        assert found == {
            "shape": value["shape"],
            "dtype": dtypes[value["dtype"]],
            "format": formats[value["format"]],
            "strides": value["strides"],
            "offset": value["offset"],
            "storage": extents,
        }
        bits = vocabulary().dtypes[value["dtype"]]["bits"]
        assert size == (prod(extents) * bits // 8 if case.phase == 2 else 0)
        assert name not in case.inputs or size == case.storage[name].nbytes
    else:
        assert value in (found, str(found)), name


def test_words_of_a_bundle_are_looked_up_before_they_become_code(
    smoke: Bundle, tmp_path: Path
) -> None:
    """A bundle is foreign text: its words are enumerations of the file, which anybody can write."""
    doctored = tmp_path / "doctored.h5"
    content = Path(smoke.path).read_bytes()
    assert content.count(b"NCHW\0")
    doctored.write_bytes(content.replace(b"NCHW\0", b"D);f\0"))
    resign(doctored)
    code, said = run("gtest", doctored, "-o", tmp_path / "suite.cpp")
    assert "no such format 'D);f'" in said if code == 0 else code == 2
    assert (
        not (tmp_path / "suite.cpp").exists() or "D);" not in (tmp_path / "suite.cpp").read_text()
    )


@pytest.mark.parametrize(
    ("place", "word"),
    [("cases.product", "p"), ("cases.op", "o"), ("tensors.dtype", "d"), ("tensors.format", "f")],
)
def test_a_word_that_opgen_does_not_know_leaves_its_cases_out(
    smoke: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, word: str
) -> None:
    """Whatever a reader of bundles lets through."""
    table, _, column = place.partition(".")
    words = dict.fromkeys(smoke.words[place], f'"){word}')
    known = {"op": smoke[0].op} if column == "op" else {}
    monkeypatch.setitem(smoke.__dict__, "words", {**smoke.words, place: words})
    if known:
        monkeypatch.setattr(CaseView, "args", property(lambda case: {}))
    with pytest.raises(FileError, match=rf"no such {column} '\"\){word}'"):
        gtest_export.export(smoke, tmp_path / "suite.cpp", smoke.ids[:1])


RUNNER = """
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include "acl/acl.h"
extern "C" aclError aclrtMemset(void* p, size_t, int32_t value, size_t n) { std::memset(p, value, n); return 0; }
int main() {
    for (auto* one : testing::environments) one->SetUp();
    for (auto& one : testing::tests) {
        testing::failed = testing::skipped = false;
        if (std::strncmp(one.name, "DISABLED_", 9) != 0) one.run();
        std::printf("%s %s\\n", testing::skipped ? "skipped" : testing::failed ? "FAILED" : "passed", one.name);
        std::fflush(stdout);
    }
}
"""


def test_the_tests_of_gtest_pass_on_a_device_that_obeys_the_pages(
    smoke: Bundle, tmp_path: Path
) -> None:
    """Linked with the loopback, which checks as the pages say: both phases, on the product of each
    case and on another.
    """
    where = loopback.libraries()
    symbols = (where / "libopapi.so").read_bytes()
    ids = [name for name in some(smoke) if f"{smoke[name].op}GetWorkspaceSize".encode() in symbols]
    stubs(tmp_path)
    gtest_export.export(smoke, tmp_path / "suite.cpp", ids)
    (tmp_path / "runner.cpp").write_text(RUNNER)
    linked = [f"-L{where}", "-lascendcl", "-lnnopbase", "-lopapi"]
    command = [
        loopback.compiler("g++"),
        "-std=c++17",
        "-O0",
        "-I.",
        "suite.cpp",
        "runner.cpp",
        *linked,
        "-o",
        "suite",
    ]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr[-3000:]
    for product in ("ascend910b", "ascend310p"):
        devices = {"LOOPBACK_SOC": loopback.SOCS[product], "LD_LIBRARY_PATH": str(where)}
        shown = subprocess.run(
            [tmp_path / "suite"], capture_output=True, text=True, check=True, env=devices
        )
        verdicts = [line.split()[0] for line in shown.stdout.splitlines()]
        assert verdicts == [
            "passed" if smoke[name].product == product else "skipped" for name in ids
        ]


def test_every_test_and_every_file_has_a_name_of_its_own(tmp_path: Path) -> None:
    ids = ["a_b_2", "a_b", "a.b", "a_b_5", "a_b_6", "a-b", "pool/1", "pool_1-101a2a9cc845"]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(_pad(name)) + "\n" for name in ids))
    with opgen.open(bundle_of(tmp_path / "b.h5", calls=str(tmp_path / "calls.jsonl"))) as bundle:
        gtest_export.export(bundle, tmp_path / "suite.cpp", ids)
        npz_export.export(bundle, tmp_path / "npz", ids)
    names = re.findall(r"^TEST\((.*)\)$", (tmp_path / "suite.cpp").read_text(), re.MULTILINE)
    assert len(names) == len(set(names)) == len(ids) and names[:2] == [
        f"aclnnReflectionPad2dBackward, {name}" for name in ids[:2]
    ]
    assert (
        len(list((tmp_path / "npz" / "data").iterdir())) == len(ids)
        and file_name("a_b_2") == "a_b_2"
    )


# the command --------------------------------------------------------------------------------------
def run(*args: Any) -> tuple[int, str]:
    shown = CliRunner().invoke(main, ["export", *map(str, args)], prog_name="opgen")
    return shown.exit_code, shown.stderr


def test_the_command_says_what_it_leaves_out(smoke: Bundle, tmp_path: Path) -> None:
    code, said = run("ttk", smoke.path, "-o", tmp_path / "out")
    whole = positive(smoke).values()
    lists = sum(map(with_list, whole))
    assert code == 0 and 0 < lists < len(whole)
    assert "left out: the page wants another status than success (" in said
    assert f"left out: a list of tensors, for which its files have no form ({lists})\n" in said
    assert f"out: {len(whole) - lists} cases" in said
    code, said = run("ttk", smoke.path, "-o", tmp_path / "out")
    assert code == 2 and "exists already; --force replaces it" in said
    for place in ("result.csv", "manual/result.csv"):
        (tmp_path / "out" / place).write_text("mine")
        code, said = run("ttk", smoke.path, "-o", tmp_path / "out", "--force")
        assert code == 2 and f"holds files of no export ({place}); move it away" in said
        assert (tmp_path / "out" / place).read_text() == "mine"
        (tmp_path / "out" / place).unlink()
    code, said = run("npz", smoke.path, "-o", tmp_path / "out", "--force", "--case", smoke.ids[0])
    assert (
        code == 0
        and not (tmp_path / "out" / "manual").exists()
        and not list(tmp_path.glob(".out*"))
    )


def test_an_export_that_fails_leaves_what_was_there(odd: Bundle, tmp_path: Path) -> None:
    assert run("npz", odd.path, "-o", tmp_path / "out")[0] == 0
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    with (
        pytest.raises(BundleError) as caught,
        new_folder(tmp_path / "out", {}, force=True) as folder,
    ):
        (folder / "half").mkdir()
        raise OSError(28, "No space left on device")
    assert str(caught.value) == f"{tmp_path / 'out'}: cannot write: No space left on device"
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    assert {
        path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()
    } == before


@pytest.mark.parametrize("moment", ["while it writes", "between two names"])
def test_what_a_killed_export_left_is_taken_over(moment: str, odd: Bundle, tmp_path: Path) -> None:
    target, hidden = tmp_path / "out", tmp_path / ".out.partial"
    assert run("npz", odd.path, "-o", target)[0] == 0
    before = sorted(target.rglob("*"))
    hidden.mkdir()
    (hidden / "made" / "half").mkdir(parents=True)
    if moment == "between two names":
        target.rename(hidden / "replaced")
    code, said = run("npz", odd.path, "-o", target)
    assert (code, "exists already; --force replaces it" in said) == (2, True)
    assert sorted(target.rglob("*")) == before
    assert run("npz", odd.path, "-o", target, "--force")[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_two_exports_do_not_write_one_folder(odd: Bundle, tmp_path: Path) -> None:
    with new_folder(tmp_path / "out", {}, force=False):
        code, said = run("npz", odd.path, "-o", tmp_path / "out")
    assert (code, "another process is writing it" in said) == (2, True)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


@pytest.mark.parametrize("what", ["a letter", "a link", "a file"])
def test_a_working_folder_that_opgen_did_not_make_is_kept(
    what: str, odd: Bundle, tmp_path: Path
) -> None:
    hidden, mine = tmp_path / ".out.partial", tmp_path / "mine"
    mine.mkdir()
    letter = mine / "letter"
    letter.write_text("dear")
    if what == "a letter":
        letter = mine.rename(hidden) / "letter"
    elif what == "a link":
        hidden.symlink_to(mine)
    else:
        letter = letter.rename(hidden)
    code, said = run("npz", odd.path, "-o", tmp_path / "out", "--force")
    assert (code, ".out.partial" in said, "Traceback" in said) == (2, True, False)
    assert letter.read_text() == "dear" and not (tmp_path / "out").exists()


ON_A_SMALL_DISK = """
import shutil, sys
from pathlib import Path
from opgen.cli import main
disk, file, before = map(Path, sys.argv[1:4])
shutil.copytree(before, disk / "out")
try:
    main(["export", sys.argv[4], str(file), "-o", str(disk / "out"), "--force"])
finally:
    assert [path.name for path in disk.iterdir()] == ["out"], list(disk.iterdir())
    for path in filter(Path.is_file, before.rglob("*")):
        assert (disk / "out" / path.relative_to(before)).read_bytes() == path.read_bytes()
"""


@pytest.mark.parametrize("kind", ["npz", "ttk", "atk"])
def test_a_disk_that_is_full_in_the_middle_of_an_export(
    kind: str, smoke: Bundle, tmp_path: Path
) -> None:
    disk, before = tmp_path / "disk", tmp_path / "before"
    disk.mkdir()
    assert run(kind, smoke.path, "-o", before, "--case", smoke.ids[0])[0] == 0
    file = str(Path(smoke.path).resolve())
    done = run_on_small_disk(ON_A_SMALL_DISK, disk, 300 << 10, file, str(before), kind)
    message = f"{disk / 'out'}: cannot write: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_what_is_put_into_a_folder_while_it_is_written_anew(odd: Bundle, tmp_path: Path) -> None:
    assert run("npz", odd.path, "-o", tmp_path / "out")[0] == 0
    mine = tmp_path / "out" / "data" / "mine"
    with (
        pytest.raises(FileError, match=r"\(data/mine\); move it away"),
        new_folder(tmp_path / "out", {}, force=True),
    ):
        mine.write_text("dear")
    assert mine.read_text() == "dear"
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_what_the_command_refuses(odd: Bundle, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    refusals = {
        "mine": "is not empty and not an export of opgen",
        "mine/letter": "is a file; name a folder",
        "no/where": "there is no folder",
    }
    for target, message in refusals.items():
        code, said = run("npz", odd.path, "-o", tmp_path / target, "--force")
        assert code == 2 and message in said
    assert (tmp_path / "mine" / "letter").read_text() == "dear"
    code, said = run("ttk", odd.path, "-o", tmp_path / "out", "--case", "null")
    assert (
        code == 2
        and "holds no case for this export: the page wants another status than success (1)" in said
    )
    code, said = run("gtest", odd.path, "-o", tmp_path / "mine")
    assert code == 2 and "is a folder; name a file" in said
    with pytest.raises(FileError):
        ttk_export.export(odd, tmp_path / "out", [])
