"""The gradients of layers of long short-term memory, from the saved gates and states.

Gates stand in the order i, f, g, o. In the direction from the last step to the first, saved
sequences are in the order of time; a device that saves them in the order of its steps is right as
well. Sequences are of equal lengths, and nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors
from opgen.golden._elementwise import Names, Operands, depth
from opgen.golden._normalized import RowLayout, functions
from opgen.golden._recurrent import (
    before,
    directions,
    of_bias,
    of_weight,
    parameters,
    projected,
    transformed,
)
from opgen.golden._running_error import Tracked, joined
from opgen.numerics.functions import sigmoid, tanh

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude", "saved"]

VERSION = 2
SAVED = ("i", "g", "f", "o", "h", "c", "tanhc")


def _probe(layers: int, two: bool, bias: bool, first: bool, final: bool = True) -> ProbeCall:
    steps, batch, hidden, features, both_ways = 3, 2, 4, 5, 2 if two else 1
    names = {"numLayers": layers, "bidirectional": two, "hasBias": bias, "batchFirst": first}
    names |= {"T": steps, "B": batch, "H": hidden}
    rows = (batch, steps) if first else (steps, batch)
    state = layers * both_ways, batch, hidden
    shapes: dict[str, tuple[int, ...] | None] = {"dy": (*rows, hidden * both_ways)}
    shapes |= {"input": (*rows, features), "hx[0]": state, "hx[1]": state}
    shapes |= dict.fromkeys(("dh", "dc"), state if final else None)
    shapes["batchSizesOptional"] = None
    for k in range(layers * both_ways):
        inputs = features if k < both_ways else hidden * both_ways
        given = [(4 * hidden, inputs), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)]
        for i, shape in enumerate(given[: parameters(names)]):
            shapes[f"params[{k * parameters(names) + i}]"] = shape
        shapes |= {f"{name}[{k}]": (steps, batch, hidden) for name in SAVED}
    outputs = [f"dparamsOut[{i}]" for i in range(layers * both_ways * parameters(names))]
    return ProbeCall(names, shapes, ("dxOut", "dhPrevOut", "dcPrevOut", *outputs))


PROBES = [
    _probe(1, False, True, False, final=False),
    _probe(2, False, False, True, final=False),
    _probe(1, True, True, False, final=False),
]


def laid(tensors: Tensors) -> RowLayout:
    """The inputs as they are; gradients have the shapes of what they are of."""
    given = {name: a for name, a in tensors.items() if a is not None}
    shapes = {"dxOut": given["input"].shape[1:]}
    shapes |= {"dhPrevOut": given["hx[0]"].shape[1:], "dcPrevOut": given["hx[1]"].shape[1:]}
    params = [name for name in given if name.startswith("params")]
    shapes |= {name.replace("params", "dparamsOut"): given[name].shape[1:] for name in params}
    return RowLayout(given, shapes)


def formula(of: Operands, names: Names) -> dict[str, Tracked]:
    """By saved sequences in the order of time, or of steps where that is another one."""
    results = network(of, names, in_time=True)
    if names["bidirectional"] and names["T"] > 1:
        other = network(of, names, in_time=False)
        anywhere = {name: np.ones(x.value.shape, dtype=bool) for name, x in results.items()}
        return {n: x.where(anywhere[n], other[n], anywhere[n]) for n, x in results.items()}
    return results


golden, magnitude, both = functions(laid, formula)


def network(of: Operands, names: Names, in_time: bool) -> dict[str, Tracked]:
    """All gradients, from the last layer to the first."""
    ways, count = directions(names), parameters(names)
    found: dict[str, Tracked] = {}
    states: list[list[Tracked]] = []
    dy, above = by_time(of["dy"], names), None
    for k in reversed(range(names["numLayers"] * ways)):
        back, below = k % ways, k - k % ways - ways
        weights = [of[f"params[{k * count + i}]"] for i in range(2)]
        kept = {name: steps(of, name, k, back, in_time) for name in SAVED}
        gates, first = unrolled(of, k, turned(halves(dy, names)[back], back), kept, weights[1])
        states.insert(0, first)
        inputs = (
            joined([steps(of, "h", below + way, way, in_time, way) for way in range(ways)], 3)
            if below >= 0
            else by_time(of["input"], names)
        )
        hidden = before(of["hx[0]"][:, k], kept["h"])
        gradients = [of_weight(gates, turned(inputs, back)), of_weight(gates, hidden)]
        gradients += [of_bias(gates)] * (count - 2)
        found |= {f"dparamsOut[{k * count + i}]": of_one for i, of_one in enumerate(gradients)}
        dx = turned(projected(gates, weights[0]), back)
        above = dx if above is None else above + dx
        if not back:
            dy, above = above, None
    found["dxOut"] = by_time(dy, names) if of["input"].value.ndim == 4 else dy
    for i, name in enumerate(("dhPrevOut", "dcPrevOut")):
        found[name] = joined([state[i][:, None] for state in states], 1)
    return found


def by_time(x: Tracked, names: Names) -> Tracked:
    """A sequence of the caller's with its steps first, or one of these as the caller has it."""
    if x.value.ndim == 3:
        shape = len(x.value), names["T"], names["B"], x.value.shape[-1]
        return Tracked(x.value.reshape(shape), x.error.reshape(shape))
    swap = names["batchFirst"]
    return Tracked(x.value.swapaxes(1, 2), x.error.swapaxes(1, 2)) if swap else x


def halves(dy: Tracked, names: Names) -> list[Tracked]:
    """The part of a sequence that belongs to each direction."""
    size = names["H"]
    return [dy[..., way * size : way * size + size] for way in range(directions(names))]


def turned(x: Tracked, back: int) -> Tracked:
    """A sequence in the order of the steps of a direction, or in the order of time again."""
    return x[:, ::-1] if back else x


def steps(of: Operands, name: str, k: int, back: int, in_time: bool, again: int = 0) -> Tracked:
    """What a direction saved, in the order of its steps; turned ``again`` in that of time."""
    return turned(turned(of[f"{name}[{k}]"], back and in_time), again)


def unrolled(
    of: Operands, k: int, dy: Tracked, kept: Mapping[str, Tracked], weight: Tracked
) -> tuple[Tracked, list[Tracked]]:
    """The gradients of the gates (B, T, N, 4H) of a direction, and of its initial states. Lines 56
    to 163 of the page, aclnnLstmBackward.md; where line 80 multiplies by a forget gate that line
    147 has in already, as there.
    """
    i, g, f, o, tanhc = (kept[name] for name in ("i", "g", "f", "o", "tanhc"))
    cell = before(of["hx[1]"][:, k], kept["c"])
    final = [of[name][:, k] if name in of else None for name in ("dh", "dc")]
    dh, dc = (Tracked.given(np.zeros(dy[:, 0].value.shape)) if s is None else s for s in final)
    every: list[Tracked] = []
    for t in reversed(range(dy.value.shape[1])):
        dh = dy[:, t] + dh
        dc = dh * o[:, t] * (1.0 - tanhc[:, t] * tanhc[:, t]) + dc
        gates = [
            dc * g[:, t] * i[:, t] * (1.0 - i[:, t]),
            dc * cell[:, t] * f[:, t] * (1.0 - f[:, t]),
            dc * i[:, t] * (1.0 - g[:, t] * g[:, t]),
            dh * tanhc[:, t] * o[:, t] * (1.0 - o[:, t]),
        ]
        every.insert(0, joined(gates, 2)[:, None])
        dh, dc = projected(every[0][:, 0], weight), dc * f[:, t]
    return joined(every, 1), [dh, dc]


def forward(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The last layer's output, and what every layer saves."""
    ways, count = directions(names), parameters(names)
    given = {name: a for name, a in tensors.items() if a is not None}
    x = by_time(Tracked(given["input"], given["input"]), names).value
    saved: dict[str, Array] = {}
    for layer in range(names["numLayers"]):
        for k in range(layer * ways, layer * ways + ways):
            params = [tensors.get(f"params[{k * count + i}]") for i in range(4 if count > 2 else 2)]
            states = [given["hx[0]"][:, k], given["hx[1]"][:, k]]
            saved |= {f"{n}[{k}]": a for n, a in ran(x, states, params, k % ways).items()}
        x = np.concatenate([saved[f"h[{layer * ways + way}]"] for way in range(ways)], 3)
    return {**saved, "dy": by_time(Tracked(x, x), names).value}


def ran(x: Array, states: list[Array], params: list[Array | None], back: int) -> dict[str, Array]:
    """One direction of a layer, step by step; results in the order of time."""
    (h, c), (of_x, of_h, *biases) = states, params
    assert of_x is not None and of_h is not None
    one, two = biases or (None, None)
    results: dict[str, list[Array]] = {name: [] for name in SAVED}
    order = range(x.shape[1])[:: -1 if back else 1]
    for t in order:
        total = transformed(x[:, t], of_x, one) + transformed(h, of_h, two)
        i, f, g, o = np.split(total, 4, axis=2)
        i, f, g, o = sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)
        c = f * c + i * g
        h = o * tanh(c)
        step = {"i": i, "g": g, "f": f, "o": o, "h": h, "c": c, "tanhc": tanh(c)}
        for name, value in step.items():
            results[name].insert(0 if back else len(order), value)
    return {name: np.stack(arrays, 1) for name, arrays in results.items()}


def saved(tensors: Tensors, names: Names) -> dict[str, Array]:
    """What the forward keeps; of all sequences of the batch in every step."""
    given = {name: a for name, a in tensors.items() if a is not None}
    kept = forward(tensors, names)
    lengths = np.full((len(given["input"]), names["T"]), float(names["B"]))
    return {**kept, "batchSizesOptional": lengths}


FORWARD = Differentiable(
    forward,
    {"dxOut": "input", "dhPrevOut": "hx[0]", "dcPrevOut": "hx[1]"}
    | {f"dparamsOut[{i}]": f"params[{i}]" for i in range(8)},  # those that probes have
)
