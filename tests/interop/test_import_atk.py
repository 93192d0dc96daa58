"""ATK's case files: every form that they have, and every fault named with key, value and remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import opgen
from opgen.calls.jsonl import read_calls
from opgen.cli import main
from opgen.interop import atk_import
from opgen.interop.completion import PartialCall, complete
from opgen.interop.importing import Imported
from opgen.model import Call, FileError, TensorDesc
from opgen.oracle.callfiles import judge_calls
from opgen.spec import specfile
from opgen.spec.catalog import catalog

Case = dict[str, Any]


def tensor(name: str, *shape: int, dtype: str = "fp32", **more: Any) -> Case:
    return {
        "name": name,
        "type": "tensor",
        "required": True,
        "dtype": dtype,
        "shape": list(shape),
        "range_values": [-1, 1],
        **more,
    }


def attr(name: str, value: Any, dtype: str = "int", type: str = "attr") -> Case:
    return {
        "name": name,
        "type": type,
        "required": True,
        "dtype": dtype,
        "shape": None,
        "range_values": value,
    }


def array(name: str, *values: Any, dtype: str = "int", type: str = "attrs") -> list[Case]:
    return [attr(name, value, dtype, type) for value in values]


def pad(**more: Any) -> Case:
    return {
        "id": 1,
        "name": "torch.ops.aten.reflection_pad2d_backward",
        "aclnn_name": "ReflectionPad2dBackward",
        "api_type": "function_pad",
        "standard": {"acc": "default", "perf": "not_key"},
        "inputs": [
            tensor("gradOutput", 2, 3, 6, 8),
            tensor("self", 2, 3, 4, 4),
            array("padding", 2, 2, 1, 1, type="attr_tuple"),
        ],
        **more,
    }


def pool(**more: Any) -> Case:
    return {
        "id": 2,
        "aclnn_name": "aclnnAvgPool2dBackward",
        "inputs": [
            tensor("gradOutput", 3, 2, 2, dtype="fp16"),
            tensor("self", 3, 4, 4, dtype="fp16"),
            array("kernel_size", 2, 2),
            array("stride", 2, 2),
            array("padding", 0, 0),
            attr("ceil_mode", False, "bool"),
            attr("count_include_pad", True, "bool"),
            attr("divisor_override", [1, 100]),
            attr("cube_math_type", 1, "int8"),
        ],
        **more,
    }


def conv(**more: Any) -> Case:
    return {
        "id": 3,
        "aclnn_name": "aclnnConvolutionBackward",
        "aclnn_api_type": "aclnn_conv_backward",
        "inputs": [
            tensor("gradOutput", 2, 4, 3, 3, dtype="bf16"),
            tensor("input", 2, 3, 5, 5, dtype="bf16"),
            tensor("weight", 4, 3, 3, 3, dtype="bf16"),
            array("biasSizes", 4),
            array("stride", 1, 1),
            array("padding", 0, 0),
            array("dilation", 1, 1),
            attr("transposed", False, "bool"),
            array("outputPadding", 0, 0),
            attr("groups", 1),
            array("outputMask", True, True, False, dtype="bool"),
            attr("cubeMathType", 0, "int8"),
            attr("format", "NCHW", "non_param"),
        ],
        **more,
    }


def norm(**more: Any) -> Case:
    return {
        "id": 4,
        "aclnn_name": "GroupNormBackward",
        "inputs": [
            tensor("gradOut", 2, 6, 5),
            tensor("input", 2, 6, 5),
            tensor("mean", 2, 3),
            tensor("rstd", 2, 3),
            tensor("gamma", 6),
            attr("N", 2),
            attr("C", 6),
            attr("HxW", 5),
            attr("group", 3),
            array("outputMask", True, False, True, dtype="bool"),
        ],
        **more,
    }


def read(tmp_path: Path, *cases: Any, products: tuple[str, ...] = ("ascend910b",)) -> Imported:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(list(cases)), encoding="utf-8")
    return atk_import.read(path, catalog(), products)


def calls(found: Imported, tmp_path: Path) -> list[Call]:
    """What a reader of call files makes of the result."""
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(f"{line}\n" for line in found.lines), encoding="utf-8")
    return [one.call for one in read_calls(path, catalog().kinds)]


def test_a_case_of_every_operator_becomes_a_call(tmp_path: Path) -> None:
    found = read(tmp_path, pad(), pool(), conv(), norm())
    assert found.unreadable == [] and found.left_out == [] and found.cases == 4
    padded, pooled, convolved, normed = calls(found, tmp_path)
    image = TensorDesc((2, 3, 4, 4), "FLOAT", "ND")
    assert padded.args["self"] == TensorDesc((2, 3, 4, 4), "FLOAT", "ND", range=(-1.0, 1.0))
    assert padded.args["gradInput"] == image and padded.args["padding"] == (2, 2, 1, 1)
    assert list(padded.args) == ["gradOutput", "self", "padding", "gradInput"]
    assert pooled.args["gradInput"] == TensorDesc((3, 4, 4), "FLOAT16", "NCHW"), (
        "ATK's executor says NCHW whatever the rank"
    )
    assert (pooled.args["kernelSize"], pooled.args["ceilMode"], pooled.args["divisorOverride"]) == (
        (2, 2),
        False,
        1,
    )
    assert convolved.args["gradWeight"] == TensorDesc((4, 3, 3, 3), "BFLOAT16", "NCHW")
    assert convolved.args["gradBias"] is None, "masked off, and the page admits a null pointer"
    weight = convolved.args["weight"]
    assert isinstance(weight, TensorDesc) and weight.format == "NCHW", "the case's format"
    assert convolved.args["outputMask"] == (True, True, False) and convolved.args["biasSizes"] == (
        4,
    )
    assert normed.args["gradGammaOut"] is None and normed.args["gradBetaOut"] == TensorDesc(
        (6,), "FLOAT", "ND"
    )


def test_the_calls_are_judged_as_valid(tmp_path: Path) -> None:
    found = read(tmp_path, pad(), norm(), conv(aclnn_api_type="opgen_frozen"))
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join(found.lines), encoding="utf-8")
    assert [
        answer.page.bucket for answer in judge_calls(read_calls(path, catalog().kinds), catalog())
    ] == ["valid"] * 3


@pytest.mark.parametrize("layout", ["NCHW", "ND"])
def test_a_convolution_has_the_format_of_its_case_but_for_the_bias(
    tmp_path: Path, layout: str
) -> None:
    """ATK asks for inputs by name; its index 2, which is ND, is the third output, not the third
    input.
    """
    case = conv(outputs=[tensor("gradBias", 4, dtype="bf16")])
    put("outputMask", array("outputMask", True, True, True, dtype="bool"))(case)
    put("format", attr("format", layout, "non_param"))(case)
    [call] = calls(read(tmp_path, case), tmp_path)
    formats = {name: arg.format for name, arg in call.args.items() if isinstance(arg, TensorDesc)}
    bias = {"gradBias": "ND"}
    asked = ("gradOutput", "input", "weight", "gradInput", "gradWeight")
    assert formats == dict.fromkeys(asked, layout) | bias


def test_a_convolution_of_atk_gets_goldens(tmp_path: Path) -> None:
    calls(read(tmp_path, conv()), tmp_path)
    opgen.generate(calls=str(tmp_path / "calls.jsonl"), output=tmp_path / "b.h5")
    with opgen.open(tmp_path / "b.h5") as bundle:
        assert list(bundle[0].golden) == ["gradInput", "gradWeight"]


def of_a_file(id: int, rank: int, transposed: bool, mask: tuple[bool, ...]) -> Case:
    """A convolution as ATK's files have it: attributes are ``int``, ``int8_t`` or ``bool``, and the
    format is that of the rank.
    """

    def image(*channels: int, extent: int) -> list[int]:
        return [*channels, *[extent] * rank]

    case = conv(id=id)
    case["inputs"] = [
        tensor("gradOutput", *image(2, 4, extent=7 if transposed else 3), dtype="bf16"),
        tensor("input", *image(2, 4, extent=5), dtype="bf16"),
        tensor("weight", *image(4, 4, extent=3), dtype="bf16"),
        array("biasSizes", 4),
        array("stride", *[1] * rank),
        array("padding", *[0] * rank),
        array("dilation", *[1] * rank),
        attr("transposed", transposed, "bool"),
        array("outputPadding", *[0] * rank),
        attr("groups", 1),
        array("outputMask", *mask, dtype="bool"),
        attr("cubeMathType", 0, "int8_t"),
        attr("format", ("NCL", "NCHW", "NCDHW")[rank - 1], "non_param"),
    ]
    return case


def test_every_convolution_of_a_file_gets_goldens(tmp_path: Path) -> None:
    """Each rank, both directions, each mask: 42 cases, all of which the page allows."""
    masks = [mask for mask in product((True, False), repeat=3) if any(mask)]
    ways = list(product((1, 2, 3), (False, True), masks))
    found = read(tmp_path, *(of_a_file(id, *way) for id, way in enumerate(ways)))
    assert len(calls(found, tmp_path)) == len(ways)
    opgen.generate(calls=str(tmp_path / "calls.jsonl"), output=tmp_path / "b.h5", workers=1)
    names = ("gradInput", "gradWeight", "gradBias")
    with opgen.open(tmp_path / "b.h5") as bundle:
        for case, (_, _, mask) in zip(bundle, ways, strict=True):
            assert case.expect.bucket == "valid", case.expect.breaks
            assert list(case.golden) == [n for n, asked in zip(names, mask, strict=True) if asked]


@pytest.mark.parametrize("executor", ["aclnn_group_norm_backward", "opgen_frozen"])
def test_the_statistics_of_a_group_norm_are_those_of_the_forward(
    tmp_path: Path, executor: str
) -> None:
    """In the case they are placeholders, unless its executor is opgen's, which takes what the case
    says.
    """
    case = norm(aclnn_api_type=executor)
    put("mean", tensor("mean", 6))(case)
    found = read(tmp_path, case)
    [call] = calls(found, tmp_path)
    ours = executor == "opgen_frozen"
    mean, rstd = call.args["mean"], call.args["rstd"]
    assert isinstance(mean, TensorDesc) and isinstance(rstd, TensorDesc)
    assert (mean.shape, rstd.shape) == ((6,) if ours else (2, 3), (2, 3))
    said = "mean: shape [2, 3], as ATK's executor makes it, not [6]"
    assert json.loads(found.lines[0]).get("notes", []) == ([] if ours else [said])


def test_notes_say_what_was_chosen_and_what_stays_behind(tmp_path: Path) -> None:
    odd = pad(expected_error_msg="bad shape")
    odd["inputs"][0] |= {
        "range_values": {"name": "nd", "mean": [0], "std": [1]},
        "outlier_values": [9],
    }
    odd["inputs"].append(attr("seed_of_golden", 7, "non_param"))
    found = read(tmp_path, pool(), odd)
    first, second = (json.loads(line) for line in found.lines)
    assert first["notes"] == ["divisorOverride: the first of the range [1, 100]"]
    assert first["origin"] == {"format": "atk", "id": 2}
    assert [note.split(":")[0] for note in second["notes"]] == [
        "expected_error_msg",
        "gradOutput",
        "gradOutput",
        "'seed_of_golden'",
    ]
    assert "range" not in second["args"]["gradOutput"]
    assert (
        found.ignored == {"name": 1, "api_type": 1, "standard": 1, "expected_error_msg": 1}
        and found.noted == 2
    )


def put(name: str, value: Any) -> Callable[[Case], None]:
    """Give an input another range_values, or replace it where the value is an input itself."""

    def change(case: Case) -> None:
        for i, one in enumerate(case["inputs"]):
            if (one[0] if isinstance(one, list) else one)["name"] == name:
                is_input = (
                    isinstance(value, (dict, list))
                    and value
                    and isinstance(value if isinstance(value, dict) else value[0], dict)
                )
                case["inputs"][i] = value if is_input else attr(name, value)

    return change


@pytest.mark.parametrize(
    ("make", "name", "value", "argument", "meant"),
    [
        (pool, "divisor_override", [1], "divisorOverride", 1),
        (pool, "divisor_override", 7, "divisorOverride", 7),
        (pool, "divisor_override", 3.0, "divisorOverride", 3),
        (pool, "ceil_mode", 1, "ceilMode", True),
        (pool, "ceil_mode", [True, False], "ceilMode", True),
        (pool, "kernel_size", [2, 2], "kernelSize", (2, 2)),
        (pool, "stride", 2, "stride", (2,)),
        (conv, "biasSizes", None, "biasSizes", None),
        (conv, "biasSizes", [attr("biasSizes", None)], "biasSizes", None),
        (conv, "stride", [attr("stride", [1, 4]), attr("stride", 2)], "stride", (1, 2)),
        (norm, "gamma", tensor("gamma") | {"shape": None}, "gamma", None),
        (
            pad,
            "self",
            [tensor("self", 2, 3, 4, 4, type="tensors")],
            "self",
            TensorDesc((2, 3, 4, 4), "FLOAT", range=(-1.0, 1.0)),
        ),
        (
            pad,
            "self",
            tensor("SELF", 2, 3, 4, 4, range_values=0.5),
            "self",
            TensorDesc((2, 3, 4, 4), "FLOAT", range=(0.5, 0.5)),
        ),
        (
            pad,
            "self",
            tensor("self", 2, 6, 8, format="NCL"),
            "self",
            TensorDesc((2, 6, 8), "FLOAT", "NCL", range=(-1.0, 1.0)),
        ),
    ],
)
def test_forms_of_one_argument(
    tmp_path: Path, make: Callable[[], Case], name: str, value: Any, argument: str, meant: Any
) -> None:
    case = make()
    put(name, value)(case)
    if make is norm and argument == "gamma":
        case["inputs"][9] = array("outputMask", True, False, False, dtype="bool")
    found = read(tmp_path, case)
    assert found.unreadable == []
    assert calls(found, tmp_path)[0].args[argument] == meant


def test_names_that_differ_are_taken_by_their_place(tmp_path: Path) -> None:
    case = norm()
    case["inputs"][0]["name"] = "grad_output"
    found = read(tmp_path, case)
    assert json.loads(found.lines[0])["notes"] == [
        "gradOut: taken from 'grad_output', which is at its place"
    ]


def test_outputs_of_the_file_are_taken_as_they_are(tmp_path: Path) -> None:
    found = read(tmp_path, pad(outputs=[tensor("grad_input", 9, 9, dtype="fp16")]))
    assert calls(found, tmp_path)[0].args["gradInput"] == TensorDesc(
        (9, 9), "FLOAT16", "ND", range=(-1.0, 1.0)
    )


def test_an_output_of_the_file_without_a_shape_is_a_null_pointer(tmp_path: Path) -> None:
    found = read(tmp_path, pad(outputs=[tensor("grad_input") | {"shape": None}]))
    assert calls(found, tmp_path)[0].args["gradInput"] is None


def test_several_products_make_several_calls(tmp_path: Path) -> None:
    found = read(tmp_path, pad(case_name="wide"), products=("ascend910b", "ascend910"))
    assert [json.loads(line)["id"] for line in found.lines] == ["wide-ascend910b", "wide-ascend910"]
    assert [json.loads(line)["product"] for line in found.lines] == ["ascend910b", "ascend910"]


def change(make: Callable[..., Case], name: str, value: Any) -> Case:
    case = make()
    put(name, value)(case)
    return case


def without(make: Callable[..., Case], position: int) -> Case:
    case = make()
    del case["inputs"][position]
    return case


BAD = [
    (7, "case [0]: expects an object, not 7"),
    ({"aclnn_name": "x"}, "case [0]: has no id; every case needs a number"),
    ({"id": 1}, "case 1: aclnn_name: no such operator None; known: aclnn"),
    (
        {"id": 1, "aclnn_name": "AvgPool2dBackwrd"},
        "no such operator 'AvgPool2dBackwrd' (did you mean 'aclnnAvgPool2dBackward'?)",
    ),
    ({"id": 1, "aclnn_name": ["x"]}, "no such operator ['x']"),
    (pad(inputs={}), "inputs: expects a list, not {}"),
    (pad(inputs=[3]), "inputs[0]: expects an object or a list of objects, not 3"),
    (
        pad(inputs=[[]]),
        "inputs[0]: an empty list has no name; an empty array cannot be told from a missing one",
    ),
    (pad(inputs=[{"type": "tensor"}]), "inputs[0]: name is missing"),
    (
        pad(inputs=[[attr("a", 1), attr("b", 1)]]),
        "inputs[0]: the objects of one list must share one name, not ['a', 'b']",
    ),
    (pad(outputs=4), "outputs: expects a list, not 4"),
    (
        pad(outputs=[tensor("other", 1)]),
        (
            "outputs[0]: aclnnReflectionPad2dBackward has no parameter 'other'; it takes"
            " gradOutput, self"
        ),
    ),
    (
        without(pad, 1),
        "self is missing; aclnnReflectionPad2dBackward takes gradOutput, self, padding, gradInput",
    ),
    (without(pool, 8), "cubeMathType is missing"),
    (change(pad, "self", tensor("gradOutput", 2)), "inputs[1]: gradOutput is there already"),
    (
        change(pad, "self", tensor("self", 2, dtype="fp17")),
        "self: no such dtype 'fp17' (did you mean 'fp16'?)",
    ),
    (change(pad, "self", tensor("self", 2, dtype="string")), "self: no such dtype 'string'"),
    (
        change(pad, "self", tensor("self", 2, type="blob")),
        "self: 'blob' is no type of tensor; known: tensor, tensors",
    ),
    (
        change(pad, "self", attr("self", 2)),
        "self: 'attr' is no type of tensor; known: tensor, tensors, tensor_tuple",
    ),
    (
        change(pad, "padding", tensor("padding", 2)),
        "padding: 'tensor' is no type of int_array; known: attr, attrs",
    ),
    (
        change(pad, "self", [tensor("self", 2)] * 2),
        "self: a list of 2 tensors, and the parameter is one tensor",
    ),
    (
        change(pad, "self", tensor("self") | {"shape": [2, "x"]}),
        "args.self.shape: 'x' is not a whole number of 64 bits",
    ),
    (
        change(pad, "self", tensor("self") | {"shape": [2, 10**30]}),
        f"args.self.shape: {10**30} is not a whole number of 64 bits",
    ),
    (
        change(pad, "self", tensor("self") | {"shape": [1] * 26}),
        "args.self.shape: 26 axes; an aclTensor has at most 25",
    ),
    (
        change(pad, "self", tensor("self") | {"shape": 4}),
        "args.self.shape: expects a list of whole numbers, not 4",
    ),
    (
        change(pad, "self", tensor("self", 2, format="NCWH")),
        "self: no such format 'NCWH' (did you mean 'NCHW'?)",
    ),
    (change(conv, "format", attr("format", "NCXY", "non_param")), "no such format 'NCXY'"),
    (
        change(conv, "groups", 2**31),
        "args.groups: expects a whole number of int32, -2147483648 to 2147483647, not 2147483648",
    ),
    (
        change(conv, "groups", None),
        "groups: range_values None: expects a value or [lowest, highest]",
    ),
    (
        change(conv, "groups", []),
        "groups: range_values []: expects a value or [lowest, highest]",
    ),
    (
        change(conv, "groups", "many"),
        "groups: range_values 'many': expects a value or [lowest, highest]",
    ),
    (change(conv, "groups", 1.5), "args.groups: expects a whole number of int32"),
    (
        change(conv, "groups", array("groups", 1, 1)),
        "groups: a list of 2 values, and the parameter is one int32",
    ),
    (change(conv, "transposed", 2), "args.transposed: expects true or false, not 2"),
    (
        change(conv, "outputMask", array("outputMask", 0, 1, 7)),
        "args.outputMask: 7 is neither true nor false",
    ),
    (
        change(conv, "stride", array("stride", 1, None)),
        "stride: range_values None: expects a value or [lowest, highest]",
    ),
    (
        change(conv, "gradOutput", tensor("gradOutput") | {"shape": None}),
        "gradBias is missing, and the page does not say its dtype",
    ),
]


@pytest.mark.parametrize(("case", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_what_cannot_be_read_is_named(tmp_path: Path, case: Any, message: str) -> None:
    if message.startswith("gradBias"):
        case["inputs"][10] = array("outputMask", True, True, True, dtype="bool")
    found = read(tmp_path, case, pad(id=99))
    assert len(found.lines) == 1 and len(found.unreadable) == 1
    assert message in str(found.unreadable[0]) and len(str(found.unreadable[0])) < 450


@pytest.mark.parametrize(
    "case",
    [
        change(pad, "self", tensor("self", 2, 3, 4, 4, dtype="int4")),
        pad(aclnn_name="aclnnPadV4"),
        change(conv, "format", attr("format", "NCXY", "non_param")),
    ],
)
def test_an_unknown_word_ends_one_case_and_not_the_file(tmp_path: Path, case: Case) -> None:
    code, said, made = run(tmp_path, case, pad(id=99))
    assert code == 1 and len(made.read_text().splitlines()) == 1
    assert f"case {case['id']}: " in said and "no such " in said


def test_a_repeated_id_is_named(tmp_path: Path) -> None:
    found = read(tmp_path, pad(), pad())
    assert str(found.unreadable[0]).endswith(
        "case 1: the id 1 stands in the file already; ids must differ"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON: Expecting value (column 1)"),
        ("[1,", "is not JSON: Expecting value"),
        ("[" * 100_000, "is nested too deeply to be a case file"),
        ("[" + "9" * 5000 + "]", "is not JSON that can be read: Exceeds the limit"),
        ('{"id": 1}', "expects a JSON list of cases, not {'id': 1}"),
        ('"x"', "expects a JSON list of cases, not 'x'"),
        ("[]", "holds no case"),
        (b"[\xff]", "not UTF-8: byte 1 is 0xff"),
    ],
)
def test_what_is_no_case_file(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "cases.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError) as caught:
        atk_import.read(path, catalog(), ["ascend910b"])
    assert (
        str(caught.value).startswith(str(path))
        and message in str(caught.value)
        and "\n" not in str(caught.value)
    )


def test_a_byte_order_mark_and_large_values_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    cases = [pad(), change(pad, "padding", [attr("padding", deep)]) | {"id": 5}, pad(id="\ud800")]
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(cases).encode())
    found = atk_import.read(path, catalog(), ["ascend910b"])
    assert len(found.lines) == 2 and "padding: " in str(found.unreadable[0])


# the command --------------------------------------------------------------------------------------
def run(
    tmp_path: Path, *cases: Any, more: tuple[str, ...] = ("--product", "ascend910b")
) -> tuple[int, str, Path]:
    (tmp_path / "cases.json").write_text(json.dumps(list(cases)), encoding="utf-8")
    made = tmp_path / "calls.jsonl"
    shown = CliRunner().invoke(
        main,
        ["import", "atk", str(tmp_path / "cases.json"), "-o", str(made), *more],
        prog_name="opgen",
    )
    return shown.exit_code, shown.stderr, made


def test_an_edition_says_which_pages_are_read(tmp_path: Path) -> None:
    swish = {
        "id": 3,
        "aclnn_name": "aclnnHardswishBackward",
        "inputs": [tensor("gradOutput", 2, 3), tensor("self", 2, 3)],
    }
    product = ("--product", "ascend910b", "--force")
    code, said, made = run(tmp_path, pad(), swish, more=(*product, "--edition", "undated"))
    assert code == 1 and "case 3: aclnn_name: no such operator 'aclnnHardswishBackward'" in said
    code, said, made = run(tmp_path, pad(), swish, more=(*product, "--edition", "2026-08"))
    assert code == 0 and len(made.read_text().splitlines()) == 2
    code, said, made = run(tmp_path, pad(), more=(*product, "--edition", "2099-01"))
    assert code == 2 and "2099-01: no such edition" in said


def test_exit_codes(tmp_path: Path) -> None:
    code, said, made = run(tmp_path, pad(), pool())
    assert code == 0 and len(made.read_text().splitlines()) == 2
    assert (
        "calls.jsonl: 2 calls of 2 cases, 0 unreadable, 0 left out, 1 with notes (key notes)"
        in said
    )
    assert "not carried over: name (1), api_type (1), standard (1)" in said
    assert run(tmp_path, pad())[0] == 2, "the file exists already"
    code, said, _ = run(tmp_path, pad(), {"id": 5}, more=("--product", "ascend910b", "--force"))
    assert code == 1 and "cases.json: case 5: aclnn_name: no such operator None" in said
    made.unlink()
    code, said, made = run(tmp_path, {"id": 5})
    assert code == 2 and not made.exists()
    code, said, made = run(tmp_path, pad(), more=())
    assert code == 2 and "ATK names no product; say for which with --product" in said
    code, said, made = run(tmp_path, pad(), more=("--product", "ascend901b"))
    assert code == 2 and "no such product (did you mean 'ascend910b'?)" in said


def test_standard_output(tmp_path: Path) -> None:
    (tmp_path / "cases.json").write_text(json.dumps([pad()]), encoding="utf-8")
    args = [
        "import",
        "atk",
        str(tmp_path / "cases.json"),
        "--product",
        "ascend910b",
        "-o",
        "-",
        "--quiet",
    ]
    shown = CliRunner().invoke(main, args, prog_name="opgen")
    assert json.loads(shown.stdout)["id"] == "1" and shown.stderr == ""


def test_a_dtype_that_stands_alone_in_its_list_is_the_dtype() -> None:
    text = """
api: aclnnOneBackward
page: none
products: [ascend910, ascend910b, ascend310p, ascend910_93]
parameters:
  g: {kind: tensor, dtype: [FLOAT16, FLOAT], format: [ND], shape: {1: [N]}}
  out: {kind: output, dtype: [LIST], format: [ND], shape: {1: [N]}}
returns: {assumed: [product, g.dtype, g.format, g.rank, g.null, out.dtype, out.format, out.rank, out.shape, out.null]}
"""

    def completed(dtypes: str) -> tuple[str, TensorDesc | None]:
        spec = specfile.loads(text.replace("LIST", dtypes), "one", "one.yaml")
        args = {"g": TensorDesc((3,), "FLOAT16", "ND"), "out": None}
        partial = PartialCall(spec, Call("aclnnOneBackward", "ascend910b", args))
        partial.lacks("out")
        complete(spec, [partial])
        return partial.unknown, partial.call.args["out"]

    assert completed("FLOAT") == ("", TensorDesc((3,), "FLOAT", "ND"))
    assert completed("FLOAT16, FLOAT")[0].startswith(
        "out is missing, and the page does not say its dtype"
    )
