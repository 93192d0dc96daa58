"""What a kernel promises (:class:`opgen.golden.Kernel`), held against what it does with its probes.

A new kernel is asked before a suite is made of it. No spec and no plan is needed.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from opgen.generation.probes import values
from opgen.golden import Differentiable, Kernel, ProbeCall
from opgen.model import Problem
from opgen.numerics.arrays import Array

CASES = 3
"""Cases in the stacks that a kernel is given."""
STEP, CLOSE, NOISE = 2.0**-16, 1e-6, 1e-9
"""The step of a difference, by how much of its terms' sizes it may miss a derivative, and what
roundings add to it, as a part of the result."""
ODD = (np.nan, np.inf, -np.inf, -0.0, 1e300, 5e-324)
"""Values of a gradient at which a kernel may compute anything and must not stop."""


def broken(kernel: Kernel, file: str) -> list[Problem]:
    """What a kernel breaks of its contract, once for each promise."""
    told: dict[str, Problem] = {}
    with np.errstate(all="ignore"):
        for number, probe in enumerate(kernel.PROBES, 1):
            for promise, kept in PROMISES.items():
                try:
                    text = "" if kept(kernel, probe) else promise
                except Exception as error:  # noqa: BLE001  whatever a kernel raises is its fault
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    text = (
                        f"raised {type(error).__name__}: {error} ({last.name}, line {last.lineno})"
                    )
                if text:
                    told.setdefault(promise, Problem(file, None, f"probe {number}", text))
    return list(told.values())


def _inputs(probe: ProbeCall) -> dict[str, Array | None]:
    """A stack of cases for a probe, no two of which are alike."""

    def stack(name: str, shape: tuple[int, ...]) -> Array:
        real = values((CASES, *shape), name)
        return real + 1j * values((CASES, *shape), f"i{name}") if probe.complex else real

    return {n: None if shape is None else stack(n, shape) for n, shape in probe.shapes.items()}


def _gradient(tensors: Mapping[str, Array | None]) -> str:
    """The incoming gradient: the first input that is there."""
    return next(name for name, array in tensors.items() if array is not None)


def _goldens(
    kernel: Kernel, probe: ProbeCall, tensors: Mapping[str, Array | None]
) -> dict[str, Array]:
    return kernel.golden(tensors, probe.names, probe.wanted)


def _same(one: Array, other: Array) -> bool:
    """Whether two arrays have the same bits."""
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def _whole(kernel: Kernel, probe: ProbeCall) -> bool:
    tensors = _inputs(probe)
    wide = np.complex128 if probe.complex else np.float64
    for function in (kernel.golden, kernel.magnitude):
        answers = function(tensors, probe.names, probe.wanted)
        if {*answers} != {*probe.wanted} or any(
            array.dtype != wide or len(array) != CASES for array in answers.values()
        ):
            return False
    return all({*kernel.golden(tensors, probe.names, (out,))} == {out} for out in probe.wanted)


def _each_alone(kernel: Kernel, probe: ProbeCall) -> bool:
    tensors = _inputs(probe)
    together = _goldens(kernel, probe, tensors)
    return all(
        _same(kernel.golden(tensors, probe.names, (out,))[out], together[out])
        for out in probe.wanted
    )


def _any_stack(kernel: Kernel, probe: ProbeCall) -> bool:
    tensors = _inputs(probe)
    together = _goldens(kernel, probe, tensors)
    for case in range(CASES):
        some = {n: None if a is None else a[case : case + 1] for n, a in tensors.items()}
        alone = _goldens(kernel, probe, some)
        if not all(_same(alone[out], together[out][case : case + 1]) for out in probe.wanted):
            return False
    return True


def _magnitude(kernel: Kernel, probe: ProbeCall) -> bool:
    tensors = _inputs(probe)
    sizes = kernel.magnitude(tensors, probe.names, probe.wanted)
    return all(
        bool(np.all(np.abs(part(golden)) <= part(sizes[out]) * (1 + 1e-12)))
        for out, golden in _goldens(kernel, probe, tensors).items()
        for part in (np.real, np.imag)
    )


def _linear(kernel: Kernel, probe: ProbeCall) -> bool:
    tensors = _inputs(probe)
    given = [(name, array) for name, array in tensors.items() if array is not None]
    gradients = dict(given[: probe.gradients])
    doubled = {name: 2 * array for name, array in gradients.items()}
    once, twice = (_goldens(kernel, probe, {**tensors, **some}) for some in (gradients, doubled))
    return all(_same(2 * once[out] + 0.0, twice[out] + 0.0) for out in probe.wanted)


def _leaves_inputs(kernel: Kernel, probe: ProbeCall) -> bool:
    tensors, before = _inputs(probe), _inputs(probe)
    _goldens(kernel, probe, tensors)
    kernel.magnitude(tensors, probe.names, probe.wanted)
    pairs = ((tensors[name], array) for name, array in before.items())
    return all(now is None or then is None or _same(now, then) for now, then in pairs)


def _odd(kernel: Kernel, probe: ProbeCall) -> bool:
    tensors = _inputs(probe)
    gradient = tensors[_gradient(tensors)]
    assert gradient is not None
    flat = gradient.reshape(-1)
    flat[: len(ODD)] = ODD[: flat.size]
    return {*_goldens(kernel, probe, tensors)} == {*probe.wanted}


def _depths(kernel: Kernel, probe: ProbeCall) -> Iterator[object]:
    shapes = {name: shape for name, shape in probe.shapes.items() if shape is not None}
    for out in probe.wanted:
        yield kernel.depth(probe.names, shapes, out)


def _depth(kernel: Kernel, probe: ProbeCall) -> bool:
    empty = any(shape is not None and 0 in shape for shape in probe.shapes.values())
    return all(
        type(depth) is int and depth >= (0 if empty else 1) for depth in _depths(kernel, probe)
    )


def _derivative(kernel: Kernel, probe: ProbeCall) -> bool:
    forward: Differentiable | None = getattr(kernel, "FORWARD", None)
    if forward is None:
        return True
    random, name = np.random.default_rng(0), _gradient(_inputs(probe))
    given = {
        n: None if shape is None else random.standard_normal((CASES, *shape))
        for n, shape in probe.shapes.items()
    }
    for out, array in _goldens(kernel, probe, given).items():
        given[forward.inputs[out]] = random.standard_normal(array.shape)
    results = forward.function(given, probe.names)
    gradient = random.standard_normal(results[name].shape)
    golden = _goldens(kernel, probe, {**given, **results, name: gradient})
    noise = NOISE * _per_case(np.abs(gradient * results[name]))
    for out in golden:
        of = forward.inputs[out]
        there = given[of]
        assert there is not None
        step = random.standard_normal(there.shape)
        before, behind = (
            gradient * forward.function({**given, of: there + sign * step}, probe.names)[name]
            for sign in (-STEP, STEP)
        )
        moved = _per_case(behind - before) / (2 * STEP)
        terms = golden[out].reshape(there.shape) * step
        allowed = CLOSE * _per_case(np.abs(terms)) + noise
        if not (np.abs(moved - _per_case(terms)) <= allowed).all():
            return False
    return True


def _per_case(array: Array) -> Array:
    """The sum of each case of a stack."""
    return np.asarray(array.reshape(CASES, -1).sum(axis=1))


PROMISES: Mapping[str, Callable[[Kernel, ProbeCall], bool]] = {
    "returns other outputs than are wanted, or no stacks of float64 (complex128)": _whole,
    "computes an output otherwise where others are wanted too": _each_alone,
    "gives a case other bits in another stack": _any_stack,
    "gives a golden that is larger than its magnitude": _magnitude,
    "is not linear in its first inputs, the incoming gradients": _linear,
    "is not the derivative of its forward": _derivative,
    "writes into its inputs": _leaves_inputs,
    "stops at odd values of the incoming gradient": _odd,
    "gives a depth that is not a whole number of at least 1": _depth,
}
"""What is said of a kernel that breaks a promise -> whether it keeps it in a probe."""
