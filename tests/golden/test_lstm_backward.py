"""The gradients of long short-term memory against torch, and saved sequences in either order."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.lstm_backward import PROBES, both, golden, saved
from opgen.minimization import torch_recurrent
from opgen.model import TensorDesc
from opgen.numerics.bounds import bound
from tests.golden import distance, torch_or_skip

NETWORKS = [
    (1, False, True, False),
    (2, False, False, True),
    (2, True, True, False),
    (1, True, False, True),
]
"""Layers, two directions, biases, batch first."""
STEPS, BATCH, HIDDEN, FEATURES = 3, 2, 4, 5
GATES = ("i", "g", "f", "o", "h", "c", "tanhc")


def network(layers: int, two: bool, bias: bool, first: bool) -> tuple[dict, dict]:
    """Names and inputs of two cases, with what the forward saves."""
    random = np.random.default_rng(5)
    ways, rows = 1 + two, (BATCH, STEPS) if first else (STEPS, BATCH)
    names = {"numLayers": layers, "bidirectional": two, "hasBias": bias, "batchFirst": first}
    names |= {"T": STEPS, "B": BATCH, "H": HIDDEN}
    shapes = {"input": (*rows, FEATURES), "dy": (*rows, HIDDEN * ways)}
    shapes |= dict.fromkeys(("hx[0]", "hx[1]", "dh", "dc"), (layers * ways, BATCH, HIDDEN))
    inputs = {f"params[{place}]": shape for place, shape in enumerate(weights(layers, ways, bias))}
    tensors = {
        name: random.standard_normal((2, *shape)).astype(np.float32).astype(float)
        for name, shape in {**shapes, **inputs}.items()
    }
    kept = saved(tensors, names)
    kept.pop("dy"), kept.pop("batchSizesOptional")
    return names, {**tensors, **kept}


def weights(layers: int, ways: int, bias: bool) -> list[tuple[int, ...]]:
    """The shapes of params, layer by layer."""
    shapes: list[tuple[int, ...]] = []
    for k in range(layers * ways):
        inputs = FEATURES if k < ways else HIDDEN * ways
        one = [(4 * HIDDEN, inputs), (4 * HIDDEN, HIDDEN), (4 * HIDDEN,), (4 * HIDDEN,)]
        shapes += one if bias else one[:2]
    return shapes


def outputs(tensors: dict) -> dict[str, str]:
    """Output -> what it is the gradient of."""
    own = {"dxOut": "input", "dhPrevOut": "hx[0]", "dcPrevOut": "hx[1]"}
    params = [name for name in tensors if name.startswith("params")]
    return own | {name.replace("params", "dparamsOut"): name for name in params}


@pytest.mark.parametrize("kind", NETWORKS)
def test_torch(kind: tuple[int, bool, bool, bool]) -> None:
    torch = torch_or_skip()
    names, tensors = network(*kind)
    layers, two, bias, first = kind
    of = outputs(tensors)
    found = golden(tensors, names, of)
    for case in range(2):
        given = {n: torch.from_numpy(a[case]).requires_grad_() for n, a in tensors.items()}
        params = [given[f"params[{i}]"] for i in range(len(of) - 3)]
        states = given["hx[0]"], given["hx[1]"]
        shape = bias, layers, 0.0, True, two, first
        y, h, c = torch._VF.lstm(given["input"], states, params, *shape)
        loss = (y * given["dy"]).sum() + (h * given["dh"]).sum() + (c * given["dc"]).sum()
        gradients = torch.autograd.grad(loss, [given[name] for name in of.values()])
        for name, gradient in zip(of, gradients, strict=True):
            assert distance(found[name][case], gradient.numpy()) <= 1e-12, name


def test_a_device_in_float_is_within_the_bound_and_one_with_other_gates_is_not() -> None:
    torch = torch_or_skip()
    from opgen.devices.torch_recurrent import lstm

    names, tensors = network(2, False, True, False)
    of = outputs(tensors)
    values, sizes = both(tensors, names, of)
    swapped = {**tensors} | {f"g[{k}]": tensors[f"i[{k}]"] for k in range(2)}
    for given, wrong in ((tensors, False), (swapped, True)):
        device = lstm({n: torch.from_numpy(a[0]).float() for n, a in given.items()}, names, {*of})
        for name in of:
            limit = bound(values[name], sizes[name], 1, "FLOAT")[0]
            beyond = np.abs(device[name].numpy() - values[name][0]) > limit
            assert beyond.mean() > 0.5 if wrong else not beyond.any(), name


def by_place(tensors: dict) -> dict[str, object]:
    """Lists of tensors under their own names."""
    lists: dict[str, object] = {}
    for name, tensor in tensors.items():
        of, _, place = name.partition("[")
        if place:
            lists.setdefault(of, {})[int(place[:-1])] = tensor
        else:
            lists[of] = tensor
    return lists


@pytest.mark.parametrize("kind", [NETWORKS[2], NETWORKS[1]])
def test_the_program_that_minimize_writes(kind: tuple[int, bool, bool, bool]) -> None:
    torch = torch_or_skip()
    names, tensors = network(*kind)
    of, shape = outputs(tensors), TensorDesc((STEPS, BATCH, HIDDEN), "FLOAT")
    program = torch_recurrent.lstm({**names, "i": [shape]})
    space = {"torch": torch} | by_place({n: torch.from_numpy(a[0]) for n, a in tensors.items()})
    exec(program, space)
    expected = golden(tensors, names, of)
    for name in of:
        found = eval(name, space)
        assert distance(expected[name][0], found.numpy()) <= 1e-12, name


def test_both_orders_of_saved_sequences_are_right() -> None:
    names, tensors = network(1, True, True, False)
    of = outputs(tensors)
    values, sizes = both(tensors, names, of)
    turned = {**tensors} | {f"{name}[1]": tensors[f"{name}[1]"][:, ::-1] for name in GATES}
    for name, other in golden(turned, names, of).items():
        assert (np.abs(other - values[name]) <= sizes[name] * 2.0**-24 * 1.001).all(), name
    ways = {name: sizes[name] * 2.0**-24 < np.abs(values[name]) / 16 for name in of}
    assert ways["dparamsOut[0]"].any() and not ways["dparamsOut[4]"].all()


def test_packed_sequences_of_one_length_are_those_of_the_steps() -> None:
    names, tensors = network(1, False, True, False)
    packed = {n: tensors[n].reshape(2, STEPS * BATCH, -1) for n in ("input", "dy")}
    expected = golden(tensors, names, ["dxOut", "dparamsOut[0]"])
    found = golden({**tensors, **packed}, names | {"batchFirst": True}, list(expected))
    assert np.array_equal(found["dxOut"], expected["dxOut"].reshape(2, STEPS * BATCH, -1))
    assert np.array_equal(found["dparamsOut[0]"], expected["dparamsOut[0]"])


def test_probes_have_every_kind_of_network() -> None:
    flags = [[probe.names[name] for probe in PROBES] for name in ("numLayers", "bidirectional")]
    assert all(len(set(values)) > 1 for values in flags)
