"""Recurrent networks in torch, by the formulas of the pages: torch's own operators take no saved
gates.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from opgen.devices.torch_adapter import Adapter, Arguments, TensorsByName, wide


def lstm(tensors: TensorsByName, args: Arguments, wanted: frozenset[str]) -> TensorsByName:
    """Layer by layer and step by step, sequences with their steps first."""
    of = {name: wide(tensor) for name, tensor in tensors.items() if tensor is not None}
    ways, count = 1 + args["bidirectional"], 2 + 2 * args["hasBias"]
    rows = of["i[0]"].shape[:2]
    x, dy = (_by_time(of[name], rows, args["batchFirst"]) for name in ("input", "dy"))
    outputs: dict[str, torch.Tensor] = {}
    states: list[tuple[torch.Tensor, torch.Tensor]] = []
    for layer in reversed(range(args["numLayers"])):
        first = layer * ways
        below = [of[f"h[{first - ways + way}]"] for way in range(ways)] if layer else [x]
        dx = dy.new_zeros(())
        for way, part in reversed([*enumerate(dy.chunk(ways, dim=2))]):
            k, turn = first + way, [0] * way
            gates, state = _unrolled(of, k, part.flip(turn), turn)
            states.insert(0, state)
            flat = gates.flatten(0, 1)
            before = torch.cat([of["hx[0]"][None, k], of[f"h[{k}]"].flip(turn)[:-1]])
            inputs = torch.cat(below, 2).flip(turn)
            found = [flat.T @ inputs.flatten(0, 1), flat.T @ before.flatten(0, 1)]
            found += [flat.sum(0)] * (count - 2)
            outputs |= {f"dparamsOut[{k * count + i}]": tensor for i, tensor in enumerate(found)}
            dx = dx + (gates @ of[f"params[{k * count}]"]).flip(turn)
        dy = dx
    dx = dy.swapaxes(0, 1) if args["batchFirst"] and of["input"].dim() == 3 else dy
    dh, dc = (torch.stack(list(of_all)) for of_all in zip(*states, strict=True))
    return {**outputs, "dxOut": dx.reshape(of["input"].shape), "dhPrevOut": dh, "dcPrevOut": dc}


def _by_time(x: torch.Tensor, rows: torch.Size, batch_first: bool) -> torch.Tensor:
    """A sequence with its steps first."""
    if x.dim() == 2:
        return x.reshape(*rows, -1)
    return x.swapaxes(0, 1) if batch_first else x


def _unrolled(
    of: Mapping[str, torch.Tensor], k: int, dy: torch.Tensor, turn: list[int]
) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """The gradients of the gates of one direction, in the order of its steps, and of its initial
    states.
    """
    i, g, f, o, c, tanhc = (of[f"{n}[{k}]"].flip(turn) for n in ("i", "g", "f", "o", "c", "tanhc"))
    count = len([name for name in of if name.startswith("params")]) // len(of["hx[0]"])
    weight, before = of[f"params[{k * count + 1}]"], torch.cat([of["hx[1]"][None, k], c[:-1]])
    dh, dc = of["dh"][k], of["dc"][k]
    gates: list[torch.Tensor] = []
    for t in reversed(range(len(dy))):
        dh = dh + dy[t]
        dc = dc + dh * o[t] * (1 - tanhc[t] ** 2)
        step = [
            dc * g[t] * i[t] * (1 - i[t]),
            dc * before[t] * f[t] * (1 - f[t]),
            dc * i[t] * (1 - g[t] ** 2),
            dh * tanhc[t] * o[t] * (1 - o[t]),
        ]
        gates.insert(0, torch.cat(step, 1))
        dh, dc = gates[0] @ weight, dc * f[t]
    return torch.stack(gates), (dh, dc)


RECURRENT: Mapping[str, Adapter] = {"aclnnLstmBackward": lstm}
