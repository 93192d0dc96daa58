"""Cases chosen by a condition, and what more a comparison may demand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import opgen
from opgen.bundle.read.reader import Bundle
from opgen.cli import main
from opgen.comparison.cases_by_condition import where
from opgen.devices.running import run
from opgen.model import FileError
from opgen.suite.selection import Request

OPERATORS = ["avg_pool2d_backward", "reflection_pad2d_backward"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("where") / "suite.h5"
    opgen.generate(OPERATORS, products=["ascend910b"], output=path, workers=1)
    return path


@pytest.fixture(scope="module")
def bundle(path: Path):
    with opgen.open(path) as opened:
        yield opened


FIRST = {
    "product": lambda case: case.call["product"],
    "dtype": lambda case: case.call["args"]["gradOutput"]["dtype"],
    "kind": lambda case: case.kind,
    "recipe": lambda case: case.recipe,
    "bucket": lambda case: case.expect.bucket,
    "rule": lambda case: "",
}
"""What may be asked of every operator, as the first case has it."""


def by_hand(bundle: Bundle, chosen) -> list[str]:
    return [case.id for case in bundle if chosen(case, case.call["args"])]


CONDITIONS = {
    'dtype == "FLOAT16"': lambda case, args: (
        (args.get("gradOutput") or args["self"])["dtype"] == "FLOAT16"
    ),
    "padding[0] > 0 and ceilMode": lambda case, args: (
        args.get("ceilMode") and args["padding"] and args["padding"][0] > 0
    ),
    'kind == "invalid"': lambda case, args: case.kind == "invalid",
    'recipe == "grid" and self.rank == 3': lambda case, args: (
        case.recipe == "grid" and args["self"] and len(args["self"]["shape"]) == 3
    ),
    'bucket in ("stated", "assumed")': lambda case, args: (
        case.expect.bucket in ("stated", "assumed")
    ),
    'rule == "self.dtype"': lambda case, args: (
        [one.rule for one in case.expect.breaks][:1] == ["self.dtype"]
    ),
    "gradOutput.null": lambda case, args: args["gradOutput"] is None,
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_chooses_what_it_says(bundle: Bundle, text: str) -> None:
    wanted = by_hand(bundle, CONDITIONS[text])
    assert where(bundle, text) == wanted
    assert 0 < len(wanted) < len(bundle)


def test_an_operator_that_lacks_a_name_is_not_chosen(bundle: Bundle) -> None:
    chosen = where(bundle, "divisorOverride == 0 or divisorOverride != 0")
    assert {bundle[name].op for name in chosen} == {"aclnnAvgPool2dBackward"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("padH2 > 0", "no such name 'padH2'"),
        ("dtype == 'FLOAT17'", "no such dtype 'FLOAT17' (did you mean 'FLOAT16'?)"),
        ("dtype = 'FLOAT'", "is not an expression"),
        ("padding", "a condition must be true or false"),
        ("product", "a condition must be true or false"),
    ],
)
def test_what_is_no_condition_is_told(bundle: Bundle, text: str, message: str) -> None:
    with pytest.raises(FileError, match="--where") as refused:
        where(bundle, text)
    assert message in str(refused.value)


def called(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    assert done.exit_code == code, done.output
    return done.output


def test_commands_take_conditions_and_cases_together(
    bundle: Bundle, path: Path, tmp_path: Path
) -> None:
    condition, pattern = "kind == 'invalid'", "avg_pool2d*"
    asked = ["--where", condition, "--case", pattern]
    called("run", path, "--backend", "mutant:nothing", *asked, "-o", tmp_path / "r.h5")
    wanted = [name for name in where(bundle, condition) if name.startswith("avg_pool2d")]
    with opgen.Results.open(tmp_path / "r.h5") as answered:
        assert sorted(answer.id for answer in answered) == sorted(wanted)
    called("unpack", path, *asked, "-o", tmp_path / "tree.h5")
    called("export", "npz", path, *asked, "-o", tmp_path / "npz")
    assert f"{len(wanted)} cases" in called("diff", path, tmp_path / "r.h5", *asked)
    none = ["--where", "kind == 'no kind'"]
    assert "no case has kind == 'no kind'" in called("diff", path, tmp_path / "r.h5", *none, code=2)


def test_only_what_failed_is_run_again(bundle: Bundle, path: Path, tmp_path: Path) -> None:
    run(bundle, "mutant:scaled_1_001", tmp_path / "first.h5")
    report = opgen.diff(bundle, tmp_path / "first.h5")
    failed = {found.case for found in report if found.verdict == "failed"}
    again = ["--backend", "mutant:nothing", "-o", tmp_path / "again.h5"]
    called("run", path, "--failed", tmp_path / "first.h5", *again)
    with opgen.Results.open(tmp_path / "again.h5") as answered:
        assert {answer.id for answer in answered} == failed and 0 < len(failed) < len(bundle)
    run(bundle, "mutant:nothing", tmp_path / "right.h5")
    said = called("run", path, "--failed", tmp_path / "right.h5", *again, "--force", code=2)
    assert "no case failed, crashed or is missing in it" in said


def test_the_help_lists_the_names(bundle: Bundle) -> None:
    names = re.search(
        r"Names: .*?, (product, .*) and, ", " ".join(called("diff", "--help").split())
    )
    assert names
    for name in names[1].split(", "):
        assert where(bundle, f"{name} == '{FIRST[name](bundle[0])}'"), name
    assert set(names[1].split(", ")) == FIRST.keys()


def test_a_verdict_chooses_where_results_are_given(
    bundle: Bundle, path: Path, tmp_path: Path
) -> None:
    run(bundle, "mutant:scaled_1_001", tmp_path / "first.h5")
    report = opgen.diff(bundle, tmp_path / "first.h5")
    failed = [found.case for found in report if found.verdict == "failed"]
    half = [name for name in failed if bundle[name].recipe == "grid"]
    condition = "verdict == 'failed' and recipe == 'grid'"
    assert 0 < len(half) < len(failed) < len(bundle)
    text = called("diff", path, tmp_path / "first.h5", "--where", condition, code=1)
    assert f"FAILED  {len(half)} cases: {len(half)} failed" in text
    again = ["--failed", tmp_path / "first.h5", "--where", condition, "-o", tmp_path / "again.h5"]
    called("run", path, "--backend", "mutant:nothing", *again)
    with opgen.Results.open(tmp_path / "again.h5") as answered:
        assert sorted(answer.id for answer in answered) == sorted(half)
    wrong = ["--where", "verdict == 'failed'"]
    assert "no such name 'verdict'" in called("inspect", path, *wrong, code=2)


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_suite_is_chosen_as_its_bundle_is(bundle: Bundle, text: str) -> None:
    asked = Request(OPERATORS, ["ascend910b"], where=text).suite()
    assert list(asked.cases.id) == where(bundle, text)


def test_generate_writes_the_cases_of_a_condition(bundle: Bundle, tmp_path: Path) -> None:
    condition, part = "dtype == 'FLOAT16' and kind == 'valid'", tmp_path / "part.h5"
    asked = [*OPERATORS, "--product", "ascend910b", "--where", condition]
    called("generate", *asked, "-q", "-o", part)
    with opgen.open(part) as written:
        assert list(written.ids) == where(bundle, condition)
        name = next(name for name in written.ids if written[name].golden)
        for output, golden in written[name].golden.items():
            assert golden.tobytes() == bundle[name].golden[output].tobytes()
        assert written.header["chosen"] == ["ascend910b", f"where {condition}"]
    assert "no case has kind == 'no'" in called(
        "cases", *OPERATORS, "--where", "kind == 'no'", code=2
    )


def test_a_comparison_may_demand_more(bundle: Bundle, path: Path, tmp_path: Path) -> None:
    run(bundle, "mutant:nothing", tmp_path / "right.h5")
    passed = opgen.diff(bundle, tmp_path / "right.h5").totals["passed"]
    right = ["diff", path, tmp_path / "right.h5"]
    called(*right, "--min-passed", passed, "--fail-on-skip")
    text = called(*right, "--min-passed", passed + 1, code=1)
    assert f"{passed} of {len(bundle)} cases passed, and {passed + 1} must" in text
    run(bundle, "torch", tmp_path / "torch.h5")
    called("diff", path, tmp_path / "torch.h5")
    text = called("diff", path, tmp_path / "torch.h5", "--fail-on-skip", code=1)
    assert "cases were skipped" in text
