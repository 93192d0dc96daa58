"""What ``import opgen`` offers does what the commands do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import opgen
from opgen.devices import Backend, backend

PAD = "reflection_pad1d_backward"
FAULT = "mutant:edge_repeated"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "suite.h5"
    opgen.generate([PAD], products=["ascend910b"], output=path, workers=1)
    return path


def test_everything_public_is_listed_and_there() -> None:
    assert dir(opgen) == sorted(opgen.__all__)
    assert all(getattr(opgen, name).__doc__ for name in opgen.__all__ if name != "__version__")


def test_generate_says_what_it_wrote(suite: Path, tmp_path: Path) -> None:
    done: list[int] = []
    made = opgen.generate(
        ["aclnnReflectionPad1dBackward"],
        products=["ascend910b"],
        output=tmp_path / "again.h5",
        workers=1,
        progress=done.append,
    )
    with opgen.open(suite) as bundle:
        assert (made.cases, made.digest) == (len(bundle), bundle.digest)
        assert made.with_data == sum(case.phase == 2 for case in bundle) > 0
        assert sum(done) == made.cases > made.with_data
    assert made.path.read_bytes() == suite.read_bytes() and made.without_data == {}


def test_generate_refuses_what_does_not_exist_and_what_is_there(suite: Path) -> None:
    with pytest.raises(opgen.FileError, match="no such operator"):
        opgen.generate(["pad"])
    with pytest.raises(opgen.BundleError, match="exists"):
        opgen.generate([PAD], output=suite)


@pytest.mark.parametrize("by", [FAULT, backend(FAULT)], ids=["name", "object"])
def test_run_takes_a_backend_or_its_name_and_cases_by_pattern(
    suite: Path, tmp_path: Path, by: str | Backend
) -> None:
    results = tmp_path / "results.h5"
    tally = opgen.run(suite, by, results, cases=["*-complex64*"])
    with opgen.open(suite) as bundle:
        wanted = {case.id: case.phase for case in bundle if "-complex64" in case.id}
    with opgen.Results.open(results) as answers:
        assert sorted(answers.ids) == sorted(wanted)
    assert tally["ran"] == sum(phase == 2 for phase in wanted.values()) > 0
    with pytest.raises(opgen.FileError, match="matches no case"):
        opgen.run(suite, by, tmp_path / "none.h5", cases=["nothing*"])


def test_minimize_takes_the_first_case_that_fails(suite: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.h5"
    opgen.run(suite, FAULT, results)
    failed = [one.case for one in opgen.diff(suite, results) if one.verdict == "failed"]
    minimal = opgen.minimize(suite, results, "*", FAULT, most=60)
    assert failed and minimal.failure.elements <= minimal.before and minimal.ran > 0
    good = tmp_path / "good.h5"
    opgen.run(suite, "mutant:nothing", good)
    with pytest.raises(opgen.FileError, match="only a case that fails can be minimized"):
        opgen.minimize(suite, good, "*", "mutant:nothing")


def test_explore_returns_what_fails_and_takes_a_backend_or_its_name(tmp_path: Path) -> None:
    """Its causes are calls of a file, and a plan may be that file."""
    explored = opgen.explore([PAD], FAULT, draws=300, causes=1)
    (cause,) = explored.causes
    assert explored.failed and explored.calls <= 300 and cause.failure.elements < 30
    right = opgen.explore([PAD], backend("mutant:nothing"), draws=100)
    assert not right.failed and not right.causes and right.calls == 100
    path = tmp_path / "found.jsonl"
    path.write_text(json.dumps(cause.line) + "\n", encoding="utf-8")
    made = [
        opgen.generate(output=tmp_path / f"{name}.h5", workers=1, **{name: str(path)})  # type: ignore[arg-type]
        for name in ("plan", "calls")
    ]
    assert [one.path.read_bytes() for one in made] == [made[0].path.read_bytes()] * 2
    with opgen.open(made[0].path) as bundle:
        assert list(bundle.ids) == [cause.failure.id]
    with pytest.raises(opgen.FileError, match="gone.jsonl: cannot be read"):
        opgen.generate(plan=str(tmp_path / "gone.jsonl"), output=tmp_path / "none.h5")


def test_judge_takes_a_file_or_dicts_and_names_every_bad_one(tmp_path: Path) -> None:
    tensor = {"shape": [2, 4], "dtype": "FLOAT", "format": "ND"}
    args = {
        "gradOutput": {**tensor, "shape": [2, 7]},
        "self": tensor,
        "padding": [1, 2],
        "gradInput": tensor,
    }
    call = {"id": "a", "op": "aclnnReflectionPad1dBackward", "product": "ascend910", "args": args}
    (answer,) = opgen.judge([call])
    assert (answer.call.id, answer.page.bucket) == ("a", "valid")
    with pytest.raises(opgen.FileError) as refused:
        opgen.judge([call, {**call, "op": "aclnnNothing"}, {**call, "args": {}}])
    assert [problem.line for problem in refused.value.problems] == [2, 3]
