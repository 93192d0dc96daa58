"""Call files: what is read, and what is said of every bad line."""

from __future__ import annotations

import copy
import gzip
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import opgen
from opgen.calls.argument_reader import ArgumentReader
from opgen.calls.call_json import CallFault, to_json
from opgen.calls.jsonl import NamedCall, parse_call, read_calls
from opgen.cli import main
from opgen.lint.new_files import new_file
from opgen.model import FileError, TensorDesc
from opgen.spec.catalog import catalog
from tests.support import unmeasured

TENSOR = {"shape": [2, 3, 4, 4], "dtype": "FLOAT", "format": "ND"}
PAD: dict[str, Any] = {
    "id": "a",
    "op": "aclnnReflectionPad2dBackward",
    "product": "ascend910b",
    "args": {
        "gradOutput": {**TENSOR, "shape": [2, 3, 6, 8]},
        "self": TENSOR,
        "padding": [2, 2, 1, 1],
        "gradInput": TENSOR,
    },
}
NORM: dict[str, Any] = {
    "id": "n",
    "op": "aclnnGroupNormBackward",
    "product": "ascend910",
    "args": {
        "gradOut": TENSOR,
        "input": TENSOR,
        "mean": TENSOR,
        "rstd": TENSOR,
        "gamma": None,
        "N": 2,
        "C": 3,
        "HxW": 16,
        "group": 1,
        "outputMask": [True, False, True],
        "gradInput": TENSOR,
        "gradGammaOut": None,
        "gradBetaOut": TENSOR,
    },
}
POOL: dict[str, Any] = {
    "id": "p",
    "op": "aclnnAvgPool2dBackward",
    "product": "ascend910",
    "args": {
        "gradOutput": TENSOR,
        "self": TENSOR,
        "kernelSize": [2],
        "stride": [],
        "padding": [0],
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "cubeMathType": 1,
        "gradInput": TENSOR,
    },
}


def with_(call: dict[str, Any], path: str, value: Any) -> str:
    """The line of a call in which one thing is another; ``...`` takes it away."""
    data = copy.deepcopy(call)
    *way, last = path.split("/")
    at = data
    for step in way:
        at = at[step]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return json.dumps(data)


def read(line: str) -> NamedCall:
    return parse_call(line, catalog().kinds)


BAD = [
    ("", "not JSON: Expecting value"),
    ("{", "not JSON: "),
    ("nonsense", "not JSON: Expecting value"),
    ("{} {}", "not JSON: more than one value on the line: ' {}'"),
    ("[" * 100_000, "not JSON: "),
    ("[]", "expects a JSON object with id, op, product and args"),
    ("3", "expects a JSON object with id, op, product and args"),
    ("{}", "the key 'id' is missing"),
    (with_(PAD, "args", ...), "the key 'args' is missing"),
    (with_(PAD, "id", ""), "the id '' must be a string that is not empty"),
    (with_(PAD, "id", 3), "the id 3 must be a string that is not empty"),
    (
        with_(PAD, "op", "aclnnReflectionPad2dBackwards"),
        "no such op 'aclnnReflectionPad2dBackwards' (did you mean 'aclnnReflectionPad2dBackward'?)",
    ),
    (with_(PAD, "op", ["a"]), "no such op ['a']"),
    (with_(PAD, "op", None), "no such op None"),
    (with_(PAD, "product", "ascend910c"), "no such product 'ascend910c' (did you mean 'ascend910"),
    (with_(PAD, "product", []), "no such product []"),
    (with_(PAD, "product", {"a": 1}), "no such product {'a': 1}"),
    (with_(PAD, "args", [1]), "args must be an object"),
    (with_(PAD, "args/padding", ...), "args.padding is missing; a null pointer is null"),
    (
        with_(PAD, "args/paddings", [1]),
        (
            "args.paddings: aclnnReflectionPad2dBackward has no such parameter (did you mean"
            " 'padding'?)"
        ),
    ),
    (
        with_(PAD, "args/self", 3),
        "args.self: expects a tensor (an object with shape, dtype, format) or null, not 3",
    ),
    (with_(PAD, "args/self", [2, 3]), "args.self: expects a tensor"),
    (
        with_(PAD, "args/self/dtypes", "FLOAT"),
        "args.self.dtypes: no such key (did you mean 'dtype'?)",
    ),
    (with_(PAD, "args/self/shape", ...), "args.self.shape is missing"),
    (
        with_(PAD, "args/self/shape", [2, True]),
        "args.self.shape: True is not a whole number of 64 bits",
    ),
    (
        with_(PAD, "args/self/shape", [2, 1.0]),
        "args.self.shape: 1.0 is not a whole number of 64 bits",
    ),
    (with_(PAD, "args/self/shape", [2**63]), "is not a whole number of 64 bits"),
    (
        with_(PAD, "args/self/shape", [1] * 26),
        "args.self.shape: 26 axes; an aclTensor has at most 25",
    ),
    (
        with_(PAD, "args/self/dtype", "FLOAT32"),
        "args.self.dtype: no such dtype 'FLOAT32' (did you mean 'FLOAT",
    ),
    (with_(PAD, "args/self/dtype", ...), "args.self.dtype is missing"),
    (
        with_(PAD, "args/self/shape", None),
        "args.self.shape: expects a list of whole numbers, not None",
    ),
    (with_(PAD, "args/self/dtype", None), "args.self.dtype: no such dtype None"),
    (with_(PAD, "args/self/dtype", ["FLOAT"]), "args.self.dtype: no such dtype ['FLOAT']"),
    (
        with_(PAD, "args/self/format", "NCWH"),
        "args.self.format: no such format 'NCWH' (did you mean 'NCHW'?)",
    ),
    (with_(PAD, "args/self/format", None), "args.self.format: no such format None"),
    (with_(PAD, "args/self/strides", [1]), "args.self.strides: 1 strides for 4 axes"),
    (
        with_(PAD, "args/self/strides", "x"),
        "args.self.strides: expects a list of whole numbers, not 'x'",
    ),
    (
        with_(PAD, "args/self/offset", True),
        "args.self.offset: True is not a whole number of 64 bits",
    ),
    (
        with_(PAD, "args/self/storage_shape", 3),
        "args.self.storage_shape: expects a list of whole numbers, not 3",
    ),
    (
        with_(PAD, "args/self/range", [1]),
        "args.self.range: expects [lowest, highest], finite numbers, not [1]",
    ),
    (
        with_(PAD, "args/self/range", [2, 1]),
        "args.self.range: expects [lowest, highest], finite numbers, not [2, 1]",
    ),
    (
        with_(PAD, "args/self/range", [0, 10**400]),
        "args.self.range: expects [lowest, highest], finite numbers",
    ),
    (
        json.dumps(PAD).replace('"dtype"', '"range": [-1e400, 1], "dtype"', 1),
        "finite numbers, not [-inf, 1]",
    ),
    (with_(PAD, "args/padding", 3), "args.padding: expects a list of whole numbers, not 3"),
    (with_(PAD, "args/padding", [1, None]), "args.padding: None is not a whole number of 64 bits"),
    (
        with_(PAD, "args/padding", [True, False, True, True]),
        "args.padding: True is not a whole number of 64 bits",
    ),
    (with_(PAD, "args/padding", {"0": 1}), "args.padding: expects a list of whole numbers"),
    (with_(PAD, "args/padding", [0] * 1025), "args.padding: 1025 items; at most 1024"),
    (
        with_(NORM, "args/outputMask", [1, 0, 1]),
        "args.outputMask: 1 is neither true nor false",
    ),
    (with_(NORM, "args/N", None), "args.N: expects a whole number of int64"),
    (with_(NORM, "args/N", True), "args.N: expects a whole number of int64"),
    (with_(NORM, "args/N", 2.0), "args.N: expects a whole number of int64"),
    (
        with_(NORM, "args/N", 2**63),
        "args.N: expects a whole number of int64, -9223372036854775808 to 9223372036854775807",
    ),
    (
        with_(POOL, "args/cubeMathType", 128),
        "args.cubeMathType: expects a whole number of int8, -128 to 127, not 128",
    ),
    (with_(POOL, "args/ceilMode", 1), "args.ceilMode: expects true or false, not 1"),
    (with_(POOL, "args/ceilMode", None), "args.ceilMode: expects true or false, not None"),
    (
        json.dumps(PAD).replace('"dtype": "', '"dtype" : "FLOAT", "dtype": "', 1),
        "the key 'dtype' appears twice in one object",
    ),
    (
        json.dumps(PAD).replace('"padding"', '"padding": null, "padding"'),
        "the key 'padding' appears twice in one object",
    ),
    (
        json.dumps(PAD).replace('"op"', '"op": "", "op"'),
        "the key 'op' appears twice in one object of the call 'a'",
    ),
    (
        json.dumps({**PAD, "notes": 0}).replace("0}", '{"m": {"n": 1, "n": 1}}}'),
        "the key 'n' appears twice in one object",
    ),
    (json.dumps(NORM).replace("16", "NaN"), "args.HxW: expects a whole number of int64"),
]


@pytest.mark.parametrize(("line", "message"), BAD, ids=range(len(BAD)))
def test_a_bad_line_says_why(line: str, message: str) -> None:
    with pytest.raises(CallFault) as caught:
        read(line)
    assert message in str(caught.value)


def test_all_that_is_wrong_with_a_call_is_said_at_once() -> None:
    call = json.loads(json.dumps(PAD))
    call["args"]["self"] = {"format": "ND"}
    call["args"]["gradInput"]["dtype"] = "float"
    call["args"]["paddin"] = call["args"].pop("padding")
    with pytest.raises(CallFault) as caught:
        read(json.dumps(call))
    assert str(caught.value).split("; ") == [
        "args.padding is missing",
        "a null pointer is null",
        "args.paddin: aclnnReflectionPad2dBackward has no such parameter (did you mean 'padding'?)",
        "args.self.shape is missing",
        "args.self.dtype is missing",
        "args.gradInput.dtype: no such dtype 'float' (did you mean 'FLOAT'?)",
    ]
    with pytest.raises(CallFault, match=r"args.p6: .* no such parameter; and more$"):
        read(
            json.dumps(
                {**PAD, "args": PAD["args"] | {f"p{i}": 0 for i in range(9)} | {"padding": 1}}
            ).replace('"p8"', '"q"')
        )


def test_what_was_written_once_does_not_hide_what_is_wrong_later(tmp_path: Path) -> None:
    """Equal tensors of a file are checked once; one that only looks equal is checked for itself."""
    path = tmp_path / "calls.jsonl"
    wrong = [
        with_(NORM, "args/outputMask", [1, 0, 1]),
        with_(PAD, "args/padding", [2, 2, True, 1]),
        with_(PAD, "args/self/shape", [2.0, 3, 4, 4]),
    ]
    path.write_text(
        "\n".join([json.dumps(PAD), json.dumps(NORM), json.dumps({**POOL, "id": "q"}), *wrong]),
        encoding="utf-8",
    )
    with pytest.raises(FileError) as caught:
        read_calls(path, catalog().kinds)
    assert [problem.line for problem in caught.value.problems] == [4, 5, 6]


def test_a_call_comes_back_as_it_was_written() -> None:
    strided = {
        **TENSOR,
        "strides": [48, 16, 4, 1],
        "offset": 3,
        "storage_shape": [99],
        "range": [-1.0, 2.5],
    }
    line = with_(PAD, "args/self", strided)
    named = read(line)
    assert to_json(named.call) == json.loads(line)["args"]
    assert named.call.args["self"] == TensorDesc(
        (2, 3, 4, 4), "FLOAT", "ND", (48, 16, 4, 1), 3, (99,), (-1.0, 2.5)
    )
    assert read(json.dumps({**PAD, "args": to_json(named.call)})) == named


def test_what_may_be_left_out_and_what_is_kept() -> None:
    named = read(json.dumps({**PAD, "status": 0, "note": ["x"]}))
    assert named.extra == {"status": 0, "note": ["x"]} and read(json.dumps(PAD)).extra == {}
    plain = read(with_(PAD, "args/self", {"shape": [], "dtype": "UNDEFINED"})).call.args["self"]
    assert plain == TensorDesc((), "UNDEFINED", "ND")
    assert read(with_(PAD, "args/padding", [])).call.args["padding"] == ()
    assert read(with_(PAD, "args/padding", None)).call.args["padding"] is None


def written(path: Path, lines: list[str]) -> Path:
    text = "\n".join(lines) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.jsonl.gz"])
def test_a_file_is_read_in_its_order(name: str, tmp_path: Path) -> None:
    path = written(
        tmp_path / name,
        ["", json.dumps(PAD), "   ", " " + json.dumps(POOL) + " ", json.dumps(NORM)],
    )
    assert [named.id for named in read_calls(path, catalog().kinds)] == ["a", "p", "n"]


def test_an_id_with_colons_and_notes_of_any_form_are_no_keys() -> None:
    named = read(json.dumps({**PAD, "id": '"a": "b"', "notes": [{"n": 1}, {"n": 1}]}))
    assert named.id == '"a": "b"' and named.extra == {"notes": [{"n": 1}, {"n": 1}]}


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.jsonl.gz", "-"])
def test_a_byte_order_mark_is_no_part_of_the_first_call(name: str, tmp_path: Path) -> None:
    text = f"\ufeff{json.dumps(PAD)}\n"
    path = name if name == "-" else str(written(tmp_path / name, [text.strip()]))
    judged = CliRunner().invoke(main, ["judge", path], input=text)
    assert [json.loads(line)["id"] for line in judged.stdout.splitlines()] == ["a"]


def test_standard_input() -> None:
    judged = CliRunner().invoke(main, ["judge", "-"], input=json.dumps(PAD) + "\n{\n")
    assert judged.exit_code == 2 and judged.stderr.startswith("<stdin>:2: not JSON")


def test_all_bad_lines_at_once_with_their_numbers(tmp_path: Path) -> None:
    path = written(
        tmp_path / "c.jsonl",
        [json.dumps(PAD), "{", json.dumps(PAD), "", with_(POOL, "product", "x")],
    )
    with pytest.raises(FileError) as caught:
        read_calls(path, catalog().kinds)
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == [f"{path}:{n}" for n in (2, 3, 5)]
    assert lines[1].endswith("the id 'a' stands on line 1 already; ids must differ")


def test_lines_that_are_no_calls_can_be_skipped(tmp_path: Path) -> None:
    """All of them, however many; the answers of the others stay in their order."""
    good = [json.dumps(PAD), json.dumps(POOL), json.dumps(NORM)]
    unknown = [with_(PAD, "product", "ascend9"), with_(PAD, "args/self/dtype", "FLOAT4")]
    path = written(tmp_path / "c.jsonl", [good[0], *unknown, good[1], *["{"] * 60, *good[1:]])
    whole = CliRunner().invoke(main, ["judge", str(path)])
    assert (whole.exit_code, whole.stdout) == (2, "")
    judged = CliRunner().invoke(main, ["judge", str(path), "--skip-bad-lines"])
    assert judged.exit_code == 1
    assert [json.loads(line)["id"] for line in judged.stdout.splitlines()] == ["a", "p", "n"]
    said = judged.stderr.splitlines()
    assert [line.split(": ")[0] for line in said] == [
        f"{path}:{number}" for number in (2, 3, *range(5, 66))
    ]
    assert "no such product 'ascend9'" in said[0] and "no such dtype 'FLOAT4'" in said[1]
    assert said[-1].endswith("the id 'p' stands on line 4 already; ids must differ")
    for lines, exit_code in ((["{"], 2), (good, 0)):
        path = written(tmp_path / "c.jsonl", lines)
        judged = CliRunner().invoke(main, ["judge", str(path), "--skip-bad-lines"])
        assert judged.exit_code == exit_code


def test_a_flood_of_bad_lines_is_cut(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        read_calls(written(tmp_path / "c.jsonl", ["x"] * 99), catalog().kinds)
    assert (
        len(caught.value.problems) == 51
        and "50 bad lines; the rest was not read" in caught.value.problems[-1].text
    )


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "torn.jsonl.gz").write_bytes(gzip.compress(json.dumps(PAD).encode() * 99)[:-20])
    (tmp_path / "no.jsonl.gz").write_bytes(b"plain text")
    damaged = bytearray(gzip.compress(json.dumps(PAD).encode() * 99))
    damaged[20:30] = b"\xff" * 10
    (tmp_path / "damaged.jsonl.gz").write_bytes(damaged)
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "\xe9"}')
    for name in (
        "torn.jsonl.gz",
        "no.jsonl.gz",
        "damaged.jsonl.gz",
        "missing.jsonl",
        ".",
    ):
        with pytest.raises(FileError, match="cannot be read: "):
            read_calls(tmp_path / name, catalog().kinds)
    with pytest.raises(FileError, match="latin.jsonl: not UTF-8: byte 8 is 0xe9"):
        read_calls(tmp_path / "latin.jsonl", catalog().kinds)


@pytest.mark.parametrize("length", [1 << 20, 1])
def test_a_compressed_file_has_a_limit(tmp_path: Path, length: int) -> None:
    """Long lines or very many: 700 kB, or less, that expand to 600 MB. They take less than 10
    seconds of a core that measures nothing else.
    """
    piece = gzip.compress((b" " * (length - 1) + b"\n") * ((1 << 21) // length))
    bomb = tmp_path / "bomb.jsonl.gz"
    bomb.write_bytes(piece * 300)
    done = subprocess.run(
        [sys.executable, "-m", "opgen", "judge", str(bomb)],
        env={**unmeasured.ENVIRONMENT, "PYTHONPATH": str(Path(opgen.__file__).parents[1])},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 10)),
    )
    said = f"{bomb}: cannot be read: expands to more than 268.4 MB; unpack it if you trust it"
    assert (done.returncode, done.stderr.strip()) == (2, said)


def test_what_is_remembered_is_bounded() -> None:
    reader = ArgumentReader(most=3)
    lines = [with_({**PAD, "id": str(i)}, "args/self/shape", [i, 2, 3, 4]) for i in range(20)]
    calls = [parse_call(line, catalog().kinds, reader).call for line in lines]
    assert [call.args["self"].shape[0] for call in calls] == list(range(20))  # type: ignore[union-attr]
    assert max(map(len, reader._known.values())) <= 4
    held = ArgumentReader(room=3 * len(lines[0]))
    for line in lines:
        parse_call(line, catalog().kinds, held)
    assert 1 <= len(held.texts) <= 4


def test_a_call_that_stands_in_a_file_twice_is_read_once_under_each_id() -> None:
    """Its text after the id is what is known of it, and an id with escapes, or after other keys,
    is read as ever.
    """
    text, plain = json.dumps(PAD), json.dumps({**PAD, "id": "b"})
    escaped = plain.replace('"b"', '"\\u0062\\""')
    moved = json.dumps({key: PAD[key] for key in ("op", "product", "args")} | {"id": "c"})
    reader = ArgumentReader()
    lines = [text, plain, escaped, moved, text.replace('"id": "', '"id": "x ')]
    calls = [parse_call(line, catalog().kinds, reader) for line in lines]
    assert [call.id for call in calls] == [PAD["id"], "b", 'b"', "c", f"x {PAD['id']}"]
    assert calls[1].call is calls[0].call and calls[4].call is calls[0].call
    assert all(call.call == calls[0].call for call in calls)


def test_the_text_after_an_id_is_remembered_only_where_it_is_a_call() -> None:
    """Faults come again under every id, and the id that stands twice is a fault, first or last."""
    rest = json.dumps(PAD).partition(", ")[2]
    wrong = rest.replace("ascend", "descend")
    twice = rest[:-1] + ', "id": "b"}'
    reader = ArgumentReader()
    for name in ("a", "b"):
        for text in (wrong, twice, rest[:-1], rest + "}"):
            with pytest.raises(CallFault):
                parse_call(f'{{"id": "{name}", {text}', catalog().kinds, reader)
    assert not reader.texts


@pytest.mark.parametrize("options", [(), ("--skip-bad-lines",)])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("many", [True, False])
def test_json_that_is_no_call_file_gets_one_message(tmp_path, many, indent, options):
    """An array, and JSON over several lines; an object on one line is a call."""
    call = json.loads(new_file("calls", "reflection_pad2d_backward").splitlines()[0])
    path = tmp_path / "calls.json"
    path.write_text(json.dumps([call] if many else call, indent=indent), encoding="utf-8")
    judged = CliRunner().invoke(main, ["judge", str(path), *options])
    if not many and indent is None:
        assert judged.exit_code == 0
    else:
        assert (judged.exit_code, judged.stdout) == (2, "")
        (line,) = judged.stderr.splitlines()
        assert (
            line.startswith(f"{path}: is JSON over several lines, or an array") and "jq -c" in line
        )


@pytest.mark.parametrize(
    ("truth", "lines", "code"),
    [("both", slice(0, 1), 0), ("both", slice(0, 2), 1), ("page", slice(1, 2), 1)],
)
def test_judge_fails_on_invalid_calls_where_it_is_asked_to(tmp_path, truth, lines, code):
    path = tmp_path / "calls.jsonl"
    calls = new_file("calls", "reflection_pad2d_backward").splitlines()[lines]
    path.write_text("\n".join(calls), encoding="utf-8")
    words = ["judge", str(path), "--truth", truth]
    assert CliRunner().invoke(main, words).exit_code == 0
    judged = CliRunner().invoke(main, [*words, "--fail-on", "invalid"])
    assert judged.exit_code == code
    said = f"1 of {len(calls)} call{'s' if len(calls) > 1 else ''} invalid, such as my-stated-call"
    assert judged.stderr.splitlines() == [said] * code
