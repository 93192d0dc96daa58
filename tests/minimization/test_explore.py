"""Random calls are what they say, find faults that no plan catches, and become a suite."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen.bundle.results.reader import Result
from opgen.calls.jsonl import parse_call
from opgen.calls.layout import elements
from opgen.cli.explore import command
from opgen.comparison.statuses import KNOWN
from opgen.minimization import exploring
from opgen.minimization.exploring import Explored, explore
from opgen.minimization.reduction import reduced
from opgen.minimization.regressions import Regressions
from opgen.minimization.trials import Trials
from opgen.minimization.value_coverage import ValueCoverage
from opgen.model import FileError, TensorDesc
from opgen.numerics.recipes import DEFAULT
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from opgen.spec.sizes import shipped_sizes
from opgen.suite.planning.plan_check import shipped_plan
from opgen.suite.random_calls import ELEMENTS, MOST, RandomCalls
from opgen.suite.random_extents import LARGEST
from opgen.suite.selection import Request
from tests.support.backends import Scripted
from tests.support.drawn_faults import DrawnFault, FaultyDevice, draw
from tests.support.suites import SLOW

PAD = "reflection_pad2d_backward"
SEEDS, FAULTS = int(os.environ.get("OPGEN_SEEDS", "10")), 10
KINDS = ("reflection_pad2d_backward", "convolution_backward", "softmax_backward", "elu_backward")


def random_calls(op: str, seed: int = 1) -> list[RandomCalls]:
    known = catalog()
    api = known.api(op)
    return [RandomCalls(spec, shipped_plan(api), "full", seed) for spec in known.pages([api])]


def free(calls: RandomCalls, rows: int) -> np.ndarray:
    return np.full((rows, len(calls.extents)), -1)


@pytest.mark.parametrize("op", KINDS)
def test_calls_are_legal_small_and_different(op: str) -> None:
    for calls in random_calls(op):
        drawn = calls.draw(free(calls, 300))
        again = judge(calls.spec, drawn.judged.table)
        assert len(drawn) > 20
        assert again.valid.all()
        held = elements(drawn.judged.table)
        assert (held <= MOST).all() and np.mean(held <= ELEMENTS) > 0.9
        assert len({repr(call) for call in drawn.judged.table.calls()}) == len(drawn)


def test_calls_with_unsigned_numbers_of_64_bits_are_counted() -> None:
    """The index of padding of an embedding may be 2**64 - 1, which no int64 holds."""
    explored = explore(["embedding_dense_backward"], "mutant:nothing", draws=24, seed=1)
    assert explored.calls == 24 and not explored.failed and explored.values > 24


def test_no_list_is_longer_than_those_that_are_read() -> None:
    """An LSTM of many layers has more parameters than a spec knows."""
    (calls,) = random_calls("lstm_backward")
    table = calls.draw(free(calls, 200)).judged.table
    assert 2 < table.columns["params"].values.max() <= 17


@pytest.mark.parametrize("op", KINDS)
def test_invalid_calls_break_one_rule_that_the_page_forbids(op: str) -> None:
    for calls in random_calls(op):
        drawn = calls.draw(free(calls, 300), invalid=True)
        broken = judge(calls.spec, drawn.judged.table).broken
        rules = [calls.spec.rules[i] for i in np.flatnonzero(broken.any(axis=1)).tolist()]
        assert (broken.sum(axis=0) == 1).all()
        assert len(rules) > 3
        assert all(rule.forbids for rule in rules)


def test_calls_reach_sizes_limits_and_more_than_a_plan_has() -> None:
    (calls, *_) = random_calls(PAD)
    drawn = calls.draw(free(calls, 3000)).judged
    planned = Request(operators=[PAD], plan="standard").suite().cases
    heights = set(np.ravel(drawn.view.get(("H", "")).data).tolist())
    known = {case.call.args["self"].shape[-2] for case in planned if case.kind == "valid"}
    left, width = (np.ravel(drawn.view.get((name, "")).data) for name in ("padLeft", "W"))
    assert len(heights - known) > 60
    assert len(heights & set(calls.sizes.tolist())) > 20
    assert (left == width - 1).sum() > 5  # the most that the page allows


def test_sizes_are_those_of_the_table() -> None:
    """Of all operators and of the boundaries of one; few others come from the limits of rules."""
    table = shipped_sizes()
    (calls, *_) = random_calls(PAD)
    own = {n for limit in table.boundaries(calls.spec) for p, _ in limit.points for n in p.values()}
    assert {574, 1499, 11578} <= own - set(table.drawn)
    view = calls.draw(free(calls, 3000)).judged.view
    drawn = {int(n) for name in ("H", "W") for n in np.ravel(view.get((name, "")).data)}
    large = {extent for extent in drawn if extent > 256}
    assert len(large - own - set(table.drawn)) < len(large) / 5
    assert len(large & own - set(table.drawn)) > 3


def test_aims_are_met_where_rules_allow() -> None:
    (calls, *_) = random_calls(PAD)
    aims = free(calls, 400)
    aims[:, [place for place, (name, _) in enumerate(calls.extents) if name == "H"]] = 37
    drawn = calls.draw(aims).judged
    assert np.mean(np.ravel(drawn.view.get(("H", "")).data) == 37) > 0.5


def test_many_calls_that_are_aimed_at_two_sizes_are_legal() -> None:
    """Half of them change nothing else of a call of the plan."""
    (calls, *_) = random_calls(PAD)
    aims = free(calls, 400)
    for name, size in (("N", 16), ("C", 17)):
        aims[:, [place for place, (letter, _) in enumerate(calls.extents) if letter == name]] = size
    view = calls.draw(aims).judged.view
    batch, channels = (np.ravel(view.get((name, "")).data) for name in ("N", "C"))
    assert ((batch == 16) & (channels == 17)).sum() > 100


def test_a_fault_at_two_sizes_is_found_soon_on_either_page() -> None:
    """What calls of one page had is not tried on the other before all else."""
    fault = DrawnFault(PAD, "N == 33 and C == 65", {"N": 33, "C": 65})
    explored = explore([PAD], FaultyDevice(fault), draws=8000, causes=1, seed=4)
    assert [fault.is_caused(cause.failure.call) for cause in explored.causes] == [True]


class CoarseDevice(FaultyDevice):
    """A device whose FLOAT16 is wrong in one output alone, by three units in the last place."""

    def wrong_value(self, output: str, last: np.generic) -> np.generic:
        if last.dtype != np.float16:
            return super().wrong_value(output, last)
        return last + 3 * np.spacing(last) if output == "gradInput" else last


def test_a_call_that_a_known_deviation_excuses_proves_nothing() -> None:
    """The first call with both sizes is excused, and they are tried again."""
    norm = "group_norm_backward"
    fault = DrawnFault(norm, "C == 16 and N == 15", {"C": 16, "N": 15})
    explored = explore([norm], CoarseDevice(fault), draws=2000, causes=1, seed=3)
    assert explored.verdicts[KNOWN] == 1
    assert [fault.is_caused(cause.failure.call) for cause in explored.causes] == [True]


def test_coverage_aims_at_pairs_that_no_call_had_until_none_is_left() -> None:
    (calls, *_) = random_calls("reflection_pad1d_backward")
    coverage = ValueCoverage(calls.names, calls.extents[:2], calls.sizes)
    before = coverage.aims(50, calls.random)
    pairs = {tuple(row) for row in before[::2].tolist()}
    assert len(pairs) == 25
    assert all(
        np.prod(pair) <= LARGEST and set(pair) <= set(calls.sizes.tolist()) for pair in pairs
    )
    assert (before[1::2] == -1).all()
    coverage.seen[:] = True
    assert (coverage.aims(50, calls.random) == -1).all()


def test_coverage_counts_each_pair_once() -> None:
    (calls, *_) = random_calls("reflection_pad1d_backward")
    coverage = ValueCoverage(calls.names, calls.extents, calls.sizes)
    drawn = calls.draw(free(calls, 200)).judged
    assert coverage.new(drawn).sum() > 0
    coverage.add(drawn)
    pairs, values = coverage.pairs, len(coverage.values)
    assert coverage.new(drawn).sum() == 0
    coverage.add(drawn)
    assert (coverage.pairs, len(coverage.values)) == (pairs, values)


def seen(seed: int, device: opgen.Backend) -> tuple[list[str], Explored]:
    ids: list[str] = []
    ask = device.open

    def open_(bundle: opgen.open, cases: Sequence[str]) -> object:
        ids.extend(cases)
        return ask(bundle, cases)

    device.open = open_  # type: ignore[method-assign,assignment]
    return ids, explore([PAD], device, draws=600 if SLOW else 240, seed=seed)


def test_a_seed_and_a_number_of_draws_replay_everything() -> None:
    fault = DrawnFault(PAD, "H == 33", {"H": 33})
    runs = [seen(seed, FaultyDevice(fault)) for seed in (3, 3, 4)]
    assert runs[0][0] == runs[1][0] != runs[2][0]
    first, second = ([cause.line for cause in explored.causes] for _, explored in runs[:2])
    assert first == second
    assert first


def test_a_right_device_fails_nowhere_and_coverage_grows() -> None:
    steps: list[tuple[int, int]] = []
    explored = explore(
        [PAD, "softmax_backward"],
        "mutant:nothing",
        draws=1100,
        progress=lambda now: steps.append((now.values, now.pairs)),
    )
    assert explored.calls == 1100
    assert not explored.failed
    assert explored.verdicts["passed"] > 900
    assert steps == sorted(set(steps))


def test_calls_are_those_of_the_product_that_a_device_is() -> None:
    fault = DrawnFault(PAD, "padRight >= 5", {})
    explored = explore([PAD], FaultyDevice(fault, product="ascend910_93"), draws=600)
    assert explored.calls == 600
    assert not explored.verdicts["skipped"]
    (cause,) = explored.causes  # and no views, which the fault does not need
    assert cause.failure.call.product == "ascend910_93"
    assert all(
        value.plain for value in cause.failure.call.args.values() if isinstance(value, TensorDesc)
    )
    with pytest.raises(FileError, match="no page of reflection_pad2d_backward is for ascend310b"):
        explore([PAD], FaultyDevice(fault, product="ascend310b"), draws=600)


def test_two_drawn_faults_are_found_and_reduced() -> None:
    random = Random(5)
    for _ in range(2 if SLOW else 1):
        fault = draw(random, (PAD,), ("smoke", "standard"))
        explored = explore([PAD], FaultyDevice(fault), draws=20_000, causes=1)
        assert [fault.is_caused(cause.failure.call) for cause in explored.causes] == [True], fault


@pytest.mark.skipif(not SLOW, reason="OPGEN_SLOW=1 draws ten faults for each of ten seeds")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_ten_drawn_faults_are_found_in_two_minutes_and_reduced(seed: int) -> None:
    random = Random(seed)
    for fault in [draw(random) for _ in range(FAULTS)]:
        explored = explore([fault.op], FaultyDevice(fault), minutes=2, causes=1, seed=seed)
        assert [fault.is_caused(cause.failure.call) for cause in explored.causes] == [True], fault


def test_extents_that_flat_tensors_follow_from_are_made_smaller(tmp_path: Path) -> None:
    """A smaller C, or group, changes the lengths of tensors whose shape has no letters."""
    plain = {"dtype": "FLOAT", "format": "ND"}
    call = {
        "id": "flat",
        "op": "aclnnGroupNormBackward",
        "product": "ascend910b",
        "args": {
            "gradOut": {**plain, "shape": [3, 6, 31]},
            "input": {**plain, "shape": [558]},
            "mean": {**plain, "shape": [9]},
            "rstd": {**plain, "shape": [9]},
            "gamma": {**plain, "shape": [6]},
            **{"N": 3, "C": 6, "HxW": 31, "group": 3, "outputMask": [False, False, True]},
            "gradInput": None,
            "gradGammaOut": {**plain, "shape": [6]},
            "gradBetaOut": {**plain, "shape": [6]},
        },
    }
    fault = DrawnFault("group_norm_backward", "HxW == 31 and N == 3", {"HxW": 31, "N": 3})
    trials = Trials(FaultyDevice(fault), 0, tmp_path)
    (failure,) = trials.failures([parse_call(json.dumps(call), catalog().kinds)], DEFAULT)
    minimal = reduced(trials, failure).failure.call
    assert [minimal.args[name] for name in ("N", "C", "HxW", "group")] == [3, 1, 31, 1]


def test_two_faults_are_two_causes() -> None:
    fault = DrawnFault(PAD, "H == 33 or W == 47", {})
    explored = explore([PAD], FaultyDevice(fault), draws=6000 if SLOW else 2048)
    shapes = [cause.failure.call.args["self"].shape[-2:] for cause in explored.causes]
    assert any(33 in shape for shape in shapes)
    assert any(47 in shape for shape in shapes)
    assert len(shapes) < 6


def test_what_fails_becomes_a_suite_in_which_it_fails_again(tmp_path: Path) -> None:
    file, fault = tmp_path / "found.jsonl", "mutant:channel_block_lost"
    asked = ["avg_pool2d_backward", "--backend", fault, "--draws", "200", "-o", str(file)]
    outcome = CliRunner().invoke(command, asked)
    assert outcome.exit_code == 1, outcome.output
    assert not outcome.stdout
    lines = file.read_text().splitlines()
    suite, results = tmp_path / "s.h5", tmp_path / "r.h5"
    opgen.generate(calls=str(file), output=suite)
    opgen.run(suite, fault, results)
    assert {verdict.verdict for verdict in opgen.diff(suite, results)} == {"failed"}
    again = CliRunner().invoke(command, asked)
    assert again.exit_code == 1
    assert "has this call already" in again.output
    assert file.read_text().splitlines() == lines


def test_a_broken_rule_that_a_device_does_not_check_is_reduced_to_it() -> None:
    asked = ["avg_pool2d_backward", "--backend", "mutant:not_enforced/pad_height", "--invalid"]
    outcome = CliRunner().invoke(command, [*asked, "--draws", "600", "-q"])
    assert outcome.exit_code == 1
    calls = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert calls
    assert all(".invalid.pad_height." in call["id"] for call in calls)


def test_the_command_draws_for_as_long_as_the_function_unless_told_otherwise() -> None:
    (minutes,) = [option for option in command.params if option.name == "minutes"]
    assert f"by default {exploring.MINUTES:g}," in str(minutes.help)  # type: ignore[attr-defined]


def test_a_device_that_runs_nothing_is_no_success() -> None:
    def skip(bundle: object, cases: Sequence[str]) -> Iterator[Result]:
        return (Result(case, "skipped", error="no such operator") for case in cases)

    with pytest.raises(FileError, match="ran no call: no such operator"):
        explore([PAD], Scripted(skip), draws=100)


def test_a_call_file_grows_and_what_is_no_call_is_refused(tmp_path: Path) -> None:
    shape = {"shape": [1, 1, 2, 2], "dtype": "FLOAT", "format": "NCHW"}
    args = {"gradOutput": shape, "self": shape, "padding": [0, 0, 0, 0], "gradInput": shape}
    op = "aclnnReflectionPad2dBackward"
    line = {"id": "first", "op": op, "product": "ascend910b", "args": args, "recipe": "normal"}
    path = tmp_path / "calls.jsonl"
    path.write_text(json.dumps(line))  # without an end of line
    calls = Regressions(path)
    assert not calls.add({**line, "id": "again"})
    assert not calls.add({**line, "product": "ascend910_93"})
    assert calls.add({**line, "id": "second", "product": "ascend910_93"})
    assert [json.loads(text)["id"] for text in path.read_text().splitlines()] == ["first", "second"]
    path.write_text('{"id": 3}\n')
    with pytest.raises(FileError, match=r"calls\.jsonl:1: the key 'op' is missing"):
        Regressions(path)


def test_a_call_may_name_its_recipe(tmp_path: Path) -> None:
    shape = {"shape": [1, 1, 2, 2], "dtype": "FLOAT", "format": "NCHW"}
    args = {"gradOutput": shape, "self": shape, "padding": [1, 0, 0, 0], "gradInput": shape}
    args["gradOutput"] = {**shape, "shape": [1, 1, 2, 3]}
    op = "aclnnReflectionPad2dBackward"
    line = {"op": op, "product": "ascend910b", "args": args}
    path = tmp_path / "calls.jsonl"
    lines = [{"id": "own", **line, "recipe": "ones"}, {"id": "usual", **line}]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    suite = Request(calls=str(path), recipe="normal").suite()
    assert [case.recipe for case in suite.cases] == ["ones", "normal"]
    path.write_text(json.dumps({"id": "own", **line, "recipe": "onse"}))
    with pytest.raises(FileError, match=r"calls\.jsonl:1: recipe: onse: no such recipe \(did you"):
        Request(calls=str(path)).suite()
