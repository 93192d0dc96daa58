"""The schemas and the readers: what one accepts in form the other accepts, and what one refuses the
other refuses.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from opgen.calls.call_json import CallFault
from opgen.calls.jsonl import parse_call
from opgen.cli import main
from opgen.files import yamlfile
from opgen.files.resources import cases_folder, specs_folder
from opgen.lint.schema import schema
from opgen.model import FileError
from opgen.spec.catalog import catalog
from opgen.spec.spec_folder import spec_files
from opgen.spec.specfile import load
from opgen.suite.planning.plan import load_plan

jsonschema = pytest.importorskip("jsonschema")
SPECS, PLANS = sorted(spec_files(specs_folder())), sorted(cases_folder().glob("*.yaml"))


def plain(value: Any) -> Any:
    """As JSON has it: every key a string."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def valid(what: str, value: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema(what)).is_valid(plain(value)))


@pytest.mark.parametrize("what", ["spec", "plan", "call"])
def test_each_is_a_schema(what):
    jsonschema.Draft202012Validator.check_schema(schema(what))


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_specs_that_ship_have_the_form(path):
    jsonschema.Draft202012Validator(schema("spec")).validate(plain(yamlfile.read(path).data))


@pytest.mark.parametrize("path", PLANS, ids=lambda p: p.stem)
def test_plans_that_ship_have_the_form(path):
    jsonschema.Draft202012Validator(schema("plan")).validate(plain(yamlfile.read(path).data))


def test_calls_have_the_form():
    validator = jsonschema.Draft202012Validator(schema("call"))
    for line in gzip.decompress(
        (Path(__file__).parents[1] / "data" / "library_sample.jsonl.gz").read_bytes()
    ).splitlines()[::60]:
        validator.validate(json.loads(line))


SPEC_FAULTS = [
    ("sha256: ", "sha256: 0"),
    ("api:", "apis:"),
    ("kind: int_array", "kind: intarray"),
    ("length: [4]", "lenght: [4]"),
    ("dtype: &dtypes [FLOAT16,", "dtype: &dtypes [FLOAT17,"),
    ("empty: false", "empty: 3"),
    ("require: gradOutput.dtype == self.dtype}", "needs: gradOutput.dtype == self.dtype}"),
    ("products: {ascend910_93: 5,", "products: {ascend911: 5,"),
    ("assumed: [", "presumed: ["),
    ("4: [N, C, Hout, Wout]", "4: N"),
    ("kind: int_array", "kind: int_array\n    strided: true"),
    ("kind: output", "kind: output\n    items: [q]"),
    ("parameters:", "compute: {modes: [{when: padTop > 0, dtype: FLOAT17}]}\nparameters:"),
]


@pytest.mark.parametrize(("good", "bad"), SPEC_FAULTS)
def test_a_spec_that_the_schema_refuses_the_reader_refuses_too(tmp_path, good, bad):
    text = (specs_folder() / "reflection_pad2d_backward.yaml").read_text()
    assert good in text
    path = tmp_path / "reflection_pad2d_backward.yaml"
    path.write_text(text.replace(good, bad, 1))
    assert not valid("spec", yamlfile.read(path).data)
    with pytest.raises(FileError):
        load(path)


PLAN_FAULTS = [
    ("strength: 2", "strength: 5"),
    ("vacuous:\n  - {when", "vacuous:\n  - {whne"),
    ("axes:", "axis:"),
    ("factors: 1", "factors: one"),
    ("strength: 2", "strenght: 2"),
    ("why: with and without", "because: with and without"),
    ("gradOutput: gradient", "gradOutput: gradiant"),
    ("  full:", "  fullest:"),
    ("factors: 1", "factors: 17"),
    ("let:", "let:\n  X: 2.5"),
    ("let:", "let:\n  X: [{when: grow == 1}]"),
    ("dtype: {values: [", "dtype: {sets: [3], values: ["),
    ("handwritten:", "handwritten:\n  - {id: x, why: y, args: {}, tiers: [full, full]}"),
]


@pytest.mark.parametrize(("good", "bad"), PLAN_FAULTS)
def test_a_plan_that_the_schema_refuses_the_reader_refuses_too(tmp_path, good, bad):
    text = (cases_folder() / "reflection_pad2d_backward.yaml").read_text()
    assert good in text
    path = tmp_path / "plan.yaml"
    path.write_text(text.replace(good, bad, 1))
    assert not valid("plan", yamlfile.read(path).data)
    with pytest.raises(FileError):
        load_plan(path)


TENSOR = {"shape": [1, 4, 4], "dtype": "FLOAT", "format": "ND"}
ARGS = {"gradOutput": TENSOR, "self": TENSOR, "padding": [0, 0, 0, 0], "gradInput": None}
CALL = {"id": "a", "op": "aclnnReflectionPad2dBackward", "product": "ascend910b", "args": ARGS}


def with_self(**facts: Any) -> dict[str, Any]:
    return {"args": {**ARGS, "self": {**TENSOR, **facts}}}


@pytest.mark.parametrize(
    "change",
    [
        with_self(**dict.fromkeys(("strides", "offset", "storage_shape", "range"))),
        with_self(strides=[4, 4, 1], range=[0, 0.5], offset=3),
    ],
)
def test_a_call_that_the_schema_accepts_the_reader_accepts_too(change):
    assert valid("call", {**CALL, **change})
    named = parse_call(json.dumps({**CALL, **change}), catalog().kinds)
    assert named.call.args["self"].offset == (change["args"]["self"]["offset"] or 0)


@pytest.mark.parametrize(
    "change", [with_self(shape=[1.0, 4, 4]), with_self(strides=[4, 1]), with_self(range=[1, -1])]
)
def test_what_the_reader_alone_can_tell_the_schema_says_in_words(change):
    assert valid("call", {**CALL, **change})
    with pytest.raises(CallFault):
        parse_call(json.dumps({**CALL, **change}), catalog().kinds)
    assert "a whole number is written without a point" in schema("call")["description"]


@pytest.mark.parametrize(
    "change",
    [
        with_self(range=[0, 10**400]),
        with_self(offset="0"),
        with_self(storage_shape=[1] * 1025),
        with_self(strides=[1] * 26),
        {"args": {**ARGS, "padding": [0] * 1025}},
        {"id": ""},
        {"op": "x"},
        {"product": "ascend911"},
        {"args": {**CALL["args"], "padding": [0.5]}},
        {"args": {**CALL["args"], "self": 3}},
        {"args": {**CALL["args"], "self": {**TENSOR, "dtype": "FLOTE"}}},
        {"args": {**CALL["args"], "extra": 1}},
        {"args": {}},
    ],
)
def test_a_call_that_the_schema_refuses_the_reader_refuses_too(change):
    assert valid("call", CALL)
    parse_call(json.dumps(CALL), catalog().kinds)
    assert not valid("call", {**CALL, **change})
    with pytest.raises(CallFault):
        parse_call(json.dumps({**CALL, **change}), catalog().kinds)


def test_the_command_prints_json():
    result = CliRunner().invoke(main, ["schema", "call"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["title"] == "opgen call"
