"""Drafts say what a page says without doubt, and leave the rest to a person."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.cli import main
from opgen.files import yamlfile
from opgen.files.digests import line_digest
from opgen.model import FileError
from opgen.spec import specfile
from opgen.spec.drafting.draft import draft
from opgen.spec.drafting.facts import rule_ids, snake
from opgen.spec.drafting.patterns import Pattern, Reader, Section, grammar, normal
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
    """The facts of a page with some rows, codes or constraints of its own."""

    def make(**given):
        path = tmp_path / "page.md"
        path.write_text(page_text(**given), encoding="utf-8")
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


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (
            "如果传入参数是必选输入，输出或者必选属性，且是空指针。",
            {"dy", "x", "size", "mask", "dx"},
        ),
        ("Tensor为空指针。", {"dy", "x", "dx"}),
        ("传入指针类型入参是空指针。", {"dy", "x", "size", "mask", "dx"}),
    ],
)
def test_a_code_for_all_pointers_or_all_tensors_names_each(tmp_path, code, names):
    text = page_text({"dx": "结果|-|FLOAT、BFLOAT16|ND|2-4|√"}, (code,))
    for other in ("传入的dy、x、size或mask是空指针。", "mask[0]为True且dx为空指针。"):
        text = text.replace(other, "无。")
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    assert set(draft(read_page(path), "page.md").facts.places) == {f"{n}.null" for n in names}


def test_a_mask_says_when_an_output_may_be_null(drafted):
    keys = drafted().facts.parameters["dx"].keys
    assert (keys["null"].value, keys["mask"].value) == ("not mask[0]", "mask[0]")


def test_a_code_joins_tensors_that_no_sentence_joins(drafted):
    facts = drafted(codes=("dy、x和dx的shape不一致。",)).facts
    shapes = {name: rule.require for name, rule in facts.rules.items() if rule.attribute == "shape"}
    assert shapes == {"dy_shape": "dy.shape == x.shape", "dx_shape": "dx.shape == dy.shape"}
    assert {facts.places[name].code for name in shapes} == {161002}


RELATIONS = {
    "shape需要与x满足broadcast关系。": {"broadcastable(dy.shape, x.shape)"},
    "元素个数需要等于group*group。": {"dy.numel == group * group"},
    "数据类型与x一致，且与dx的shape一致。": {"x.dtype == dy.dtype", "dy.shape == dx.shape"},
}


@pytest.mark.parametrize("sentence", RELATIONS)
def test_sentences_about_several_parameters_are_rules(drafted, sentence):
    rows = {"dy": f"梯度|{sentence}|FLOAT32、BFLOAT16|ND|2-4|√"}
    told = {rule.require for rule in drafted(rows=rows).facts.rules.values()}
    assert told >= RELATIONS[sentence] and drafted(rows=rows).facts.left() == {}


def test_items_of_arrays_have_the_names_of_the_page_and_limits_of_each(drafted):
    rows = {"size": "大小|长度为1(sH=sW)或2(sH, sW)，数值必须大于0。|INT64|-|-|-"}
    keys = drafted(rows=rows).facts.parameters["size"].keys
    assert keys["items"].value == {1: [["sH", "sW"]], 2: ["sH", "sW"]}
    assert (keys["length"].value, keys["min"].value) == ([1, 2], 1)
    rows = {"size": "大小|长度为2。size的两个数值都需小于x最后一维度的数值。|INT64|-|-|-"}
    rules = drafted(rows=rows).facts.rules.values()
    assert {rule.require for rule in rules} >= {"size[0] < x.shape[-1]", "size[1] < x.shape[-1]"}


def test_a_clause_about_one_end_of_the_ranks_makes_two_rules(drafted):
    facts = drafted(codes=("dy的维度大于4。",)).facts
    assert "rank" not in facts.parameters["dy"].keys
    ends = {rule.require: facts.places.get(name) for name, rule in facts.rules.items()}
    assert ends["dy.rank <= 4"] and ends["dy.rank >= 2"] is None


def test_a_shape_that_is_not_supported_is_a_rank_that_the_table_does_not_list(drafted):
    facts = drafted(codes=("dy、x、size和dx的输入shape在支持范围之外。",)).facts
    placed = {rule for rule, place in facts.places.items() if place.code == 161002}
    assert placed == {"dy.rank", "x.rank", "dx.rank", "x_rank"}


def test_a_shape_in_the_column_of_shapes_is_answered_as_what_the_column_lists(drafted):
    rows = {"dx": "结果|-|FLOAT、BFLOAT16|ND|shape与x保持一致|√"}
    code = "dy、x的输入shape在支持范围之外。"
    assert "dx_shape" not in drafted(rows=rows, codes=(code,)).facts.places
    rows = {**rows, "x": "数据|-|FLOAT|ND|shape与dy保持一致|√"}
    assert len(drafted(rows=rows, codes=(code,)).facts.left()) == 1


def test_a_code_for_items_beyond_an_extent_is_the_place_of_what_a_statement_says(drafted):
    rows = {"size": "大小|长度为2。size的两个数值都需小于x最后一维度的数值。|INT64|-|-|-"}
    code = "size内的数值大于等于x的维度。"
    placed = drafted(rows=rows, codes=(code,)).facts.places
    assert {r for r, place in placed.items() if place.code == 161002} == {
        "size_axes", "size_axes_of_x",
    }  # fmt: skip
    assert len(drafted(codes=(code,)).facts.left()) == 1


LETTERED = {
    "dy": "梯度|shape为(N,C,Hout,Wout)。|FLOAT|ND|4|√",
    "x": "数据|支持shape为(N,C,Hin,Win)。|FLOAT|ND|4|√",
    "size": "大小|size为2。表示输入dy在H和W维度上的空间大小。|INT64|-|-|-",
    "dx": "结果|-|FLOAT|ND|3-4|√",
}


def requirements(facts):
    return {rule.require for rule in facts.rules.values()}


def test_shapes_that_a_page_writes_are_letters_and_a_rule_where_they_bind_an_earlier_one(drafted):
    facts = drafted(rows=LETTERED, codes=("dy、x的输入shape在支持范围之外。",)).facts
    assert facts.parameters["x"].keys["shape"].value == {4: ["N", "C", "Hin", "Win"]}
    assert "x.shape" in facts.places and "dy.shape" not in rule_ids(facts)
    assert {"Hout == size[0]", "Wout == size[1]"} <= requirements(facts)
    several = "梯度|shape为(N,C)或(N,group)。|FLOAT|ND|2|√"
    assert "shape" not in drafted(rows={"dy": several}).facts.parameters["dy"].keys


def test_shapes_of_one_rank_say_the_rank_alone(drafted):
    facts = drafted(rows={"dy": "梯度|-|FLOAT|ND|[K, L] 或 [L, K]|√"}).facts
    assert facts.parameters["dy"].keys["rank"].value == [2]
    assert "shape" not in facts.parameters["dy"].keys and "rank of dy" in facts.left().values()


def test_a_list_has_the_rank_of_its_tensors_and_is_a_pointer_like_them(tmp_path):
    rows = {"x": "数据|-|FLOAT|ND|列表中每个shape支持三维[K, L, M]|√"}
    told = "如果传入参数为aclTensor或aclTensorList且非dx，是空指针。"
    text = page_text(rows).replace("const aclTensor    *x", "const aclTensorList *x")
    path = tmp_path / "page.md"
    path.write_text(text.replace("传入的dy、x、size或mask是空指针。", told), encoding="utf-8")
    facts = draft(read_page(path), path.name).facts
    assert facts.parameters["x"].keys["rank"].value == [3]
    nulls = {rule for rule, place in facts.places.items() if place.code == 161001}
    assert nulls == {"dy.null", "x.null", "dx.null"}


def test_the_dtypes_of_a_scalar_are_drafted_where_its_cell_lists_them(tmp_path):
    path = tmp_path / "page.md"

    def keys(cell):
        text = page_text(
            {"group": f"组数|-|{cell}|-|-|-"}, ("group的数据类型不在支持的范围之内。",)
        )
        path.write_text(text.replace("int64_t  ", "const aclScalar *", 1), encoding="utf-8")
        facts = draft(read_page(path), path.name).facts
        return facts.parameters["group"].keys, facts.places

    told, places = keys("FLOAT32、BFLOAT16")
    assert told["dtype"].value == {"any": ["FLOAT", "BFLOAT16"], "ascend910": ["FLOAT"]}
    assert places["group.dtype"].code == 161002
    assert "dtype" not in keys("数据类型可转换为FLOAT的类型")[0]


def test_all_inputs_that_have_the_dtypes_of_a_sentence_have_one(drafted):
    rows = {"dy": "梯度|-|FLOAT32、FLOAT16|ND|2-4|√", "x": "数据|-|FLOAT16、FLOAT32|ND|2-4|√"}
    told = "- 支持FP16/FP32，所有输入的数据类型需保持一致"
    facts = drafted(rows=rows, constraints=told).facts
    assert "x.dtype == dy.dtype" in requirements(facts) and not facts.left()
    rows["x"] = rows["x"].replace("FLOAT32", "INT64")
    facts = drafted(rows=rows, constraints=told).facts
    assert "x.dtype == dy.dtype" not in requirements(facts) and len(facts.left()) == 1


def test_axes_are_numbers_that_the_page_names_and_products_of_what_stands_further_down(drafted):
    rows = {
        "dy": "梯度|shape为(N,C/group,K*H,size[1])。|FLOAT|ND|4|√",
        "x": "数据|shape为(N,C,H,W)。|FLOAT|ND|4|√",
        "size": "大小|size为2(K,L)。|INT64|-|-|-",
        "dx": "结果|shape为(N,C/group,group)。|FLOAT|ND|3|√",
    }
    facts = drafted(rows=rows, codes=("dy的第二个维度和dx的第二个维度值不相同。",)).facts
    first, last = (facts.parameters[name].keys["shape"].value for name in ("dy", "dx"))
    assert first == {4: ["N", "Cgroupdx", "KHdy", "size1dy"]}
    assert last == {3: ["N", "Cgroupdx", "groupdx"]}
    told = {"C == Cgroupdx * group", "KHdy == K * H", "size1dy == size[1]", "groupdx == group"}
    assert told <= requirements(facts) and facts.places["dx.shape"].code == 161002
    unknown = {"dy": "梯度|shape为(N,C/scale)。|FLOAT|ND|2|√"}
    assert "shape" not in drafted(rows=unknown).facts.parameters["dy"].keys


def test_axes_that_a_page_names_get_letters_in_the_order_of_each_format(drafted):
    rows = {"x": "数据|-|FLOAT|NCHW、NHWC|4|√", "dy": "梯度|NC维度和x保持一致。|FLOAT|NCHW|4|√"}
    facts = drafted(rows=rows, codes=("NC维度不一致。",)).facts
    shape = facts.parameters["x"].keys["shape"].value
    assert shape == {4: {"NCHW": ["N", "C", "Hx", "Wx"], "NHWC": ["N", "Hx", "Wx", "C"]}}
    assert facts.parameters["dy"].keys["shape"].value == {4: ["N", "C", "Hdy", "Wdy"]}
    assert facts.places["x.shape"].code == 161002
    assert drafted(codes=("NC维度不一致。",)).facts.left()  # no axes are told


def test_the_output_of_a_pad_has_axes_enlarged_by_its_items(drafted):
    rows = {
        "dy": "梯度|shape需要与reflection_pad2d正向传播的output一致。|FLOAT|ND|3-4|√",
        "x": "数据|-|FLOAT|ND|3-4|√",
    }
    facts = drafted(rows=rows).facts
    assert {"Wdy == Wx + size[0] + size[1]", "Hdy == Hx + size[2] + size[3]"} <= requirements(facts)
    assert facts.parameters["x"].keys["shape"].value[3] == ["C", "Hx", "Wx"]


def test_items_whose_order_follows_from_the_format_hold_under_it(drafted):
    told = "表示输出x分别在N、C、H、W或N、H、W、C维度上的空间大小"
    rows = {"x": "数据|-|FLOAT|NCHW、NHWC|4|√", "size": f"{told}|-|INT64|-|-|-"}
    rules = [(r.when, r.require) for r in drafted(rows=rows).facts.rules.values()]
    assert ("dy.format == 'NHWC'", "C == size[3]") in rules
    assert ("dy.format != 'NHWC'", "C == size[1]") in rules and ("", "N == size[0]") in rules


def test_rules_that_a_pattern_writes_need_all_that_they_name(drafted):
    told = "shape需要与reflection_pad2d正向传播的output一致。"
    rows = {"dy": f"梯度|{told}|FLOAT|ND|2|√", "x": "数据|-|FLOAT|ND|2|√"}
    left = drafted(rows=rows).facts  # two axes have no letters
    assert not left.rules.keys() & {"dy_axes", "dy_relation"} and left.left()
    facts = drafted(codes=("group值不在x维度范围内。", "x的取值为负数。")).facts
    limits = {"group >= -max(x.rank, 1)", "group < max(x.rank, 1)"}
    assert limits <= requirements(facts)
    placed = {facts.rules[n].require for n, place in facts.places.items() if n in facts.rules}
    assert limits <= placed


def test_a_code_of_a_rule_under_conditions_is_its_place_and_no_other_rule(drafted):
    told = "表示输出x分别在N、C、H、W或N、H、W、C维度上的空间大小"
    rows = {"x": "数据|-|FLOAT|NCHW、NHWC|4|√", "size": f"{told}|-|INT64|-|-|-"}
    facts = drafted(rows=rows, codes=("x与size在N、C维度上的size不同。",)).facts
    channel = [name for name, rule in facts.rules.items() if rule.require == "C == size[1]"]
    assert len(channel) == 1 and facts.rules[channel[0]].when == "dy.format != 'NHWC'"
    assert channel[0] in facts.places


def test_one_shape_with_letters_that_differ_is_for_a_person(drafted):
    rows = {**LETTERED, "dx": "结果|shape需要与dy一致。shape为(N,C,Hin,Win)。|FLOAT|ND|4|√"}
    left = drafted(rows=rows)
    assert "dx_shape" in left.facts.disputed
    assert "have one shape, and axes that differ" in " ".join(left.facts.left().values())


def test_a_code_for_what_the_table_does_not_list_leaves_those_without_a_list(drafted):
    rows = {"x": "数据|-|FLOAT|-|2|√"}
    facts = drafted(rows=rows, codes=("dy、x的数据类型和数据格式不在支持的范围之内。",)).facts
    assert {"dy.dtype", "dy.format", "x.dtype"} <= facts.places.keys()
    assert "no list for this code in the table names x" in " ".join(facts.left().values())


def test_what_a_note_leaves_open_is_pending(drafted):
    left = drafted(constraints="- 数据格式有时为NCHW。")
    assert {"dy.format", "x.format", "dx.format"} <= left.pending


def test_the_result_of_a_broadcast_is_a_rule_under_its_code(drafted):
    facts = drafted(codes=("dx的shape与dy和x的broadcast结果不一致。",)).facts
    (name,) = [n for n, rule in facts.rules.items() if "broadcast" in rule.require]
    assert facts.rules[name].require == "dx.shape == broadcast(dy.shape, x.shape)"
    assert facts.places[name].code == 161002


def test_a_clause_about_less_than_the_page_demands_makes_two_facts(drafted):
    rows = {"size": "大小|长度为2，数值大于0。|INT64|-|-|-"}
    facts = drafted(rows=rows, codes=("size的某个维度值小于0。",)).facts
    assert facts.parameters["size"].keys["min"].value == 0 and "size.min" in facts.places
    assert [r.require for r in facts.rules.values() if "lowest" in r.require] == [
        "lowest(size) >= 1"
    ]
    assert "size_least" not in facts.places
    facts = drafted(codes=("dy的某个维度值小于0。",)).facts
    assert facts.parameters["dy"].keys["dims"].value == [0, None] and "dy.dims" in facts.places


@pytest.mark.parametrize(
    ("sentence", "items"),
    [("最后两个元素均大于零", {1, 2}), ("第二个元素的取值大于0", {1}), ("第五个元素大于0", set())],
)
def test_some_items_of_an_array_have_a_least_value(drafted, sentence, items):
    rows = {"size": f"大小|长度为3，且{sentence}。|INT64|-|-|-"}
    told = {
        rule.require for rule in drafted(rows=rows).facts.rules.values() if "size" in rule.require
    }
    assert told == {f"size[{item}] >= 1" for item in items}


def test_formats_that_a_product_lacks_stand_under_it(drafted):
    rows = {"dy": "梯度|-|FLOAT|NCHW、NHWC|4|√"}
    note = "- Atlas 训练系列产品：参数dy的数据格式不支持NHWC。"
    key = drafted(rows=rows, constraints=note).facts.parameters["dy"].keys["format"]
    assert key.value == {"any": ["NCHW", "NHWC"], "ascend910": ["NCHW"]}


def test_a_clause_of_an_output_that_a_mask_asks_for_is_its_place(drafted):
    codes = ("当mask[0]为true，dx的数据类型不在支持的范围之内时。",)
    assert drafted(codes=codes).facts.places["dx.dtype"].code == 161002
    assert len(drafted(codes=(codes[0].replace("dx", "dy"),)).facts.left()) == 1


def test_a_code_that_a_table_is_not_kept_is_that_of_its_lists_and_equalities(drafted):
    placed = drafted(codes=("dy和x的数据类型不满足参数说明的约束。",)).facts.places
    assert {r for r, place in placed.items() if place.code == 161002} == {
        "dy.dtype", "x.dtype", "x_dtype",
    }  # fmt: skip


def test_a_code_for_the_ranks_of_all_names_each(drafted):
    facts = drafted(codes=("输入输出的shape不是2维或者3维或4维。",)).facts
    assert {r for r in facts.places if r.endswith(".rank")} == {"dy.rank", "x.rank", "dx.rank"}


def test_the_last_alternative_of_a_clause_is_one_too(drafted):
    placed = drafted(codes=("dy和x的shape不一致，或者group大于50。",)).facts.places
    assert {"dy_shape", "group.max"} <= {*placed}


def test_a_list_between_commas_is_read_whole(drafted):
    rows = {"dy": "梯度|数据格式为NCL，NCHW、NCDHW，位宽与x一致。|FLOAT|-|2-4|√"}
    told = drafted(rows=rows)
    assert told.facts.parameters["dy"].keys["format"].value == ["NCL", "NCHW", "NCDHW"]
    assert len(told.facts.left()) == 1


def test_what_one_product_lacks_all_tensors_of_the_dtype_lack(drafted):
    rows = {
        "dy": "梯度|数据类型与x一致。|FLOAT32、BFLOAT16|ND|2-4|√",
        "x": "数据|-|FLOAT、BFLOAT16|ND|2-4|√",
    }
    note = "- Atlas 训练系列产品：参数x的数据类型不支持BFLOAT16。"
    keys = drafted(rows=rows, constraints=note).facts.parameters["dy"].keys["dtype"]
    assert keys.value == {"any": ["FLOAT", "BFLOAT16"], "ascend910": ["FLOAT"]}


def test_a_list_that_is_that_of_another_is_answered_as_the_equality(drafted):
    facts = drafted(codes=("dy和x的数据类型不一致。",)).facts
    assert facts.places["x.dtype"] == facts.places["x_dtype"]
    assert "dy.dtype" not in facts.places


def test_a_code_for_the_product_is_its_place(drafted):
    assert drafted(codes=("当前处理器不支持该算子。",)).facts.places["product"].code == 161002


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


def test_dtypes_that_a_product_combines_are_a_rule_for_it(drafted):
    told = "- Atlas 训练系列产品：当dy为{}，x必须为{}。\n"
    told = told.format("FLOAT16", "FLOAT16或FLOAT32") + told.format("FLOAT32", "FLOAT32")
    facts = drafted(rows=FREE, constraints=told).facts
    rules = [rule for rule in facts.rules.values() if rule.require == FLOAT_OR]
    assert [rule.when for rule in rules] == ["product in ('ascend910',)"]


def test_dtypes_that_promote_are_no_rule_unless_one_is_no_real_number(drafted):
    told = "数据类型需要与x的数据类型满足数据类型推导规则。"
    rows = {**FREE, "dy": f"梯度|{told}|FLOAT16、FLOAT|ND|2-4|√"}
    codes = ("dy、x的数据类型不满足数据类型推导规则。",)
    facts = drafted(rows=rows, codes=codes).facts
    assert facts.left() == {} and not any(".dtype" in r.require for r in facts.rules.values())
    rows["x"] = "数据|-|FLOAT、COMPLEX64|ND|2-4|√"
    assert len(drafted(rows=rows, codes=codes).facts.left()) == 2


def test_a_name_without_its_ending_and_the_only_output_are_the_parameters(tmp_path):
    path = tmp_path / "page.md"
    text = page_text({"dx": "结果|-|FLOAT|ND|2|√"}, ("x、out的shape不一致。",))
    path.write_text(text.replace("<td>x</td>", "<td>xOptional</td>").replace("*x,", "*xOptional,"))
    facts = draft(read_page(path), path.name).facts
    assert "dx.shape == xOptional.shape" in requirements(facts)
    path.write_text(text.replace("*size,", "*xOptional,"))
    assert "dx.shape == x.shape" in requirements(draft(read_page(path), path.name).facts)


KEYS = {
    "size": [
        ("size的长度为2，值仅支持1", "range", [1, 1]),
        ("长度为2，数值大于0", "min", 1),
        ("长度为2，大小应该在[0,7]的范围内", "range", [0, 7]),
    ],
    "group": [("当前仅支持输入2", "range", [2, 2])],
    "x": [("每个维度的取值小于等于2^20", "dims", [0, 1 << 20])],
    "dx": [
        ("可选输出，若mask[0]为True，则需要输出，否则不输出", "mask", "mask[0]"),
        ("由mask的第0个元素控制是否输出，mask第0个元素为True时会进行输出", "null", "not mask[0]"),
    ],
}


@pytest.mark.parametrize(
    ("name", "told", "key", "value"), [(name, *one) for name, told in KEYS.items() for one in told]
)
def test_sentences_that_are_keys(drafted, name, told, key, value):
    cells = ROWS[name].split("|")
    rows = {name: "|".join((cells[0], told, *cells[2:]))}
    assert drafted(rows=rows).facts.parameters[name].keys[key].value == value


def test_an_enum_whose_words_stand_on_lines_of_their_own(tmp_path):
    path = tmp_path / "page.md"
    told = (
        "枚举如下：<br>0：KEEP_DTYPE，保持输入的数据类型进行计算。<br>2：USE_FP16，支持降精度计算。"
    )
    text = page_text({"group": f"模式|{told}|INT8|-|-|-"}, ("group的值非0、2两值之一。",))
    path.write_text(text.replace("int64_t             group", "int8_t  group"), encoding="utf-8")
    facts = draft(read_page(path), path.name).facts
    assert facts.parameters["group"].keys["enum"].value == {0: "KEEP_DTYPE", 2: "USE_FP16"}
    assert facts.places["group.enum"].code == 161002
    path.write_text(path.read_text("utf-8").replace("非0、2两值", "非0、1两值"), encoding="utf-8")
    assert "group.enum" not in draft(read_page(path), path.name).facts.places


def test_values_of_a_tensor_have_limits(drafted):
    rows = {"x": "数据|取值范围为[0, group)。|FLOAT|ND|2-4|√"}
    told = {"values(x) >= 0", "values(x) < group"}
    assert told <= requirements(drafted(rows=rows).facts)


def test_a_letter_in_the_column_of_shapes_has_a_limit_and_not_the_values(drafted):
    rows = {"x": "数据|-|FLOAT|ND|(N, C)<br>C为类别数，必须大于0|√"}
    facts = drafted(rows=rows).facts
    assert "C > 0" in requirements(facts) and not facts.left()
    told = drafted(rows={"x": "数据|-|FLOAT|ND|(N, C)<br>L为类别数，必须大于0|√"}).facts
    assert not requirements(told) & {"L > 0", "values(x) > 0"} and told.left()
    rows = {"x": "数据|值必须大于0|FLOAT|ND|2|√"}
    assert "values(x) > 0" in requirements(drafted(rows=rows).facts)


def test_what_the_table_calls_optional_may_be_null(tmp_path):
    path = tmp_path / "page.md"
    text = page_text().replace("<td>size</td><td>输入", "<td>size</td><td>可选输入")
    path.write_text(text.replace("x、size或mask是", "x或mask是"), encoding="utf-8")
    key = draft(read_page(path), path.name).facts.parameters["size"].keys["null"]
    assert (key.value, key.at) == (True, [line_of(text, "<td>size")])
    path.write_text(text, encoding="utf-8")  # a code names it all the same
    assert line_of(text, "传入的dy") in draft(read_page(path), path.name).facts.left()


def test_words_of_a_string_that_stand_on_lines_of_their_own(tmp_path):
    path = tmp_path / "page.md"
    told = "none：不应用缩减。<br>sum：求和输出。"
    text = page_text({"group": f"方式|{told}|-|-|-|-"}, ())
    path.write_text(text, encoding="utf-8")
    assert draft(read_page(path), path.name).facts.left()  # a number has no words
    path.write_text(text.replace("int64_t             group", "char *group"), encoding="utf-8")
    facts = draft(read_page(path), path.name).facts
    assert facts.parameters["group"].keys["enum"].value == ["none", "sum"] and not facts.left()


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


def test_a_rule_of_a_pattern_holds_for_the_product_and_under_its_own_condition(drafted):
    told = "表示输出x分别在N、C、H、W或N、H、W、C维度上的空间大小"
    note = f'<!-- npu="910" id9 -->\n<br>{told}\n<!-- end id9 -->'
    rows = {"x": "数据|-|FLOAT|NCHW、NHWC|4|√", "size": f"大小|{note}|INT64|-|-|-"}
    rules = [(r.when, r.require) for r in drafted(rows=rows).facts.rules.values()]
    assert ("product in ('ascend910',) and dy.format == 'NHWC'", "C == size[3]") in rules


PLACES = {
    "输入的数据类型不在支持的范围内。": {"dy.dtype", "x.dtype"},
    "group不满足取值范围。": {"group.min"},
    "size的长度与参数说明中不一致。": {"size.length"},
    "dy、size的shape不满足参数要求。": {"dy.rank", "size.length"},
    "dy的维度小于2。": {"dy.rank"},
    "size的维度小于1。": {"size_least"},
    "dy的dim不为2、3、4。": {"dy.rank"},
    "dy的shape中存在小于0的值。": {"dy.dims"},
    "dy、x的shape不满足infershape结果。": {"dy.rank", "x.rank", "dy_shape"},
    "group值不满足要求。": {"group.min"},
    "dy的维度小于2。dy的维度大于4。": {"dy_rank_least", "dy_rank_most"},
}


@pytest.mark.parametrize("code", PLACES)
def test_a_code_for_what_the_table_demands_is_its_place(drafted, code):
    placed = drafted(codes=(code,)).facts.places
    assert {r for r, place in placed.items() if place.code == 161002} == PLACES[code]


def test_a_code_for_lengths_of_which_the_page_tells_one_leaves_the_other(drafted):
    rows = {"size": "大小|-|INT64|-|-|-"}
    facts = drafted(rows=rows, codes=("size、mask的长度与参数说明中不一致。",)).facts
    assert facts.places["mask.length"].code == 161002 and "size.length" not in facts.places
    assert "no length for this code names size" in facts.left().values()


@pytest.mark.parametrize(
    "code", ["dy的维度小于3。", "x不满足取值范围。", "mask、x的长度与参数说明中不一致。"]
)
def test_a_code_for_what_the_table_does_not_demand_is_left(drafted, code):
    assert len(drafted(codes=(code,)).facts.left()) == 1


def test_a_code_for_null_inputs_leaves_the_optional_ones(tmp_path):
    path = tmp_path / "page.md"
    text = page_text({"dx": "结果|-|FLOAT|ND|2|√"}, ()).replace(
        "mask[0]为True且dx为空指针。", "无。"
    )
    text = text.replace("传入的dy、x、size或mask是空指针。", "传入的非可选输入是空指针。")
    path.write_text(text.replace("<td>x</td>", "<td>xOptional</td>").replace("*x,", "*xOptional,"))
    assert {*draft(read_page(path), path.name).facts.places} == {"dy.null"}


def test_what_a_parameter_is_where_it_is_given_needs_no_condition(drafted):
    rows = {"dx": "结果|当指针dx不为空时，shape与x一致。|FLOAT|ND|2-4|√"}
    assert "dx.shape == x.shape" in requirements(drafted(rows=rows).facts)
    rows = {"dx": "结果|当指针x不为空时，shape与x一致。|FLOAT|ND|2-4|√"}
    assert "dx.shape == x.shape" not in requirements(drafted(rows=rows).facts)


SHAPED = {
    "dy": "梯度|shape=[T,H]或[B,S,H]。|FLOAT|ND|2-3|√",
    "x": "数据|shape=[T,2H]或[B,S,2H]。|FLOAT|ND|2-3|√",
}


def test_axes_that_are_products_of_letters_are_rules_where_an_earlier_tensor_has_these(drafted):
    facts = drafted(rows=SHAPED).facts
    assert facts.parameters["dy"].keys["shape"].value == {2: ["S", "H"], 3: ["B", "S", "H"]}
    assert facts.parameters["x"].keys["shape"].value == {2: ["S", "Hx"], 3: ["B", "S", "Hx"]}
    assert "Hx == 2 * H" in requirements(facts)
    other = {**SHAPED, "x": SHAPED["x"].replace("2H", "2K")}
    assert "shape" not in drafted(rows=other).facts.parameters["x"].keys


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ("size_H/输出shape的高度H<=50", "size[0] <= 50 * Hdx"),
        ("$N * C * size_H$ <= 2^31-1", "N * C * size[0] <= 2147483647"),
        (r"N \* C \* dy_H < 2^31", "N * C * Hdy < 2147483648"),
        ("dy_W*dy_H<2^31", "Wdy * Hdy < 2147483648"),
    ],
)
def test_limits_of_products_of_axes_are_rules(drafted, told, rule):
    image = "-|-|FLOAT|NCHW|4|√"
    rows = {"dy": image, "dx": image, "size": "表示输入dy在H和W维度上的空间大小|-|INT64|-|-|-"}
    assert rule in requirements(drafted(rows=rows, constraints=f"- {told}").facts)
    rows["size"] = "大小|-|INT64|-|-|-"
    told_of_size = drafted(rows=rows, constraints=f"- {told}").facts
    assert (rule in requirements(told_of_size)) == ("size" not in told)


def test_a_length_may_be_a_rank_less_a_number(drafted):
    rows = {"size": "大小|数组长度为x维度减2。|INT64|-|-|-"}
    assert drafted(rows=rows).facts.parameters["size"].keys["length"].value == ["x.rank - 2"]


def test_a_length_may_be_the_extent_of_an_axis_that_an_earlier_tensor_has(drafted):
    rows = {**SHAPED, "size": "大小|数组长度为H，数组中的每个值都是素数。|INT64|-|-|-"}
    facts = drafted(rows=rows).facts
    assert facts.parameters["size"].keys["length"].value == ["H"] and len(facts.left()) == 1
    rows["size"] = rows["size"].replace("H", "K")
    assert "length" not in drafted(rows=rows).facts.parameters["size"].keys


def test_words_that_are_no_names_begin_a_part(drafted):
    told = "数据类型支持FLOAT16、FLOAT,Device侧的aclTensor,undefined支持ND,shape支持2-3维"
    keys = drafted(rows={"x": f"数据|{told}。|-|-|-|√"}).facts.parameters["x"].keys
    assert (keys["format"].value, keys["rank"].value) == (["ND"], [2, 3])
    assert keys["dtype"].value == ["FLOAT16", "FLOAT"]


def test_a_scalar_that_may_be_0_or_at_least_1_has_a_rule_under_the_condition(drafted):
    rows = {"group": "组数|group需要为0或者大于等于1。|INT64|-|-|-"}
    facts = drafted(rows=rows, codes=("group小于1且不为0。",)).facts
    (rule,) = [name for name, rule in facts.rules.items() if rule.when == "group < 1"]
    assert facts.rules[rule].require == "group == 0" and facts.places[rule].code == 161002


def test_a_code_of_a_broadcast_names_each_shape_once_and_leaves_what_is_written(drafted):
    facts = drafted(codes=("dy、x、dx的shape不满足broadcast关系。",)).facts
    assert not any("broadcast" in text for text in requirements(facts))  # dy has the shape of x
    rows = {"dy": "梯度|-|FLOAT|ND|2-4|√"}
    facts = drafted(rows=rows, codes=("dy、x、dx的shape不满足broadcast关系。",)).facts
    assert "broadcastable(dy.shape, x.shape)" in requirements(facts)
    assert "a broadcast that is written names dx" in facts.left().values()


ALL = {
    "参数不满足参数说明中的要求。": {"dy.rank", "x.rank", "dx.rank", "dy_shape", "x_rank"},
    "参数数据类型不匹配。": {"dy.dtype", "x.dtype", "dx.dtype", "x_dtype"},
    "多个输入tensor之间的shape信息不匹配、输入属性不在取值范围。": {
        "dy_shape",
        "x_rank",
        "x.rank",
        "group.min",
    },
    "如果传入参数为aclTensor或aclTensorList，数据类型不同。": {"x_dtype", "x.dtype"},
    "输入的shape不在支持的范围内，不满足长度要求。": {"dy.rank", "x.rank", "x_rank", "dy_shape"},
}


@pytest.mark.parametrize("code", ALL)
def test_a_code_for_all_of_a_kind_is_the_place_of_each(drafted, code):
    placed = drafted(codes=(code,)).facts.places
    assert {r for r, place in placed.items() if place.code == 161002} == ALL[code]


def test_outputs_that_are_asked_for_are_left_where_a_code_names_their_pointers(tmp_path):
    path = tmp_path / "page.md"
    text = page_text().replace("mask[0]为True且dx为空指针。", "无。")
    told = "传入的dy、x、size、mask、求解dx时是空指针。"
    path.write_text(text.replace("传入的dy、x、size或mask是空指针。", told), encoding="utf-8")
    facts = draft(read_page(path), path.name).facts
    nulls = {r for r, place in facts.places.items() if place.code == 161001}
    assert nulls == {"dy.null", "x.null", "size.null", "mask.null"}
    assert "null unless it is computed names dx" in facts.left().values()


def test_codes_below_the_second_phase_are_codes_too(tmp_path):
    path = tmp_path / "page.md"
    told = page_text(codes=()) + "## aclnnTentBackward\n"
    rows = "<tr><td>ACLNN_ERR_PARAM_INVALID</td><td>161002</td><td>dy的维度小于2。</td></tr>"
    head = "<tr><th>返回值</th><th>错误码</th><th>描述</th></tr>"
    path.write_text(f"{told}<table>{head}{rows}</table>\n", encoding="utf-8")
    assert draft(read_page(path), path.name).facts.places["dy.rank"].code == 161002


def test_a_code_for_some_items_is_the_place_of_their_limits(drafted):
    rows = {"size": "大小|长度为3，且最后两个元素均大于零。|INT64|-|-|-"}
    facts = drafted(rows=rows, codes=("size最后两个元素中的某个元素值小于1。",)).facts
    assert {facts.rules[r].require for r, p in facts.places.items() if p.code == 161002} == {
        "size[1] >= 1",
        "size[2] >= 1",
    }


def test_a_line_that_announces_others_keeps_no_rule_open(drafted):
    assert not drafted(constraints="- 下列数据类型一致：").pending
    assert drafted(constraints="- 下列数据类型一致").pending


DISPUTED = {
    "a shape that may be empty, and not": (
        {"dy": "梯度|支持空Tensor。shape需要与x一致。|FLOAT32、BFLOAT16|ND|2-4|√"},
        {"x.empty"},
    ),
    "ranks that are the same, and differ": (
        {"dy": "梯度|维度与x一致。|FLOAT32、BFLOAT16|ND|2|√", "x": "数据|-|FLOAT|ND|3|√"},
        {"dy_rank", "dy.rank", "x.rank"},
    ),
    "a shape that is the same, and broadcasts": (
        {"dy": "梯度|shape需要与x一致。shape需要与x满足broadcast关系。|FLOAT32、BFLOAT16|ND|2-4|√"},
        {"dy_shape"},
    ),
}


@pytest.mark.parametrize("name", DISPUTED)
def test_what_the_page_contradicts_is_left_to_a_person(drafted, name):
    rows, disputed = DISPUTED[name]
    told = drafted(rows=rows)
    assert told.facts.disputed == disputed and disputed <= told.pending
    assert len(told.facts.left()) == 1


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
    assert facts.disputed == {"dx"}
    assert "'dx' is read and written" in facts.left()[facts.parameters["dx"].line]


def test_a_dtype_for_one_product_stands_under_it(drafted):
    a2 = "Atlas A2 训练系列产品/Atlas A2 推理系列产品"
    rows = {"x": f"数据|数据类型支持FLOAT、DOUBLE(仅{a2}支持)。|-|ND|2-4|√"}
    assert drafted(rows=rows).facts.parameters["x"].keys["dtype"].value == {
        "any": ["FLOAT"],
        "ascend910b": ["FLOAT", "DOUBLE"],
    }


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


def test_a_rule_whose_place_an_undecided_code_may_be_is_pending(drafted):
    assert "size.length" in drafted(codes=(*CODES, "size的长度不合适。")).pending
    assert "size.length" not in drafted().pending


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
    assert right >= 0.98 and drafted >= 0.8


@pytest.mark.skipif(not PAGES, reason="OPGEN_PAGES names no folder of pages")
def test_what_is_drafted_is_what_a_reader_transcribed_who_saw_no_draft():
    """A convolution and a recurrent layer have 40 % of the facts of the twelve pages."""
    specs = drafts.transcribed()
    paths = [path for path in drafts.pages(PAGES or "") if path.name in specs]
    right, drafted = drafts.main(paths, False, specs)
    assert len(paths) == 12 and right >= 0.98 and drafted >= 0.75


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


def test_dtypes_that_promote_in_one_place_and_agree_in_another_are_for_a_person(drafted):
    told = "数据类型需要与x的数据类型满足数据类型推导规则。"
    rows = {**FREE, "dy": f"梯度|{told}|FLOAT16、FLOAT|ND|2-4|√"}
    made = drafted(rows=rows, codes=("dy、x的数据类型不一致。",))
    assert "x_dtype" in made.facts.disputed and "x_dtype" in made.pending
    assert "need only promote" in " ".join(made.facts.left().values())
    assert "x_dtype" not in drafted(rows=FREE, codes=("dy、x的数据类型不一致。",)).pending


def test_a_rank_under_a_condition_leaves_ranks_and_shapes_open(drafted):
    rows = {"x": "数据|当group为1时，要求为一个维度为1D的Tensor|FLOAT|ND|(N, C)|√"}
    assert "x.rank" in drafted(rows=rows).pending
    assert "x.rank" not in drafted(rows={"x": "数据|-|FLOAT|ND|(N, C)|√"}).pending


def test_a_limit_of_a_letter_is_answered_as_the_shape_in_whose_cell_it_stands(drafted):
    rows = {
        "dy": "梯度|-|FLOAT|ND|(N, C)|√",
        "x": "数据|-|FLOAT|ND|(N, C)<br>C为类别数，必须大于0|√",
    }
    facts = drafted(rows=rows, codes=("dy、x的shape不在支持范围内。",)).facts
    (limit,) = [name for name, rule in facts.rules.items() if rule.require == "C > 0"]
    assert facts.places[limit].code == 161002
