"""The operators of :data:`opgen.devices.torch_losses.LOSSES` as text: lines of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from opgen.minimization.program_text import Arguments
from opgen.model import TensorDesc

_BOTH = "torch.broadcast_tensors(self, target)[0]"
_LOSSES: Mapping[str, tuple[str, str]] = {
    "BinaryCrossEntropy": (
        "binary_cross_entropy(self, target, weight={weightOptional}, reduction='none')",
        "self",
    ),
    "BinaryCrossEntropyWithLogits": (
        "binary_cross_entropy_with_logits(\n    self, target, weight={weightOptional},"
        " pos_weight={posWeightOptional}, reduction='none'\n)",
        "self",
    ),
    "KlDiv": ("kl_div(self, target, log_target={logTarget}, reduction='none')", "self"),
    "L1Loss": ("l1_loss(self, target, reduction='none')", _BOTH),
    "MseLoss": ("mse_loss(self, target, reduction='none')", "self"),
    "SoftMarginLoss": ("soft_margin_loss(self, target, reduction='none')", _BOTH),
}
"""Name -> the loss of each element, and whose elements a mean counts."""


def _text(args: Arguments, loss: str, counted: str) -> str:
    *inputs, output = [name for name in args if isinstance(args[name], TensorDesc)]
    names = ", ".join(inputs)
    weights = {name: name if name in inputs else value for name, value in args.items()}
    return (
        f"counted = {counted}\n"
        f"parts = {{1: counted.numel(), 3: len(counted) if counted.dim() else 1}}\n"
        f"{names} = (t.float() for t in torch.broadcast_tensors({names}))\n"
        "self.requires_grad_()\n"
        f"loss = torch.nn.functional.{loss.format(**weights)}\n"
        f"{output} = torch.autograd.grad(loss, self, gradOutput)[0]"
        f" / parts.get({args['reduction']}, 1)"
    )


CALLS: Mapping[str, Callable[[Arguments], str]] = {
    f"aclnn{name}Backward": partial(_text, loss=loss, counted=counted)
    for name, (loss, counted) in _LOSSES.items()
}
