"""Goldens of a user's own tensors."""

from __future__ import annotations

import io
import json
import math
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen.bundle.write.writer import Writer
from opgen.calls.jsonl import read_calls
from opgen.cli import main
from opgen.model import FileError
from opgen.spec.catalog import catalog
from opgen.suite.given_data import DumpFault, read_dump, read_dumps
from tests.support import device_sample as sample

FLOAT = {"dtype": "FLOAT", "format": "ND"}


def call(**changes):
    shapes = (("gradOutput", [1, 2, 5, 5]), ("self", [1, 2, 3, 3]), ("gradInput", [1, 2, 3, 3]))
    tensors = {name: {"shape": shape, **FLOAT} for name, shape in shapes}
    args = {
        "gradOutput": tensors["gradOutput"],
        "self": tensors["self"],
        "padding": [1, 1, 1, 1],
        "gradInput": tensors["gradInput"],
    }
    return {
        "id": "mine",
        "op": "aclnnReflectionPad2dBackward",
        "product": "ascend910b",
        "args": args,
        "data": "dump.npz",
        **changes,
    }


def generate(folder, one, *options, **arrays):
    np.savez(folder / "dump.npz", **arrays)
    (folder / "calls.jsonl").write_text(json.dumps(one) + "\n")
    return CliRunner().invoke(
        main,
        [
            "generate",
            "--calls",
            str(folder / "calls.jsonl"),
            "-o",
            str(folder / "out.h5"),
            "-q",
            *options,
        ],
    )


def test_a_dump_is_what_the_golden_is_computed_from(tmp_path):
    dy = np.random.default_rng(1).standard_normal((1, 2, 5, 5)).astype(np.float32)
    result = generate(tmp_path, call(), gradOutput=dy)
    assert result.exit_code == 0, result.output
    with opgen.open(tmp_path / "out.h5") as bundle:
        case = bundle["mine"]
        assert np.array_equal(case.inputs["gradOutput"], dy)
        expected = np.zeros((1, 2, 3, 3))
        walk = [1, 0, 1, 2, 1]
        for i in range(5):
            for j in range(5):
                expected[..., walk[i], walk[j]] += dy[..., i, j].astype(np.float64)
        assert np.abs(case.golden["gradInput"] - expected).max() < 1e-14
        assert (case.bound["gradInput"] > 0).all()


def test_no_order_of_summation_is_seen_in_the_golden_of_a_dump(tmp_path):
    """Off every grid, against the exact sum of the products, rounded once."""
    draw = np.random.default_rng(1)
    dy, x = (draw.standard_normal((2, 4, 5, 6)).astype(np.float32) for _ in range(2))
    result = generate(
        tmp_path,
        {"id": "mine", "data": "dump.npz", **sample.convolution("FLOAT")},
        gradOutput=dy,
        input=x,
    )
    assert result.exit_code == 0, result.output
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    expected = [
        math.fsum((dy[:, o] * padded[:, i, h : h + 5, w : w + 6]).flat)
        for o, i, h, w in np.ndindex(4, 4, 3, 3)
    ]
    with opgen.open(tmp_path / "out.h5") as bundle:
        assert bundle["mine"].golden["gradWeight"].reshape(-1).tolist() == expected


def test_an_output_is_no_data(tmp_path):
    dump = np.zeros((1, 2, 3, 3), dtype=np.float32)
    result = generate(
        tmp_path, call(), gradOutput=np.zeros((1, 2, 5, 5), dtype=np.float32), gradInput=dump
    )
    assert result.exit_code == 2 and not (tmp_path / "out.h5").exists()
    assert (
        "calls.jsonl:1: mine: data: gradInput: is an output, whose values are computed; save the"
        " inputs alone" in result.stderr
    )


def test_two_calls_with_other_data_are_two_goldens(tmp_path):
    for name in ("a", "b"):
        np.savez(
            tmp_path / f"{name}.npz", gradOutput=np.full((1, 2, 5, 5), ord(name), dtype=np.float32)
        )
    (tmp_path / "calls.jsonl").write_text(
        "".join(json.dumps(call(id=name, data=f"{name}.npz")) + "\n" for name in ("a", "b"))
    )
    result = CliRunner().invoke(
        main,
        [
            "generate",
            "--calls",
            str(tmp_path / "calls.jsonl"),
            "-o",
            str(tmp_path / "out.h5"),
            "-q",
        ],
    )
    assert result.exit_code == 0, result.output
    with opgen.open(tmp_path / "out.h5") as bundle:
        assert [bundle[name].golden["gradInput"][0, 0, 1, 1] for name in ("a", "b")] == [
            97.0 * 9,
            98.0 * 9,
        ]


def test_what_was_begun_with_other_data_is_not_gone_on_with(tmp_path, monkeypatch):
    accept = Writer.accept

    def stop(writer, rows, digests):
        accept(writer, rows, digests)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Writer, "accept", stop)
        assert generate(tmp_path, call(), gradOutput=np.ones((1, 2, 5, 5))).exit_code == 130
    assert (tmp_path / "out.h5.partial").exists()
    result = generate(tmp_path, call(), "--resume", gradOutput=np.full((1, 2, 5, 5), 2.0))
    assert result.exit_code == 2 and "was started for another suite" in result.stderr
    assert generate(tmp_path, call(), "--resume", gradOutput=np.ones((1, 2, 5, 5))).exit_code == 0
    with opgen.open(tmp_path / "out.h5") as bundle:
        assert bundle["mine"].golden["gradInput"][0, 0, 1, 1] == 9


def test_bits_of_bfloat16(tmp_path):
    args = {
        name: {**value, "dtype": "BFLOAT16"} if isinstance(value, dict) else value
        for name, value in call()["args"].items()
    }
    values = np.full((1, 2, 5, 5), 1.5, dtype=ml_dtypes.bfloat16)
    assert generate(tmp_path, call(args=args), gradOutput=values.view(np.uint16)).exit_code == 0
    with opgen.open(tmp_path / "out.h5") as bundle:
        assert (bundle["mine"].inputs["gradOutput"] == values).all()


@pytest.mark.parametrize(
    ("change", "arrays", "message"),
    [
        (
            {},
            {"gradOutput": np.zeros((1, 2, 5, 4))},
            "gradOutput: has the shape [1, 2, 5, 4], the call says [1, 2, 5, 5]",
        ),
        (
            {},
            {"gradOutptu": np.zeros(3)},
            "gradOutptu: the call has no such tensor (did you mean 'gradOutput'?)",
        ),
        (
            {},
            {"gradOutput": np.zeros((1, 2, 5, 5), dtype=complex)},
            "is complex, the call says FLOAT",
        ),
        ({}, {"gradOutput": np.full((1, 2, 5, 5), "x")}, "is not a number"),
        ({"data": "other.npz"}, {}, "data: other.npz: No such file or directory"),
        ({"data": 3}, {}, "expects the name of an .npz file, not 3"),
        (
            {"data": "calls.npz"},
            {},
            "mine: data: calls.npz: is not an .npz file; numpy.savez writes one\n",
        ),
        (
            {"data": "empty.npz"},
            {},
            "mine: data: empty.npz: is not an .npz file; numpy.savez writes one\n",
        ),
        (
            {},
            {"gradOutput": np.array([{}])},
            "mine: data: dump.npz: holds Python objects, where a tensor is an array of numbers\n",
        ),
        (
            {"data": "single.npz"},
            {},
            (
                "mine: data: single.npz: is a single array, not an archive of named ones;"
                " numpy.savez writes one"
            ),
        ),
        ({"data": "huge.npz"}, {}, "mine: data: huge.npz: Unable to allocate"),
    ],
)
def test_a_dump_that_does_not_fit_is_one_message(tmp_path, change, arrays, message):
    (tmp_path / "calls.npz").write_text("no archive")
    (tmp_path / "empty.npz").touch()
    with (
        open(tmp_path / "single.npz", "wb") as single,
        zipfile.ZipFile(tmp_path / "huge.npz", "w") as huge,
    ):
        np.save(single, np.ones(3))
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            head, {"descr": "<f8", "fortran_order": False, "shape": (2**55,)}
        )
        huge.writestr("gradOutput.npy", head.getvalue())
    result = generate(tmp_path, call(**change), **arrays)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "out.h5").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gradOutput", "data: gradOutput: holds 134.2 MB, too much for [1, 2, 5, 5]"),
        ("gradOut", "data: gradOut: the call has no such tensor (did you mean 'gradOutput'?)"),
        ("gradInput", "data: gradInput: is an output"),
    ],
)
def test_a_member_that_cannot_be_an_input_is_not_unpacked(tmp_path, name, message):
    """A few bytes that stand for many; the directory of the archive tells."""
    np.savez_compressed(tmp_path / "dump.npz", **{name: np.zeros(1 << 24)})
    assert (tmp_path / "dump.npz").stat().st_size < 1 << 18
    (tmp_path / "calls.jsonl").write_text(json.dumps(call()))
    (one,) = read_calls(str(tmp_path / "calls.jsonl"), catalog().kinds)
    tracemalloc.start()
    with pytest.raises(FileError) as caught:
        read_dumps([one], str(tmp_path / "calls.jsonl"), {one.call.api: ["gradInput"]})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert message in str(caught.value) and peak < 4 << 20


@pytest.mark.parametrize("compressed", [False, True])
def test_a_damaged_dump_is_one_message(tmp_path, compressed):
    """Any bit of the archive: a member's head, its data, the list at the end."""
    save, path, folder = (
        np.savez_compressed if compressed else np.savez,
        tmp_path / "dump.npz",
        str(tmp_path / "calls.jsonl"),
    )
    save(path, gradOutput=np.random.default_rng(0).standard_normal((1, 2, 5, 5)).astype(np.float32))
    (tmp_path / "calls.jsonl").write_text(json.dumps(call()))
    (one,), raw, refused = read_calls(folder, catalog().kinds), path.read_bytes(), 0
    for bit in np.random.default_rng(1).permutation(len(raw) * 8)[:1500].tolist():
        content = bytearray(raw)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zipfile warns of odd flags
            try:
                read_dumps([one], folder, {one.call.api: ["gradInput"]})
            except FileError as error:
                refused += 1
                assert (
                    len(error.problems) == 1 and "data: " in str(error) and "\n" not in str(error)
                )
    assert refused > 1000


def embedding(**more: object) -> dict:
    """A call that looks up two of five words."""
    args = {
        "grad": {"shape": [2, 3], **FLOAT},
        "indices": {"shape": [2], "dtype": "INT64", "format": "ND"},
        "numWeights": 5,
        "paddingIdx": 5,
        "scaleGradByFreq": False,
        "out": {"shape": [5, 3], **FLOAT},
    }
    return call(op="aclnnEmbeddingDenseBackward", args={**args, **more})


@pytest.mark.parametrize(
    ("dtype", "values", "said"),
    [
        ("INT64", [0, 0.5], "indices[1] is 0.5, no whole number that INT64 and DOUBLE hold"),
        ("INT64", [np.nan, 1], "indices[0] is nan, no whole number"),
        ("UINT8", [0, 256], "indices[1] is 256, no whole number"),
        ("INT64", [0, 2**60], "indices[1] is 1.15292e+18, no whole number"),
        ("BOOL", [0, 2], "indices[1] is 2, no whole number"),
        ("BOOL", [True, False], ""),
        ("INT64", [True, False], "indices: bool is not a number"),
        ("FLOAT16", [0, 0.5], ""),
    ],
)
def test_a_dump_of_whole_numbers_holds_no_others(
    tmp_path: Path, dtype: str, values: list[float], said: str
) -> None:
    args = {"indices": {"shape": [2], "dtype": dtype, "format": "ND"}}
    (tmp_path / "calls.jsonl").write_text(json.dumps(embedding(**args)))
    np.savez(tmp_path / "dump.npz", indices=np.array(values))
    (one,) = read_calls(str(tmp_path / "calls.jsonl"), catalog().kinds)
    if not said:
        assert read_dump(one, tmp_path, ["out"])["indices"].tolist() == values
        return
    with pytest.raises(DumpFault) as caught:
        read_dump(one, tmp_path, ["out"])
    assert said in str(caught.value)


@pytest.mark.parametrize(("index", "said"), [(7, "is 7"), (-1, "is -1"), (4, "")])
def test_an_index_out_of_range_is_told_with_its_place(tmp_path, index, said):
    """Whether by the page's rule: five words, whose numbers end at 4."""
    result = generate(tmp_path, embedding(), indices=np.array([0, index]))
    assert result.exit_code == (2 if said else 0), result.output
    if said:
        file = tmp_path / "calls.jsonl"
        told = f"{file}:1: mine: data: indices[1] {said}; the page admits 0 to 4"
        assert told in " ".join(result.output.split()) and not (tmp_path / "out.h5").exists()


@pytest.mark.parametrize(("value", "said"), [(-100, ""), (4, ""), (5, "is 5"), (-99, "is -99")])
def test_targets_may_equal_what_is_ignored(tmp_path, value, said):
    """A target that is ignored is no class, and its row of the gradient is 0."""
    scores = {"shape": [2, 5], **FLOAT}
    none = dict.fromkeys(("weightOptional", "gradZlossOptional", "lseForZlossOptional"))
    args = {
        "gradLoss": {"shape": [2], **FLOAT},
        "logProb": scores,
        "target": {"shape": [2], "dtype": "INT64", "format": "ND"},
        **none,
        "reductionOptional": "none",
        "ignoreIndex": -100,
        "labelSmoothing": 0.0,
        "lseSquareScaleForZloss": 0.0,
        "out": scores,
    }
    loss = call(op="aclnnCrossEntropyLossGrad", args=args)
    given = np.log(np.full((2, 5), 0.2, dtype=np.float32))
    ones = np.ones(2, dtype=np.float32)
    target = np.array([1, value])
    result = generate(tmp_path, loss, gradLoss=ones, logProb=given, target=target)
    assert result.exit_code == (2 if said else 0), result.output
    if said:
        told = f"mine: data: target[1] {said}; the page admits 0 to 4"
        assert told in " ".join(result.output.split())
        return
    with opgen.open(tmp_path / "out.h5") as bundle:
        golden = bundle["mine"].golden["out"]
    expected = np.where(np.arange(5) == target[:, None], -0.8, 0.2) * (target != -100)[:, None]
    assert np.allclose(golden, expected, rtol=1e-6, atol=0)
