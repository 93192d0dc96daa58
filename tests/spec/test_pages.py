"""Pages are read strictly: each word with its line and products, and nothing is guessed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.cli import main
from opgen.model import FileError
from opgen.spec.pages.markdown import Code, sections
from opgen.spec.pages.page import Declared, Sentence, Support
from opgen.spec.pages.products import product_of
from opgen.spec.pages.reading import read_page
from opgen.spec.pages.tables import tables

MARKDOWN = """\
# aclnnTentBackward

## 产品支持情况

<!-- npu="910b" id1 -->
- <term>Atlas A2 训练系列产品/Atlas A2 推理系列产品</term>：支持
<!-- end id1 -->
<!-- npu="910" id2 -->
- <term>Atlas 训练系列产品</term>：不支持
<!-- end id2 -->
- <term>Mars 产品</term>：支持

## 功能说明

- 帐篷的反向，$y_{i}<peak$ 之外为零。

## 函数原型

先调用“aclnnTentBackwardGetWorkspaceSize”。

```Cpp
aclnnStatus aclnnTentBackwardGetWorkspaceSize(
  const aclTensor *gradOutput,
  double           peak,
  aclTensor       *gradInput,
  uint64_t        *workspaceSize,
  aclOpExecutor  **executor)
```

## aclnnTentBackwardGetWorkspaceSize

- **参数说明：**

  <table><thead>
    <tr>
      <th>参数名</th>
      <th>输入/输出</th>
      <th>描述</th>
      <th>使用说明</th>
      <th>数据类型</th>
      <th>数据格式</th>
      <th>维度（shape）</th>
      <th>非连续Tensor</th>
    </tr></thead>
  <tbody>
    <tr>
      <td>gradOutput（aclTensor*）</td>
      <td>输入</td>
      <td>梯度。</td>
      <td><ul>
        <li>可以为空。</li>
        <!-- npu="910b" id3 -->
        <li>不超过4<sup>2</sup>个&lt;元素&gt;。</li>
        <!-- end id3 -->
      </ul></td>
      <td rowspan="2">FLOAT</td>
      <td>ND</td>
      <td>0-8</td>
      <td>√</td>
    </tr>
    <tr>
      <td>peek（double）</td>
      <td>输入</td>
      <td>峰。<br>要大于零。</td>
      <td>-</td>
      <td>-</td>
      <td>-</td>
      <td>-</td>
    </tr>
  </tbody></table>

  <!-- npu="910b" id4 -->
  - A2：见[别处](else.md)。
  <!-- end id4 -->

- **返回值：**

  <table>
    <tr><th>返回码</th><th>错误码</th><th>描述</th></tr>
    <tr>
      <td rowspan="3">ACLNN_ERR_PARAM_INVALID</td><td rowspan="3">161002</td><td>峰不对。</td>
    </tr>
    <tr><td>类型不对。</td></tr>
    <tr></tr>
    <tr><td>ACLNN_ERR_PARAM_NULLPTR</td><td>161001</td></tr>
  </table>

## 约束说明

- 无。
"""

FLAT = """\
下载

aclnnTentBackward

支持的产品型号
  • Atlas 训练系列产品。
[object Object]Mars 产品[object Object] | × |

接口原型
  • aclnnTentBackwardGetWorkspaceSize(const aclTensor* gradOutput, bool up, aclTensor* gradInput)

aclnnTentBackwardGetWorkspaceSize
  • 参数说明
    • gradOutput(const aclTensor *, 计算输入):梯度,数据类型支持FLOAT。
      • Atlas 训练系列产品:不为空。
    • up(const bool,计算输入): 向上。
    • gradInput(aclTensor*, 计算输出):结果。
    • workspaceSize(uint64_t*, 出参):大小。
  • 返回值
    161001 (ACLNN_ERR_PARAM_NULLPTR): 1. 空指针。
    161002 (ACLNN_ERR_PARAM_INVALID): 1. 类型不对。
                                      2. 形状不对。

aclnnTentBackward

约束与限制
  无
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "aclnnTentBackward.md"
    path.write_text(MARKDOWN, encoding="utf-8")
    return path


def line_of(text: str, words: str) -> int:
    return text[: text.index(words)].count("\n") + 1


def test_products_are_named_by_key_and_those_without_one_by_the_page(page):
    assert read_page(page).products == (
        Support("ascend910b", True, 6),
        Support("ascend910", False, 9),
        Support("Mars 产品", True, 11),
    )
    assert product_of("Ascend 950PR / Ascend 950DT".replace(" / ", "/")) == "ascend950"


def test_the_prototype_has_each_parameter_on_its_line(page):
    first = line_of(MARKDOWN, "  const aclTensor")
    assert read_page(page).prototype == (
        Declared("gradOutput", "const aclTensor*", first),
        Declared("peak", "double", first + 1),
        Declared("gradInput", "aclTensor*", first + 2),
    )


def test_a_cell_is_sentences_with_lines_and_products(page):
    grad = read_page(page).parameters[0]
    assert grad.cells["usage"] == (
        Sentence("可以为空。", line_of(MARKDOWN, "<li>可以为空")),
        Sentence("不超过42个<元素>。", line_of(MARKDOWN, "<li>不超过"), ("910b",)),
    )
    assert (grad.text("rank"), grad.text("strided"), grad.text("format")) == ("0-8", "√", "ND")


def test_a_cell_reaches_down_over_its_rows(page):
    grad, peek = read_page(page).parameters
    assert grad.cells["dtype"] == peek.cells["dtype"] and peek.text("dtype") == "FLOAT"
    assert [sentence.text for sentence in peek.cells["description"]] == ["峰。", "要大于零。"]


def test_codes_are_sentences_under_a_number(page):
    codes = read_page(page).codes
    assert [(code.code, code.name, code.sentence.text) for code in codes] == [
        (161002, "ACLNN_ERR_PARAM_INVALID", "峰不对。"),
        (161002, "ACLNN_ERR_PARAM_INVALID", "类型不对。"),
    ]
    assert codes[1].sentence.line == line_of(MARKDOWN, "<tr><td>类型不对")


def test_notes_and_constraints_keep_their_fences(page):
    whole = read_page(page)
    assert whole.notes == (Sentence("A2：见别处。", line_of(MARKDOWN, "- A2："), ("910b",)),)
    assert [sentence.text for sentence in whole.constraints] == ["无。"]
    assert whole.function[0].text.startswith("帐篷的反向")


def test_what_a_strict_reader_stops_at_is_said_at_the_line(page):
    faults = {fault.text: fault.line for fault in read_page(page).faults}
    assert faults == {
        "'peek' is not in the prototype": line_of(MARKDOWN, "<td>peek"),
        "'peak' is not described": line_of(MARKDOWN, "  double "),
        "'gradInput' is not described": line_of(MARKDOWN, "  aclTensor       *gradInput"),
        "a row of 2 cells in a table of 3 columns": line_of(MARKDOWN, "NULLPTR</td>"),
    }


def test_the_older_edition_gives_the_same_model(tmp_path):
    path = tmp_path / "page.txt"
    path.write_text(FLAT, encoding="utf-8")
    whole = read_page(path)
    assert whole.api == "aclnnTentBackward" and not whole.faults
    assert whole.products == (Support("ascend910", True, 6), Support("Mars 产品", False, 7))
    assert [(p.name, p.c_type) for p in whole.prototype] == [
        ("gradOutput", "const aclTensor*"),
        ("up", "bool"),
        ("gradInput", "aclTensor*"),
    ]
    usage = [sentence.text for sentence in whole.parameters[0].cells["usage"]]
    assert usage == ["梯度,数据类型支持FLOAT。", "Atlas 训练系列产品:不为空。"]
    assert [(code.code, code.sentence.text, code.sentence.line) for code in whole.codes] == [
        (161001, "空指针。", line_of(FLAT, "161001")),
        (161002, "类型不对。", line_of(FLAT, "161002")),
        (161002, "形状不对。", line_of(FLAT, "161002") + 1),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%PDF-1.7", "is not an operator page: it names no aclnn function"),
        ("<html><body>404 Not Found</body></html>", "names no aclnn function"),
        ("# aclnnTentBackward\n", "it has no prototype of a function aclnn"),
    ],
)
def test_what_is_no_page_is_refused(tmp_path, text, message):
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=message):
        read_page(path)


def test_a_formula_that_looks_like_a_tag_hides_no_table():
    (table,) = tables("if x_{i}<min then\n<table><tr><td>a</td></tr></table>")
    assert table.rows[0][0].text == "a" and table.first == 2


def test_a_cell_reaches_over_its_columns():
    rows = "<tr><td>a</td><td>b</td><td>c</td></tr><tr><td>d</td><td colspan=2>e</td></tr>"
    (table,) = tables(f"<table>{rows}</table>")
    assert [cell.text for cell in table.rows[1]] == ["d", "e", "e"]


def test_rows_are_sentences_with_the_products_of_their_columns(tmp_path):
    heads = "<tr><th>约束</th><th>Atlas 训练系列产品</th><th>{}</th></tr>"
    table = f"<table>{heads}\n<tr><th>峰</th><td>a<br>b</td><td>c</td></tr></table>"
    path = tmp_path / "page.md"
    old, new = ("ascend910",), ("ascend950",)
    for second, expected in (
        ("Ascend 950PR/Ascend 950DT", [("峰", ()), ("a", old), ("b", old), ("c", new)]),
        ("说明", [("约束 | Atlas 训练系列产品 | 说明", ()), ("峰 | a b | c", ())]),
    ):
        path.write_text(MARKDOWN.replace("- 无。", table.format(second)), encoding="utf-8")
        said = read_page(path).constraints
        assert [(sentence.text, sentence.products) for sentence in said] == expected


def test_a_table_within_a_cell_is_part_of_it():
    inner = "<table><tr><td>b</td></tr></table>"
    (table,) = tables(f"<table><tr><td>a{inner}</td><td>c</td></tr></table>")
    assert [cell.text for cell in table.rows[0]] == ["ab", "c"]


def test_a_fence_that_was_never_closed_ends_with_the_page():
    _, (section,) = sections('## a\n<!-- npu="910" id1 -->\n- b\n\n```c\nd\n```')
    assert section.parts == [Sentence("b", 3, ("910",)), Code("d\n", 6)]


def test_the_command_prints_each_sentence_with_its_line(page):
    printed = CliRunner().invoke(main, ["page", str(page)]).stdout
    assert f"{line_of(MARKDOWN, '<li>不超过'):6}  usage: [910b] 不超过42个<元素>。" in printed
    plain = json.loads(CliRunner().invoke(main, ["page", str(page), "--json"]).stdout)
    assert plain["prototype"][1] == ["peak", "double", line_of(MARKDOWN, "  double ")]


PAGES = os.environ.get("OPGEN_PAGES")
DOUBTFUL = {"aclnnGRUBackward", "aclnnRoiAlignV2Backward"}
"""Pages that call a parameter otherwise than the prototype does."""


@pytest.mark.skipif(not PAGES, reason="OPGEN_PAGES names no folder of pages")
def test_every_page_describes_its_prototype():
    files = [path for path in Path(PAGES or "").rglob("aclnn*") if path.suffix in (".md", ".txt")]
    for path in files:
        page = read_page(path)
        described = [parameter.name for parameter in page.parameters]
        same = sorted(described) == sorted(declared.name for declared in page.prototype)
        assert same or page.api in DOUBTFUL, path.name
        assert page.products, path.name
