"""``opgen judge``: the public form of an answer, the order of answers, and that both sources are
asked.
"""

from __future__ import annotations

import cProfile
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import opgen
from opgen.calls.jsonl import parse_call, read_calls
from opgen.calls.table import from_calls
from opgen.cli import main
from opgen.cli.judge import command
from opgen.model import FileError
from opgen.oracle import callfiles
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from tests.calls.test_calls import NORM, PAD, POOL, with_

LIKELY = {f"{name}.min" for name in ("stride", "padding", "dilation", "groups")} | {
    *("stride_height_3d", "stride_width_3d", "padding_1d_2d", "padding_height_3d"),
    *("padding_width_3d", "dilation_limit", "groups_limit"),
}
"""The limits of attributes of a convolution on the page for ascend910b, of which clause 561103.1
may speak."""
SAMPLE = Path(__file__).parents[1] / "data" / "library_sample.jsonl.gz"


def run(lines: list[str], *options: str) -> Any:
    return CliRunner().invoke(
        command, [*options, "-"], input="\n".join(lines), catch_exceptions=False
    )


def answers(lines: list[str], *options: str) -> list[dict[str, Any]]:
    result = run(lines, *options)
    assert result.exit_code == 0
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_form_of_an_answer() -> None:
    pool = with_(POOL, "args/padding", [2])
    found = answers([pool])[0]
    assert list(found) == ["id", "page", "library"] and list(found["page"]) == [
        "codes",
        "bucket",
        "breaks",
        "edition",
    ]
    assert found["page"]["codes"] == [161002] and found["page"]["bucket"] == "stated"
    assert {"rule": "pad_height", "clause": "161002.7", "at": 79, "found": "padH=2, kH=2"} in found[
        "page"
    ]["breaks"]
    assert set(found["library"]) == {"release", "codes", "basis", "until"} and found["library"][
        "codes"
    ] == [161002]


def test_a_valid_call_breaks_nothing() -> None:
    found = answers([json.dumps(PAD)])[0]
    assert found["page"] == {
        "codes": [0],
        "bucket": "valid",
        "breaks": [],
        "edition": "undated",
    }
    assert found["library"]["codes"] == [0]
    assert found["id"] == "a"


@pytest.mark.parametrize(
    ("truth", "keys"),
    [("page", ["id", "page"]), ("library", ["id", "library"]), ("both", ["id", "page", "library"])],
)
def test_one_source_or_both(truth: str, keys: list[str]) -> None:
    assert list(answers([json.dumps(PAD)], "--truth", truth)[0]) == keys
    text = run([json.dumps(PAD)], "--truth", truth, "--format", "text").stdout
    assert ("page: " in text) == ("page" in keys) and ("library: " in text) == ("library" in keys)


def test_answers_stand_in_the_order_of_the_calls() -> None:
    mixed = [{**call, "id": f"{i}"} for i, call in enumerate([NORM, PAD, POOL] * 5)]
    assert [one["id"] for one in answers([json.dumps(call) for call in mixed])] == [
        str(i) for i in range(15)
    ]


def test_chunks_do_not_show() -> None:
    named = read_calls(SAMPLE, catalog().kinds)[::7]
    whole = list(callfiles.json_lines(callfiles.judge_calls(named, catalog()), catalog()))
    assert (
        list(callfiles.json_lines(callfiles.judge_calls(named, catalog(), rows=13), catalog()))
        == whole
    )


def test_every_line_is_what_the_oracle_says_of_that_call_alone() -> None:
    named = read_calls(SAMPLE, catalog().kinds)[::40]
    lines = list(callfiles.json_lines(callfiles.judge_calls(named, catalog()), catalog()))
    for one, line in zip(named, lines, strict=True):
        spec = catalog().by_page[one.call.api, one.call.product]
        said = judge(spec, from_calls(spec.api, spec.kinds, [one.call])).expectation(0)
        breaks = [
            {"rule": b.rule, "clause": b.clause, "at": b.at, "found": b.found}
            | ({"likely": 561103} if b.rule in LIKELY and spec.name.endswith("910b") else {})
            for b in said.breaks
        ]
        data = json.loads(line)
        assert data["id"] == one.id and data["page"] == {
            "codes": list(said.codes),
            "bucket": said.bucket,
            "breaks": breaks,
            "edition": spec.edition or "undated",
        }


def test_codes_are_in_order_and_of_their_bucket() -> None:
    for data in map(
        json.loads,
        callfiles.json_lines(
            callfiles.judge_calls(read_calls(SAMPLE, catalog().kinds), catalog()), catalog()
        ),
    ):
        codes, bucket = data["page"]["codes"], data["page"]["bucket"]
        numbers = [code for code in codes if isinstance(code, int)]
        assert numbers == sorted(numbers) and codes == numbers + [
            code for code in codes if isinstance(code, str)
        ]
        assert (codes == [0]) == (bucket == "valid") and (codes == [0, "any_error"]) == (
            bucket in ("disputed", "assumed")
        )
        if bucket == "stated":
            assert numbers and 0 not in numbers
        if bucket == "unstated":
            assert codes == ["any_error"]
        assert 1 <= len(data["library"]["codes"]) <= 2 and data["library"]["basis"] in (
            "read",
            "inferred",
        )


def test_a_product_that_no_page_knows_is_unsupported_and_the_library_unknown() -> None:
    """The pages are older than the product, and the errata speak of their products alone."""
    call = with_(POOL, "product", "ascend950")
    (answer,) = answers([call], "--edition", "undated")
    assert answer["page"]["bucket"] == "unsupported_product"
    assert answer["page"]["breaks"][0]["found"] == "product=ascend950"
    assert answer["library"] is None
    shown = run([call], "--edition", "undated", "--format", "text").stdout
    assert "library: not known" in shown


def test_where_errata_do_not_speak_of_a_product_the_library_does_as_its_page() -> None:
    """Line 8 of the newer page lists ascend950, line 182 a wrong length; the errata are older."""
    new = {**PAD, "product": "ascend950"}
    lines = with_(new, "id", "valid"), with_(new, "args/padding", [2, 2, 1])
    found = answers(list(lines))
    pages = [answer["page"]["codes"] for answer in found]
    assert pages == [[0], [161002]] == [answer["library"]["codes"] for answer in found]
    assert {answer["library"]["basis"] for answer in found} == {"inferred"}


def test_a_product_that_one_page_alone_supports() -> None:
    """By line 17 of its page; line 180 bars BFLOAT16 from other products."""
    row, limit = {"shape": [3], "dtype": "BFLOAT16", "format": "ND"}, {"value": 1, "dtype": "FLOAT"}
    args = {"gradOutput": row, "self": row, "min": limit, "max": limit, "out": row}
    call = {"id": "h", "op": "aclnnHardtanhBackward", "product": "ascend310b", "args": args}
    older = with_(call, "product", "ascend310p")
    calls = [json.dumps(call), older, with_(POOL, "product", "ascend310b")]
    found = [answers([line])[0]["page"] for line in calls]
    assert [page["bucket"] for page in found] == ["valid", "stated", "unsupported_product"]


def test_the_text_says_the_call_the_clause_the_rule_and_the_values() -> None:
    layout = with_(PAD, "args/self/format", "NCHW")
    text = run(
        [with_(POOL, "args/padding", [2]), with_(NORM, "args/group", 2), layout], "--format", "text"
    ).stdout
    assert "p: aclnnAvgPool2dBackward on ascend910\n" in text
    assert (
        "  gradOutput       FLOAT ND [2, 3, 4, 4]\n" in text
        and "  stride           []\n" in text
        and "  gamma         null\n" in text
    )
    assert "    pad_height (clause 161002.7, line 79): padH <= kH / 2; found padH=2, kH=2\n" in text
    assert "    self.format (line 21): self.format in (ND); found self.format=NCHW\n" in text
    assert "    divisible (line 31): C % group == 0; found C=3, group=2\n" in text
    assert (
        "  page: 161002 (stated; page without a date)\n" in text and "  library: 161002 (" in text
    )


def test_the_text_has_scalars_of_a_dtype_and_how_tensors_lie() -> None:
    row = {"shape": [3], "dtype": "FLOAT", "format": "ND"}
    lying = {**row, "strides": [2], "offset": 1, "storage_shape": [8]}
    limit = {"value": 0.5, "dtype": "FLOAT"}
    args = {"gradOutput": row, "self": lying, "min": limit, "max": limit, "out": row}
    call = {"id": "h", "op": "aclnnHardtanhBackward", "product": "ascend910b", "args": args}
    shown = run([json.dumps(call)], "--format", "text").stdout
    assert "  min         FLOAT 0.5\n" in shown
    assert "  self        FLOAT ND [3] strides [2] offset 1 of storage [8]\n" in shown


def test_ids_of_any_letters() -> None:
    odd = 'ü"\\\n\u2028\U0001f600'
    assert answers([json.dumps({**PAD, "id": odd})])[0]["id"] == odd
    assert answers(['{"id": "\\ud800", ' + json.dumps(PAD)[12:]])[0]["id"] == "\ud800"


def test_an_id_that_no_encoding_has_is_shown_by_its_number() -> None:
    line = json.dumps({**PAD, "id": "half \ud800"})
    assert "half \\ud800" in run([line], "--format", "text").stdout
    assert answers([line])[0]["id"] == "half \ud800"


def test_a_bad_line_writes_nothing() -> None:
    with pytest.raises(FileError, match="<stdin>:2: not JSON"):
        run([json.dumps(PAD), "{"])


def test_the_command_line_says_what_is_wrong_and_exits_2() -> None:
    result = CliRunner().invoke(
        main, ["judge", "-"], input=json.dumps(PAD) + "\n{\n" + with_(POOL, "product", "x")
    )
    assert result.exit_code == 2 and result.stdout == ""
    assert [line.split(": ")[0] for line in result.stderr.splitlines()] == [
        "<stdin>:2",
        "<stdin>:3",
    ]
    missing = CliRunner().invoke(main, ["judge", "no/such.jsonl"])
    assert (
        missing.exit_code == 2
        and missing.stderr == "no/such.jsonl: cannot be read: No such file or directory\n"
    )


@pytest.mark.parametrize(
    ("product", "hint"),
    [("Ascend910B3", "ascend910b"), ("Ascend950PR_9579", "ascend950"), ("", ""), ("tpu", "")],
)
def test_a_product_that_no_page_knows_is_an_error_of_the_file(product: str, hint: str) -> None:
    """The name of a SoC too: a call names its product."""
    line = json.dumps({**PAD, "product": product})
    result = CliRunner().invoke(main, ["judge", "-"], input=line)
    suggestion = f" (did you mean '{hint}'?)" if hint else ""
    known = "known: ascend310p, ascend910, ascend910b, ascend910_93, ascend950, ascend310b"
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"<stdin>:1: no such product {product!r}{suggestion}; {known}\n"


def test_no_calls_no_answers() -> None:
    assert run([]).stdout == "" and callfiles.judge_calls([], catalog()) == []


def test_a_file_by_name(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(json.dumps(PAD).encode()))
    assert json.loads(CliRunner().invoke(command, [str(tmp_path / "c.jsonl.gz")]).stdout)["page"][
        "codes"
    ] == [0]


def test_many_calls_cost_little_each() -> None:
    """Rules are asked once for all calls: with a loop per rule and call, functions would run
    hundreds of times per call.
    """

    def ran(count: int) -> int:
        many = [
            parse_call(json.dumps({**PAD, "id": str(i)}), catalog().kinds) for i in range(count)
        ]
        profile = cProfile.Profile()
        answers = profile.runcall(callfiles.judge_calls, many, catalog())
        assert len(answers) == count
        return sum(one.callcount for one in profile.getstats())

    ran(1)
    assert ran(2000) - ran(1000) < 20 * 1000


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_standard_input_is_read_as_a_file_is_whatever_the_locale(tmp_path: Path, ends: str) -> None:
    data = ends.join(with_(PAD, "id", name) for name in ("测试", "中文")).encode()
    (tmp_path / "calls.jsonl").write_bytes(data)
    command = [sys.executable, "-m", "opgen", "judge"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(opgen.__file__).parents[1]),
        "PYTHONIOENCODING": "gbk",
    }
    answers = subprocess.run(
        [*command, "-"], input=data, capture_output=True, env=environment, check=True
    ).stdout
    assert [json.loads(line)["id"] for line in answers.decode("gbk").splitlines()] == [
        "测试",
        "中文",
    ]
    assert (
        answers
        == subprocess.run(
            [*command, str(tmp_path / "calls.jsonl")],
            capture_output=True,
            env=environment,
            check=True,
        ).stdout
    )


def test_standard_input_that_is_no_utf_8_is_refused() -> None:
    result = CliRunner().invoke(main, ["judge", "-"], input=b'{"id": "a\xff"}\n')
    assert result.exit_code == 2 and "<stdin>: not UTF-8: byte" in result.stderr


def test_a_bundle_is_no_file_of_calls(tmp_path: Path) -> None:
    opgen.generate(["silu_backward"], products=["ascend310p"], output=tmp_path / "s.h5", workers=1)
    result = CliRunner().invoke(main, ["judge", str(tmp_path / "s.h5")])
    assert result.exit_code == 2 and result.stderr == (
        f"{tmp_path / 's.h5'}: is an HDF5 file, such as a bundle or results, and no text; see opgen"
        " inspect\n"
    )


@pytest.mark.parametrize("text", ["", "\n \n"])
@pytest.mark.parametrize("options", [[], ["--skip-bad-lines"], ["--fail-on", "invalid"]])
def test_no_call_is_no_answer_and_no_error(text: str, options: list[str]) -> None:
    """One line per call, so none; a file whose every line is bad is refused all the same."""
    result = CliRunner().invoke(main, ["judge", *options], input=text)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "standard input: no calls\n"
    bad = CliRunner().invoke(main, ["judge", *options], input=f"{text}no call\n")
    assert (bad.exit_code, bad.stdout) == (2, "") and "standard input: no calls" not in bad.stderr
