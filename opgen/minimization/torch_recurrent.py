"""The torch programs of recurrent networks: the text that computes their outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opgen.minimization.program_text import Arguments

_LSTM = """\
x, dy = (
    s.reshape({steps}, {batch}, -1) if s.dim() == 2 else s.swapaxes(0, {first}) for s in (input, dy)
)
dparamsOut, states = {{}}, []
for layer in reversed(range({layers})):
    dx = 0
    for way in reversed(range({ways})):
        k, turn, size = layer * {ways} + way, [0] * way, {hidden}
        below = [h[k - way - {ways} + other] for other in range({ways})] if layer else [x]
        kept = [s[k].flip(turn) for s in (i, g, f, o, c, tanhc, h)]
        part = dy[..., way * size : way * size + size].flip(turn)
        cells, hiddens = (torch.cat([hx[s][None, k], kept[4 if s else 6][:-1]]) for s in (1, 0))
        a, b, gates = dh[k], dc[k], []
        for t in reversed(range({steps})):
            it, gt, ft, ot, _, tt, _ = (s[t] for s in kept)
            a = a + part[t]
            b = b + a * ot * (1 - tt * tt)
            step = [b * gt * it * (1 - it), b * cells[t] * ft * (1 - ft)]
            step += [b * it * (1 - gt * gt), a * tt * ot * (1 - ot)]
            gates.insert(0, torch.cat(step, 1))
            a, b = gates[0] @ params[k * {count} + 1], b * ft
        states.insert(0, (a, b))
        flat = torch.cat(gates).T
        found = [flat @ torch.cat(below, 2).flip(turn).flatten(0, 1), flat @ hiddens.flatten(0, 1)]
        found += [flat.sum(1)] * ({count} - 2)
        dparamsOut |= {{k * {count} + j: s for j, s in enumerate(found)}}
        dx = dx + (torch.stack(gates) @ params[k * {count}]).flip(turn)
    dy = dx
dxOut = (dy.swapaxes(0, {first}) if input.dim() == 3 else dy).reshape(input.shape)
dhPrevOut, dcPrevOut = (torch.stack(s) for s in zip(*states))"""


def lstm(args: Arguments) -> str:
    """Layer by layer and step by step, by the formula of the page."""
    steps, batch, hidden = args["i"][0].shape
    return _LSTM.format(
        steps=steps,
        batch=batch,
        hidden=hidden,
        layers=args["numLayers"],
        ways=1 + args["bidirectional"],
        count=2 + 2 * args["hasBias"],
        first=int(args["batchFirst"]),
    )


CALLS: Mapping[str, Callable[[Arguments], str]] = {"aclnnLstmBackward": lstm}
