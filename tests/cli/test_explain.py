"""``opgen explain``: words, rules, codes, and cases of a bundle."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import opgen
from opgen.bundle.read.case import CaseView
from opgen.cli import main
from opgen.comparison.statuses import VERDICTS
from opgen.model.case import KINDS
from opgen.oracle.callfiles import judge_given
from opgen.quality.mutant_results import OUTCOMES
from opgen.report.words import meanings, words
from tests.learning import planted
from tests.learning.test_learner import POOL
from tests.support import device_sample


def explain(*args: str) -> Result:
    return CliRunner().invoke(main, ["explain", *args], prog_name="opgen")


def entries(*args: str) -> list[dict[str, object]]:
    shown = explain(*args, "--json")
    assert shown.exit_code == 0, shown.output
    loaded: list[dict[str, object]] = json.loads(shown.stdout)
    return loaded


def test_without_an_argument_all_words() -> None:
    assert [entry["word"] for entry in entries()] == list(words())
    assert explain().stdout.count("\n") == 2 * len(words()), (
        "a word on a line, its meaning on the next"
    )


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("lenient", "forbids without naming a code"),
        ("known_deviation", "what the published library is known to do"),
        ("integers", "any error in a sum"),
        ("stride_swapped", "the strides of two axes are exchanged"),
        ("elements", "the largest number of elements of a case with data"),
        ("elements", "By default 2**20."),
        ("bound", "opgen/report/STANDARDS.md names the cases"),
        ("double benchmark", "with those of another device"),
        ("mutant:stride_swapped", "the strides of two axes are exchanged"),
        ("mutant:nothing", "without any fault"),
        ("507899", "nothing about the call"),
        ("with others", "The column isolated counts"),
    ],
)
def test_a_word_a_recipe_a_mutant(word: str, part: str) -> None:
    assert part in " ".join(explain(word).stdout.split())


HEADS = ("TextTable", "_table")


def _shown(path: Path) -> Iterator[str]:
    """The headings of tables, and the labels of lines, that a module of opgen names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    shown: list[ast.AST] = []
    for call in calls:
        function = call.func.id if isinstance(call.func, ast.Name) else ""
        if function in HEADS:
            shown += call.args
        elif function == "Paragraph":  # a text, and a label or a Text of one with its style
            labels = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "label")]
            shown += [label.args[0] if isinstance(label, ast.Call) else label for label in labels]
    inside = [node for root in shown for node in ast.walk(root)]
    starred = {
        ast.unparse(node.value).split("[")[0] for node in inside if isinstance(node, ast.Starred)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and starred & {*map(ast.unparse, node.targets)}:
            shown += (
                filter(None, node.value.keys) if isinstance(node.value, ast.Dict) else [node.value]
            )
    for node in (node for root in shown for node in ast.walk(root)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.strip()


def test_every_heading_and_label_is_explained() -> None:
    package = Path(opgen.__file__).parent
    shown = {word for path in package.rglob("*.py") for word in _shown(path)}
    named = {word for word in shown if re.fullmatch(r"[a-z][a-z /]+", word)}
    assert {"rule", "shared", "error / bound", "caught by", "covered", "page"} <= named
    said = {"device", "phase", "known", *VERDICTS, *OUTCOMES, *KINDS}
    assert [word for word in sorted(named | said) if not meanings(word)] == []


@pytest.mark.parametrize("name", ["softmax_backward", "aclnnSoftmaxBackward"])
def test_an_operator_is_explained_by_its_page(name: str) -> None:
    (entry,) = entries(name)
    assert entry["kind"] == "page softmax_backward"
    assert "opgen ops softmax_backward" in str(entry["meaning"])


def test_a_mutant_with_the_operators_to_which_it_applies() -> None:
    (swapped,), (lost,) = entries("stride_swapped"), entries("nan_lost")
    assert {"avg_pool2d_backward", "convolution_backward"} <= {*swapped["operators"]}  # type: ignore[misc]
    assert "silu_backward" in {*lost["operators"]} - {*swapped["operators"]}  # type: ignore[misc]
    assert "silu_backward" in explain("nan_lost").stdout


@pytest.mark.parametrize("prefix", ["", "mutant:"])
def test_a_member_of_a_family_with_its_rule(prefix: str) -> None:
    family, rule = entries(f"{prefix}not_enforced/pad_height", "avg_pool2d_backward")[:2]
    assert (family["word"], rule["word"]) == ("not_enforced/pad_height", "pad_height")
    assert "a rule is not enforced. Here, it is pad_height." in str(family["meaning"])
    assert rule["requires"] == "padH <= kH / 2"
    told = explain(f"{prefix}not_enforced/pad_height", "avg_pool2d_backward").stdout
    assert "line 79; answer to a call that breaks it: 161002.7" in told
    assert explain(f"{prefix}not_enforced/pad_hight").exit_code == 2


def test_a_code_is_a_short_screen_and_the_rules_of_the_operators_that_are_named() -> None:
    short = explain("161002").stdout
    assert short.count("\n") < 40 and "opgen explain 161002 OP" in " ".join(short.split())
    assert "aclnnConvolutionBackward" in short
    pools = entries("161002", "avg_pool2d_backward")
    assert {entry["api"] for entry in pools} == {"aclnnAvgPool2dBackward"}
    assert "padH <= kH / 2" in explain("161002", "avg_pool2d_backward").stdout
    assert len(entries("161002")) > len(pools)


def test_a_rule_with_a_call_that_breaks_it_and_one_that_obeys() -> None:
    by_page = {entry["page"]: entry for entry in entries("pad_height")}
    of_page = by_page["avg_pool2d_backward"]
    of_none = next(entry for entry in entries("grad_format") if entry["answer"] == "assumed")
    assert of_page["lines"] == [79] and of_page["answer"] == "161002.7"
    assert of_page["requires"] == "padH <= kH / 2"
    example = of_page["example"]
    calls = [
        {
            "id": side,
            "op": of_page["api"],
            "product": "ascend910b",
            "args": example[side]["call"],  # type: ignore[index]
        }
        for side in ("breaks", "obeys")
    ]
    breaks, obeys = judge_given(calls)
    assert [broken.rule for broken in breaks.page.breaks] == ["pad_height"]
    assert obeys.page.bucket == "valid"
    assert "example" not in of_none


@pytest.mark.parametrize(
    ("rule", "op", "shown"),
    [
        ("result_alpha", "elu_backward", '"dtype": "FLOAT"}'),
        ("numLayers.min", "lstm_backward", "numLayers obeys 2 breaks 0"),
    ],
)
def test_calls_with_scalars_or_with_lists_of_two_lengths_are_shown(
    rule: str, op: str, shown: str
) -> None:
    assert shown in " ".join(explain(rule, op).stdout.split())


def test_a_code_and_a_clause_with_all_rules_behind_them() -> None:
    (clause,) = [one for one in entries("161002.7") if one["page"] == "avg_pool2d_backward"]
    assert [rule["rule"] for rule in clause["rules"]] == ["pad_height", "pad_width"]  # type: ignore[attr-defined]
    code = next(one for one in entries("161002") if one["page"] == "avg_pool2d_backward")
    assert {rule["clause"] for rule in code["rules"]} > {"161002.7", "161002.8"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("code", ["561103", "561103.1"])
def test_a_code_that_is_likely_and_demanded_of_no_rule(code: str) -> None:
    counts = {}
    for entry in entries(code):
        rules = {rule["rule"]: rule["clause"] for rule in entry["rules"]}  # type: ignore[attr-defined]
        assert set(rules.values()) == {"likely"}
        strides = {"stride_height_3d", "stride.min"} & rules.keys()
        fewer = {"conv_tbc_backward": 0, "deformable_conv2d_backward": 1}
        assert len(strides) == fewer.get(entry["page"], 2)
        counts[entry["page"]] = len(rules)
    older = {"convolution_backward.ascend910b": 11}
    newer = {"convolution_backward.2026-08": 17, "conv_tbc_backward": 7}
    newer |= {"deformable_conv2d_backward": 7}
    assert counts == (older if "." in code else older | newer)


def test_what_is_not_known_is_refused_with_the_nearest_name() -> None:
    shown = explain("pad_heigth")
    assert shown.exit_code == 2 and "did you mean 'pad_height'?" in shown.stderr
    assert explain("--bundle", __file__).exit_code == 2


def test_a_word_of_two_words_needs_no_quotes() -> None:
    assert entries("nearest", "valid") == entries("nearest valid") != []
    assert explain("nearest", "valide").exit_code == 2


def test_an_id_is_refused_with_the_command_that_explains_it() -> None:
    name = "avg_pool2d_backward.910b.k2-s1x3-pad1"
    shown = explain(name)
    assert shown.exit_code == 2
    assert f"of a case, write opgen explain --bundle FILE [--results FILE] {name}" in shown.stderr


def wrong_at(case: CaseView, outputs: device_sample.Arrays) -> device_sample.Arrays:
    """Two elements of one case, of which the latter is further from what it should be."""
    if case.id == "pad-FLOAT":
        outputs["gradInput"][0, 1, 2, 3] += 1
        outputs["gradInput"][1, 2, 3, 4] += 1000
    return outputs


def test_a_case_is_explained_with_what_a_device_answered(tmp_path: Path) -> None:
    suite = device_sample.write(tmp_path / "suite.h5")
    with opgen.open(suite) as bundle:
        path = device_sample.answer(bundle, tmp_path / "bad.h5", wrong_at, stated_null=0)
        golden = bundle["pad-FLOAT"].golden["gradInput"]
        wanted = [float(golden[place]) for place in ((1, 2, 3, 4), (0, 1, 2, 3))]
    asked = ["--bundle", str(suite), "--results", str(path)]
    verdict, status, *elements = explain(*asked, "pad-FLOAT").stdout.splitlines()[-4:]
    assert verdict.startswith("  Verdict: failed: gradInput: 2 of ")
    assert status == "  The device answered 0, and in the second phase 0."
    for line, place, value in zip(elements, ("[1, 2, 3, 4]", "[0, 1, 2, 3]"), wanted, strict=True):
        assert line.startswith(f"    gradInput{place}: ") and f"expected {value:.9g} ± " in line
    said = explain(*asked, "stated-null").stdout
    assert "Verdict: failed: status 0, expected 161001" in said
    assert said.endswith("  The device answered 0.\n")
    assert explain("--results", str(path), "pad-FLOAT").exit_code == 2


def test_a_failed_case_is_shown_by_the_command_that_diff_names(tmp_path: Path) -> None:
    suite = device_sample.write(tmp_path / "suite.h5")
    with opgen.open(suite) as bundle:
        path = device_sample.answer(bundle, tmp_path / "bad.h5", wrong_at)
    shown = CliRunner().invoke(main, ["diff", str(suite), str(path)]).stdout
    (line,) = [line for line in shown.splitlines() if "details: opgen" in line]
    command = shlex.split(line.partition(": ")[2])
    assert command[0] == "opgen" and "± " in explain(*command[2:]).stdout


def test_rules_of_several_operators_are_a_list_after_how_to_see_that_of_one() -> None:
    word, hint, operators, *listed = explain("bottom_below_height").stdout.splitlines()
    assert "opgen explain bottom_below_height OP" in hint
    assert operators.startswith("  operators  aclnn")
    pages = entries("bottom_below_height")
    assert len(listed) == 2 * len(pages) > 6
    assert listed[1] == f"  {pages[0]['requires']}"
    one = explain("bottom_below_height", "reflection_pad2d_backward").stdout
    assert "reflection_pad2d_backward" in one and "breaks it" in one and " OP" not in one


def test_a_case_says_what_its_inputs_are_rounded_to(tmp_path: Path) -> None:
    """Without that, nobody could tell why 196608 should become Inf."""
    path, pattern = tmp_path / "suite.h5", "avg_pool2d_backward.910b.*.bfloat16-as-float16.*"
    words = ["generate", "avg_pool2d_backward", "--plan", "standard", "--case", pattern]
    assert CliRunner().invoke(main, [*words, "-o", str(path), "-q"]).exit_code == 0
    text = explain("--bundle", str(path), pattern).stdout
    assert "data of the recipe overflow, rounded to FLOAT16 before the computation" in text


def test_a_case_of_a_bundle(tmp_path: Path) -> None:
    path = tmp_path / "suite.h5"
    pattern = "avg_pool2d_backward.910b.invalid.pad_height.*"
    made = CliRunner().invoke(
        main, ["generate", "avg_pool2d_backward", "--case", pattern, "-o", str(path), "-q"]
    )
    assert made.exit_code == 0, made.output
    text = explain("--bundle", str(path), pattern).stdout
    assert "It breaks pad_height (clause 161002.7, line 79): padH <= kH / 2" in text
    assert "The page admits the status 161002 (stated)" in text
    assert "and in the nearest valid call" in text
    shown = CliRunner().invoke(main, ["inspect", str(path), pattern])
    assert "padH <= kH / 2" in shown.stdout and "nearest valid" in shown.stdout


def test_an_entry_of_the_errata_is_shown_with_how_it_is_known() -> None:
    (known,) = entries("bfloat16_padding_over_7")[:1]
    assert known["kind"] == "entry" and known["basis"] == "read" and known["where"]
    assert "returns 161002" in str(known["says"])
    shown = explain("bfloat16_padding_over_7").stdout
    assert str(known["says"]) in " ".join(shown.split()) and "reflection_pad2d_backward" in shown


def test_the_calls_for_and_against_an_entry(tmp_path: Path) -> None:
    lines = planted.returned(planted.calls(POOL))
    odd = next(i for i, line in enumerate(lines) if line["status"] == 161001)
    nulls = {line["id"] for line in lines if line["status"] == 161001}
    lines[odd]["status"] = 0
    calls = planted.write(tmp_path / "calls.jsonl", lines)
    shown = explain("null_pointers", "--calls", str(calls))
    told = {line["id"]: line for line in map(json.loads, shown.stdout.splitlines())}
    assert set(told) == nulls and len(nulls) > 3
    assert [name for name, line in told.items() if not line["shows"]] == [lines[odd]["id"]]
    assert told[lines[odd]["id"]]["args"] == lines[odd]["args"]
    assert explain("null_pointer", "--calls", str(calls)).exit_code == 2
