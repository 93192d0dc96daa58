"""Every kernel keeps its contract, and one that breaks a promise is told which."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from opgen.cli import main
from opgen.generation.contract import PROMISES, broken
from opgen.golden import Differentiable, ProbeCall, kernel
from tests.support.suites import computed, sampled

OPERATORS = computed()
PROBES = [ProbeCall({}, {"dy": (2, 3), "x": (2, 3)}, ("dx", "dw"))]


def right(tensors, names, wanted):
    """The gradients of x * x and of its scale."""
    all_of_them = {"dx": 2 * tensors["x"] * tensors["dy"], "dw": tensors["x"] * tensors["dy"]}
    return {out: all_of_them[out] for out in wanted}


def size(tensors, names, wanted):
    return {out: abs(array) for out, array in right(tensors, names, wanted).items()}


def everything(tensors, names, wanted):
    return right(tensors, names, ("dx", "dw"))


def sees_others(tensors, names, wanted):
    return {out: array + len(wanted) for out, array in right(tensors, names, wanted).items()}


def sees_the_stack(tensors, names, wanted):
    return {out: array * len(array) for out, array in right(tensors, names, wanted).items()}


def squares(tensors, names, wanted):
    return right({**tensors, "dy": tensors["dy"] ** 2}, names, wanted)


def writes(tensors, names, wanted):
    answer = right(tensors, names, wanted)
    tensors["x"][...] = 0
    return answer


def asserts(tensors, names, wanted):
    assert np.isfinite(tensors["dy"]).all()
    return right(tensors, names, wanted)


def square(tensors, names):
    return {"dy": tensors["w"] * tensors["x"] ** 2}


def plain(tensors, names):
    return {"dy": tensors["w"] * tensors["x"]}


FORWARD = Differentiable(square, {"dx": "x", "dw": "w"})


def scaled(tensors, names, wanted):
    """The gradients where the forward has its scale, and x twice."""
    x, dy, w = tensors["x"], tensors["dy"], tensors.get("w", 1.0)
    gradients = {"dx": 2 * w * x * dy, "dw": x * x * dy}
    return {out: gradients[out] for out in wanted}


FAULTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "every output": ("returns other outputs", {"golden": everything}),
    "single precision": (
        "returns other outputs",
        {"golden": lambda *a: {n: v.astype("f4") for n, v in right(*a).items()}},
    ),
    "what else is wanted": ("computes an output otherwise", {"golden": sees_others}),
    "the size of the stack": ("gives a case other bits", {"golden": sees_the_stack}),
    "too small a magnitude": (
        "larger than its magnitude",
        {"magnitude": lambda *a: {n: v / 2 for n, v in size(*a).items()}},
    ),
    "a square": ("is not linear", {"golden": squares}),
    "another forward": (
        "is not the derivative of its forward",
        {
            "golden": scaled,
            "FORWARD": Differentiable(lambda t, n: {"dy": t["w"] * t["x"]}, FORWARD.inputs),
        },
    ),
    "its inputs": ("writes into its inputs", {"golden": writes}),
    "an assertion": ("raised AssertionError", {"golden": asserts}),
    "a depth of 0": ("not a whole number of at least 1", {"depth": lambda *a: 0}),
}


def made(**parts: Any) -> Any:
    whole = {"golden": right, "magnitude": size, "depth": lambda *a: 1, "PROBES": PROBES}
    return SimpleNamespace(**{**whole, **parts})


def test_a_kernel_that_keeps_its_contract_is_told_nothing():
    assert broken(made(), "tent.py") == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_promise_is_named_with_the_file_and_the_probe(name):
    words, parts = FAULTS[name]
    told = [str(problem) for problem in broken(made(**parts), "tent.py")]
    assert any(one.startswith("tent.py: probe 1: ") and words in one for one in told), told


def test_a_kernel_of_several_incoming_gradients_is_linear_in_all_of_them_together():
    def both(tensors, names, wanted):
        return {"dx": tensors["dy"] + tensors["dz"]}

    def size_of_both(tensors, names, wanted):
        return {"dx": abs(tensors["dy"]) + abs(tensors["dz"])}

    probe = ProbeCall({}, {"dy": (2, 3), "dz": (2, 3)}, ("dx",), gradients=2)
    whole = made(golden=both, magnitude=size_of_both, PROBES=[probe])
    assert broken(whole, "tent.py") == []
    whole.PROBES = [probe._replace(gradients=1)]
    assert [problem.text for problem in broken(whole, "tent.py")] == [
        "is not linear in its first inputs, the incoming gradients"
    ]


def test_a_kernel_that_is_the_derivative_of_its_forward_is_told_nothing():
    whole = made(golden=scaled, magnitude=lambda *a: {n: 9 + abs(v) for n, v in scaled(*a).items()})
    whole.FORWARD = FORWARD
    assert broken(whole, "tent.py") == []


def test_every_promise_can_be_broken():
    told = {words for words, _ in FAULTS.values()}
    odd = "stops at odd values"  # said by what is raised
    assert all(odd in promise or any(w in promise for w in told) for promise in PROMISES)


@pytest.mark.parametrize("op", OPERATORS)
def test_every_kernel_keeps_its_contract_and_agrees_with_torch(op):
    """Where torch has the operator; each has a witness, torch or its forward."""
    told = CliRunner().invoke(main, ["check", op])
    assert told.exit_code == 0, told.stderr
    assert f"{op}: the kernel keeps its contract\n" in told.stdout
    witnesses = "no FORWARD" not in told.stdout, "not compared with torch" not in told.stdout
    assert any(witnesses) or find_spec("torch") is None


@pytest.mark.parametrize("op", [op for op in OPERATORS if hasattr(kernel(op), "FORWARD")])
def test_each_output_that_is_off_is_no_derivative(op):
    """One element in each stack of cases, by 1 % of the largest: of one output of each operator,
    with ``OPGEN_SLOW=1`` of one after the other.
    """
    module = kernel(op)
    for wrong in sampled(module.FORWARD.inputs, len(module.FORWARD.inputs), op):

        def off(tensors, names, wanted, wrong=wrong):
            right = module.golden(tensors, names, wanted)
            if wrong in right:
                right[wrong] = right[wrong].copy()
                flat = right[wrong].reshape(len(right[wrong]), -1)
                flat[:, -1] += np.abs(flat).max() / 100
            return right

        parts = SimpleNamespace(**{**vars(module), "golden": off})
        assert any("not the derivative" in problem.text for problem in broken(parts, op)), wrong


def test_the_command_tells_where_torch_differs(monkeypatch):
    pytest.importorskip("torch")
    from opgen.devices.torch_operators import ADAPTERS

    def off(*call):
        return {name: tensor * 1.01 for name, tensor in right(*call).items()}

    right = ADAPTERS["aclnnReflectionPad1dBackward"]
    monkeypatch.setitem(ADAPTERS, "aclnnReflectionPad1dBackward", off)
    told = CliRunner().invoke(main, ["check", "reflection_pad1d_backward"])
    assert told.exit_code == 2
    assert "reflection_pad1d_backward.py: torch: differs in" in told.stderr

    def stops(*call):
        raise TypeError("no such argument")

    monkeypatch.setitem(ADAPTERS, "aclnnReflectionPad1dBackward", stops)
    told = CliRunner().invoke(main, ["check", "reflection_pad1d_backward"])
    assert told.exit_code == 2, "an adapter that stops at every call is no device that was lost"
    assert "torch: differs in" in told.stderr and "TypeError: no such argument" in told.stderr


def test_the_command_counts_the_calls_that_torch_was_asked_refused_and_agreed_on(monkeypatch):
    pytest.importorskip("torch")
    from opgen.devices.torch_adapter import Unable
    from opgen.devices.torch_operators import ADAPTERS

    def picky(tensors, args, wanted):
        if tensors["self"].ndim == 2:
            raise Unable("torch takes no two axes")
        return right(tensors, args, wanted)

    api, op = "aclnnReflectionPad1dBackward", "reflection_pad1d_backward"
    right = ADAPTERS[api]
    whole = re.search(r"agrees with torch on (\d+) of (\d+) calls", _told(op))
    monkeypatch.setitem(ADAPTERS, api, picky)
    told = _told(op)
    counts = re.search(r"agrees with torch on (\d+) of (\d+) calls", told)
    refused = re.search(r"; refused by torch: (\d+) \(torch takes no two axes\)\n", told)
    assert whole and counts and refused and int(refused[1]) > 1
    assert int(counts[2]) == int(whole[2]) and 0 < int(counts[1]) < int(whole[1])

    def none(*call):
        raise Unable("torch takes nothing")

    monkeypatch.setitem(ADAPTERS, api, none)
    assert f"{op}: not compared with torch: torch takes nothing\n" in _told(op)


def _told(op: str) -> str:
    told = CliRunner().invoke(main, ["check", op])
    assert told.exit_code == 0, told.stderr
    return told.stdout


def test_the_command_prints_problems_only_if_it_is_asked_to_be_quiet(monkeypatch):
    assert CliRunner().invoke(main, ["check", "-q", "reflection_pad2d_backward"]).output == ""
    told = CliRunner().invoke(main, ["check", "--json", "reflection_pad2d_backward"])
    lines = json.loads(told.stdout)["kernels"]["reflection_pad2d_backward"]
    assert lines[0] == "reflection_pad2d_backward: the kernel keeps its contract"
    monkeypatch.setitem(sys.modules, "opgen.golden.tent_backward", made(golden=squares))
    assert "is not linear" in CliRunner().invoke(main, ["check", "-q", "tent_backward"]).stderr


def test_thresholds_that_no_data_lie_at_are_told(monkeypatch):
    """The plan of these pads has no input at which a function is evaluated."""
    parts = vars(kernel("reflection_pad2d_backward"))
    monkeypatch.setitem(parts, "thresholds", lambda names: (0.0,))
    told = CliRunner().invoke(main, ["check", "reflection_pad2d_backward"])
    assert told.exit_code == 2
    assert told.stderr.startswith(
        "cases/reflection_pad2d_backward.yaml: roles: no input has the role argument"
    )


def test_the_command_checks_a_kernel_by_the_name_of_its_operator():
    run = CliRunner().invoke
    kept = run(main, ["check", "reflection_pad2d_backward"])
    assert kept.exit_code == 0
    assert kept.stdout.startswith("reflection_pad2d_backward: the kernel keeps its contract\n")
    unknown = run(main, ["check", "reflection_pad9d_backward"])
    assert unknown.exit_code == 2
    assert "reflection_pad9d_backward.py: is missing: an operator needs a kernel" in unknown.stderr
    lost = run(main, ["check", "my_pad.yaml"])
    assert lost.exit_code == 2 and "my_pad.yaml: is neither a file nor an operator" in lost.stderr


def test_the_command_tells_what_a_kernel_breaks(monkeypatch):
    monkeypatch.setitem(sys.modules, "opgen.golden.tent_backward", made(golden=squares))
    told = CliRunner().invoke(main, ["check", "tent_backward"])
    assert told.exit_code == 2
    assert "opgen/golden/tent_backward.py: probe 1: is not linear" in told.stderr
