"""A failing call is made small without leaving what it shows: faults written in Python, and the
loopback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.calls.call_json import make_call
from opgen.calls.jsonl import NamedCall
from opgen.calls.table import from_calls
from opgen.cli.minimize import command
from opgen.devices import Backend
from opgen.generation.engine import write
from opgen.minimization.assignment import calls_of, candidate_of, complexity
from opgen.minimization.failing_case import first_failing
from opgen.minimization.failure import Failure, elements_of
from opgen.minimization.program_text import summary
from opgen.minimization.reduction import MOST_RUN, minimize
from opgen.minimization.simplifications import simpler
from opgen.model import FileError, TensorDesc
from opgen.numerics.rounding import stored
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from opgen.suite.given_calls import call_suite
from opgen.suite.planning.plan import plan_for
from tests.support import device_sample
from tests.support.backends import Scripted

Fault = Callable[[CaseView, dict[str, np.ndarray]], "int | str | None"]
T = {"dtype": "FLOAT", "format": "NCHW"}

CONV = {
    "op": "aclnnConvolutionBackward",
    "product": "ascend910b",
    "args": {
        "gradOutput": {
            "shape": [2, 12, 15, 16],
            **T,
            "strides": [2880, 240, 16, 1],
            "offset": 0,
            "storage_shape": [2, 12, 15, 16],
        },
        "input": {"shape": [2, 8, 32, 35], **T},
        "weight": {"shape": [12, 2, 3, 4], **T},
        "biasSizes": [12],
        "stride": [2, 2],
        "padding": [1, 0, 0, 0],
        "dilation": [2, 1],
        "transposed": False,
        "outputPadding": [0, 0],
        "groups": 4,
        "outputMask": [True, True, True],
        "cubeMathType": 0,
        "gradInput": {"shape": [2, 8, 32, 35], **T},
        "gradWeight": {"shape": [12, 2, 3, 4], **T},
        "gradBias": {"shape": [12], "dtype": "FLOAT", "format": "ND"},
    },
}
NORM = {
    "op": "aclnnGroupNormBackward",
    "product": "ascend910b",
    "args": {
        "gradOut": {"shape": [3, 12, 5, 7], "dtype": "FLOAT16"},
        "input": {"shape": [3, 12, 5, 7], "dtype": "FLOAT16"},
        "mean": {"shape": [3, 4], "dtype": "FLOAT16"},
        "rstd": {"shape": [3, 4], "dtype": "FLOAT16"},
        "gamma": {"shape": [12], "dtype": "FLOAT16"},
        "N": 3,
        "C": 12,
        "HxW": 35,
        "group": 4,
        "outputMask": [True, True, False],
        "gradInput": {"shape": [3, 12, 5, 7], "dtype": "FLOAT16"},
        "gradGammaOut": {"shape": [12], "dtype": "FLOAT16"},
        "gradBetaOut": None,
    },
}


def backend(fault: Fault) -> Backend:
    """A device that computes what it should and then makes its fault: it changes outputs, or
    returns a status of its own.
    """

    def answer(case: CaseView) -> Result:
        outputs = {
            out: stored(np.asarray(golden), case.call["args"][out]["dtype"]).copy()
            for out, golden in case.golden.items()
        }
        code = next((code for code in case.expect.codes if isinstance(code, int)), 161002)
        faulty = fault(case, outputs)
        status = code if faulty is None else faulty
        if status != 0:
            return Result(case.id, status)
        return Result(case.id, 0, 0 if case.phase == 2 else None, outputs=outputs)

    return Scripted(lambda bundle, cases: (answer(bundle[case]) for case in cases))


def named(call: Mapping[str, Any], ident: str = "big") -> NamedCall:
    return NamedCall(
        ident, make_call(call["op"], call["product"], call["args"], catalog().kinds), {}
    )


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Callable[..., CaseView]]:
    opened: list[Bundle] = []

    def make(call: Mapping[str, Any], given: Mapping[str, np.ndarray] | None = None) -> CaseView:
        pages, plans = (
            (lambda call: catalog().by_page[call.api, call.product]),
            (lambda spec: plan_for(spec.op)),
        )
        suite = call_suite([named(call)], pages, plans, given={"big": given or {}})
        path = tmp_path / f"{len(opened)}.h5"
        write(suite, path, {"seed": 0})
        opened.append(opgen.open(path))
        return opened[-1]["big"]

    yield make
    for bundle in opened:
        bundle.close()


@contextmanager
def largest(operator: str, folder: Path) -> Iterator[CaseView]:
    """The valid smoke case of an operator with the most elements."""
    opgen.generate([operator], products=["ascend910b"], output=folder / "smoke.h5", workers=1)
    with opgen.open(folder / "smoke.h5") as bundle:
        valid = [case for case in bundle if case.golden and case.expect.bucket == "valid"]
        yield max(valid, key=lambda case: elements_of(case.asked))


def legal(failure: Failure) -> bool:
    spec = catalog().by_page[failure.call.api, failure.call.product]
    return bool(judge(spec, from_calls(spec.api, spec.kinds, [failure.call])).valid[0])


def last_column(case: CaseView, outputs: dict[str, np.ndarray]) -> None:
    """Needs groups and a wide kernel, and shows in the last column of one output."""
    args = case.call["args"]
    if (
        args["groups"] > 1
        and args["weight"]["shape"][-1] > 1
        and "gradInput" in outputs
        and args["weight"]["shape"][-1] != 3
    ):
        outputs["gradInput"][..., -1] += 1


def test_the_command_runs_as_many_calls_as_the_function_unless_told_otherwise() -> None:
    """The command imports nothing heavy to tell its defaults."""
    defaults = {option.name: option.default for option in command.params}
    assert defaults["most"] == MOST_RUN


def test_a_fault_in_one_corner_of_a_large_convolution(case: Any) -> None:
    seen: list[Failure] = []
    minimal = minimize(case(CONV), backend(last_column), progress=seen.append)
    args = minimal.failure.call.args
    assert minimal.before > 25000 and minimal.failure.elements < 100 and legal(minimal.failure)
    assert args["groups"] == 2 and args["weight"].shape[-1] == 2  # type: ignore[union-attr]
    assert args["outputMask"] == (True, False, False) and args["dilation"] == args["stride"] == (
        1,
    ) * len(args["stride"])  # type: ignore[arg-type]
    assert all(desc.strides is None for desc in args.values() if isinstance(desc, TensorDesc))
    costs = [complexity(failure.call) for failure in seen]
    assert costs == sorted(costs, reverse=True) and all(map(legal, seen))
    wrong = np.abs(
        minimal.failure.outputs["gradInput"].reshape(minimal.failure.golden["gradInput"].shape)
        - minimal.failure.golden["gradInput"]
    )
    assert (wrong[..., -1] > 0).all() and not wrong[..., :-1].any()


def test_shapes_without_letters_follow_from_their_number_of_elements(case: Any) -> None:
    def fault(case: CaseView, outputs: dict[str, np.ndarray]) -> None:
        if case.call["args"]["C"] // case.call["args"]["group"] > 1 and "gradGammaOut" in outputs:
            outputs["gradGammaOut"][-1] = np.nan

    minimal = minimize(case(NORM), backend(fault))
    args = minimal.failure.call.args
    assert (args["N"], args["C"], args["HxW"], args["group"], args["outputMask"]) == (
        1,
        2,
        1,
        1,
        (False, True, False),
    )
    assert minimal.failure.elements < 20 and legal(minimal.failure)


@pytest.mark.parametrize(
    ("operator", "most"),
    [
        ("softmax_backward", 6),
        ("layer_norm_backward", 16),
        ("rms_norm_grad", 4),
        ("gelu_backward", 6),
        ("prelu_backward", 7),
        ("sigmoid_backward", 6),
        ("ge_glu_backward", 6),
        ("kl_div_backward", 8),
        ("nll_loss_backward", 9),
        ("embedding_dense_backward", 4),
        ("grid_sampler2d_backward", 14),
        ("reflection_pad2d_backward", 6),
    ],
)
def test_calls_of_every_family_become_small(operator: str, most: int, tmp_path: Path) -> None:
    """Of outputs of more than one element, all elements are wrong."""

    def fault(case: CaseView, outputs: dict[str, np.ndarray]) -> None:
        for array in outputs.values():
            array[...] += array.size > 1

    with largest(operator, tmp_path) as case:
        minimal = minimize(case, backend(fault))
    assert minimal.before > 200 and minimal.failure.elements <= most and legal(minimal.failure)
    assert minimal.failure.id.startswith(f"{operator}.910b."), "the id says what the call is"


def test_an_axis_that_is_counted_from_the_wrong_end(tmp_path: Path) -> None:
    """Of a softmax over another axis than dim only two axes are left, one of them of one
    element.
    """

    def swapped(case: CaseView, outputs: dict[str, np.ndarray]) -> None:
        given, out = (case.inputs[name].astype(np.float64) for name in ("gradOutput", "output"))
        axis = -case.args["dim"] - 1 if given.ndim else 0
        if given.ndim:
            outputs["out"][...] = out * (given - (out * given).sum(axis, keepdims=True))

    with largest("softmax_backward", tmp_path) as case:
        minimal = minimize(case, backend(swapped)).failure
    assert minimal.elements <= 12 and len(minimal.call.args["out"].shape) == 2  # type: ignore[union-attr]


def test_a_status_keeps_its_rule(case: Any) -> None:
    """A device that refuses an array of a wrong length with a wrong code: the call stays illegal
    for that reason alone.
    """

    def fault(case: CaseView, outputs: dict[str, np.ndarray]) -> int | None:
        return (
            561000
            if [broken.rule for broken in case.expect.breaks] == ["biasSizes.length"]
            else None
        )

    minimal = minimize(
        case({**CONV, "args": {**CONV["args"], "biasSizes": [12, 12]}}), backend(fault)
    )
    page = catalog().by_page[minimal.failure.call.api, "ascend910b"]
    broken = judge(page, from_calls(page.api, page.kinds, [minimal.failure.call])).broken[:, 0]
    assert [rule.id for rule, row in zip(page.rules, broken, strict=True) if row] == [
        "biasSizes.length"
    ]
    assert minimal.failure.status == 561000 and len(minimal.failure.call.args["biasSizes"]) == 2  # type: ignore[arg-type]
    assert minimal.failure.elements < 10


def test_a_fault_that_only_given_data_show_keeps_them(case: Any) -> None:
    """No recipe of the search draws a NaN; what the fault does not need is taken away all the
    same.
    """

    def nan_lost(case: CaseView, outputs: dict[str, np.ndarray]) -> None:
        for array in outputs.values():
            array[np.isnan(array)] = 0

    holes = {"gradOutput": np.ones((2, 12, 15, 16))}
    holes["gradOutput"][1, 2, 3, 4] = np.nan
    minimal = minimize(case(CONV, holes), backend(nan_lost)).failure
    assert minimal.own and np.isnan(minimal.storage["gradOutput"]).sum() == 1 and legal(minimal)
    assert sum(
        minimal.call.args["outputMask"]
    ) == 1 and "The data are those of the case" in " ".join(summary(minimal))
    with pytest.raises(FileError, match="passes when it is run again"):
        minimize(case(CONV), backend(nan_lost))


def test_given_data_that_a_fault_does_not_need_are_given_up(case: Any) -> None:
    minimal = minimize(
        case(CONV, {"weight": np.full((12, 2, 3, 4), 0.3)}), backend(last_column)
    ).failure
    assert not minimal.own and minimal.elements < 100


def test_a_case_that_passes_is_refused(case: Any) -> None:
    with pytest.raises(FileError, match="passes when it is run again"):
        minimize(case(CONV), backend(lambda case, outputs: None))


def test_a_search_ends_where_it_was_told_to(case: Any) -> None:
    minimal = minimize(case(CONV), backend(last_column), most=60)
    assert minimal.ran <= 60 + 20 and minimal.failure.elements <= minimal.before


@pytest.mark.parametrize("call", [CONV, NORM], ids=["convolution", "group norm"])
def test_a_call_taken_apart_is_the_same_call(call: Mapping[str, Any]) -> None:
    given = named(call).call
    candidate = candidate_of(catalog().by_page[given.api, given.product], given)
    args = candidate.call.args
    assert elements_of(candidate.call) == elements_of(given)
    assert args["N" if "N" in given.args else "groups"] > 1  # type: ignore[operator]
    assert calls_of(candidate.spec, [candidate.chosen])[0] == candidate.call
    calls = calls_of(candidate.spec, list(simpler(candidate)))
    assert len(calls) > 20 and sum(complexity(other) < candidate.cost for other in calls) > 10


def test_a_case_with_finite_data_comes_first(tmp_path: Path) -> None:
    bundle, results, device = tmp_path / "b.h5", tmp_path / "r.h5", "mutant:corners_missing"
    data = {"gradOutput": [np.inf] + [1.0] * (2 * 3 * 7 * 8 - 1)}
    device_sample.write(bundle, dict.fromkeys("abc", device_sample.pad()), given={"a": data})
    with opgen.open(bundle) as opened:
        opgen.run(opened, device, results)
        assert len(opgen.diff(opened, results).bad()) == 3
        assert first_failing(opened, results, ["a", "b", "c"]) == "b"
        assert first_failing(opened, results, ["a"]) == "a"


def test_progress_names_the_case_and_what_each_step_makes_simpler(tmp_path: Path) -> None:
    """Of a pattern, the case that fails; of a step, no argument that stays as it was."""
    bundle, results, device = tmp_path / "b.h5", tmp_path / "r.h5", "mutant:corners_missing"
    device_sample.write(bundle, {"pool": device_sample.pool(), "pad": device_sample.pad()})
    steps: list[Failure] = []
    with opgen.open(bundle) as opened:
        opgen.run(opened, device, results)
        calls = [opened["pad"].asked]
    opgen.minimize(bundle, results, "p*", device, progress=steps.append)
    calls += [step.call for step in steps]
    words = [str(bundle), str(results), "p*", "--backend", device, "-o", str(tmp_path / "fault")]
    done = CliRunner().invoke(command, words)
    first, *lines = done.stderr.splitlines()
    assert first == "reducing pad ..." and len(steps) > 2
    for line, step, (before, after) in zip(lines, steps, pairwise(calls), strict=False):
        named, size, _ = line.removeprefix("simpler ").split(": ", 2)
        fixed = {name: after.args[name] for name in named.split(", ")}
        assert {**before.args, **fixed} == after.args, "what it does not name stays"
        assert all(before.args[name] != value for name, value in fixed.items())
        assert size == f"{step.elements} elements"
    assert sum(line.startswith("simpler ") for line in lines) == len(steps)
    minimal = opgen.minimize(bundle, results, "p*", device).failure
    assert minimal.recipe != steps[-1].recipe, "simpler data are no step"
    assert f"simplest: {minimal.elements} elements: {minimal.detail}" in lines
    assert not CliRunner().invoke(command, [*words, "--force", "--quiet"]).stderr
