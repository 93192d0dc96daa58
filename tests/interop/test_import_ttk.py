"""TTK's case files: both modes, every column that a call can carry, and every fault named with
column, value and remedy.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.calls.jsonl import read_calls
from opgen.cli import main
from opgen.interop import ttk_aclnn, ttk_import, values
from opgen.interop.importing import Imported
from opgen.interop.names import Unreadable
from opgen.model import Call, FileError, TensorDesc
from opgen.oracle.callfiles import judge_calls
from opgen.spec.catalog import catalog

Row = dict[str, str]

PAD = {
    "testcase_name": "pad_1",
    "network_name": "net",
    "api_name": "aclnnReflectionPad2dBackward",
    "tensor_view_shapes": "((2, 3, 6, 8), (2, 3, 4, 4), (2, 3, 4, 4))",
    "tensor_dtypes": "('float32', 'float32', 'float32')",
    "tensor_formats": "('ND',)",
    "output_tensor_indexes": "(2,)",
    "attributes": "{'padding': [2, 2, 1, 1]}",
    "precision_tolerances": "((0.001, 0.001),)",
    "is_enabled": "True",
    "soc_series": "('Ascend910B',)",
}
POOL = {
    "testcase_name": "pool_1",
    "api_name": "AvgPool2dBackward",
    "tensor_view_shapes": "((1, 3, 2, 2), (1, 3, 4, 4), (1, 3, 4, 4))",
    "tensor_dtypes": "('bfloat16',)",
    "tensor_formats": "('NCHW',)",
    "soc_series": "('Ascend910B', 'Ascend910_93')",
    "attributes": (
        "{'kernelSize': [2, 2], 'stride': (2, 2), 'padding': [0, 0], 'ceilMode': False,"
        " 'countIncludePad': 1, 'divisorOverride': 0, 'cubeMathType': 0}"
    ),
}
NORM = {
    "testcase_name": "norm_1",
    "api_name": "aclnnGroupNormBackward",
    "tensor_view_shapes": "((2, 6, 5), (2, 6, 5), (2, 3), (2, 3), (6,), (2, 6, 5), None, (6,))",
    "tensor_dtypes": "('float16',)",
    "output_tensor_indexes": "(5, 6, 7)",
    "soc_series": "('Ascend910A', '-Ascend310P')",
    "attributes": "{'N': 2, 'C': 6, 'HxW': 5, 'group': 3, 'output_mask': [True, False, True]}",
}


def table(*rows: Row) -> str:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def read(tmp_path: Path, *rows: Row, products: tuple[str, ...] = ()) -> Imported:
    path = tmp_path / "cases.csv"
    path.write_text(table(*rows), encoding="utf-8-sig", newline="")
    return ttk_import.read(path, catalog(), products)


def calls(found: Imported, tmp_path: Path) -> list[Call]:
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(f"{line}\n" for line in found.lines), encoding="utf-8")
    return [one.call for one in read_calls(path, catalog().kinds)]


def test_rows_become_calls(tmp_path: Path) -> None:
    found = read(tmp_path, PAD, POOL, NORM)
    assert found.unreadable == [] and found.cases == 3
    padded, pooled, also_pooled, normed = calls(found, tmp_path)
    assert padded.product == "ascend910b" and padded.args["padding"] == (2, 2, 1, 1)
    assert padded.args["gradInput"] == TensorDesc((2, 3, 4, 4), "FLOAT", "ND")
    assert (pooled.product, also_pooled.product) == ("ascend910b", "ascend910_93")
    assert pooled.args["countIncludePad"] is True and pooled.args["stride"] == (2, 2)
    assert pooled.args["self"] == TensorDesc((1, 3, 4, 4), "BFLOAT16", "NCHW")
    assert (
        normed.product == "ascend910"
        and normed.args["gradGammaOut"] is None
        and normed.args["outputMask"] == (True, False, True)
    )
    assert [json.loads(line)["id"] for line in found.lines] == [
        "pad_1",
        "pool_1-ascend910b",
        "pool_1-ascend910_93",
        "norm_1",
    ]
    assert found.ignored == {"network_name": 1, "precision_tolerances": 1}
    path = tmp_path / "calls.jsonl"
    answers = judge_calls(read_calls(path, catalog().kinds), catalog())
    assert [answer.page.bucket for answer in answers] == [
        "valid",
        "valid",
        "unsupported_product",
        "valid",
    ]


def test_views_ranges_and_missing_outputs(tmp_path: Path) -> None:
    row = PAD | {
        "tensor_view_shapes": "((2, 3, 6, 8), (2, 3, 4, 4))",
        "tensor_dtypes": "('float32', 'float32')",
        "output_tensor_indexes": "",
        "tensor_view_strides": "((144, 48, 1, 6), None)",
        "tensor_view_offsets": "(0, 0)",
        "tensor_storage_shapes": "((2, 3, 8, 6), None)",
        "input_data_ranges": "((-1, 1, 0.5), (None, 3))",
    }
    found = read(tmp_path, row)
    [call] = calls(found, tmp_path)
    assert call.args["gradOutput"] == TensorDesc(
        (2, 3, 6, 8), "FLOAT", "ND", (144, 48, 1, 6), 0, (2, 3, 8, 6), (-1.0, 1.0)
    )
    assert call.args["self"] == TensorDesc((2, 3, 4, 4), "FLOAT", "ND")
    assert call.args["gradInput"] == TensorDesc((2, 3, 4, 4), "FLOAT", "ND"), "made from the page"
    assert json.loads(found.lines[0])["notes"] == [
        "gradInput: not in the file; made from the page",
        "gradOutput: the values [0.5] that must appear are not carried over",
        "self: values [None, 3] are not [lowest, highest]; opgen draws its own",
    ]


@pytest.mark.parametrize(
    ("ranges", "read_as", "notes"),
    [
        ("((-2, 2),)", [(-2.0, 2.0), None, None], 0),
        ("((None, None), (0, 1))", [None, (0.0, 1.0), None], 0),
        ("((-2, 2), (0, 1), (3, 3))", [(-2.0, 2.0), (0.0, 1.0), (3.0, 3.0)], 0),
        ("(-2, 2)", [None, None, None], 2),
        ("7", [None, None, None], 1),
    ],
)
def test_ranges_run_over_all_tensors_and_may_end_early(
    tmp_path: Path, ranges: str, read_as: list[object], notes: int
) -> None:
    found = read(tmp_path, PAD | {"input_data_ranges": ranges})
    [call] = calls(found, tmp_path)
    tensors = [arg for arg in call.args.values() if isinstance(arg, TensorDesc)]
    assert [desc.range for desc in tensors] == read_as
    said = json.loads(found.lines[0]).get("notes", [])
    assert len(said) == notes and all("are not [lowest, highest]" in note for note in said)


def test_formats_that_a_row_leaves_out_are_nd(tmp_path: Path) -> None:
    for formats, meant in (
        ("('NCHW', 'NCHW')", ["NCHW", "NCHW", "ND"]),
        ("('NCHW',)", ["NCHW"] * 3),
        ("('NCHW', None, 'NCHW')", ["NCHW", "ND", "NCHW"]),
        ("", ["ND"] * 3),
    ):
        [call] = calls(read(tmp_path, PAD | {"tensor_formats": formats}), tmp_path)
        tensors = [arg for arg in call.args.values() if isinstance(arg, TensorDesc)]
        assert [desc.format for desc in tensors] == meant


@pytest.mark.parametrize(
    ("series", "products"),
    [
        ("('Ascend910',)", ["ascend910"]),
        ("('Ascend910B',)", ["ascend910b"]),
        ("('Ascend910B4',)", ["ascend910b"]),
        ("('Ascend910ProB',)", ["ascend910"]),
        ("('ascend910',)", ["ascend910"]),
        ("('Ascend910A', 'Ascend310P3', '-Ascend910PremiumA')", ["ascend310p"]),
    ],
)
def test_the_series_names_products_by_any_of_their_socs(
    tmp_path: Path, series: str, products: list[str]
) -> None:
    assert [
        call.product for call in calls(read(tmp_path, PAD | {"soc_series": series}), tmp_path)
    ] == products


def test_products_overrule_the_series(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        PAD | {"soc_series": "('Ascend999',)"},
        POOL | {"soc_series": ""},
        products=("ascend310p",),
    )
    assert [call.product for call in calls(found, tmp_path)] == ["ascend310p"] * 2


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("soc_series", "('Ascend999',)"),
        ("tensor_dtypes", "('int4',)"),
        ("tensor_formats", "('NCXY',)"),
        ("api_name", "aclnnPadV4"),
    ],
)
def test_an_unknown_word_ends_one_row_and_not_the_file(
    tmp_path: Path, column: str, cell: str
) -> None:
    (tmp_path / "cases.csv").write_text(table(PAD | {column: cell}, POOL), encoding="utf-8")
    args = ["import", "ttk", str(tmp_path / "cases.csv"), "-o", str(tmp_path / "calls.jsonl")]
    shown = CliRunner().invoke(main, args, prog_name="opgen")
    assert shown.exit_code == 1 and "cases.csv:2: case pad_1: " in shown.stderr
    assert len((tmp_path / "calls.jsonl").read_text().splitlines()) == 2


def test_an_unknown_soc_beside_a_known_one_is_noted(tmp_path: Path) -> None:
    found = read(tmp_path, PAD | {"soc_series": "('Ascend910B', 'Ascend999', '-Ascend998')"})
    assert [call.product for call in calls(found, tmp_path)] == ["ascend910b"]
    assert json.loads(found.lines[0])["notes"] == ["soc_series: 'Ascend999' is of no known product"]


def test_disabled_rows_are_left_out_by_name(tmp_path: Path) -> None:
    found = read(tmp_path, PAD | {"is_enabled": "FALSE"}, POOL)
    assert (
        str(found.left_out[0]).endswith("cases.csv:2: case pad_1: is_enabled is FALSE")
        and len(found.lines) == 2
    )


KERNEL = {
    "testcase_name": "k",
    "op_name": "group_norm_grad",
    "input_dtypes": "('float16', 'float32', 'float32', 'float16', 'float16')",
    "input_ori_shapes": "((2, 6, 5, 7), (2, 3), (2, 3), (2, 6, 5, 7), (6,))",
    "output_ori_shapes": "((2, 6, 5, 7), (6,), (6,))",
    "input_ori_formats": "('ND',)",
    "attributes": "{'num_groups': 3, 'dgamma_is_require': False}",
    "soc_series": "('Ascend910B',)",
}
POOL_KERNEL = {
    "testcase_name": "k",
    "op_name": "avg_pool3_d_grad",
    "input_dtypes": "('int32', 'float16')",
    "input_ori_shapes": "((5,), (2, 1, 2, 2, 3))",
    "output_ori_shapes": "((2, 1, 4, 4, 3),)",
    "input_ori_formats": "('ND', 'NDHWC')",
    "output_ori_formats": "('NDHWC',)",
    "attributes": (
        "{'ksize': [1, 1, 2, 2, 1], 'strides': [1, 1, 2, 2, 1], 'pads': [0, 0, 0, 0, 0, 0],"
        " 'data_format': 'NDHWC'}"
    ),
    "soc_series": "('Ascend910B',)",
}
CONV_KERNEL = {
    "testcase_name": "k",
    "op_name": "conv2d_backprop_input",
    "input_dtypes": "('int32', 'float16', 'float16')",
    "input_ori_shapes": "((4,), (4, 3, 3, 3), (2, 4, 3, 3))",
    "output_ori_shapes": "((2, 3, 5, 5),)",
    "input_ori_formats": "('ND', 'NCHW', 'NCHW')",
    "output_ori_formats": "('NCHW',)",
    "attributes": (
        "{'strides': [1, 1, 1, 1], 'pads': [0, 0, 0, 0], 'dilations': [1, 1, 1, 1], 'groups': 1,"
        " 'data_format': 'NCHW'}"
    ),
    "soc_series": "('Ascend910B',)",
}
FILTER_KERNEL = CONV_KERNEL | {
    "op_name": "Conv2DBackpropFilter",
    "input_ori_shapes": "((2, 3, 5, 5), (4,), (2, 4, 3, 3))",
    "output_ori_shapes": "((4, 3, 3, 3),)",
    "input_ori_formats": "('NCHW', 'ND', 'NCHW')",
    "input_dtypes": "('float16', 'int32', 'float16')",
}


POOL_2D_KERNEL = POOL_KERNEL | {
    "op_name": "avg_pool_grad",
    "input_ori_shapes": "((4,), (2, 2, 2, 3))",
    "output_ori_shapes": "((2, 4, 4, 3),)",
    "input_ori_formats": "('ND', 'NHWC')",
    "output_ori_formats": "('NHWC',)",
    "attributes": "{'ksize': [1, 2, 2, 1], 'strides': [1, 2, 2, 1], 'padding': 'VALID'}",
}
POOL_V2_KERNEL = POOL_KERNEL | {
    "op_name": "avg_pool_v2_grad",
    "input_ori_shapes": "((4,), (2, 3, 3, 1))",
    "output_ori_shapes": "((2, 3, 4, 4),)",
    "input_ori_formats": "('ND', 'NCHW')",
    "output_ori_formats": "('NCHW',)",
    "attributes": (
        "{'ksize': [1, 1, 2, 2], 'strides': [1, 1, 2, 3], 'padding_mode': 'CALCULATED',"
        " 'pads': [1, 1, 0, 0], 'exclusive': False}"
    ),
}
PAD_KERNEL = {
    "testcase_name": "k",
    "op_name": "pad_v3_grad",
    "input_dtypes": "('float16', 'int64')",
    "input_ori_shapes": "((2, 3, 6, 8), (8,))",
    "output_ori_shapes": "((2, 3, 4, 4),)",
    "input_ori_formats": "('ND',)",
    "attributes": "{'mode': 'reflect', 'paddings': [0, 0, 0, 0, 1, 1, 2, 2]}",
    "soc_series": "('Ascend910B',)",
}


@pytest.mark.parametrize(
    "row",
    [POOL_KERNEL, POOL_2D_KERNEL, POOL_V2_KERNEL, CONV_KERNEL, FILTER_KERNEL, PAD_KERNEL],
    ids=lambda row: row["op_name"],
)
def test_rows_of_a_kernel_become_calls_that_the_page_admits(tmp_path: Path, row: Row) -> None:
    found = read(tmp_path, row)
    assert found.unreadable == []
    calls(found, tmp_path)
    [answer] = judge_calls(read_calls(tmp_path / "calls.jsonl", catalog().kinds), catalog())
    assert answer.page.bucket == "valid"


def test_shapes_of_kernels(tmp_path: Path) -> None:
    [norm] = calls(read(tmp_path, KERNEL), tmp_path)
    assert [norm.args[name] for name in ("N", "C", "HxW", "group", "outputMask")] == [
        2,
        6,
        35,
        3,
        (True, False, True),
    ]
    assert norm.args["mean"] == TensorDesc((2, 3), "FLOAT") and norm.args["gradGammaOut"] is None
    [pool] = calls(read(tmp_path, POOL_KERNEL), tmp_path)
    assert pool.args["self"] == TensorDesc((2, 3, 4, 4), "FLOAT16", "NCHW") and pool.args[
        "kernelSize"
    ] == (2, 2)
    deep = other(POOL_KERNEL, "'ksize': [1, 1,", "'ksize': [1, 2,") | {
        "output_ori_shapes": "((2, 2, 4, 4, 3),)"
    }
    [pool] = calls(read(tmp_path, deep), tmp_path)
    assert pool.api == "aclnnAvgPool3dBackward" and pool.args["kernelSize"] == (2, 2, 2)
    assert pool.args["self"] == TensorDesc((2, 3, 2, 4, 4), "FLOAT16", "ND")
    [conv] = calls(read(tmp_path, CONV_KERNEL), tmp_path)
    assert (
        conv.args["outputMask"] == (True, False, False)
        and conv.args["stride"] == (1, 1)
        and conv.args["weight"] is not None
        and conv.args["cubeMathType"] == 0
    )
    [conv] = calls(
        read(tmp_path, other(CONV_KERNEL, "'groups': 1", "'groups': 1, 'enable_hf32': True")),
        tmp_path,
    )
    assert conv.args["cubeMathType"] == 3


def test_pads_and_paddings_of_kernels(tmp_path: Path) -> None:
    padded = POOL_KERNEL | {"output_ori_shapes": "((2, 1, 4, 2, 3),)"}
    for pads in ("[0, 0, 1]", "[0, 0, 0, 0, 1, 1]"):
        row = other(padded, "'pads': [0, 0, 0, 0, 0, 0]", f"'pads': {pads}")
        [pool] = calls(read(tmp_path, row), tmp_path)
        assert pool.api == "aclnnAvgPool2dBackward" and pool.args["padding"] == (0, 1)
    row = other(padded, "'pads': [0, 0, 0, 0, 0, 0]", "'pads': [1, 0, 0]")
    [pool] = calls(read(tmp_path, row), tmp_path)
    assert pool.api == "aclnnAvgPool3dBackward" and pool.args["padding"] == (1, 0, 0)
    [pool] = calls(read(tmp_path, POOL_V2_KERNEL), tmp_path)
    assert [pool.args[name] for name in ("stride", "padding", "countIncludePad")] == [
        (2, 3),
        (1, 0),
        True,
    ]
    assert pool.args["self"] == TensorDesc((2, 3, 4, 4), "FLOAT16", "NCHW")
    [pool] = calls(read(tmp_path, POOL_2D_KERNEL), tmp_path)
    assert (pool.args["padding"], pool.args["countIncludePad"]) == ((0, 0), False)
    assert pool.args["gradOutput"] == TensorDesc((2, 3, 2, 2), "FLOAT16", "NCHW")
    same = other(POOL_2D_KERNEL, "VALID", "SAME")
    same = other(same, "'ksize': [1, 2, 2, 1]", "'ksize': [1, 4, 2, 1]")
    [pool] = calls(read(tmp_path, same), tmp_path)
    assert pool.args["padding"] == (1, 0), "(2 - 1) * 2 + 4 - 4 rows beyond the image, no column"
    [pad] = calls(read(tmp_path, PAD_KERNEL), tmp_path)
    assert pad.api == "aclnnReflectionPad2dBackward" and pad.args["padding"] == (2, 2, 1, 1)
    line = PAD_KERNEL | {
        "input_ori_shapes": "((3, 8), (4,))",
        "output_ori_shapes": "((3, 5),)",
        "attributes": "{'paddings': [0, 0, 2, 1]}",
    }
    [pad] = calls(read(tmp_path, line), tmp_path)
    assert pad.api == "aclnnReflectionPad1dBackward" and pad.args["padding"] == (2, 1)


def aclnn(**cells: str) -> Row:
    return PAD | cells


def other(row: Row, old: str, new: str) -> Row:
    """A row with one attribute written otherwise."""
    return row | {"attributes": row["attributes"].replace(old, new)}


BAD = [
    (aclnn(api_name="aclnnFoo"), "no such operator 'aclnnFoo'"),
    (
        aclnn(testcase_name=""),
        "case line 2: testcase_name '': expects a name of 1 to 200 printable characters",
    ),
    (
        aclnn(testcase_name="a\x07"),
        r"testcase_name 'a\x07': expects a name of 1 to 200 printable characters",
    ),
    (aclnn(soc_series=""), "names no product; say for which with --product"),
    (
        aclnn(soc_series="('Ascend999',)"),
        "soc_series ['Ascend999'] names no known product; say for which with --product",
    ),
    (aclnn(soc_series="('-Ascend310P',)"), "soc_series ['-Ascend310P'] names no known product"),
    (aclnn(soc_series="(1,)"), "soc_series: expects names, not [1]"),
    (aclnn(tensor_view_shapes=""), "tensor_view_shapes: 0 tensors; aclnnReflectionPad2dBackward"),
    (
        aclnn(tensor_view_shapes="((2, 3),"),
        "tensor_view_shapes: is not a Python literal: '((2, 3),'",
    ),
    (
        aclnn(tensor_view_shapes="__import__('os').system('id')"),
        "tensor_view_shapes: is not a Python literal",
    ),
    (aclnn(tensor_view_shapes="[0 for _ in 'x']"), "tensor_view_shapes: is not a Python literal"),
    (aclnn(tensor_view_shapes="(9**9**9,)"), "tensor_view_shapes: is not a Python literal"),
    *(
        (aclnn(tensor_view_shapes=bomb), "tensor_view_shapes: is not a Python literal")
        for bomb in (
            "(" * 300 + ")" * 300,
            "[" * 60_000,
            "-" * 5000 + "1",
            "-" * 65_000 + "1",
            "1+" * 30_000 + "1",
            "{1:" * 5000 + "1" + "}" * 5000,
            "lambda:" * 9000 + "0",
        )
    ),
    (aclnn(tensor_view_shapes="9" * 5000), "tensor_view_shapes: is not a Python literal: '9999"),
    (
        aclnn(tensor_view_shapes=f"((0x{'f' * 5000},), (1,), (1,))"),
        "tensor_view_shapes: is not a Python literal: '((0xffff",
    ),
    (aclnn(attributes=f"{{'padding': 0x{'f' * 5000}}}"), "attributes: is not a Python literal: "),
    (aclnn(tensor_view_shapes="'\x00'"), "tensor_view_shapes: is not a Python literal"),
    (
        aclnn(tensor_view_shapes=" " + "1" * 70000),
        "tensor_view_shapes: 70000 characters in one cell; at most 65536",
    ),
    (
        aclnn(tensor_view_shapes="((2, 3),)"),
        "tensor_view_shapes: 1 tensors; aclnnReflectionPad2dBackward has 3: gradOutput, self",
    ),
    (
        aclnn(tensor_view_shapes="(5, 6, 7)"),
        "args.gradOutput.shape: expects a list of whole numbers, not 5",
    ),
    (
        aclnn(tensor_view_shapes=f"(({10**20},), (1,), (1,))"),
        f"args.gradOutput.shape: {10**20} is not a whole number of 64 bits",
    ),
    (
        aclnn(tensor_view_shapes="({1: 2}, (1,), (1,))"),
        "args.gradOutput.shape: expects a list of whole numbers, not {'1': 2}",
    ),
    (aclnn(tensor_dtypes=""), "tensor_dtypes: []: expects one for each of gradOutput, self"),
    (
        aclnn(tensor_dtypes="('float32', 'float32')"),
        "expects one for each of gradOutput, self, gradInput",
    ),
    (
        aclnn(tensor_dtypes="('float31',)"),
        "gradOutput: no such dtype 'float31' (did you mean 'float32'?)",
    ),
    (aclnn(tensor_dtypes="(3,)"), "gradOutput: no such dtype 3"),
    (aclnn(tensor_formats="('NCWH',)"), "gradOutput: no such format 'NCWH'"),
    (
        aclnn(tensor_view_strides="((1, 2), None)"),
        "tensor_view_strides: [[1, 2], None]: expects one for each of gradOutput, self",
    ),
    (
        aclnn(tensor_view_strides="((1, 2), None, None)"),
        "args.gradOutput.strides: 2 strides for 4 axes",
    ),
    (
        aclnn(tensor_view_offsets="('a', 0, 0)"),
        "args.gradOutput.offset: 'a' is not a whole number of 64 bits",
    ),
    (
        aclnn(tensor_storage_shapes="('a', None, None)"),
        "args.gradOutput.storage_shape: expects a list of whole numbers, not 'a'",
    ),
    (
        aclnn(output_tensor_indexes="(0,)"),
        "output_tensor_indexes: [0]; the outputs gradInput stand at [2]",
    ),
    (
        aclnn(output_tensor_indexes="('x', 2)"),
        "output_tensor_indexes: ['x', 2]; the outputs gradInput stand at [2]",
    ),
    (aclnn(input_data_ranges="((1, 2),) * 3"), "input_data_ranges: is not a Python literal"),
    (
        aclnn(input_data_ranges="((1, 2), (1, 2), (1, 2), (1, 2))"),
        "input_data_ranges: [[1, 2], [1, 2], [1, 2], [1, 2]]: expects one for each of gradOutput",
    ),
    (aclnn(attributes="[1]"), "attributes: expects a dictionary, not [1]"),
    (aclnn(attributes="{[1]: 2}"), "attributes: is not a Python literal"),
    (
        aclnn(attributes="{'pading': [1]}"),
        "attributes: aclnnReflectionPad2dBackward has no 'pading'; it takes padding",
    ),
    (aclnn(attributes="{'padding': [1], 'PADDING': [1]}"), "attributes: padding is there already"),
    (aclnn(attributes=""), "padding is missing; aclnnReflectionPad2dBackward takes"),
    (
        aclnn(attributes="{'padding': 'abc'}"),
        "args.padding: expects a list of whole numbers, not 'abc'",
    ),
    (aclnn(attributes="{'padding': [1.5]}"), "args.padding: 1.5 is not a whole number of 64 bits"),
    (
        KERNEL | {"op_name": "pad_v4_grad"},
        "op_name: 'pad_v4_grad' is a kernel that opgen cannot place; known: groupnormgrad",
    ),
    (KERNEL | {"attributes": "{}"}, "attributes: num_groups is missing"),
    (KERNEL | {"attributes": "7"}, "attributes: expects a dictionary, not 7"),
    (
        KERNEL | {"input_ori_shapes": "((2,), (2,), (2,), (2,), (2,))"},
        "input_ori_shapes: [2] has no N and C",
    ),
    (
        KERNEL | {"input_ori_shapes": "(('x',),)"},
        "input_ori_shapes: ['x'] is not a list of whole numbers",
    ),
    (
        POOL_KERNEL | {"output_ori_shapes": "((2.5,),)"},
        "output_ori_shapes: [2.5] is not a list of whole numbers",
    ),
    (KERNEL | {"input_dtypes": "('float16', 'float32')"}, "input_dtypes: no such dtype None"),
    (KERNEL | {"input_ori_shapes": "7"}, "input_ori_shapes: 7 is not a list of whole numbers"),
    (KERNEL | {"input_ori_shapes": "((2, 3)"}, "input_ori_shapes: is not a Python literal"),
    (
        POOL_KERNEL | {"output_ori_shapes": "((2, 4, 4, 4),)"},
        "extents [2, 4, 4, 4] of NDHWC are none of NCHW",
    ),
    (POOL_KERNEL | {"output_ori_shapes": ""}, "output_ori_shapes: tensor 0 is missing"),
    (other(POOL_KERNEL, "'ksize': [1, 1,", "'size': [1, 1,"), "attributes: ksize is missing"),
    *(
        (
            other(POOL_KERNEL, "'ksize': [1, 1, 2, 2, 1]", f"'ksize': {value}"),
            f"ksize: {value} is not a list of whole numbers",
        )
        for value in ("None", "'abc'", "2.5", "{'1': 2}", "[1, 1, 2, 2.5, 1]")
    ),
    (
        other(POOL_KERNEL, "'pads': [0, 0, 0, 0,", "'pads': [0, 0, 0, 1,"),
        "pads [0, 0, 0, 1, 0, 0] differ at begin and end; a call pads both alike",
    ),
    (
        other(POOL_KERNEL, "'pads': [0, 0, 0, 0, 0, 0]", "'pads': [0, 0]"),
        "pads [0, 0] of DHW are none of HW",
    ),
    (
        other(POOL_2D_KERNEL, "[1, 2, 2, 1], 'padding': 'VALID'", "[1, 1, 1, 1], 'padding': 'SAME'")
        | {"input_ori_shapes": "((4,), (2, 4, 4, 3))"},
        "attributes: padding SAME differs at begin and end; a call pads both alike",
    ),
    (
        other(POOL_2D_KERNEL, "VALID", "EVEN"),
        "attributes: no such padding 'EVEN'; known: SAME, VALID",
    ),
    (
        other(PAD_KERNEL, "'reflect'", "'edge'"),
        "attributes: mode 'edge' or paddings that are not contiguous",
    ),
    (
        other(PAD_KERNEL, "[0, 0, 0, 0, 1, 1, 2, 2]", "[0, 0, 0, 1, 1, 1, 2, 2]"),
        "paddings [0, 0, 0, 1, 1, 1, 2, 2] are none of the last 2 of 4 axes",
    ),
    (
        other(PAD_KERNEL, "[0, 0, 0, 0, 1, 1, 2, 2]", "[[0, 0], [0, 0], [1, 1], [2, 2]]"),
        "paddings: [[0, 0], [0, 0], [1, 1], [2, 2]] is not a list of whole numbers",
    ),
    (
        other(CONV_KERNEL, "'pads': [0, 0,", "'pads': [0, 1,"),
        "pads [0, 1, 0, 0] differ at begin and end",
    ),
]


@pytest.mark.parametrize(
    ("row", "message"), BAD, ids=[f"{i}-{message[:40]}" for i, (_, message) in enumerate(BAD)]
)
def test_what_cannot_be_read_is_named(tmp_path: Path, row: Row, message: str) -> None:
    good = KERNEL if "op_name" in row else POOL
    found = read(tmp_path, row, good | {"testcase_name": "good"})
    assert len(found.lines) == (1 if good is KERNEL else 2) and len(found.unreadable) == 1
    problem = found.unreadable[0]
    assert (
        message in str(problem)
        and problem.line == 2
        and len(str(problem)) < 450
        and "\n" not in str(problem)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "testcase_name: the column is missing"),
        (
            "testcase,api_name,tensor_view_shapes,tensor_dtypes\n",
            "testcase_name: the column is missing (did you mean 'testcase'?)",
        ),
        ("testcase_name,op_name\n", "input_dtypes: the column is missing"),
        (
            ",".join(ttk_aclnn.NEEDED) + ",remark,remark\n",
            "remark: appears twice among the columns",
        ),
        (",".join(ttk_aclnn.NEEDED) + "\n", "holds no case"),
        ('"abc', "1: is not CSV: unexpected end of data"),
        (b"\xff", "not UTF-8: byte 0 is 0xff"),
    ],
)
def test_what_is_no_case_file(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "cases.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError) as caught:
        ttk_import.read(path, catalog(), [])
    assert str(caught.value).startswith(str(path)) and message in str(caught.value)


def test_rows_that_are_no_csv_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    lines = table(PAD, POOL).splitlines()
    lines[2:2] = [
        "",
        "a,b,c",
        '"x"y,z',
        f"{lines[1]},more",
        '"' + "x" * 200_000 + '"',
        "a\0b" + "," * 20,
    ]
    path.write_text("\n".join(lines) + "\n")
    found = ttk_import.read(path, catalog(), [])
    assert len(found.lines) == 3
    said = [str(problem).removeprefix(f"{path}:") for problem in found.unreadable]
    assert "4: case a: has 3 cells and the header 11; quote cells that hold a comma" in said
    assert any(text.startswith("5: case line 5: is not CSV: ") for text in said)
    assert "6: case pad_1: has 12 cells and the header 11; quote cells that hold a comma" in said
    assert any("7: case line 7: is not CSV: field larger than field limit" in text for text in said)


def test_a_row_that_ends_before_its_operator_is_named(tmp_path: Path) -> None:
    """Columns may stand in any order, and cells at the end of a row may be missing."""
    path = tmp_path / "cases.csv"
    for row, column, message in (
        (PAD, "api_name", "no such operator ''"),
        (POOL_KERNEL, "op_name", "op_name: '' is a kernel that"),
    ):
        moved = {name: cell for name, cell in row.items() if name != column} | {column: ""}
        path.write_text(table(moved).rstrip().removesuffix(",") + "\n")
        [problem] = ttk_import.read(path, catalog(), []).unreadable
        assert str(problem).startswith(
            f"{path}:2: case {row['testcase_name']}: "
        ) and message in str(problem)


def test_a_repeated_name_is_named_with_its_line(tmp_path: Path) -> None:
    found = read(tmp_path, PAD, PAD)
    assert "case pad_1: the id pad_1 stands in line 2 already; ids must differ" in str(
        found.unreadable[0]
    )


def test_literals_are_never_run() -> None:
    assert values.literal(" {'a': (1, -2.5, None, True, [3])} ") == {
        "a": [1, -2.5, None, True, [3]]
    }
    for text in (
        "open('x')",
        "a",
        "1 if 1 else 2",
        "lambda: 0",
        "f'{1}'",
        "(yield)",
        "{1: 2, **{}}",
        "'\\d' + 'x'",
        "1 is 1",
        "*a",
    ):
        with pytest.raises(Unreadable):
            values.literal(text)
    for pair in ([1, float("nan")], [3, 1], [10**400, 10**500], [1], 1, "ab"):
        notes: list[str] = []
        assert values.limits("x", pair, notes) is None and len(notes) == 1


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(
        table(PAD, POOL | {"is_enabled": "False"}), encoding="utf-8"
    )
    args = ["import", "ttk", str(tmp_path / "cases.csv"), "-o", str(tmp_path / "calls.jsonl")]
    shown = CliRunner().invoke(main, args, prog_name="opgen")
    assert shown.exit_code == 0 and "1 call of 2 cases, 0 unreadable, 1 left out" in shown.stderr
    assert "case pool_1: is_enabled is False (left out)" in shown.stderr
    shown = CliRunner().invoke(
        main, ["import", "ttk", str(tmp_path / "none.csv"), "-o", "x"], prog_name="opgen"
    )
    assert (
        shown.exit_code == 2
        and "none.csv: cannot be read: No such file or directory" in shown.stderr
    )
