"""Drafts say what a page says without doubt, and leave the rest to a person."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.cli import main
from opgen.files import yamlfile
from opgen.files.digests import line_digest
from opgen.model import FileError
from opgen.spec import specfile
from opgen.spec.drafting.conditions import condition
from opgen.spec.drafting.draft import Draft, draft
from opgen.spec.drafting.facts import DraftedParameter, Facts, Key, snake
from opgen.spec.drafting.grammar import Pattern, grammar
from opgen.spec.drafting.patterns import Reader, Section, normal
from opgen.spec.drafting.prototype import kind_of
from opgen.spec.drafting.rule_ids import rule_ids
from opgen.spec.drafting.writing import flow, spec_text
from opgen.spec.pages.reading import read_page
from tests.spec import drafts

HEAD = """\
# aclnnTentBackward
## 产品支持情况
- <term>Atlas A2 训练系列产品/Atlas A2 推理系列产品</term>：支持
- <term>Atlas 训练系列产品</term>：支持
## 函数原型
```Cpp
aclnnStatus aclnnTentBackwardGetWorkspaceSize(
  const aclTensor    *dy,
  const aclTensor    *x,
  const aclIntArray  *size,
  const aclBoolArray *mask,
  int64_t             group,
  aclTensor          *dx,
  uint64_t           *workspaceSize,
  aclOpExecutor     **executor)
```
## aclnnTentBackwardGetWorkspaceSize
<table><thead>
<tr><th>参数名</th><th>输入/输出</th><th>描述</th><th>使用说明</th><th>数据类型</th><th>数据格式</th><th>维度（shape）</th><th>非连续Tensor</th></tr>
</thead><tbody>
"""
TAIL = """\
</tbody></table>
<!-- npu="910" id4 -->
- Atlas 训练系列产品：数据类型不支持BFLOAT16。
<!-- end id4 -->
<table>
<tr><th>返回码</th><th>错误码</th><th>描述</th></tr>
<tr><td rowspan="2">ACLNN_ERR_PARAM_NULLPTR</td><td rowspan="2">161001</td>
<td>传入的dy、x、size或mask是空指针。</td></tr>
<tr><td>mask[0]为True且dx为空指针。</td></tr>
{codes}
</table>
## 约束说明
{constraints}
"""
ROWS = {
    "dy": "梯度|shape需要与x一致。|FLOAT32、BFLOAT16|ND|2-4|√",
    "x": "数据|不支持空Tensor。|与dy一致|ND|与dy保持一致|×",
    "size": "大小|长度为2。|INT64|-|-|-",
    "mask": "掩码|长度固定为1。|BOOL|-|-|-",
    "group": "组数|值需要大于0。|INT64|-|-|-",
    "dx": "可选输出，表示结果|-|FLOAT、BFLOAT16|ND|2-4|√",
}
CODES = ("dy、x和dx的数据类型不在支持的范围之内。", "dy和x的shape不一致。", "group小于等于0。")


def page_text(rows=None, codes=CODES, constraints="无。") -> str:
    """A page on which one or the other row, code or constraint is another."""
    cells = {name: row.split("|") for name, row in {**ROWS, **(rows or {})}.items()}
    role = {name: "输出" if name == "dx" else "输入" for name in cells}
    table = "".join(
        f"<tr><td>{name}</td><td>{role[name]}</td>"
        + "".join(f"<td>{cell}</td>" for cell in row)
        + "</tr>\n"
        for name, row in cells.items()
    )
    told = "".join(
        f"<tr><td>ACLNN_ERR_PARAM_INVALID</td><td>161002</td><td>{code}</td></tr>\n"
        for code in codes
    )
    return HEAD + table + TAIL.format(codes=told, constraints=constraints)


def line_of(text: str, words: str) -> int:
    return text[: text.index(words)].count("\n") + 1


@pytest.fixture
def drafted(tmp_path):
    """The facts of a page with some rows, codes or constraints of its own; ``swap``: words of the
    page, and others in their place.
    """

    def make(swap=None, **given):
        path, text = tmp_path / "page.md", page_text(**given)
        for words, others in (swap or {}).items():
            assert words in text
            text = text.replace(words, others)
        path.write_text(text, encoding="utf-8")
        return draft(read_page(path), "page.md")

    return make


# patterns -----------------------------------------------------------------------------------------
READER = Reader(["A", "B", "C", "P", "Q", "n"])
SECTIONS: tuple[Section, ...] = ("statements", "breaches")
PATTERNS = [(section, row) for section in SECTIONS for row in getattr(grammar(), section)]


def names(case: object) -> str:
    return case.says if isinstance(case, Pattern) else str(case)


@pytest.mark.parametrize(("section", "row"), PATTERNS, ids=names)
def test_a_pattern_takes_its_example_and_says_what_its_family_says(section, row):
    claims = READER.read(normal(row.example), section)
    assert claims is not None and [claim.says for claim in claims] == [row.says]


@pytest.mark.parametrize("row", grammar().nothing, ids=lambda row: row.example)
def test_what_constrains_nothing_is_taken_as_nothing(row):
    assert all(READER.read(normal(row.example), section) == () for section in SECTIONS)


@pytest.mark.parametrize(
    "other", ["当n为1时，{}", "除C之外{}", "{}的两倍", "{}，否则报错", "不要求{}", "{}或者为C"]
)
@pytest.mark.parametrize(("section", "row"), PATTERNS, ids=names)
def test_an_example_in_another_sentence_is_not_taken(section, row, other):
    assert READER.read(normal(other.format(row.example)), section) is None


@pytest.mark.parametrize("row", grammar().conditions, ids=lambda row: row.example)
def test_a_condition_is_a_term_and_the_rest_stays(row):
    parameters = {
        name: DraftedParameter(name, kind, 1)
        for name, kind in {"A": "tensor", "P": "int_array", "n": "bool"}.items()
    }
    parameters["A"].keys["rank"] = Key([3, 4, 5], [1])
    parameters["P"].keys["length"] = Key(["A.rank - 2"], [1])
    facts = Facts(parameters)
    term = row.says.format(flag="n", pointer="A", ranks="A.rank == 5")
    assert condition(facts, f"{row.example}长度为1") == (term, "长度为1")
    assert condition(facts, f"除非{row.example}长度为1")[0] == ""


def test_words_that_look_like_names_are_none():
    reader = Reader(["out", "r"])
    assert reader.named("output与outer") == () and reader.named("与out、r一致") == ("out", "r")
    assert reader.read("shape与output一致", "statements") is None


def test_attributes_that_differ_are_not_taken():
    assert READER.read("shape需要与B的数据类型一致", "statements") is None


def test_a_sentence_of_parts_is_read_where_every_part_is():
    claims = READER.read("数据类型与B一致,不支持空Tensor", "statements", "A")
    assert claims and [claim.says for claim in claims] == ["same", "no_empty"]
    assert READER.read("C的shape与B一致,不支持空Tensor", "statements", "A") is None


def test_a_part_is_taken_alone_where_nothing_limits_it():
    claims, left = READER.parts("数据类型与B一致,为大端", "statements", "A")
    assert [claim.says for claim in claims] == ["same"] and left == ["为大端"]
    for text in ("数据类型与B一致,除非n为1", "当n为1时,数据类型与B一致", "A、B的shape不一致,n为1"):
        section = "breaches" if "不一致" in text else "statements"
        assert READER.parts(text, section, "A") == ((), [text])


# facts --------------------------------------------------------------------------------------------
def test_cells_are_keys_with_their_lines(drafted):
    facts = drafted().facts
    line = line_of(page_text(), "<td>dy")
    keys = {name: key.value for name, key in facts.parameters["dy"].keys.items()}
    assert keys == {
        "strided": True,
        "dtype": {"any": ["FLOAT", "BFLOAT16"], "ascend910": ["FLOAT"]},
        "format": ["ND"],
        "rank": [2, 3, 4],
    }
    note = line_of(page_text(), "Atlas 训练系列产品：数据")
    assert facts.parameters["dy"].keys["dtype"].at == [line, note]
    assert facts.parameters["x"].keys["empty"].value is False
    assert facts.parameters["x"].keys["strided"].value is False
    assert facts.rules["x_layout"].require == "x.strided == False"
    assert "dy_layout" not in facts.rules
    assert facts.parameters["size"].keys["length"].value == [2]
    assert facts.parameters["group"].keys["min"].value == 1


def test_cells_that_point_at_another_parameter_are_rules_and_give_its_list(drafted):
    facts = drafted().facts
    assert [facts.rules[name].require for name in ("x_dtype", "x_rank", "dy_shape")] == [
        "x.dtype == dy.dtype",
        "x.rank == dy.rank",
        "dy.shape == x.shape",
    ]
    assert facts.parameters["x"].keys["rank"].value == [2, 3, 4]
    assert facts.parameters["x"].keys["dtype"].value == facts.parameters["dy"].keys["dtype"].value


def test_codes_are_the_places_of_what_they_name(drafted):
    places = drafted().facts.places
    assert {rule for rule, place in places.items() if place[0] == 161001} == {
        "dy.null", "x.null", "size.null", "mask.null", "dx.null",
    }  # fmt: skip
    lines = [line_of(page_text(), code) for code in CODES]
    assert places["dx.dtype"] == places["dy.dtype"] == (161002, 0, lines[0])
    assert places["dy_shape"] == (161002, 0, lines[1])
    assert places["group.min"] == (161002, 0, lines[2])


LETTERED = {
    "dy": "梯度|shape为(N,C,Hout,Wout)。|FLOAT|ND|4|√",
    "x": "数据|支持shape为(N,C,Hin,Win)。|FLOAT|ND|4|√",
    "size": "大小|size为2。表示输入dy在H和W维度上的空间大小。|INT64|-|-|-",
    "dx": "结果|-|FLOAT|ND|3-4|√",
}


def requirements(facts):
    return {rule.require for rule in facts.rules.values()}


def test_a_list_that_is_that_of_another_is_answered_as_the_equality(drafted):
    facts = drafted(codes=("dy和x的数据类型不一致。",)).facts
    assert facts.places["x.dtype"] == facts.places["x_dtype"]
    assert "dy.dtype" not in facts.places


def test_a_pointer_that_no_code_names_is_assumed(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(page_text().replace("x、size或mask是", "x或mask是"), encoding="utf-8")
    text = spec_text(draft(read_page(path), path.name), path.name, path.read_bytes())
    rules = {rule.id: rule.bucket for rule in specfile.loads(text).rules}
    assert (rules["size.null"], rules["mask.null"]) == ("assumed", "stated")


FLOAT_OR = "x.dtype in (dy.dtype, 'FLOAT')"
FREE = {"x": "数据|-|FLOAT16、FLOAT|ND|2-4|√", "dy": "梯度|-|FLOAT16、FLOAT|ND|2-4|√"}


def combinations(*rows: str) -> str:
    return "\n".join(("- 说明：", "", "| dy数据类型 | x数据类型 |", "| --- | --- |", *rows))


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (("| FLOAT16 | FLOAT16 |", "| FLOAT | FLOAT |"), "x.dtype == dy.dtype"),
        (("| FLOAT16 | FLOAT16 |", "| FLOAT16 | FLOAT |", "| FLOAT | FLOAT |"), FLOAT_OR),
        (("| FLOAT16 | FLOAT |", "| FLOAT | FLOAT16 |"), ""),
        (("| FLOAT16 | FLOAT |", "| FLOAT | FLOAT |"), ""),
    ],
)
def test_a_table_of_dtypes_is_the_rule_that_its_rows_have_in_common(drafted, rows, told):
    facts = drafted(rows=FREE, constraints=combinations(*rows)).facts
    rules = {rule.require: rule.at for rule in facts.rules.values() if ".dtype" in rule.require}
    assert [*rules] == ([told] if told else [])
    assert all(len(at) == len(rows) for at in rules.values())


def test_what_the_table_calls_optional_may_be_null(tmp_path):
    path = tmp_path / "page.md"
    text = page_text().replace("<td>size</td><td>输入", "<td>size</td><td>可选输入")
    path.write_text(text.replace("x、size或mask是", "x或mask是"), encoding="utf-8")
    key = draft(read_page(path), path.name).facts.parameters["size"].keys["null"]
    assert (key.value, key.at) == (True, [line_of(text, "<td>size")])
    path.write_text(text, encoding="utf-8")  # a code names it all the same
    assert line_of(text, "传入的dy") in draft(read_page(path), path.name).facts.left()


BY_PRODUCT = """\
<table>
<tr><th>约束类型</th>
<th>Atlas A2 训练系列产品/Atlas A2 推理系列产品</th><th>Atlas 训练系列产品</th></tr>
<tr><th>dtype约束</th><td>-</td><td>不支持BFLOAT16。</td></tr>
<tr><th>x约束</th><td colspan="2">x不支持空Tensor。</td></tr>
</table>
"""


def test_a_column_of_a_product_says_what_holds_for_it(drafted):
    facts = drafted(constraints=BY_PRODUCT).facts
    value = {"any": ["FLOAT", "BFLOAT16"], "ascend910": ["FLOAT"]}
    assert [facts.parameters[name].keys["dtype"].value for name in ("x", "dx")] == [value] * 2
    line = line_of(page_text(constraints=BY_PRODUCT), "x约束")
    assert line in facts.parameters["x"].keys["empty"].at and not facts.left()


def test_codes_below_the_second_phase_are_codes_too(tmp_path):
    path = tmp_path / "page.md"
    told = page_text(codes=()) + "## aclnnTentBackward\n"
    rows = "<tr><td>ACLNN_ERR_PARAM_INVALID</td><td>161002</td><td>dy的维度小于2。</td></tr>"
    head = "<tr><th>返回值</th><th>错误码</th><th>描述</th></tr>"
    path.write_text(f"{told}<table>{head}{rows}</table>\n", encoding="utf-8")
    assert draft(read_page(path), path.name).facts.places["dy.rank"].code == 161002


def test_a_table_that_writes_an_input_of_the_prototype_makes_it_an_output(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        page_text().replace("  aclTensor          *dx", "  const aclTensor *dx"), encoding="utf-8"
    )
    facts = draft(read_page(path), path.name).facts
    assert facts.parameters["dx"].kind == "output"
    assert "the prototype calls 'dx' an input" in facts.left()[facts.parameters["dx"].line]
    path.write_text(
        path.read_text("utf-8").replace("<td>dx</td><td>输出", "<td>dx</td><td>输入/输出")
    )
    facts = draft(read_page(path), path.name).facts
    assert facts.parameters["dx"].kind == "inout" and not facts.disputed
    assert facts.parameters["dx"].line not in facts.left()


SHAPED = {
    "dy": "梯度|shape=[T,H]或[B,S,H]。|FLOAT|ND|2-3|√",
    "x": "数据|shape=[T,2H]或[B,S,2H]。|FLOAT|ND|2-3|√",
}


# what a page says: the page, and what its draft has -----------------------------------------------
PROMOTES = "数据类型需要与x的数据类型满足数据类型推导规则。"
AXES_OF_BOTH = "表示输出x分别在N、C、H、W或N、H、W、C维度上的空间大小"
TWO_BELOW = "大小|长度为2。size的两个数值都需小于x最后一维度的数值。|INT64|-|-|-"
NO_NULLS = {"传入的dy、x、size或mask是空指针。": "无。", "mask[0]为True且dx为空指针。": "无。"}
OUTPUT = {"dx": "结果|-|FLOAT、BFLOAT16|ND|2-4|√"}
OPTIONAL = {"<td>x</td>": "<td>xOptional</td>", "*x,": "*xOptional,"}
A_SCALAR = {"int64_t             group": "const aclScalar *group"}
A_MODE = {"int64_t             group": "int8_t  group"}
MODES = (
    "模式|枚举如下：<br>0：KEEP_DTYPE，保持输入的数据类型进行计算。"
    "<br>2：USE_FP16，支持降精度计算。|INT8|-|-|-"
)
WORDS_OF_A_STRING = {"group": "方式|none：不应用缩减。<br>sum：求和输出。|-|-|-|-"}
CLASSES = "数据|-|FLOAT|ND|(N, C)<br>{}为类别数，必须大于0|√"
IMAGE = "-|-|FLOAT|NCHW|4|√"
SIZED = {"dy": IMAGE, "dx": IMAGE, "size": "表示输入dy在H和W维度上的空间大小|-|INT64|-|-|-"}
UNSIZED = {**SIZED, "size": "大小|-|INT64|-|-|-"}


A_FLAG = {"int64_t             group": "bool group"}
TWO_ARRAYS = {
    "const aclBoolArray *mask": "const aclIntArray *mask",
    "mask[0]为True且dx为空指针。": "无。",
}
WITH_A_FLAG = {"int64_t             group,": "int64_t group,\n  bool both,"}
BOTH = {
    "both": "双向|both为True时 `D = 2`，否则 `D = 1`，hasBiases为True时 "
    "`B = 2`，否则 `B = 1`。|-|-|-|-"
}
A_LIST = {"const aclTensor    *x": "const aclTensorList *x", **WITH_A_FLAG}
STEPS = {
    "dy": "梯度|-|FLOAT|ND|(batch_size, time_step)|√",
    "x": "数据|-|FLOAT|ND|[time_step, batch_size] 或 [batch_size, time_step]|√",
    "dx": "结果|-|FLOAT|ND|[time_step, batch_size] 或 [batch_size, time_step]|√",
}
ASKED_FOR = {
    "mask[0]为True且dx为空指针。": "无。",
    "传入的dy、x、size或mask是空指针。": "传入的dy、x、size、mask、求解dx时是空指针。",
}


def convolution(*cells: str, swap: dict[str, str] = A_FLAG, **rows: str) -> dict[str, object]:
    """A page of an operator with spatial axes, and rows of a table that speak of one product, each
    a head and a cell.
    """
    head = BY_PRODUCT[: BY_PRODUCT.index("<tr><th>dtype")]
    table = "".join(f"<tr><th>{c.replace('|', '</th><td>-</td><td>')}</td></tr>" for c in cells)
    image = "|FLOAT16、BFLOAT16|NCL、NCHW、NCDHW|参见约束说明。|√"
    stride = "步长|数组长度为x维度减2，数值必须大于0。|INT64|-|-|-"
    told = {"dy": f"梯度|{PROMOTES}{image}", "x": f"数据|-{image}", "size": stride, **rows}
    dims = "## 功能说明\n- 接口功能：卷积。此函数支持1D、2D和3D卷积。\n## 函数原型"
    constraints = f"{head}{table}</table>\n"
    swap = {"## 函数原型": dims, **swap}
    return {"rows": told, "constraints": constraints, "codes": (), "swap": swap}


def sized(told: str, rule: str, alone: bool) -> dict[str, tuple[dict, dict]]:
    """A limit of axes: a rule, and without what the items of ``size`` are only if it is alone."""
    note = {"constraints": f"- {told}"}
    return {
        f"a limit: {told}": ({"rows": SIZED, **note}, {"rules": {rule}}),
        f"a limit without sizes: {told}": (
            {"rows": UNSIZED, **note},
            {"rules": {rule}} if alone else {"lacks": {rule}},
        ),
    }


def of_code(code: str, *placed: str) -> dict[str, tuple[dict, dict]]:
    """A code alone: the rules of which it is the place, or one line that is left."""
    told = {"placed": {*placed}} if placed else {"left": 1}
    return {f"code: {code}": ({"codes": tuple(code.split("|"))}, told)}


def of_key(name: str, told: str, key: str, value: object) -> dict[str, tuple[dict, dict]]:
    """A sentence of a parameter that is a key."""
    cells = ROWS[name].split("|")
    rows = {name: "|".join((cells[0], told, *cells[2:]))}
    return {f"key: {told}": ({"rows": rows}, {"keys": {f"{name}.{key}": value}})}


TOLD: dict[str, tuple[dict, dict]] = {
    "a rank that is one more": (
        {"rows": {"dx": "结果|-|FLOAT、BFLOAT16|ND|支持3维和4维，且维度比dy的大1。|√"}},
        {"keys": {"dx.rank": [3, 4]}, "rules": {"dx.rank == dy.rank + 1"}, "left": 0},
    ),
    # codes of null pointers
    "a code for all pointers": (
        {
            "rows": OUTPUT,
            "codes": ("如果传入参数是必选输入，输出或者必选属性，且是空指针。",),
            "swap": NO_NULLS,
        },
        {"placed": {f"{n}.null" for n in ("dy", "x", "size", "mask", "dx")}, "null": set()},
    ),
    "a code for all tensors": (
        {"rows": OUTPUT, "codes": ("Tensor为空指针。",), "swap": NO_NULLS},
        {"placed": {f"{n}.null" for n in ("dy", "x", "dx")}, "null": set()},
    ),
    "a code for arguments that are pointers": (
        {"rows": OUTPUT, "codes": ("传入指针类型入参是空指针。",), "swap": NO_NULLS},
        {"placed": {f"{n}.null" for n in ("dy", "x", "size", "mask", "dx")}, "null": set()},
    ),
    "a code for null inputs leaves the optional ones": (
        {
            "rows": {"dx": "结果|-|FLOAT|ND|2|√"},
            "codes": (),
            "swap": {
                **NO_NULLS,
                "无。</td></tr>\n<tr><td>": "传入的非可选输入是空指针。</td></tr>\n<tr><td>",
                **OPTIONAL,
            },
        },
        {"placed": set(), "null": {"dy"}},
    ),
    "outputs that are asked for, nobody says how": (
        {
            "swap": {
                "mask[0]为True且dx为空指针。": "无。",
                "传入的dy、x、size或mask是空指针。": "传入的dy、x、size、mask、求解dx时是空指针。",
            }
        },
        {"null": {"dy", "x", "size", "mask"}, "left": "null unless it is computed names dx"},
    ),
    "a mask says when an output may be null": (
        {},
        {"keys": {"dx.null": "not mask[0]", "dx.mask": "mask[0]"}},
    ),
    # rules about several parameters
    "a code joins tensors that no sentence joins": (
        {"codes": ("dy、x和dx的shape不一致。",)},
        {
            "rules": {"dy.shape == x.shape", "dx.shape == dy.shape"},
            "lacks": {"dx.shape == x.shape"},
            "placed": {"dy_shape", "dx_shape"},
        },
    ),
    "a broadcast": (
        {"rows": {"dy": "梯度|shape需要与x满足broadcast关系。|FLOAT32、BFLOAT16|ND|2-4|√"}},
        {"rules": {"broadcastable(dy.shape, x.shape)"}, "left": 0},
    ),
    "a product of numbers": (
        {"rows": {"dy": "梯度|元素个数需要等于group*group。|FLOAT32、BFLOAT16|ND|2-4|√"}},
        {"rules": {"dy.numel == group * group"}, "left": 0},
    ),
    "two equalities": (
        {"rows": {"dy": "梯度|数据类型与x一致，且与dx的shape一致。|FLOAT32、BFLOAT16|ND|2-4|√"}},
        {"rules": {"x.dtype == dy.dtype", "dx.shape == dy.shape"}, "left": 0},
    ),
    "the result of a broadcast is a rule under its code": (
        {"codes": ("dx的shape与dy和x的broadcast结果不一致。",)},
        {"rules": {"dx.shape == broadcast(dy.shape, x.shape)"}, "placed": {"dx_shape"}},
    ),
    "a code of a broadcast of one shape": (
        {"codes": ("dy、x、dx的shape不满足broadcast关系。",)},
        {"lacks": {"broadcastable(dy.shape, x.shape)", "broadcastable(x.shape, dx.shape)"}},
    ),
    "a code of a broadcast leaves what is written": (
        {
            "rows": {"dy": "梯度|-|FLOAT|ND|2-4|√"},
            "codes": ("dy、x、dx的shape不满足broadcast关系。",),
        },
        {
            "rules": {"broadcastable(dy.shape, x.shape)"},
            "left": "a broadcast that is written names dx",
        },
    ),
    "all inputs that have the dtypes of a sentence have one": (
        {
            "rows": {
                "dy": "梯度|-|FLOAT32、FLOAT16|ND|2-4|√",
                "x": "数据|-|FLOAT16、FLOAT32|ND|2-4|√",
            },
            "constraints": "- 支持FP16/FP32，所有输入的数据类型需保持一致",
        },
        {"rules": {"x.dtype == dy.dtype"}, "left": 0},
    ),
    "no two inputs have the dtypes of a sentence": (
        {
            "rows": {
                "dy": "梯度|-|FLOAT32、FLOAT16|ND|2-4|√",
                "x": "数据|-|FLOAT16、INT64|ND|2-4|√",
            },
            "constraints": "- 支持FP16/FP32，所有输入的数据类型需保持一致",
        },
        {"lacks": {"x.dtype == dy.dtype"}, "left": 1},
    ),
    "a parameter where it is given": (
        {"rows": {"dx": "结果|当指针dx不为空时，shape与x一致。|FLOAT|ND|2-4|√"}},
        {"rules": {"dx.shape == x.shape"}},
    ),
    "a parameter where another is given": (
        {"rows": {"dx": "结果|当指针x不为空时，shape与x一致。|FLOAT|ND|2-4|√"}},
        {"lacks": {"dx.shape == x.shape"}},
    ),
    "a name without its ending and the only output": (
        {
            "rows": {"dx": "结果|-|FLOAT|ND|2|√"},
            "codes": ("x、out的shape不一致。",),
            "swap": OPTIONAL,
        },
        {"rules": {"dx.shape == xOptional.shape"}},
    ),
    "a name that another parameter has in full": (
        {
            "rows": {"dx": "结果|-|FLOAT|ND|2|√"},
            "codes": ("x、out的shape不一致。",),
            "swap": {"*size,": "*xOptional,"},
        },
        {"rules": {"dx.shape == x.shape"}},
    ),
    "a scalar that may be 0 or at least 1": (
        {
            "rows": {"group": "组数|group需要为0或者大于等于1。|INT64|-|-|-"},
            "codes": ("group小于1且不为0。",),
        },
        {"rules": {("group < 1", "group == 0")}, "placed": {"group_relation"}},
    ),
    "values of a tensor": (
        {"rows": {"x": "数据|取值范围为[0, group)。|FLOAT|ND|2-4|√"}},
        {"rules": {"values(x) >= 0", "values(x) < group"}},
    ),
    "values above a number": (
        {"rows": {"x": "数据|值必须大于0|FLOAT|ND|2|√"}},
        {"rules": {"values(x) > 0"}},
    ),
    # arrays
    "items with the names of the page": (
        {"rows": {"size": "大小|长度为1(sH=sW)或2(sH, sW)，数值必须大于0。|INT64|-|-|-"}},
        {
            "keys": {
                "size.items": {1: [["sH", "sW"]], 2: ["sH", "sW"]},
                "size.length": [1, 2],
                "size.min": 1,
            }
        },
    ),
    "items with a limit of each": (
        {"rows": {"size": TWO_BELOW}},
        {"rules": {"size[0] < x.shape[-1]", "size[1] < x.shape[-1]"}},
    ),
    "a code for items beyond an extent": (
        {"rows": {"size": TWO_BELOW}, "codes": ("size内的数值大于等于x的维度。",)},
        {"placed": {"size_axes", "size_axes_of_x"}},
    ),
    **of_code("size内的数值大于等于x的维度。"),
    "a clause about less than the page demands": (
        {
            "rows": {"size": "大小|长度为2，数值大于0。|INT64|-|-|-"},
            "codes": ("size的某个维度值小于0。",),
        },
        {"keys": {"size.min": 0}, "rules": {"lowest(size) >= 1"}, "placed": {"size.min"}},
    ),
    "a clause about extents": (
        {"codes": ("dy的某个维度值小于0。",)},
        {"keys": {"dy.dims": [0, None]}, "placed": {"dy.dims"}},
    ),
    "the last two items have a least value": (
        {"rows": {"size": "大小|长度为3，且最后两个元素均大于零。|INT64|-|-|-"}},
        {"rules": {"size[1] >= 1", "size[2] >= 1"}, "lacks": {"size[0] >= 1"}},
    ),
    "the second item has a least value": (
        {"rows": {"size": "大小|长度为3，且第二个元素的取值大于0。|INT64|-|-|-"}},
        {"rules": {"size[1] >= 1"}, "lacks": {"size[0] >= 1", "size[2] >= 1"}},
    ),
    "an item that is none has no value": (
        {"rows": {"size": "大小|长度为3，且第五个元素大于0。|INT64|-|-|-"}},
        {"lacks": {f"size[{item}] >= 1" for item in range(6)}},
    ),
    "a code for some items is the place of their limits": (
        {
            "rows": {"size": "大小|长度为3，且最后两个元素均大于零。|INT64|-|-|-"},
            "codes": ("size最后两个元素中的某个元素值小于1。",),
        },
        {"rules": {"size[1] >= 1", "size[2] >= 1"}, "placed": {"size_1_least", "size_2_least"}},
    ),
    "a code for lengths of which the page tells one leaves the other": (
        {
            "rows": {"size": "大小|-|INT64|-|-|-"},
            "codes": ("size、mask的长度与参数说明中不一致。",),
        },
        {"placed": {"mask.length"}, "left": "no length for this code names size"},
    ),
    "a length that is the extent of an axis": (
        {"rows": {**SHAPED, "size": "大小|数组长度为H，数组中的每个值都是素数。|INT64|-|-|-"}},
        {"keys": {"size.length": ["H"]}, "left": "usage of size"},
    ),
    "a length that is the extent of no axis": (
        {"rows": {**SHAPED, "size": "大小|数组长度为K，数组中的每个值都是素数。|INT64|-|-|-"}},
        {"keys": {"size.length": None}},
    ),
    # ranks and shapes
    "a clause about one end of the ranks makes two rules": (
        {"codes": ("dy的维度大于4。",)},
        {
            "keys": {"dy.rank": None},
            "rules": {"dy.rank <= 4", "dy.rank >= 2"},
            "placed": {"dy_rank_most"},
        },
    ),
    **of_code(
        "dy、x、size和dx的输入shape在支持范围之外。", "dy.rank", "x.rank", "dx.rank", "x_rank"
    ),
    "a shape in the column of shapes is no list": (
        {
            "rows": {"dx": "结果|-|FLOAT、BFLOAT16|ND|shape与x保持一致|√"},
            "codes": ("dy、x的输入shape在支持范围之外。",),
        },
        {"placed": {"dy.rank", "x.rank", "x_rank"}},
    ),
    "two shapes in the column of shapes": (
        {
            "rows": {
                "dx": "结果|-|FLOAT、BFLOAT16|ND|shape与x保持一致|√",
                "x": "数据|-|FLOAT|ND|shape与dy保持一致|√",
            },
            "codes": ("dy、x的输入shape在支持范围之外。",),
        },
        {"left": 1},
    ),
    "shapes that a page writes are letters, and rules where they bind an earlier one": (
        {"rows": LETTERED, "codes": ("dy、x的输入shape在支持范围之外。",)},
        {
            "keys": {"x.shape": {4: ["N", "C", "Hin", "Win"]}},
            "rules": {"Hout == size[0]", "Wout == size[1]"},
            "under": {"x.shape"},
            "lacks": {"dy.shape"},
        },
    ),
    "shapes of one rank of which one has a number": (
        {"rows": {"dy": "梯度|shape为(N,C)或(N,group)。|FLOAT|ND|2|√"}},
        {"keys": {"dy.shape": None}},
    ),
    "shapes of one rank say the rank alone": (
        {"rows": {"dy": "梯度|-|FLOAT|ND|[K, L] 或 [L, K]|√"}},
        {"keys": {"dy.rank": [2], "dy.shape": None}, "left": "rank of dy"},
    ),
    "a list has the rank of its tensors and is a pointer like them": (
        {
            "rows": {"x": "数据|-|FLOAT|ND|列表中每个shape支持三维[K, L, M]|√"},
            "swap": {
                "const aclTensor    *x": "const aclTensorList *x",
                "传入的dy、x、size或mask是空指针。": "如果传入参数为aclTensor或aclTensorList且"
                "非dx，是空指针。",
            },
        },
        {"keys": {"x.rank": [3]}, "null": {"dy", "x", "dx"}},
    ),
    "axes that are numbers, and products of what stands further down": (
        {
            "rows": {
                "dy": "梯度|shape为(N,C/group,K*H,size[1])。|FLOAT|ND|4|√",
                "x": "数据|shape为(N,C,H,W)。|FLOAT|ND|4|√",
                "size": "大小|size为2(K,L)。|INT64|-|-|-",
                "dx": "结果|shape为(N,C/group,group)。|FLOAT|ND|3|√",
            },
            "codes": ("dy的第二个维度和dx的第二个维度值不相同。",),
        },
        {
            "keys": {
                "dy.shape": {4: ["N", "Cgroupdx", "KHdy", "size1dy"]},
                "dx.shape": {3: ["N", "Cgroupdx", "groupdx"]},
            },
            "rules": {
                "C == Cgroupdx * group",
                "KHdy == K * H",
                "size1dy == size[1]",
                "groupdx == group",
            },
            "under": {"dx.shape"},
        },
    ),
    "an axis that is a quotient by what the page does not have": (
        {"rows": {"dy": "梯度|shape为(N,C/scale)。|FLOAT|ND|2|√"}},
        {"keys": {"dy.shape": None}},
    ),
    "axes that are products of letters": (
        {"rows": SHAPED},
        {
            "keys": {
                "dy.shape": {2: ["S", "H"], 3: ["B", "S", "H"]},
                "x.shape": {2: ["S", "Hx"], 3: ["B", "S", "Hx"]},
            },
            "rules": {"Hx == 2 * H"},
        },
    ),
    "axes that are products of letters that no tensor has": (
        {"rows": {**SHAPED, "x": SHAPED["x"].replace("2H", "2K")}},
        {"keys": {"x.shape": None}},
    ),
    "axes that a page names get letters in the order of each format": (
        {
            "rows": {
                "x": "数据|-|FLOAT|NCHW、NHWC|4|√",
                "dy": "梯度|NC维度和x保持一致。|FLOAT|NCHW|4|√",
            },
            "codes": ("NC维度不一致。",),
        },
        {
            "keys": {
                "x.shape": {4: {"NCHW": ["N", "C", "Hx", "Wx"], "NHWC": ["N", "Hx", "Wx", "C"]}},
                "dy.shape": {4: ["N", "C", "Hdy", "Wdy"]},
            },
            "under": {"x.shape"},
        },
    ),
    **of_code("NC维度不一致。"),
    "the output of a pad": (
        {
            "rows": {
                "dy": "梯度|shape需要与reflection_pad2d正向传播的output一致。|FLOAT|ND|3-4|√",
                "x": "数据|-|FLOAT|ND|3-4|√",
            }
        },
        {
            "rules": {"Wdy == Wx + size[0] + size[1]", "Hdy == Hx + size[2] + size[3]"},
            "keys": {"x.shape": {3: ["C", "Hx", "Wx"], 4: ["N", "C", "Hx", "Wx"]}},
        },
    ),
    "the output of a pad whose axes have no letters": (
        {
            "rows": {
                "dy": "梯度|shape需要与reflection_pad2d正向传播的output一致。|FLOAT|ND|2|√",
                "x": "数据|-|FLOAT|ND|2|√",
            }
        },
        {"lacks": {"dy_axes", "dy_relation"}, "left": 1},
    ),
    "items whose order follows from the format hold under it": (
        {
            "rows": {"x": "数据|-|FLOAT|NCHW、NHWC|4|√", "size": f"{AXES_OF_BOTH}|-|INT64|-|-|-"},
            "codes": ("x与size在N、C维度上的size不同。",),
        },
        {
            "rules": {
                ("dy.format == 'NHWC'", "C == size[3]"),
                ("dy.format != 'NHWC'", "C == size[1]"),
                ("", "N == size[0]"),
            },
            "lacks": {("", "C == size[1]")},
            "under": {"size_relation_of_x"},
        },
    ),
    "a rule of a pattern holds for the product and under its own condition": (
        {
            "rows": {
                "x": "数据|-|FLOAT|NCHW、NHWC|4|√",
                "size": f'大小|<!-- npu="910" id9 -->\n<br>{AXES_OF_BOTH}\n'
                "<!-- end id9 -->|INT64|-|-|-",
            }
        },
        {"rules": {("product == 'ascend910' and dy.format == 'NHWC'", "C == size[3]")}},
    ),
    "a code for a number of axes": (
        {"codes": ("group值不在x维度范围内。", "x的取值为负数。")},
        {
            "rules": {"group >= -max(x.rank, 1)", "group < max(x.rank, 1)"},
            "under": {"group_relation", "group_relation_of_x"},
        },
    ),
    "one shape with letters that differ": (
        {"rows": {**LETTERED, "dx": "结果|shape需要与dy一致。shape为(N,C,Hin,Win)。|FLOAT|ND|4|√"}},
        {"pending": {"dx_shape"}, "left": "have one shape, and axes that differ"},
    ),
    "a letter has a limit": (
        {"rows": {"x": CLASSES.format("C")}},
        {"rules": {"C > 0"}, "left": 0},
    ),
    "a limit of a letter that no tensor has": (
        {"rows": {"x": CLASSES.format("L")}},
        {"lacks": {"L > 0", "values(x) > 0"}, "left": 1},
    ),
    "a limit of a letter is answered as the shape in whose cell it stands": (
        {
            "rows": {"dy": "梯度|-|FLOAT|ND|(N, C)|√", "x": CLASSES.format("C")},
            "codes": ("dy、x的shape不在支持范围内。",),
        },
        {"rules": {"C > 0"}, "under": {"x_axes"}},
    ),
    **sized("size_H/输出shape的高度H<=50", "size[0] <= 50 * Hdx", alone=False),
    **sized("$N * C * size_H$ <= 2^31-1", "N * C * size[0] <= 2147483647", alone=False),
    **sized(r"N \* C \* dy_H < 2^31", "N * C * Hdy < 2147483648", alone=True),
    **sized("dy_W*dy_H<2^31", "Wdy * Hdy < 2147483648", alone=True),
    # conditions
    "spatial axes are ranks, and items of arrays": (
        convolution("size约束|3d场景，sizeD应该在[1,63]的范围内，sizeH、sizeW应该大于等于2。"),
        {
            "keys": {
                "x.rank": [3, 4, 5],
                "size.items": {1: ["sizeW"], 2: ["sizeH", "sizeW"], 3: ["sizeD", "sizeH", "sizeW"]},
            },
            "rules": {
                ("product == 'ascend910' and x.rank == 5", limit)
                for limit in ("sizeD <= 63", "sizeH >= 2", "sizeW >= 2")
            },
            "lacks": {"sizeD >= 1", "sizeH <= 63"},
        },
    ),
    "a flag, and a condition that always holds": (
        convolution("size约束|1d、2d和3d group=false场景，各个值都应该在[1,255]的范围内。"),
        {
            "rules": {("product == 'ascend910' and not group", "highest(size) <= 255")},
            "lacks": {"lowest(size) >= 1"},
        },
    ),
    "two numbers of spatial axes": (
        convolution("size约束|1d和2d group=true场景，各个值都应该大于等于2。"),
        {
            "rules": {
                (
                    "product == 'ascend910' and x.rank in (3, 4) and group",
                    "lowest(size) >= 2",
                )
            }
        },
    ),
    "items of another parameter": (
        convolution("dy约束|3d场景，sizeD应该大于等于2。"),
        {"lacks": {"sizeD >= 2"}, "left": "constraint of dy"},
    ),
    "a part that nobody reads under a condition": (
        convolution("size约束|3d场景，sizeD应该大于等于2，sizeH应该是素数。"),
        {"lacks": {"sizeD >= 2"}, "left": "constraint of size"},
    ),
    "a condition on what is no flag": (
        convolution("size约束|group=false场景，各个值都应该大于等于2。", swap={}),
        {"lacks": {"lowest(size) >= 2"}, "left": "constraint of size names group"},
    ),
    "a tensor that may not be empty for one product": (
        convolution("x约束|不支持空Tensor。"),
        {"rules": {("product == 'ascend910'", "x.numel > 0")}, "keys": {"x.empty": None}},
    ),
    "one more length for one number of axes": (
        convolution(
            size="步长|对于一维卷积反向，数组长度必须为1。<br>数组长度可以为x维度减2，在2d场景下数组长度"
            "可以为4。|INT64|-|-|-"
        ),
        {"keys": {"size.length": {"x.rank": {3: [1], 4: [2, 4], 5: [3]}}}},
    ),
    "another length for one number of axes": (
        convolution(size="步长|长度为2。在2d场景下数组长度可以为4。|INT64|-|-|-"),
        {"keys": {"size.length": [2]}, "left": "usage of size"},
    ),
    "items below those of another array": (
        convolution(
            mask="填充|数组长度可以为x维度减2，各维度的数值范围满足[0,size对应维度数值)。|INT64|-|-|-",
            swap=TWO_ARRAYS,
        ),
        {
            "keys": {"mask.min": 0},
            "rules": {f"mask{axis} < size{axis}" for axis in "DHW"},
        },
    ),
    "an option that one dtype does not have": (
        convolution(
            "group说明|枚举值为2：当输入是BFLOAT16时不支持该选项。", group=MODES, swap=A_MODE
        ),
        {
            "rules": {
                (
                    "product == 'ascend910' and promote(dy.dtype, x.dtype) == 'BFLOAT16'",
                    "group != USE_FP16",
                )
            }
        },
    ),
    "an option that the page does not list": (
        convolution(
            "group说明|枚举值为1：当输入是BFLOAT16时不支持该选项。", group=MODES, swap=A_MODE
        ),
        {"left": "constraint of group"},
    ),
    "a mask asks for as many outputs as the page lists": (
        convolution(
            mask="掩码|输出掩码参数，指定输出中是否包含数据的梯度。|-|-|-|-", swap=ASKED_FOR
        ),
        {
            "keys": {"dx.null": "not mask[0]", "dx.mask": "mask[0]"},
            "null": {"dy", "x", "size", "mask", "dx"},
        },
    ),
    "a mask asks for more outputs than the page has": (
        convolution(
            mask="掩码|输出掩码参数，指定输出中是否包含数据、权重的梯度。|-|-|-|-", swap=ASKED_FOR
        ),
        {"keys": {"dx.mask": None}, "null": {"dy", "x", "size", "mask"}},
    ),
    "a tensor with other ranks than those of spatial axes": (
        {"rows": {"size": "大小|数组长度为x维度减2，各个值都应该大于等于2。|INT64|-|-|-"}},
        {"rules": {"lowest(size) >= 2"}, "keys": {"size.items": None}},
    ),
    "a mask that stands in no cell": (
        {"constraints": "- 输出掩码参数，指定输出中是否包含数据的梯度。", "swap": ASKED_FOR},
        {"keys": {"dx.mask": None}},
    ),
    # what a flag chooses
    "a flag that stands in no cell": (
        {"rows": STEPS, "constraints": "- 表示输入数据x格式是否是batch在第一维。"},
        {"keys": {"x.shape": None}, "left": "rank of x"},
    ),
    "as many tensors as nobody has": (
        {"constraints": "- 列表长度为group。"},
        {"lacks": {"len() == group"}, "left": 1},
    ),
    "an axis with a letter that a flag chooses": (
        {
            "rows": {
                **BOTH,
                "dy": "梯度|-|FLOAT|ND|(N, C)|√",
                "x": "数据|-|FLOAT|ND|[N * D, C]|√",
                "dx": "结果|-|FLOAT|ND|[D * N, C]|√",
            },
            "swap": WITH_A_FLAG,
        },
        {
            "keys": {"x.shape": {2: ["NDx", "C"]}, "dx.shape": {2: ["NDx", "C"]}},
            "rules": {("both", "NDx == 2 * N"), ("not both", "NDx == N")},
            "lacks": {"NDx == N * D"},
        },
    ),
    "an axis with a letter that what is no flag chooses": (
        {
            "rows": {
                "group": "双向|group为True时 `D = 2`，否则 `D = 1`。|-|-|-|-",
                "dy": "梯度|-|FLOAT|ND|(N, C)|√",
                "x": "数据|-|FLOAT|ND|[N * D, C]|√",
            }
        },
        {"keys": {"x.shape": None}, "left": "rank of x"},
    ),
    "as many tensors as a product says": (
        {"rows": {**BOTH, "x": "数据|列表长度为D * group。|FLOAT|ND|2|√"}, "swap": A_LIST},
        {"rules": {("both", "len(x) == 2 * group"), ("not both", "len(x) == group")}},
    ),
    "as many tensors as a letter says that nothing chooses": (
        {"rows": {**BOTH, "x": "数据|列表长度为D * B * group。|FLOAT|ND|2|√"}, "swap": A_LIST},
        {"lacks": {"len(x) == 2 * group", "len(x) == group"}, "left": "usage of x names group"},
    ),
    "items with the names of axes": (
        {
            "rows": {
                "x": "数据|-|FLOAT|ND|shape为[N, kH]|√",
                "size": "大小|长度为2(kH, kW)，数值必须大于0。|INT64|-|-|-",
            }
        },
        {"rules": {"kH == size[0]"}, "keys": {"size.items": None, "size.length": [2]}},
    ),
    "the shape of all tensors of a list": (
        {
            "rows": {"x": "数据|-|FLOAT|ND|每个tensor shape为[K, L]|√"},
            "swap": A_LIST,
            "codes": ("参数shape不合法。",),
        },
        {"keys": {"x.shape": {2: ["K", "L"]}}, "under": {"x.shape"}},
    ),
    "a flag says which axis is the first": (
        {
            "rows": {**STEPS, "group": "表示输入数据x、y格式是否是batch在第一维|-|BOOL|-|-|-"},
            "swap": A_FLAG,
        },
        {
            "keys": {
                name: {2: ["batch_sizeOrtime_stepx", "time_stepOrbatch_sizex"]}
                for name in ("x.shape", "dx.shape")
            },
            "rules": {
                ("group", "batch_sizeOrtime_stepx == batch_size"),
                ("not group", "batch_sizeOrtime_stepx == time_step"),
                ("group", "time_stepOrbatch_sizex == time_step"),
                ("not group", "time_stepOrbatch_sizex == batch_size"),
            },
        },
    ),
    "nothing says which axis is the first": (
        {"rows": STEPS},
        {"keys": {"x.shape": None, "x.rank": [2]}, "left": "rank of x"},
    ),
    "shapes with a pointer and without": (
        {
            "rows": {
                "dy": "梯度|-|FLOAT|ND|(N, C)|√",
                "x": "数据|-|FLOAT|ND|若传入有效size，为[N * C, H]；"
                "若传入空指针size，为[N, C, H]|√",
            }
        },
        {
            "keys": {"x.shape": {2: ["NCx", "H"], 3: ["N", "C", "H"]}, "x.rank": [2, 3]},
            "rules": {
                ("size.null", "x.rank == 3"),
                ("not size.null", "x.rank == 2"),
                ("", "NCx == N * C"),
            },
        },
    ),
    "shapes without a pointer alone": (
        {"rows": {"x": "数据|-|FLOAT|ND|若传入空指针size，为[N, C, H]|√"}},
        {"keys": {"x.shape": None, "x.rank": None}, "left": "rank of x names size"},
    ),
    "a tensor that must be empty": (
        {"rows": {"x": "数据|当前仅支持传入空tensor。|FLOAT|ND|2|√"}},
        {"rules": {"x.numel == 0"}},
    ),
    "a row that has the beginning of a name": (
        {"swap": {"*size,": "*sizesOfAll,", "<td>size</td>": "<td>sizes</td>"}},
        {"keys": {"sizesOfAll.length": [2]}},
    ),
    # dtypes and formats
    "the dtypes of a scalar": (
        {
            "rows": {"group": "组数|-|FLOAT32、BFLOAT16|-|-|-"},
            "codes": ("group的数据类型不在支持的范围之内。",),
            "swap": A_SCALAR,
        },
        {
            "keys": {"group.dtype": {"any": ["FLOAT", "BFLOAT16"], "ascend910": ["FLOAT"]}},
            "under": {"group.dtype"},
        },
    ),
    "the dtypes of a scalar in words": (
        {"rows": {"group": "组数|-|数据类型可转换为FLOAT的类型|-|-|-"}, "swap": A_SCALAR},
        {"keys": {"group.dtype": None}},
    ),
    "formats that a product lacks": (
        {
            "rows": {"dy": "梯度|-|FLOAT|NCHW、NHWC|4|√"},
            "constraints": "- Atlas 训练系列产品：参数dy的数据格式不支持NHWC。",
        },
        {"keys": {"dy.format": {"any": ["NCHW", "NHWC"], "ascend910": ["NCHW"]}}},
    ),
    "what one product lacks all tensors of the dtype lack": (
        {
            "rows": {
                "dy": "梯度|数据类型与x一致。|FLOAT32、BFLOAT16|ND|2-4|√",
                "x": "数据|-|FLOAT、BFLOAT16|ND|2-4|√",
            },
            "constraints": "- Atlas 训练系列产品：参数x的数据类型不支持BFLOAT16。",
        },
        {"keys": {"dy.dtype": {"any": ["FLOAT", "BFLOAT16"], "ascend910": ["FLOAT"]}}},
    ),
    "a dtype for one product": (
        {
            "rows": {
                "x": "数据|数据类型支持FLOAT、DOUBLE"
                "(仅Atlas A2 训练系列产品/Atlas A2 推理系列产品支持)。|-|ND|2-4|√"
            }
        },
        {"keys": {"x.dtype": {"any": ["FLOAT"], "ascend910b": ["FLOAT", "DOUBLE"]}}},
    ),
    "a list between commas is read whole": (
        {"rows": {"dy": "梯度|数据格式为NCL，NCHW、NCDHW，位宽与x一致。|FLOAT|-|2-4|√"}},
        {"keys": {"dy.format": ["NCL", "NCHW", "NCDHW"]}, "left": 1},
    ),
    "words that are no names begin a part": (
        {
            "rows": {
                "x": "数据|数据类型支持FLOAT16、FLOAT,Device侧的aclTensor,"
                "undefined支持ND,shape支持2-3维。|-|-|-|√"
            }
        },
        {"keys": {"x.format": ["ND"], "x.rank": [2, 3], "x.dtype": ["FLOAT16", "FLOAT"]}},
    ),
    "dtypes that a product combines": (
        {
            "rows": FREE,
            "constraints": "- Atlas 训练系列产品：当dy为FLOAT16，x必须为FLOAT16或FLOAT32。\n"
            "- Atlas 训练系列产品：当dy为FLOAT32，x必须为FLOAT32。\n",
        },
        {"rules": {("product == 'ascend910'", FLOAT_OR)}, "lacks": {("", FLOAT_OR)}},
    ),
    "dtypes that promote": (
        {
            "rows": {**FREE, "dy": f"梯度|{PROMOTES}|FLOAT16、FLOAT|ND|2-4|√"},
            "codes": ("dy、x的数据类型不满足数据类型推导规则。",),
        },
        {
            "lacks": {"x.dtype == dy.dtype", "dy.dtype == x.dtype", FLOAT_OR},
            "left": "any two promote names dy, x",
        },
    ),
    "dtypes that promote, of which one is no real number": (
        {
            "rows": {
                "dy": f"梯度|{PROMOTES}|FLOAT16、FLOAT|ND|2-4|√",
                "x": "数据|-|FLOAT、COMPLEX64|ND|2-4|√",
            },
            "codes": ("dy、x的数据类型不满足数据类型推导规则。",),
        },
        {"left": 2},
    ),
    "dtypes that promote in one place and agree in another": (
        {
            "rows": {**FREE, "dy": f"梯度|{PROMOTES}|FLOAT16、FLOAT|ND|2-4|√"},
            "codes": ("dy、x的数据类型不一致。",),
        },
        {"disputed": {"x_dtype"}, "pending": {"x_dtype"}, "left": "need only promote"},
    ),
    "dtypes that agree": (
        {"rows": FREE, "codes": ("dy、x的数据类型不一致。",)},
        {"settled": {"x_dtype"}},
    ),
    # enums
    "an enum whose words stand on lines of their own": (
        {"rows": {"group": MODES}, "codes": ("group的值非0、2两值之一。",), "swap": A_MODE},
        {"keys": {"group.enum": {0: "KEEP_DTYPE", 2: "USE_FP16"}}, "placed": {"group.enum"}},
    ),
    "a code for other numbers than those of the enum": (
        {"rows": {"group": MODES}, "codes": ("group的值非0、1两值之一。",), "swap": A_MODE},
        {"placed": set()},
    ),
    "words of a number": ({"rows": WORDS_OF_A_STRING, "codes": ()}, {"left": 1}),
    "words of a string": (
        {
            "rows": WORDS_OF_A_STRING,
            "codes": (),
            "swap": {"int64_t             group": "char *group"},
        },
        {"keys": {"group.enum": ["none", "sum"]}, "left": 0},
    ),
    **of_key("size", "size的长度为2，值仅支持1", "range", [1, 1]),
    **of_key("size", "长度为2，数值大于0", "min", 1),
    **of_key("size", "长度为2，大小应该在[0,7]的范围内", "range", [0, 7]),
    **of_key("size", "数组长度为x维度减2。", "length", ["x.rank - 2"]),
    **of_key("group", "当前仅支持输入2", "range", [2, 2]),
    **of_key("x", "每个维度的取值小于等于2^20", "dims", [0, 1 << 20]),
    **of_key("dx", "可选输出，若mask[0]为True，则需要输出，否则不输出", "mask", "mask[0]"),
    **of_key(
        "dx",
        "由mask的第0个元素控制是否输出，mask第0个元素为True时会进行输出",
        "null",
        "not mask[0]",
    ),
    # other codes
    "a code for what the table does not list": (
        {
            "rows": {"x": "数据|-|FLOAT|-|2|√"},
            "codes": ("dy、x的数据类型和数据格式不在支持的范围之内。",),
        },
        {
            "under": {"dy.dtype", "dy.format", "x.dtype"},
            "left": "no list for this code in the table names x",
        },
    ),
    **of_code("当mask[0]为true，dx的数据类型不在支持的范围之内时。", "dx.dtype"),
    **of_code("当mask[0]为true，dy的数据类型不在支持的范围之内时。"),
    **of_code("dy和x的数据类型不满足参数说明的约束。", "dy.dtype", "x.dtype", "x_dtype"),
    **of_code("输入输出的shape不是2维或者3维或4维。", "dy.rank", "x.rank", "dx.rank"),
    **of_code("dy和x的shape不一致，或者group大于50。", "dy_shape", "group.max"),
    **of_code("当前处理器不支持该算子。", "product"),
    **of_code("输入的数据类型不在支持的范围内。", "dy.dtype", "x.dtype"),
    **of_code("group不满足取值范围。", "group.min"),
    **of_code("size的长度与参数说明中不一致。", "size.length"),
    **of_code("dy、size的shape不满足参数要求。", "dy.rank", "size.length"),
    **of_code("dy的维度小于2。", "dy.rank"),
    **of_code("size的维度小于1。", "size_least"),
    **of_code("dy的dim不为2、3、4。", "dy.rank"),
    **of_code("dy的shape中存在小于0的值。", "dy.dims"),
    **of_code("dy、x的shape不满足infershape结果。", "dy.rank", "x.rank", "dy_shape"),
    **of_code("group值不满足要求。", "group.min"),
    **of_code("dy的维度小于2。dy的维度大于4。", "dy_rank_least", "dy_rank_most"),
    **of_code("参数不满足参数说明中的要求。", "dy.rank", "x.rank", "dx.rank", "dy_shape", "x_rank"),
    **of_code("参数数据类型不匹配。", "dy.dtype", "x.dtype", "dx.dtype", "x_dtype"),
    **of_code(
        "多个输入tensor之间的shape信息不匹配、输入属性不在取值范围。",
        "dy_shape",
        "x_rank",
        "x.rank",
        "group.min",
    ),
    **of_code("如果传入参数为aclTensor或aclTensorList，数据类型不同。", "x_dtype", "x.dtype"),
    **of_code(
        "输入的shape不在支持的范围内，不满足长度要求。", "dy.rank", "x.rank", "x_rank", "dy_shape"
    ),
    **of_code("dy的维度小于3。"),
    **of_code("x不满足取值范围。"),
    **of_code("mask、x的长度与参数说明中不一致。"),
    # what is open, and what the page contradicts
    "a note that leaves formats open": (
        {"constraints": "- 数据格式有时为NCHW。"},
        {"pending": {"dy.format", "x.format", "dx.format"}},
    ),
    "a line that announces others": (
        {"constraints": "- 下列数据类型一致："},
        {"settled": {"dy.dtype"}},
    ),
    "a line that announces none": (
        {"constraints": "- 下列数据类型一致"},
        {"pending": {"dy.dtype"}},
    ),
    "a code that is left": (
        {"codes": (*CODES, "size的长度不合适。")},
        {"pending": {"size.length"}},
    ),
    "codes that are read": ({}, {"settled": {"size.length"}}),
    "a rank under a condition leaves ranks and shapes open": (
        {"rows": {"x": "数据|当group为1时，要求为一个维度为1D的Tensor|FLOAT|ND|(N, C)|√"}},
        {"pending": {"x.rank"}},
    ),
    "a rank without a condition": (
        {"rows": {"x": "数据|-|FLOAT|ND|(N, C)|√"}},
        {"settled": {"x.rank"}},
    ),
    "a shape that may be empty, and not": (
        {"rows": {"dy": "梯度|支持空Tensor。shape需要与x一致。|FLOAT32、BFLOAT16|ND|2-4|√"}},
        {"disputed": {"x.empty"}, "pending": {"x.empty"}, "left": 1},
    ),
    "ranks that are the same, and differ": (
        {"rows": {"dy": "梯度|维度与x一致。|FLOAT32、BFLOAT16|ND|2|√", "x": "数据|-|FLOAT|ND|3|√"}},
        {
            "disputed": {"dy_rank", "dy.rank", "x.rank"},
            "pending": {"dy_rank", "dy.rank", "x.rank"},
            "left": 1,
        },
    ),
    "a shape that is the same, and broadcasts": (
        {
            "rows": {
                "dy": "梯度|shape需要与x一致。shape需要与x满足broadcast关系。"
                "|FLOAT32、BFLOAT16|ND|2-4|√"
            }
        },
        {"disputed": {"dy_shape"}, "pending": {"dy_shape"}, "left": 1},
    ),
}
"""Name -> the page (:func:`page_text`), and what its draft must have (:func:`test_a_page_says`)."""


@pytest.mark.parametrize("name", TOLD)
def test_a_page_says(drafted, name):
    """``rules``: requirements, with their condition or without; ``lacks``: such as it must not
    have. ``keys``: the value of each, None for none. ``placed``: all rules under 161002, ``under``:
    some of these; ``null``: the pointers under 161001. ``left``: how many lines, or words in them.
    """
    given, told = TOLD[name]
    made = drafted(**given)
    facts, words = made.facts, made.facts.left()
    rules = {*rule_ids(facts), *((rule.when, rule.require) for rule in facts.rules.values())}
    rules |= {rule.require for rule in facts.rules.values()}
    values = {
        f"{p.name}.{k}": key.value for p in facts.parameters.values() for k, key in p.keys.items()
    }
    assert rules >= told.get("rules", set()) and not rules & told.get("lacks", set())
    assert {key: values.get(key) for key in told.get("keys", {})} == told.get("keys", {})
    placed, null = (
        {rule for rule, place in facts.places.items() if place.code == code}
        for code in (161002, 161001)
    )
    assert placed == told.get("placed", placed) and placed >= told.get("under", set())
    assert null == {f"{pointer}.null" for pointer in told["null"]} if "null" in told else True
    left = told.get("left", len(words))
    assert left == len(words) if isinstance(left, int) else left in "; ".join(words.values())
    assert made.pending >= told.get("pending", set()) and not made.pending & told.get(
        "settled", set()
    )
    assert facts.disputed == told.get("disputed", facts.disputed)


UNSURE = {
    "a condition": {"rows": {"x": "数据|当group为1时，不支持空Tensor。|FLOAT|ND|2-4|√"}},
    "another list": {"rows": {"x": "数据|-|FLOAT|ND或别的|2-4|√"}},
    "a rank in words": {"rows": {"x": "数据|-|FLOAT|ND|与dy相差一维|√"}},
    "two lengths": {"rows": {"size": "大小|长度为2。长度为3。|INT64|-|-|-"}},
    "a code that says more": {"codes": ("dy的维度不为4。",)},
    "a code for one side alone": {"codes": ("group小于0。",)},
    "a shape of a scalar": {"codes": ("dy和group的shape不一致。",)},
    "an unknown name": {"constraints": "- dz的shape与x一致。"},
    "a note on products that differ from its fence": {
        "constraints": '<!-- npu="910b" id9 -->\n- Atlas 训练系列产品：数据类型不支持FLOAT。\n'
    },
}


@pytest.mark.parametrize("name", UNSURE)
def test_what_is_not_sure_is_left_and_no_rule(drafted, name):
    plain, unsure = drafted().facts, drafted(**UNSURE[name]).facts
    assert plain.left() == {}
    assert len(unsure.left()) == 1
    known = {*rule_ids(plain)}
    assert {*rule_ids(unsure)} <= known


IN_PART = {
    "shape为(C×size[0],L)或(N,C×size[0],L)": "usage of dy names size",
    "维度比dy的多": "rank of dx names dy",
    "L=块的总数": "function",
    "dy的shape不符合": "a shape that is drafted in part names dy",
    "x的shape不符合": None,
    "group的值小于等于0": None,
    "dy、dx的数据类型不满足": "dtypes of which any two promote names dy, dx",
    "API内部校验错误": "161002",
}
"""Words of a page -> what is left of the sentence; None where it is a line of a rule."""


def test_a_sentence_that_is_taken_in_part_is_left_and_one_that_is_taken_twice_is_cited(
    tmp_path, drafted
):
    rows = {
        "dy": "梯度|shape为(C×size[0],L)或(N,C×size[0],L)。|FLOAT、BFLOAT16|ND|2维和3维|√",
        "x": "数据|不支持空Tensor。|FLOAT、BFLOAT16|ND|2|√",
        "dx": "结果|-|FLOAT、BFLOAT16|ND|支持3维和4维，且维度比dy的多。|√",
    }
    codes = (
        "dy的维度不是2维且不是3维。",
        "dy的shape不符合参数说明中的shape。",
        "x的shape不符合参数说明中的shape。",
        "group小于等于0。",
        "group的值小于等于0。",
        "dy、dx的数据类型不满足数据类型推导规则。",
        "API内部校验错误，通常由于输入数据或属性的规格不在支持的范围之内导致。",
    )
    swap = {"## 函数原型": "## 功能说明\n- L=块的总数\n## 函数原型"}
    made, path = drafted(swap, rows=rows, codes=codes), tmp_path / "page.md"
    text = path.read_text(encoding="utf-8")
    lines = {words: line_of(text, words) for words in IN_PART}
    left = made.facts.left()
    assert {words: left.get(line) for words, line in lines.items()} == IN_PART
    assert {*lines.values()} <= lines_of(made, path)


def lines_of(made: Draft, path: Path) -> set[int]:
    """The lines of which a draft has a digest, since a rule or an entry cites them."""
    text = spec_text(made, path.name, path.read_bytes())
    return {int(line) for line in re.findall(r"\b(\d+) [0-9a-f]{12}\b", text)}


def test_a_row_that_the_prototype_lacks_is_left_at_its_line(drafted):
    rows = {"dz": "别的|-|FLOAT|ND|2|√"}
    line = line_of(page_text(rows=rows), "<td>dz")
    assert drafted(rows=rows).facts.left() == {line: "'dz' is not in the prototype"}


def test_a_row_of_other_columns_is_left_at_its_line(drafted):
    rows = {"x": "数据|-|FLOAT|ND|2-4"}
    left = drafted(rows=rows).facts.left()
    assert left[line_of(page_text(rows=rows), "<td>x")].startswith("a row of 7 cells")


def test_a_kind_that_specs_lack_is_refused_by_name(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(page_text().replace("int64_t  ", "aclThing*"), encoding="utf-8")
    with pytest.raises(FileError, match=r"page.md:12: group: no kind of parameter for aclThing\*"):
        draft(read_page(path), "page.md")


def test_a_dtype_of_few_bits_that_opgen_lacks_is_drafted_and_is_why_the_check_refuses(tmp_path):
    text = page_text({"dx": "结果|-|FLOAT8_E8M0|ND|2-4|√"})
    path = tmp_path / "aclnnTentBackward.md"
    path.write_text(text, encoding="utf-8")
    drafted = spec_text(draft(read_page(path), path.name), path.name, path.read_bytes())
    with pytest.raises(FileError) as refused:
        specfile.loads(drafted.split("\ntodo:")[0], file="tent.yaml")
    told = [str(problem) for problem in refused.value.problems]
    assert told and all("no such dtype 'FLOAT8_E8M0'; opgen has no such FP8" in one for one in told)


# the file -----------------------------------------------------------------------------------------
def test_a_draft_is_a_spec_but_for_what_is_left(tmp_path):
    path = tmp_path / "aclnnTentBackward.md"
    path.write_text(page_text(constraints="- group不能是素数。"), encoding="utf-8")
    text = spec_text(draft(read_page(path), path.name), path.name, path.read_bytes())
    line = line_of(page_text(constraints="- group不能是素数。"), "素数")
    with pytest.raises(FileError) as refused:
        specfile.loads(text, file="tent.yaml")
    (problem,) = refused.value.problems
    assert str(problem).endswith(f"todo: lines to decide: {line}; opgen check --todo shows them")
    spec = specfile.loads(text.split("\ntodo:")[0])
    assert spec.page and spec.page.lines[line] == line_digest("- group不能是素数。")
    assert {rule.id for rule in spec.rules if rule.code == 161001} == {
        "dy.null", "x.null", "size.null", "mask.null", "dx.null",
    }  # fmt: skip
    told = line_of(page_text(), CODES[0])
    assert spec.rule["dy.dtype"].at[0] == told and spec.rule["dy.dtype"].code == 161002
    assert spec.rule["x.empty"].bucket == "unstated" and not spec.clauses
    assert spec.listed == {"ascend910b": (3,), "ascend910": (4,)}


@pytest.mark.parametrize(
    "value", [{"null": [], 3: ["NO", "N", "a b"]}, [True, None, -1], "x: y", "数", "product != 'a'"]
)
def test_values_read_back_as_they_are(value):
    assert yamlfile.parse(f"key: {flow(value)}").data == {"key": value}


def test_names_are_spelled_as_specs_spell_them():
    assert snake("UpsampleBilinear2dAABackward") == "upsample_bilinear2d_aa_backward"


# the commands -------------------------------------------------------------------------------------
def test_the_commands_write_a_draft_and_list_what_it_leaves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("page.md").write_text(page_text(constraints="- group不能是素数。"), encoding="utf-8")
    run = CliRunner().invoke
    made = run(main, ["draft", "page.md"])
    assert (
        made.exit_code == 0
        and "specs/tent_backward.yaml: 24 rules, 1 line to decide" in made.stderr
    )
    checked = run(main, ["check", "specs/tent_backward.yaml"])
    assert checked.exit_code == 2 and checked.stderr.count("\n") == 1
    listed = run(main, ["check", "specs/tent_backward.yaml", "--todo", "--pages", "."])
    assert "constraint names group\n      - group不能是素数。\n" in listed.stdout
    assert "1 line to decide" in listed.stdout and listed.exit_code == 0
    again = run(main, ["draft", "page.md"])
    assert again.exit_code == 2 and "exists already" in again.stderr


# the vendor's pages -------------------------------------------------------------------------------
PAGES = os.environ.get("OPGEN_PAGES")


@pytest.mark.skipif(not PAGES, reason="OPGEN_PAGES names no folder of pages")
def test_every_page_gives_a_draft_that_reads_but_for_what_is_left():
    files = [path for path in Path(PAGES or "").rglob("aclnn*") if path.suffix in (".md", ".txt")]
    kinds = []
    for path in files:
        try:
            drafted = draft(read_page(path), path.name)
        except FileError as error:
            kinds += [problem.text for problem in error.problems]
            continue
        text = spec_text(drafted, path.name, path.read_bytes())
        try:
            specfile.loads(text.split("\ntodo:")[0])
        except FileError as error:
            kinds += [problem.text for problem in error.problems]
    assert all(text.startswith(("no kind of parameter for", "no such dtype")) for text in kinds)


@pytest.mark.skipif(not PAGES, reason="OPGEN_PAGES names no folder of pages")
def test_every_sentence_under_a_code_is_cited_or_left():
    lost, checked = [], 0
    for path in Path(PAGES or "").rglob("aclnn*.md"):
        page = read_page(path)
        if all(kind_of(declared.c_type) for declared in page.prototype):
            known, checked = lines_of(draft(page, path.name), path), checked + len(page.codes)
            told = {code.sentence.line for code in page.codes}
            lost += [(path.name, line) for line in told - known]
    assert checked and not lost


@pytest.mark.skipif(not PAGES, reason="OPGEN_PAGES names no folder of pages")
def test_no_sentence_of_the_pages_is_taken_by_two_patterns_that_differ():
    for path in Path(PAGES or "").rglob("aclnn*.md"):
        page = read_page(path)
        reader = Reader([declared.name for declared in page.prototype])
        usage = [s for p in page.parameters for c in p.cells.values() for s in c]
        codes = [code.sentence for code in page.codes]
        for section, sentences in (
            ("statements", [*usage, *page.notes, *page.constraints]),
            ("breaches", codes),
        ):
            for sentence in sentences:
                for part in normal(sentence.text).split("。"):
                    rows = [row for row, p in reader.patterns[section] if p.fullmatch(part)]
                    taken = {(row.says, row.rules) for row in rows}
                    assert len(taken) < 2, (path.name, sentence.line, taken)


@pytest.mark.skipif(not PAGES, reason="OPGEN_PAGES names no folder of pages")
def test_what_is_drafted_is_what_a_person_transcribed():
    right, drafted = drafts.main(drafts.pages(PAGES or ""), False, drafts.shipped())
    assert right >= 0.98 and drafted >= 0.83


@pytest.mark.skipif(not PAGES, reason="OPGEN_PAGES names no folder of pages")
def test_what_is_drafted_is_what_a_reader_transcribed_who_saw_no_draft():
    """A convolution and a recurrent layer have 40 % of the facts of the twelve pages."""
    specs = drafts.transcribed()
    paths = [path for path in drafts.pages(PAGES or "") if path.name in specs]
    right, drafted = drafts.main(paths, False, specs)
    assert len(paths) == 12 and right >= 0.99 and drafted >= 0.86


def test_the_pages_that_were_transcribed_are_those_that_were_drawn():
    assert sorted(drafts.transcribed()) == sorted(f"{api}.md" for api in drafts.drawn())


READERS = {
    "dtypes": ("dtype: {any: [FLOAT, BFLOAT16], ascend910: [FLOAT]}", "dtype: [FLOAT, BFLOAT16]"),
    "place": ("dy_shape, group.min]\n  unstated: [", "group.min]\n  unstated: [dy_shape, "),
    "line": ("x_dtype: {at: 22", "x_dtype: {at: 23"),
    "kind": ("kind: int64", "kind: int32"),
    "null": ('    null: "not mask[0]"\n', ""),
    "relation": ("x.dtype == dy.dtype", "x.dtype == dx.dtype"),
    "products": ("x.shape", "x.shape\", when: \"product == 'ascend910'"),
}


@pytest.mark.parametrize("name", READERS)
def test_what_a_reader_says_otherwise_is_counted_as_wrong(tmp_path, drafted, name):
    made = drafted()
    text = spec_text(made, "page.md", (tmp_path / "page.md").read_bytes())
    assert text.replace(*READERS[name]) != text
    spec, other = specfile.loads(text), specfile.loads(text.replace(*READERS[name], 1))
    same, differs = (drafts.compared(made, spec, reader, False) for reader in (spec, other))
    assert same.wrong == same.missing == 0
    assert (differs.right, differs.wrong) == (same.right - 1, 1)


def test_a_tensor_of_which_the_page_does_not_say_how_it_may_lie_is_not_strided(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(page_text({"x": "数据|-|FLOAT|ND|2|-"}), encoding="utf-8")
    text = spec_text(draft(read_page(path), path.name), path.name, path.read_bytes())
    spec = specfile.loads(text)
    strided = {name: spec.parameters[name].strided for name in ("dy", "x")}
    assert strided == {"dy": True, "x": False} and "x_layout" not in spec.rule
